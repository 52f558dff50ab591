#!/bin/sh
#
# embed.sh DIRECTORY: prints a C header with the scripts of the directory,
# DIRECTORY/*.lua, without comments and spaces that mean nothing.
#
# A line "-- include FILE" of a script, or of a part, stands for the text of that
# file: a part is no Lua module, and sees the locals around it. In the line
# "-- include FILE for NAME" it stands for it in the script NAME alone. A part
# that does not exist, or that no script includes, is an error.

set -e
LC_ALL=C

# A Redis with a password reads no longer argument before the connection has
# authenticated, and closes the connection instead of answering NOAUTH.
most=16384

# expand FILE: prints the file, and each part where it is included. The line
# that includes a part stays.
expand() {
    awk -v script="$1" -v directory="${1%/*}" -v name="$name" '
        function fail(why) {
            print script ": " why | "cat >&2"
            exit failed = 1
        }

        function expand(file,    line, word, status) {
            if (file in expanding)
                fail(file " includes itself")
            expanding[file]

            while ((status = getline line < file) > 0) {
                print line
                if (line ~ /^ *-- include /) {
                    split(line, word)
                    if (word[4] == "" || word[5] == name)
                        expand(directory "/" word[3])
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

# Names of more than three letters become one or two capital letters: a script
# may be as long as it needs to be in order to be read. Only what is Lua's or
# Redis' keeps its name.
shorten() {
    awk '
        BEGIN {
            n = split("and break do else elseif end false for function if in " \
                      "local nil not or repeat return then true until while " \
                      "KEYS ARGV redis call pcall error_reply status_reply " \
                      "sha1hex struct pack unpack size math abs ceil floor " \
                      "fmod huge max min modf pow sqrt table concat insert " \
                      "maxn remove sort string byte char find format gmatch " \
                      "gsub len lower match rep reverse sub upper assert " \
                      "error ipairs next pairs select tonumber tostring type " \
                      "cjson cmsgpack bit", kept)
            for (i = 1; i <= n; i++)
                keep[kept[i]]
            letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        }

        function short(name,    i) {
            if (length(name) < 4 || name in keep)
                return name
            if (!(name in names)) {
                i = count++
                names[name] = substr(letters, i % 26 + 1, 1)
                if (i >= 26)
                    names[name] = substr(letters, int(i / 26), 1) names[name]
            }
            return names[name]
        }

        # text between quotes stays as it is

        {
            n = split($0, piece, "\047")
            line = ""
            for (i = 1; i <= n; i++) {
                text = piece[i]
                if (i % 2 == 0) {
                    line = line "\047" text "\047"
                    continue
                }
                while (match(text, /[A-Za-z_][A-Za-z_0-9]*/)) {
                    line = line substr(text, 1, RSTART - 1) \
                           short(substr(text, RSTART, RLENGTH))
                    text = substr(text, RSTART + RLENGTH)
                }
                line = line text
            }
            print line
        }
    '
}

all=

for script in "$1"/*.lua; do
    name=${script##*/}
    name=${name%.lua}
    whole=$(expand "$script")
    text=$(printf '%s\n' "$whole" | squeeze | shorten)
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
        | grep "^ *-- include part/${part##*/}\( for .*\)*\$" > /dev/null
    then
        echo "$0: $part is not included by any script" >&2
        exit 1
    fi
done
