# shellcheck shell=bash
#
# The tests: C programs, fuzz targets, Test::Nginx suites.

# Suites wait more than they work: on two cores half of the time is idle at four.
PARALLEL=5

# Suites that may fail beside others and pass alone before a run fails.
FLAKY_MAX=3

unit_build() {
    job 1 rc build unit programs unit 'test_*.c'
    jobs_wait
}

fuzz_build() {
    job 1 rc build fuzz programs fuzz 'fuzz_*.c'
    jobs_wait
}

programs() {
    local sources

    mkdir -p "$BUILD/$1"
    make -f "$ROOT/tools/unit.mk" -j "$(nproc)" ROOT="$ROOT" OUT="$BUILD" "$1"
    mapfile -t sources < <(find "$ROOT/t/unit" -name "$2")
    [ ${#sources[@]} -gt 0 ] || die "there is no t/unit/$2"
    echo "${#sources[@]} programs"
}

unit_tests() {
    local source name

    for source in "$ROOT"/t/unit/test_*.c; do
        name=$(basename "$source" .c)
        job "$PARALLEL" tap unit "$name" \
            prove -v --exec '' "$BUILD/unit/$name" :: "$ROOT"
    done
    jobs_wait
}

fuzz_targets() {
    local seconds=$1 source name

    for source in "$ROOT"/t/unit/fuzz_*.c; do
        name=$(basename "$source" .c)
        job "$(nproc)" rc fuzz "$name" fuzz_target "$name" "$seconds"
    done
    jobs_wait
}

# The corpus is kept, so that each run begins where the last one ended.
fuzz_target() {
    local name=$1 seconds=$2 seeds=$ROOT/t/unit/corpus/$1 runs
    local corpus=$BUILD/corpus/$1

    mkdir -p "$corpus"
    [ -d "$seeds" ] || seeds=
    "$BUILD/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$BUILD/corpus/$name-" "$corpus" ${seeds:+"$seeds"} \
        2>&1 | tee "$RUN/$name.out"

    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$RUN/$name.out")
    [ "${runs:-0}" -gt 0 ]
    echo "$runs runs"
}

# The suites of a flavour, as paths from the root. They are found, not listed: a
# new folder is run without being named here.
suites_of() {
    case $1 in
    release) suites_below t fake-store ;;
    test) suites_below t/fake-store ;;
    # valgrind does not go with AddressSanitizer; the other folders test what is
    # around the module, and api/ has the answers that dashboard/ asks for, as
    # the rest of replay/ has those of its page
    asan) suites_below t valgrind tools docs contrib dashboard replay/browser ;;
    static) suites_below t/request/access-phase-order.t ;;
    *) die "no such flavour: $1 (release, test, asan or static)" ;;
    esac
}

# suites_below PATH [FOLDER...]: all but those of t/FOLDER; none is a mistake.
suites_below() {
    local path=$1 folder found without=()
    shift

    for folder; do
        without+=(! -path "t/$folder/*")
    done

    mapfile -t found < <(cd "$ROOT" \
        && find "$path" -name '*.t' -type f "${without[@]}" | sort)
    [ ${#found[@]} -gt 0 ] || die "there is no suite in $path"
    list "${found[@]}"
}

start_suites() {
    local flavour=$1 suite
    shift

    for suite; do
        job "$PARALLEL" tap "$flavour" "$suite" suite "$flavour" "$suite"
    done
}

all_suites() {
    local flavour list

    job "$PARALLEL" rc nginx distribution distribution
    for flavour in release test static asan; do
        mapfile -t list < <(suites_of "$flavour")
        start_suites "$flavour" "${list[@]}"
    done
    jobs_wait
    retry_suites
}

# A suite that depends on time may fail because the machine was busy: it is run
# once more, with nothing beside it, and told as flaky if it passes then. What
# failed for another reason, or too often, fails the run at once.
retry_suites() {
    local kind flavour path log suite failed

    mapfile -t failed <"$RUN/failed"
    [ ${#failed[@]} -gt 0 ] || return 0

    if [ ${#failed[@]} -gt "$FLAKY_MAX" ]; then
        note "${#failed[@]} failed, more than $FLAKY_MAX: none is run again"
        return
    fi

    for suite in "${failed[@]}"; do
        read -r kind flavour path <<<"$suite"
        log=$(job_log "$flavour" "$path")
        if [ "$kind" != tap ] || [ "$flavour" = unit ] \
            || ! suite_may_retry "$log"
        then
            note "$flavour $path failed for good: none is run again"
            return
        fi
    done

    for suite in "${failed[@]}"; do
        read -r kind flavour path <<<"$suite"
        log=$(job_log "$flavour" "$path")
        mv "$log" "${log%.log}.first.log"
        : >"$RUN/failed"
        start_suites "$flavour" "$path"
        jobs_wait
        [ -s "$RUN/failed" ] || printf 'flaky %s %s: %s\n' "$flavour" \
            "$path" "${log%.log}.first.log" >>"$RUN/flaky"
    done
}

# suite_may_retry LOG: whether nothing in it is the module's fault whatever the
# time: no report of a sanitizer or valgrind, no crash, no [alert], no hang, and
# no assertion that found more requests admitted than it expected.
suite_may_retry() {
    ! grep -qE -e '\[alert\]|exited on signal|exited with fatal code' \
        -e 'Sanitizer|runtime error:|^== |==[0-9]+== .*(Invalid|uninit)' \
        -e '^stopped: ' "$1" && ! admitted_too_many "$1"
}

# admitted_too_many LOG: whether a failed assertion has more successes than it
# expected ("200 x6, 429 x4" for "200 x5, 429 x5", 200 for 429), or a count that
# speaks of admission and is above its bound.
admitted_too_many() {
    awk '
        function successes(text,    n, part, i, parts) {
            parts = split(text, part, ",")
            for (i = 1; i <= parts; i++) {
                if (part[i] !~ /(^|[^0-9.])2[0-9][0-9]([^0-9]|$)/) continue
                n += match(part[i], / x[0-9]+/) \
                     ? substr(part[i], RSTART + 2) + 0 : 1
            }
            return n + 0
        }

        /^# +Failed / { name = $0; compared = "" }
        /^# .*(got: |\$got)/ { got = $0 }
        /^# .*(expected: |\$expected)/ && successes(got) > successes($0) {
            found = 1
        }
        /^# +(<|<=)$/ { compared = 1 }
        compared && name ~ /admit|passe[sd]|limit|too many|window|over / {
            found = 1
        }
        END { exit !found }' "$1"
}

# suites_named NAME: of the suites on stdin those of the folder t/NAME, the file
# t/NAME, or those whose path contains NAME.
suites_named() {
    local path=${1#./}

    path=${path#t/}
    path=${path%/}

    if [ -n "$path" ] && [ -d "$ROOT/t/$path" ]; then
        awk -v folder="t/$path/" 'index($0, folder) == 1'
    elif [ -f "$ROOT/t/$path" ]; then
        grep -Fx -e "t/$path"
    else
        grep -F -e "$1"
    fi
}

named_suites() {
    local flavour name list wanted=() flavours=("${FLAVOUR-}")

    [ -n "${FLAVOUR-}" ] || flavours=(release test)

    for flavour in "${flavours[@]}"; do
        list=$(suites_of "$flavour")
        for name; do
            mapfile -t -O ${#wanted[@]} wanted \
                < <(suites_named "$name" <<<"$list" | sed "s/^/$flavour /")
        done
    done
    [ ${#wanted[@]} -gt 0 ] || die "no suite of ${flavours[*]} matches: $*"

    mapfile -t wanted < <(printf '%s\n' "${wanted[@]}" | awk '!seen[$0]++')
    mapfile -t flavours < <(printf '%s\n' "${wanted[@]}" | cut -d ' ' -f 1 \
        | sed 's/^test$/release\ntest/' | awk '!seen[$0]++')
    locked flavours "${flavours[@]}"

    for name in "${wanted[@]}"; do
        start_suites "${name%% *}" "${name#* }"
    done
    jobs_wait
}

# suite FLAVOUR PATH: in a directory of its own, because Test::Nginx makes its
# server root in the t/ of the current one.
suite() {
    local flavour=$1 path=$2 rc=0 limit=300
    local work="$RUN/$flavour/${path//\//-}"
    local -x TEST_NGINX_RANDOMIZE=1 TEST_NGINX_BINARY PERL5LIB
    local -x SLIDEWIN_FLAVOUR=$flavour SLIDEWIN_ROOT=$ROOT
    local -x SLIDEWIN_REPLAY=$BUILD/replay/release/slidewin-replay

    mkdir -p "$work/t" "$work/sanitizer"
    ln -s "$ROOT"/t/* "$work/t/"
    cd "$work"

    TEST_NGINX_BINARY=$(flavour_nginx "$flavour")
    PERL5LIB=$ROOT/t/lib:$BUILD/perl/usr/share/perl5

    unset TEST_NGINX_LOAD_MODULES
    if [ "$flavour" != static ]; then
        local -x TEST_NGINX_LOAD_MODULES
        TEST_NGINX_LOAD_MODULES=$(flavour_module "$flavour")
    fi

    if [ "$flavour" = asan ]; then
        limit=900
        SLIDEWIN_REPLAY=$BUILD/replay/asan/slidewin-replay
        # commas, because Test::Nginx takes this apart to add the block's name
        local -x ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS
        ASAN_OPTIONS=detect_leaks=1,detect_odr_violation=0,print_legend=0
        ASAN_OPTIONS+=,log_path=$work/sanitizer/asan
        UBSAN_OPTIONS=print_stacktrace=1
        # a leak must not change the exit code: the process that starts nginx
        # ends with a check of its own, and would seem to have failed
        LSAN_OPTIONS=suppressions=$ROOT/tools/lsan.supp,print_suppressions=0
        LSAN_OPTIONS+=,exitcode=0
    fi

    timeout -k 10 "$limit" prove -v "$path" || rc=$?
    [ "$rc" -ne 124 ] || echo "stopped: it took more than $limit seconds"

    cd "$ROOT"
    kill_under "$work"

    local report
    for report in "$work"/sanitizer/*; do
        if [ -s "$report" ] && ! nginx_leak "$report"; then
            echo "== ${report##*/}"
            cat "$report"
            rc=1
        fi
    done

    # of an nginx whose suite did not come to look at its log
    [ "$rc" -eq 0 ] || grep -rhsF '[alert]' "$work/t" --include=error.log || :

    if [ -n "${KEEP-}" ]; then
        keep_suite "$work" "$BUILD/kept/$flavour/${path//\//-}" "$path"
    else
        rm -rf "$work"
    fi

    return "$rc"
}

# keep_suite DIRECTORY KEPT PATH: moves the directory of a suite that has run, and
# writes a script that runs the suite there once more, in the same environment but
# for random ports: Test::Nginx leaves its server root only without them.
keep_suite() {
    rm -rf "$2"
    mkdir -p "${2%/*}"
    mv "$1" "$2"
    {
        echo '#!/bin/bash'
        echo "cd '$2' || exit"
        export -p | grep -E ' (TEST_NGINX_[BL]|PERL5LIB|SLIDEWIN_|[A-Z]+SAN_)' \
            | sed "s#$1#$2#g"
        echo "KEEP=1 exec prove -v $3"
    } >"$2/again"
    chmod +x "$2/again"
    echo "kept: $2, to be run by $2/again"
}

# nginx_leak REPORT: whether there are only leaks of nginx's own that cannot be
# suppressed by a function's name: main's first pool when the configuration is
# bad, and the pool of the cycle after `nginx -t`.
nginx_leak() {
    awk -v RS= '
        / leak of / {
            first = /#2 [^\n]* in ngx_create_pool [^\n]*\n *#3 [^\n]* in main /
            cycle = /^Indirect / && / in ngx_init_cycle /
            if (!first && !cycle) bad = 1
        }
        /ERROR: LeakSanitizer/ { leaks = 1 }
        /ERROR: AddressSanitizer|runtime error:/ { bad = 1 }
        END { exit bad || !leaks }' "$1"
}

# kill_under DIRECTORY: a suite that was cut short, or an nginx whose master
# died, leaves processes behind; they are known by where they run.
kill_under() {
    local link pid

    while read -r link; do
        pid=${link#/proc/}
        kill -KILL "${pid%/cwd}" 2>/dev/null || :
    done < <(find /proc -mindepth 2 -maxdepth 2 -name cwd \
        \( -lname "$1" -o -lname "$1/*" \) 2>/dev/null || :)
}

# The module as built for users, in the nginx Debian ships.
distribution() {
    local nginx dir=$RUN/distribution version

    version=$(distribution_version)
    if [ "$NGINX_VERSION" != "$version" ] || [ -n "${NGINX_SRC-}" ]; then
        echo "left out: not $version"
        return
    fi

    nginx=$(distribution_nginx)
    mkdir -p "$dir"
    cat >"$dir/nginx.conf" <<END
load_module $(flavour_module release);
pid nginx.pid;
error_log stderr;
events { }
http {
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    access_log off;
    slidewin_redis rediss://127.0.0.1;
    slidewin_zone \$remote_addr zone=a:1m rate=10r/s;
    server {
        listen unix:$dir/socket;
        slidewin zone=a;
    }
}
END
    "$nginx" -e stderr -p "$dir/" -c "$dir/nginx.conf" -t
    echo "$version loads it"
}
