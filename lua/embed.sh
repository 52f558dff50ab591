#!/bin/sh
#
# embed.sh DIRECTORY: prints a C header with the scripts of the directory, with
# what they include, and without comments and spaces that mean nothing.

set -e

# A Redis with a password reads no longer argument before it has been told, and
# ends the connection instead of saying NOAUTH.
most=16384

for script in take take_pair take_log take_strict give_back; do
    text=$(
        sed -e "/^ *-- carried.lua\$/r $1/carried.lua" \
            -e "/^ *-- turn.lua\$/r $1/turn.lua" \
            -e "/^ *-- ends.lua\$/r $1/ends.lua" \
            -e "/^ *-- log_short.lua\$/r $1/log_short.lua" \
            -e "/^ *-- log_take.lua\$/r $1/log_take.lua" "$1/$script.lua" \
            | sed -e "/^ *-- log.lua\$/r $1/log.lua" \
                -e "/^ *-- rebased.lua\$/r $1/rebased.lua" \
            | sed -E -e 's/^ *//' -e '/^--/d' -e '/^$/d' \
                -e 's/,  */,/g' -e 's/ ([=~<>]=|[=<>+*-]|\.\.) /\1/g'
    )

    if [ ${#text} -ge $most ]; then
        echo "$0: $script has ${#text} bytes, at most $most are read" >&2
        exit 1
    fi

    echo "#define NGX_HTTP_SLIDEWIN_LUA_$(echo $script | tr a-z A-Z) \\"
    printf '%s\n' "$text" \
        | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n" \\/'
    echo
done
