# shellcheck shell=bash
#
# The ways nginx and the module are built, each in a directory of its own:
#
#   release   nginx, and the module as users get it
#   test      the module with the test-only store, for the release nginx
#   asan      both with AddressSanitizer, test-only store included
#   static    nginx with the module compiled in

# With debug lines, as the nginx of Debian: `error_log ... debug` is of use.
NGINX_OPTIONS=(
    --with-compat
    --with-debug
    --with-http_ssl_module
    --with-http_v2_module
    --with-http_realip_module
    --with-http_auth_request_module
    --with-http_addition_module
    --with-http_sub_module
    --with-http_slice_module
    --with-http_stub_status_module
    --with-http_gzip_static_module
    --with-http_secure_link_module
    --with-http_random_index_module
    --error-log-path=stderr
)

# For our files only. nginx itself sets -W -Wall -Werror -Wno-unused-parameter:
# a callback of a fixed type seldom uses all it is given.
WARNINGS=(
    -Wall -Wextra -Werror -Wno-unused-parameter
    -Wshadow -Wstrict-prototypes -Wvla
)

flavour_dir() {
    echo "$BUILD/nginx-$NGINX_VERSION${NGINX_SRC:+-own}/$1"
}

flavour_nginx() {
    case $1 in
    test) flavour_nginx release ;;
    *) echo "$(flavour_dir "$1")/objs/nginx" ;;
    esac
}

flavour_module() {
    echo "$(flavour_dir "$1")/objs/ngx_http_slidewin_module.so"
}

# flavour NAME [JOBS]: configures if anything that matters to configure has
# changed; the rest is make's.
flavour() {
    local name=$1 jobs=${2:-$(nproc)}
    local dir wanted target=()
    local with=dynamic cc='-O2 -g' ld='' ours=() settings=() options=()

    dir=$(flavour_dir "$name")
    options=("${NGINX_OPTIONS[@]}" "--prefix=$dir")

    if grep -q -e --with-http_v3_module "$NGINX_TREE/auto/options"; then
        options+=(--with-http_v3_module)
    fi

    case $name in
    release)
        cc+=' -fstack-protector-strong -D_FORTIFY_SOURCE=2'
        ;;
    test)
        settings+=(SLIDEWIN_TEST=1)
        target=(modules)
        ;;
    asan)
        settings+=(SLIDEWIN_TEST=1)
        # clang: gcc's UBSan writes to stderr, which nginx makes its error log
        options+=(--with-cc=clang)
        cc='-O1 -g -fno-omit-frame-pointer -fsanitize=address'
        cc+=' -DNGX_DEBUG_PALLOC=1'
        # nodelete: a leak is reported after nginx has unloaded the module
        ld='-fsanitize=address,undefined -Wl,-z,nodelete'
        # nginx itself does not pass UBSan
        ours+=(-fsanitize=undefined -fno-sanitize-recover=undefined)
        ;;
    static)
        with=static
        ;;
    esac

    case $with in
    dynamic) options+=("--add-dynamic-module=$ROOT") ;;
    static) options+=("--add-module=$ROOT") ;;
    esac

    options+=("--with-cc-opt=$cc" "--with-ld-opt=$ld")
    settings+=("SLIDEWIN_HIREDIS=$BUILD/hiredis")
    ours+=("${WARNINGS[@]}")

    wanted=$(
        echo "$NGINX_TREE"
        printf '%s\n' "${settings[@]}" "${options[@]}" "${ours[@]}"
        find "$SRC" "$ROOT/lua" "$ROOT"/t/fake-store/*.[ch] -type f | sort
        cat "$ROOT/config" "$ROOT/config.make"
    )

    if [ "$(cat "$dir/wanted" 2>/dev/null)" != "$wanted" ]; then
        note "configuring nginx $NGINX_VERSION ($name)"
        flavour_configure || return
        printf '%s\n' "$wanted" >"$dir/wanted"
    fi

    if ! make -q -C "$dir" -f objs/Makefile "${target[@]:-build}" \
        >/dev/null 2>&1
    then
        note "building nginx $NGINX_VERSION ($name)"
        quiet "make/$name" make -C "$dir" -f objs/Makefile -j "$jobs" \
            "${target[@]:-build}"
    fi
}

# configure writes into the tree it runs in: here that is a directory of links,
# so one source serves every flavour and a user's own tree stays clean.
flavour_configure() {
    local entry header

    mkdir -p "$dir/objs"
    rm -f "$dir/wanted"

    for entry in "$NGINX_TREE"/*; do
        case ${entry##*/} in
        objs | Makefile) ;;
        *) ln -sfn "$entry" "$dir/" ;;
        esac
    done

    for header in "$dir"/objs/ngx_auto_*.h; do
        cp -p "$header" "$header.old"
    done

    local configure=./configure
    [ -f "$dir/configure" ] || configure=auto/configure

    quiet "configure/$name" env -C "$dir" "${settings[@]}" "$configure" \
        "${options[@]}" || return

    # all of nginx depends on these: unchanged ones must not look new
    for header in "$dir"/objs/ngx_auto_*.h; do
        ! cmp -s "$header" "$header.old" || cp -p "$header.old" "$header"
    done

    # nginx names the folder of an object by the last one of its source
    rm -rf "$dir"/objs/addon/*/*.o
    find "$SRC" "$ROOT/t/fake-store" -type d \
        -printf "objs/addon/%f/%%.o: CFLAGS += ${ours[*]}\n" \
        >>"$dir/objs/Makefile"

    # The table of modules has the same name in nginx, and ASan would take the
    # size of one for the other's.
    if [ "$name" = asan ]; then
        echo 'objs/ngx_http_slidewin_module_modules.o:' \
            'CFLAGS += -fno-sanitize=address' >>"$dir/objs/Makefile"
        rm -f "$dir/objs/ngx_http_slidewin_module_modules.o"
    fi
}

# flavours NAME...: as jobs, two at a time.
flavours() {
    local name parallel=2 jobs=$((($(nproc) + 1) / 2))

    [ $# -gt 1 ] || jobs=$(nproc)
    for name; do
        job "$parallel" rc build "$name" flavour_job "$name" "$jobs"
    done
    jobs_wait

    # what an older build says about newer sources is worth nothing
    ! grep -qs ' 1$' "$RUN"/results/build-* || jobs_end || exit
}

flavour_job() {
    flavour "$@"
    echo "nginx $NGINX_VERSION"
}
