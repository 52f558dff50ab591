#!/bin/bash
#
# Builds, runs and tests the slidewin module. Everything it makes is in build/.

set -euo pipefail
shopt -s nullglob
umask 022
export LC_ALL=C.UTF-8

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
SRC=$ROOT/ngx_http_slidewin_module
BUILD=$ROOT/build
LOG=$BUILD/log

# shellcheck source=tools/say.sh
. "$ROOT/tools/say.sh"
# shellcheck source=tools/fetch.sh
. "$ROOT/tools/fetch.sh"
# shellcheck source=tools/flavour.sh
. "$ROOT/tools/flavour.sh"
# shellcheck source=tools/replay.sh
. "$ROOT/tools/replay.sh"
# shellcheck source=tools/jobs.sh
. "$ROOT/tools/jobs.sh"
# shellcheck source=tools/check.sh
. "$ROOT/tools/check.sh"
# shellcheck source=tools/suite.sh
. "$ROOT/tools/suite.sh"
# shellcheck source=tools/demo.sh
. "$ROOT/tools/demo.sh"
# shellcheck source=tools/bench.sh
. "$ROOT/tools/bench.sh"
# shellcheck source=tools/accuracy.sh
. "$ROOT/tools/accuracy.sh"
# shellcheck source=tools/pictures.sh
. "$ROOT/tools/pictures.sh"
# shellcheck source=tools/screenshots.sh
. "$ROOT/tools/screenshots.sh"

usage() {
    cat <<'END'
usage: ./build.sh VERB

  run [--redis]     build, and serve a demo on port 8080 (PORT=) until Ctrl-C,
                    counting in shared memory, or in a Redis it starts
  build             build nginx, the dynamic module and slidewin-replay
  test              build everything and run all the tests
  test NAME...      only the suites of a folder (redis/cluster), of one file, or
                    whose path contains a NAME
  asan [NAME...]    the suites under AddressSanitizer and UBSan
  unit              the C tests of the parts that do not need nginx
  fuzz [SECONDS]    every fuzz target, 60 seconds each unless told
  bench             speed beside what users would pick instead, in 20 minutes
  bench REVISION    what a check costs Redis, by the Lua scripts of a git
                    revision and by those here
  accuracy [DIR]    how far each algorithm is from the exact log, in a minute;
                    tables and figures in build/accuracy or in DIR
  pictures [DIR]    redraw the pictures of the documentation, in docs/img or
                    in DIR
  screenshots [DIR] take those of the dashboard and of the page of
                    slidewin-replay anew, in docs/img or in DIR
  check             format, words, layers, warnings, static analysis
  env               print NGINX=... and MODULE=... of the build
  clean             remove build/, the downloads included
  version           print the version of the module, without building it
  help              this text

environment:
  NGINX_VERSION     nginx to build against (default: the one this Debian ships)
  NGINX_SRC         an nginx source tree of yours, instead of a version
  FLAVOUR           for `test NAME`: release, test, asan or static
  BENCH_ROUNDS, BENCH_SECONDS
                    for `bench`: rounds (7), length of a measurement (1)
  BENCH_LINES       for `bench`: lines of the log to replay (10000000)
  ACCURACY_SEED, ACCURACY_PART
                    for `accuracy`: other random requests (1), or a part of
                    them for a quick look: 20 is a twentieth (1)
  SCREENSHOT_SECONDS
                    for `screenshots`: how long clients ask before (70)
  VERBOSE=1         show the output of suites that pass, too
  KEEP=1            keep the directories of suites, with nginx's and Redis'
                    configuration and logs, in build/kept
  NO_COLOR          no colours

The packages a verb needs are installed with apt, as root or through sudo.
END
}

# The header has it, and nothing else.
version() {
    sed -n 's/^#define NGX_HTTP_SLIDEWIN_VERSION *"\(.*\)"$/\1/p' \
        "$SRC/ngx_http_slidewin_module.h"
}

bad_usage() {
    say "$*"
    usage >&2
    exit 2
}

no_arguments() {
    [ $# -eq 1 ] || bad_usage "'$1' takes no argument: ${*:2}"
}

# A second run of this script waits for the first one's build.
locked() {
    mkdir -p "$BUILD"
    exec {lock}>"$BUILD/.lock"
    flock -n "$lock" || { note "waiting for another build"; flock "$lock"; }
    "$@"
    exec {lock}>&-
}

prepare_build() {
    need "${BUILD_PACKAGES[@]}"
    nginx_source
    hiredis
}

prepare_tests() {
    need "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${CHECK_PACKAGES[@]}" \
        "${BROWSER_PACKAGES[@]}"
    nginx_source
    hiredis
    test_nginx
    valkey
    fail2ban
    prometheus
}

prepare_check() {
    need "${BUILD_PACKAGES[@]}" "${CHECK_PACKAGES[@]}"
    nginx_source
    hiredis
}

build_release() {
    prepare_build
    flavour release
    replay_build
}

verb_build() {
    no_arguments "$@"
    locked build_release
    say "nginx   $(flavour_nginx release)"
    say "module  $(flavour_module release)"
    say "replay  $BUILD/slidewin-replay"
}

verb_env() {
    no_arguments "$@"
    locked build_release >&2
    printf 'NGINX=%s\nMODULE=%s\n' \
        "$(flavour_nginx release)" "$(flavour_module release)"
}

verb_run() {
    local redis=

    if [ "${2-}" = --redis ]; then
        redis=1
        set -- "$1" "${@:3}"
    fi
    no_arguments "$@"

    demo_port_free
    locked build_release
    [ -z "$redis" ] || need "${REDIS_PACKAGES[@]}"
    demo "$redis"
}

verb_unit() {
    no_arguments "$@"
    need "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    VERBOSE=1
    jobs_begin
    locked unit_build
    unit_tests
    jobs_end
}

verb_fuzz() {
    local seconds=${2:-60}

    [[ $# -le 2 && $seconds =~ ^[1-9][0-9]*$ ]] \
        || bad_usage "'fuzz' takes a number of seconds"
    need "${BUILD_PACKAGES[@]}" "${CHECK_PACKAGES[@]}"
    jobs_begin
    locked fuzz_build
    fuzz_targets "$seconds"
    jobs_end
}

verb_bench() {
    if [ $# -gt 1 ]; then
        git -C "$ROOT" cat-file -e "$2:lua/embed.sh" 2>/dev/null \
            || bad_usage "'bench' takes a git revision: $2 has no lua/embed.sh"
        need python3 valgrind "${REDIS_PACKAGES[@]}"
        exec python3 -B "$ROOT/bench/scripts.py" "$2"
    fi
    locked bench_prepare
    bench
}

verb_accuracy() {
    local setting

    [ $# -le 2 ] || bad_usage "'accuracy' takes one directory: ${*:2}"
    for setting in "${ACCURACY_SEED:-1}" "${ACCURACY_PART:-1}"; do
        [[ $setting =~ ^[1-9][0-9]{0,8}$ ]] \
            || bad_usage "ACCURACY_SEED and ACCURACY_PART are numbers: $setting"
    done
    need "${BUILD_PACKAGES[@]}"
    accuracy "${2:-$BUILD/accuracy}"
}

verb_pictures() {
    [ $# -le 2 ] || bad_usage "'pictures' takes one directory: ${*:2}"
    need "${BUILD_PACKAGES[@]}" python3
    pictures "${2:-$ROOT/docs/img}"
}

verb_screenshots() {
    [ $# -le 2 ] || bad_usage "'screenshots' takes one directory: ${*:2}"
    locked build_release
    need "${REDIS_PACKAGES[@]}" "${BROWSER_PACKAGES[@]}"
    screenshots "${2:-$ROOT/docs/img}"
}

verb_check() {
    no_arguments "$@"
    locked prepare_check
    jobs_begin
    locked flavours release
    locked replay_jobs
    checks
    jobs_end
}

verb_test() {
    shift
    locked prepare_tests
    jobs_begin

    locked replay_jobs

    if [ $# -gt 0 ]; then
        named_suites "$@"
    else
        locked flavours release asan test static
        locked unit_build
        locked fuzz_build
        checks
        unit_tests
        fuzz_targets 10
        all_suites
    fi

    jobs_end
}

verb_asan() {
    shift
    FLAVOUR=asan verb_test "" "${@:-.t}"
}

verb_clean() {
    no_arguments "$@"
    rm -rf -- "$BUILD"
}

main() {
    case ${1-} in
    run | build | test | unit | asan | fuzz | bench | accuracy | pictures \
        | screenshots | check | env | clean) ;;
    help | -h | --help) usage; exit ;;
    version | --version) no_arguments "$@"; version; exit ;;
    '') bad_usage "which verb?" ;;
    *) bad_usage "unknown verb: $1" ;;
    esac

    [[ $ROOT != *[[:space:]]* ]] \
        || die "nginx cannot be built in a path with spaces: $ROOT"

    local arg
    for arg in "${@:2}"; do
        [[ $arg != -* || "$1 $arg" = "run --redis" ]] \
            || bad_usage "unknown option: $arg"
    done

    mkdir -p "$LOG"
    "verb_$1" "$@"
}

main "$@"
