#!/bin/sh
#
# embed.sh FILE: prints a C header with the page before and after the word REPORT,
# as replay_report_head[] and replay_report_tail[]. The digests of its style and
# its script stand in its policy.

set -e

fail() {
    echo "embed.sh: $1" >&2
    exit 1
}

# part OPEN CLOSE: what is between these two lines of the page
part() {
    awk -v open="$1" -v close_="$2" '
        $0 == close_ && inside { printf "%s", text; done = 1; exit }
        inside { text = text $0 "\n" }
        $0 == open { inside = 1; text = "\n" }
        END { exit !done }' "$page"
}

# digest OPEN CLOSE: as a policy names it
digest() {
    text=$(part "$1" "$2" && echo .) || fail "no $1 in $page"
    sum=$(printf %s "${text%.}" | sha256sum | cut -c 1-64 | tr a-f A-F)
    echo "sha256-$(printf %s "$sum" | basenc --base16 -d | base64)"
}

# array NAME: of the bytes on standard input
array() {
    echo "static const unsigned char  $1[] = {"
    od -An -v -tu1 | sed -e 's/^ *//' -e 's/  */,/g' -e 's/$/,/'
    echo '};'
}

page=$1
mark='<script type="application/json" id="report">REPORT</script>'

[ "$(grep -cFx "$mark" "$page")" -eq 1 ] || fail "not one line $mark in $page"

script=$(digest '<script>' '</script>')
style=$(digest '<style>' '</style>')

head=$(sed -e "/^<script type/,\$d" -e "s|SCRIPT-DIGEST|$script|" \
           -e "s|STYLE-DIGEST|$style|" "$page")

{ echo "$head"; printf %s "${mark%REPORT*}"; } | array replay_report_head
{ echo "${mark#*REPORT}"; sed -e "1,/^<script type/d" "$page"; } \
    | array replay_report_tail
