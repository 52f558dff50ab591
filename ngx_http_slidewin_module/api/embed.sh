#!/bin/sh
#
# embed.sh FILE: prints a C header with the bytes of the file, as
# ngx_http_slidewin_dashboard[].

set -e

echo 'static u_char  ngx_http_slidewin_dashboard[] = {'
od -An -v -tu1 "$1" | sed -e 's/^ *//' -e 's/  */,/g' -e 's/$/,/'
echo '};'
