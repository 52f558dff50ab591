# shellcheck shell=bash
#
# ./build.sh pictures

# pictures DIRECTORY: those of algorithms by a program that has the module's own
# sw_*.c in it, the charts by the figures of docs/.
pictures() {
    local trace

    mkdir -p "$BUILD" "$1"
    trace=$(mktemp "$BUILD/trace.XXXXXX")

    quiet pictures gcc -O2 "${WARNINGS[@]}" -I"$SRC/sw" -o "$trace" \
        "$ROOT/tools/pictures/trace.c" "$SRC"/sw/*.c
    python3 -B "$ROOT/tools/pictures/draw.py" "$trace" \
        "$ROOT/docs" "$1"
    rm -f "$trace"
}
