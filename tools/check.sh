# shellcheck shell=bash
#
# What can be said about the sources without running them. A check prints its
# findings and fails, or ends with a line that says what it looked at.

checks() {
    local name

    # the slowest first
    for name in tidy tidy_programs warnings cppcheck format words layers shell
    do
        job 2 rc check "$name" "check_$name"
    done
    jobs_wait
}

# list FILE...: a line each, none for none.
list() {
    [ $# -eq 0 ] || printf '%s\n' "$@"
}

c_files() {
    find ngx_http_slidewin_module -name '*.[ch]' | sort
    list bench/*.c bench/accuracy/*.[ch] tools/pictures/*.c replay/*.[ch] \
        t/{fake-store,unit,lib/oracle,lib/preload}/*.[ch]
}

# What needs nothing but the C library.
sw_sources() {
    list ngx_http_slidewin_module/sw/*.c bench/accuracy/*.c
}

replay_sources() {
    list replay/*.c
}

# With them: what they need beside the C library. The page is made by the build.
replay_flags() {
    list -std=gnu11 -D_GNU_SOURCE -DREPLAY_VERSION='""' \
        -Ingx_http_slidewin_module/sw -Ireplay "-I$BUILD/replay/release"
}

nginx_sources() {
    find ngx_http_slidewin_module -name 'ngx_*.c' | sort
    list t/fake-store/*.c
}

# The folders of the module, as options of a compiler.
include_flags() {
    find ngx_http_slidewin_module -type d -printf '-I%p\n' | sort
}

# findings: passes its input on, and fails if there was any.
findings() {
    ! grep ''
}

check_format() {
    local files

    cd "$ROOT"
    mapfile -t files < <(c_files)
    [ ${#files[@]} -gt 0 ]

    awk '
        function bad(what) { print FILENAME ":" FNR ": " what }

        /\t/                            { bad("tab") }
        /[ \t\r]$/                      { bad("space at the end of the line") }
        length > 80                     { bad(length " columns") }
        /^ *\/\//                       { bad("comment with //") }
        /(^|[^a-z_])(if|for|while|switch)\(/ { bad("no space before (") }
    ' "${files[@]}" | findings

    local file
    for file in "${files[@]}"; do
        [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at its end"
        [ -n "$(tail -n 1 "$file")" ] || echo "$file: blank line at its end"
    done | findings

    echo "${#files[@]} files"
}

# Words that name no subject, in comments and names of the module.
check_words() {
    cd "$ROOT"
    {
        grep -rnwiE 'whoever|somebody|nobody|anybody|reckon(s|ed|ing)?' \
            ngx_http_slidewin_module lua replay || [ $? -eq 1 ]
    } | findings
    echo "$(find ngx_http_slidewin_module lua replay -type f | wc -l) files"
}

check_layers() {
    perl "$ROOT/tools/layers.pl" "$ROOT/ngx_http_slidewin_module"
}

# The include path of nginx's own build.
nginx_flags() {
    local dir flag

    dir=$(flavour_dir "$1")
    # shellcheck disable=SC2016
    for flag in $(make -s -C "$dir" -f objs/Makefile \
        --eval 'print-includes: ; @echo $(ALL_INCS)' print-includes)
    do
        case $flag in
        -I | /*) echo "$flag" ;;
        *) echo "$dir/$flag" ;;
        esac
    done
    echo "-I$BUILD/hiredis/include"
    include_flags
}

check_warnings() {
    local compiler debug sw replay nginx flags

    cd "$ROOT"
    mapfile -t sw < <(sw_sources)
    mapfile -t replay < <(replay_flags; replay_sources)
    mapfile -t nginx < <(nginx_sources)
    mapfile -t flags < <(nginx_flags release)
    flags+=(-DNGX_HTTP_SLIDEWIN_TEST=1 -DSW_STEPS=1)

    for compiler in gcc clang; do
        "$compiler" -std=gnu11 -O2 "${WARNINGS[@]}" \
            -Wunused-parameter -fsyntax-only \
            -Ingx_http_slidewin_module/sw "${sw[@]}"
        "$compiler" -O2 -fsyntax-only "${WARNINGS[@]}" "${replay[@]}"
        # a user's nginx may be built without debug lines
        for debug in 0 1; do
            [ ${#nginx[@]} -eq 0 ] || "$compiler" -O2 -fsyntax-only \
                -DNGX_DEBUG=$debug "${WARNINGS[@]}" "${flags[@]}" "${nginx[@]}"
        done
    done

    echo "$((${#sw[@]} + $(replay_sources | wc -l) + ${#nginx[@]}))" \
        "files, gcc and clang"
}

check_cppcheck() {
    local sw replay nginx includes common

    cd "$ROOT"
    mapfile -t includes < <(include_flags)
    mapfile -t sw < <(sw_sources)
    mapfile -t replay < <(replay_sources)
    mapfile -t nginx < <(nginx_sources)
    common=(
        --quiet --error-exitcode=1 --inline-suppr --std=c11
        # takes any char * a function was given for the one it returns
        --suppress=returnDanglingLifetime
        '--enable=warning,performance,portability'
        --template='{file}:{line}: {severity}: {message} [{id}]'
    )

    cppcheck "${common[@]}" --suppress=missingIncludeSystem \
        -Ingx_http_slidewin_module/sw "${sw[@]}"
    cppcheck "${common[@]}" --suppress=missingInclude \
        --suppress=missingIncludeSystem -Ireplay \
        -Ingx_http_slidewin_module/sw "${replay[@]}"
    # without nginx's headers: cppcheck would look for faults in them, too
    [ ${#nginx[@]} -eq 0 ] || cppcheck "${common[@]}" \
        --suppress=missingInclude "${includes[@]}" "${nginx[@]}"

    echo "$((${#sw[@]} + ${#replay[@]} + ${#nginx[@]})) files"
}

# Left out is what argues with nginx's style, or with memcpy as such.
TIDY='-*,bugprone-*,clang-analyzer-*,cert-err34-c,misc-redundant-*'
TIDY+=',-bugprone-easily-swappable-parameters'
TIDY+=',-bugprone-assignment-in-if-condition'
TIDY+=',-bugprone-narrowing-conversions'
TIDY+=',-bugprone-reserved-identifier'
TIDY+=',-clang-analyzer-security.insecureAPI.*'

# tidy CHECKS FILE... -- OPTION...
tidy() {
    clang-tidy --quiet --warnings-as-errors='*' --checks="$1" "${@:2}" 2>&1 \
        | tidy_noise
}

# The module, which takes half of the time.
check_tidy() {
    local nginx flags

    cd "$ROOT"
    mapfile -t nginx < <(nginx_sources)
    mapfile -t flags < <(nginx_flags release)
    flags+=(-DNGX_HTTP_SLIDEWIN_TEST=1 -DSW_STEPS=1 -DNGX_DEBUG=0)

    # the analyzer does not see through nginx's queues, nor that an element
    # which is cleared when it is removed, in debug builds, is gone; ASan does
    tidy "$TIDY,-clang-analyzer-unix.Malloc" "${nginx[@]}" -- "${flags[@]}"
    echo "${#nginx[@]} files"
}

# What is compiled without nginx.
check_tidy_programs() {
    local sw replay flags

    cd "$ROOT"
    mapfile -t sw < <(sw_sources)
    mapfile -t replay < <(replay_sources)
    mapfile -t flags < <(replay_flags)

    tidy "$TIDY" "${sw[@]}" -- -std=gnu11 -Ingx_http_slidewin_module/sw
    # of several files at once, the analyzer knows va_start() in the first only
    tidy "$TIDY,-clang-analyzer-valist.Uninitialized" "${replay[@]}" \
        -- "${flags[@]}"
    echo "$((${#sw[@]} + ${#replay[@]})) files"
}

tidy_noise() {
    grep -vE '^[0-9]+ warnings? generated\.$|^Suppressed |^Use -header' || :
}

check_shell() {
    cd "$ROOT"
    shellcheck -x -a build.sh
    shellcheck .ci/run
    shellcheck replay/embed.sh
    # nginx's configure sets and reads its variables
    shellcheck -s sh -e SC2034,SC2154,SC1091,SC2006,SC2086,SC2116,SC2231 config
    set -- build.sh tools/*.sh replay/embed.sh .ci/run config
    echo "$# files"
}
