# shellcheck shell=bash
#
# ./build.sh bench

BENCH_PACKAGES=(
    python3 wrk valgrind goaccess "${REDIS_PACKAGES[@]}"
    libluajit2-5.1-2 libpcre3 liblua5.3-0 libopentracing-c-wrapper0
)

# What users would pick instead: unpacked, because an installed HAProxy starts.
PEER_PACKAGES=(
    libnginx-mod-http-ndk libnginx-mod-http-lua lua-resty-core
    lua-resty-lrucache lua-nginx-redis haproxy
)

bench_prepare() {
    local package to=$BUILD/peers

    build_release
    need "${BENCH_PACKAGES[@]}"
    DEBIAN_NGINX=$(distribution_nginx)

    for package in "${PEER_PACKAGES[@]}"; do
        [ ! -d "$to/$package" ] || continue
        note "fetching $package"
        get "$(own_suite)" deb download "$package"
        unpack "${package}_*.deb" "$to/$package"
    done

    quiet roundtrip gcc -O2 "${WARNINGS[@]}" -o "$BUILD/roundtrip" \
        "$ROOT/bench/roundtrip.c"
    quiet weblog gcc -O2 "${WARNINGS[@]}" -o "$BUILD/weblog" \
        "$ROOT/bench/weblog.c" -lm
}

bench() {
    exec python3 -B "$ROOT/bench/run.py" \
        --nginx "$(flavour_nginx release)" \
        --module "$(flavour_module release)" \
        --debian "$DEBIAN_NGINX" --peers "$BUILD/peers" \
        --roundtrip "$BUILD/roundtrip" --weblog "$BUILD/weblog" \
        --program "$BUILD/slidewin-replay" --out "$BUILD/bench"
}
