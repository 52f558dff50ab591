# shellcheck shell=bash
#
# ./build.sh screenshots [DIR]

# screenshots DIRECTORY: of the dashboard of the demo, while clients ask it, and
# of the same without its Redis; of the page of slidewin-replay. The dashboard
# shows the path of its Redis: one that is not of this machine alone.
screenshots() {
    local port pid dir rc=0

    # below those that the kernel takes for clients
    for ((port = 20080; port < 20180; port++)); do
        (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
    done

    mkdir -p "$1"
    dir=$(mktemp -d /tmp/demo.XXXXXX)
    DEMO_DIR=$dir PORT=$port "$ROOT/build.sh" run --redis \
        >"$LOG/screenshots.log" 2>&1 &
    pid=$!
    trap 'kill -TERM "$pid" 2>/dev/null || :; rm -rf "$dir"' EXIT

    /usr/bin/python3 -B "$ROOT/tools/screenshots.py" "$port" \
        "$dir/redis.sock" "${SCREENSHOT_SECONDS:-70}" \
        "$BUILD/slidewin-replay" "$1" || rc=$?

    kill -TERM "$pid" 2>/dev/null || :
    wait "$pid" || :
    rm -rf "$dir"
    trap - EXIT
    return "$rc"
}
