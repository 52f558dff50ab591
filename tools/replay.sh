# shellcheck shell=bash
#
# slidewin-replay: build/slidewin-replay, and another for the suites that look
# for memory errors.

replay_program() {
    local out=$BUILD/replay/$1 options=()

    case $1 in
    asan)
        options=(CC=clang "SANITIZE=-fsanitize=address,undefined \
            -fno-sanitize-recover=undefined -fno-omit-frame-pointer")
        ;;
    esac

    mkdir -p "$out"
    quiet "replay-$1" make -f "$ROOT/tools/replay.mk" -j "$(nproc)" \
        ROOT="$ROOT" OUT="$out" VERSION="$(version)" "${options[@]}"
}

replay_build() {
    replay_program release
    ln -sf replay/release/slidewin-replay "$BUILD/slidewin-replay"
}

replay_job() {
    replay_build
    replay_program asan
    echo "slidewin-replay $(version)"
}

replay_jobs() {
    job 1 rc build replay replay_job
    jobs_wait
}
