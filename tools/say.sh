# shellcheck shell=bash
#
# What the user sees.

# paint FD: sets the colour variables, empty unless FD is a terminal.
paint() {
    if [ -t "$1" ] && [ -z "${NO_COLOR-}" ] && [ "${TERM-}" != dumb ]; then
        bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m'
        yellow=$'\e[33m' plain=$'\e[0m'
    else
        bold='' dim='' red='' green='' yellow='' plain=''
    fi
}

say() {
    printf '%s\n' "$*" >&2
}

note() {
    paint 2
    say "$dim$*$plain"
}

die() {
    paint 2
    say "${red}build.sh:$plain $*"
    exit 1
}

# quiet NAME COMMAND...: its output goes to a log, shown only on failure.
quiet() {
    local log=$LOG/$1.log
    shift

    mkdir -p "${log%/*}"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        say "failed: $* (whole log: $log)"
        return 1
    fi
}
