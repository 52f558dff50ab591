# shellcheck shell=bash
#
# ./build.sh accuracy

# accuracy DIRECTORY: of the module's own sw_*.c. Nothing in it depends on the
# machine: -ffp-contract=off keeps a compiler from rounding products less often.
accuracy() {
    local program part=${ACCURACY_PART:-1}

    mkdir -p "$BUILD" "$1"
    program=$(mktemp "$BUILD/accuracy.XXXXXX")

    quiet accuracy gcc -O2 -flto -ffp-contract=off "${WARNINGS[@]}" \
        -I"$SRC/sw" -I"$ROOT/bench/accuracy" -o "$program" \
        "$ROOT"/bench/accuracy/*.c "$SRC"/sw/*.c
    "$program" "$1/figures.tsv" "${ACCURACY_SEED:-1}" "$part" \
        | tee "$1/table.md"
    rm -f "$program"
}
