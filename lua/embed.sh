#!/bin/sh
#
# embed.sh DIRECTORY: prints a C header with the scripts of the directory,
# DIRECTORY/*.lua, without comments and spaces that mean nothing.
#
# A line "-- include part/NAME.lua" of a script, or of a part, stands for the
# text of that file: a part is no Lua module, and sees the locals around it. A
# part that does not exist, or that no script includes, is an error.

set -e
LC_ALL=C

# A Redis with a password reads no longer argument before the connection has
# authenticated, and closes the connection instead of answering NOAUTH.
most=16384

# expand FILE: prints the file, and each part where it is included. The line
# that includes a part stays.
expand() {
    awk -v script="$1" -v directory="${1%/*}" '
        function fail(why) {
            print script ": " why | "cat >&2"
            exit failed = 1
        }

        function expand(file,    line, status) {
            if (file in expanding)
                fail(file " includes itself")
            expanding[file]

            while ((status = getline line < file) > 0) {
                print line
                if (line ~ /^ *-- include /) {
                    sub(/^ *-- include /, "", line)
                    expand(directory "/" line)
                }
            }
            if (status < 0)
                fail(file " cannot be read")

            close(file)
            delete expanding[file]
        }

        BEGIN { expand(script); exit failed }
    '
}

squeeze() {
    sed -E -e 's/^ *//' -e '/^--/d' -e '/^$/d' \
        -e 's/,  */,/g' -e 's/ ([=~<>]=|[=<>+*/%^-]|\.\.) /\1/g' \
        -e 's/^(=|\.\.) /\1/' -e 's/([{)]) /\1/g' -e 's/ \}/}/g'
}

all=

for script in "$1"/*.lua; do
    name=${script##*/}
    name=${name%.lua}
    whole=$(expand "$script")
    text=$(printf '%s\n' "$whole" | squeeze)
    all="$all
$whole"

    if [ ${#text} -ge $most ]; then
        echo "$0: $name has ${#text} bytes, at most $most are read" >&2
        exit 1
    fi

    echo "#define NGX_HTTP_SLIDEWIN_LUA_$(echo "$name" | tr a-z A-Z) \\"
    printf '%s\n' "$text" \
        | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n" \\/'
    echo
done

for part in "$1"/part/*; do
    if ! printf '%s\n' "$all" \
        | grep -q "^ *-- include part/${part##*/}\$"
    then
        echo "$0: $part is not included by any script" >&2
        exit 1
    fi
done
