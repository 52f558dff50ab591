#!/bin/sh
#
# embed.sh DIRECTORY: prints a C header with the scripts of the directory,
# without comments and indentation, and with what they include.

set -e

for script in take take_pair take_log take_strict give_back; do
    echo "#define NGX_HTTP_SLIDEWIN_LUA_$(echo $script | tr a-z A-Z) \\"
    sed -e "/^ *-- carried.lua\$/r $1/carried.lua" \
        -e "/^ *-- turn.lua\$/r $1/turn.lua" \
        -e "/^ *-- ends.lua\$/r $1/ends.lua" \
        -e "/^ *-- log_short.lua\$/r $1/log_short.lua" \
        -e "/^ *-- log_take.lua\$/r $1/log_take.lua" "$1/$script.lua" \
        | sed -e "/^ *-- log.lua\$/r $1/log.lua" \
            -e "/^ *-- rebased.lua\$/r $1/rebased.lua" \
        | sed -e 's/^ *//' -e '/^--/d' -e '/^$/d' \
            -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n" \\/'
    echo
done
