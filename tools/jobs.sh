# shellcheck shell=bash
#
# Runs tests side by side, a line of progress for each, and counts.

# job writes its result here, so that two runs of this script do not meet
jobs_begin() {
    RUN=$BUILD/run/$$
    mkdir -p "$RUN/results"
    : >"$RUN/failed"
    STARTED=$EPOCHREALTIME
    trap jobs_abort EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

jobs_abort() {
    local pid

    trap '' INT TERM
    for pid in $(descendants); do
        kill "$pid" 2>/dev/null || :
    done
    wait
    kill_under "$RUN"
    rm -rf "$RUN"
}

# The processes below this one: a job's own children are in groups of their own.
descendants() {
    awk -v top="$$" '
        /^Pid:/ { pid = $2 }
        /^PPid:/ { parent[pid] = $2 }
        END {
            for (pid in parent) {
                for (p = parent[pid]; p > 1 && p != top; p = parent[p]) { }
                if (p == top) print pid
            }
        }' /proc/[0-9]*/status 2>/dev/null
}

# job PARALLEL KIND LABEL NAME COMMAND...: starts it once fewer than PARALLEL are
# running. KIND is tap (its output is TAP) or rc (it is one test, and the last
# line it prints goes into the line of progress).
job() {
    local parallel=$1
    shift

    while [ "$(jobs -pr | wc -l)" -ge "$parallel" ]; do
        wait -n || :
    done
    job_run "$@" &
}

jobs_wait() {
    wait
}

elapsed() {
    awk -v from="$1" -v to="$EPOCHREALTIME" \
        'BEGIN { printf "%.1f s", to - from }'
}

# job_log LABEL NAME: where its output is.
job_log() {
    echo "$LOG/$1/${2//\//-}.log"
}

job_run() {
    local kind=$1 label=$2 name=$3
    local log start=$EPOCHREALTIME
    local rc ok bad about state
    shift 3

    log=$(job_log "$label" "$name")
    mkdir -p "${log%/*}"

    # not `if "$@"`: that would switch off errexit inside of it
    set +e
    (set -e; "$@") >"$log" 2>&1 </dev/null
    rc=$?
    set -e

    case $kind in
    tap)
        ok=$(grep -cE '^ok [0-9]' "$log" || :)
        bad=$(grep -cE '^not ok [0-9]' "$log" || :)
        about="$((ok + bad)) tests"
        if [ $((ok + bad)) -eq 0 ]; then
            rc=1
        fi
        if [ "$rc" -eq 0 ]; then
            ok=$((ok + bad)) bad=0      # those that failed were marked TODO
        elif [ "$bad" -eq 0 ]; then
            bad=1                       # it died, or stopped early
        fi
        ;;
    rc)
        about=$(tail -n 1 "$log")
        ok=$((rc == 0)) bad=$((rc != 0))
        [ "$rc" -eq 0 ] || about=
        ;;
    esac

    paint 1
    state="${green}ok  $plain"
    [ "$rc" -eq 0 ] || state="${red}FAIL$plain"

    echo "$ok $bad" >"$RUN/results/$label-${name//\//-}"
    [ "$rc" -eq 0 ] || echo "$kind $label $name" >>"$RUN/failed"

    # one at a time, so that a report stays in one piece
    {
        flock 3
        printf '%s %-8s %-50s %-20s %8s\n' "$state" "$label" "$name" "$about" \
            "$(elapsed "$start")"
        if [ "$rc" -ne 0 ] || [ -n "${VERBOSE-}" ]; then
            sed 's/^/     /' "$log"
        fi
    } 3>"$RUN/output"
}

jobs_end() {
    local files ok bad

    jobs_wait
    files=("$RUN"/results/*)
    [ ${#files[@]} -gt 0 ] || die "nothing to test"
    read -r ok bad < <(awk '{ ok += $1; bad += $2 } END { print ok, bad }' \
        "${files[@]}")

    [ ! -s "$RUN/flaky" ] || cat "$RUN/flaky"
    note "logs: $LOG, time: $(elapsed "$STARTED")"
    echo "$ok passed, $bad failed"
    [ "$bad" -eq 0 ]
}
