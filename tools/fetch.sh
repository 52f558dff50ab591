# shellcheck shell=bash
#
# Debian packages, and sources that come through apt, so that apt verifies them
# and the machine's own mirror and proxy are used.

BUILD_PACKAGES=(
    gcc libc6-dev make libpcre2-dev libssl-dev zlib1g-dev xz-utils
)

REDIS_PACKAGES=(
    redis-server redis-tools
)

TEST_PACKAGES=(
    perl libtest-base-perl libtext-diff-perl liblist-moreutils-perl
    libtest-longstring-perl libwww-perl liburi-perl libhttp-message-perl
    libipc-run-perl curl jq openssl nghttp2-client procps valgrind groff-base
    python3 python3-grpcio python3-websockets
    "${REDIS_PACKAGES[@]}"
)

# Opens the operator's page as people do.
BROWSER_PACKAGES=(
    chromium chromium-driver python3-selenium fonts-dejavu-core
)

CHECK_PACKAGES=(
    clang clang-tidy llvm cppcheck shellcheck
)

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

system_apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

# None of the packages brings a daemon; servers for tests are unpacked, not
# installed, and started by the tests.
need() {
    local installed missing=() package

    command -v apt-get >/dev/null \
        || die "this script needs Debian's apt; elsewhere build the module" \
               "with nginx's ./configure --add-dynamic-module=$ROOT"

    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" \
                2>/dev/null || :)

    for package; do
        [[ $'\n'$installed$'\n' == *$'\n'"$package installed"$'\n'* ]] \
            || missing+=("$package")
    done

    # the sanitizers' runtime is versioned, and not a dependency of clang
    if [[ " $* " == *" clang "* ]]; then
        package=$(clang_runtime) || {
            quiet packages-update system_apt update
            package=$(clang_runtime) || die "apt knows no clang"
        }
        dpkg-query -s "$package" >/dev/null 2>&1 || missing+=("$package")
    fi

    [ ${#missing[@]} -gt 0 ] || return 0

    [ "$EUID" -eq 0 ] || command -v sudo >/dev/null \
        || die "only root, or sudo, can install what is missing: ${missing[*]}"
    note "installing ${missing[*]}"

    # the package lists may be absent or too old
    if ! system_apt install --no-install-recommends "${missing[@]}" \
        >"$LOG/packages.log" 2>&1 </dev/null
    then
        quiet packages-update system_apt update
        quiet packages system_apt install --no-install-recommends \
            "${missing[@]}"
    fi
}

clang_runtime() {
    local depends

    depends=$(apt-cache depends clang 2>/dev/null || :)
    [[ $depends =~ Depends:\ clang-([0-9]+) ]] || return
    echo "libclang-rt-${BASH_REMATCH[1]}-dev"
}

# The suites a source may come from: this machine's own first.
own_suite() {
    # shellcheck source=/dev/null
    (. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
}

suites() {
    { own_suite; echo trixie; echo sid; } | awk '!seen[$0]++'
}

mirror() {
    local release=$1

    # shellcheck disable=SC2016
    apt-get indextargets --no-release-info --format '$(REPO_URI)' \
        'Created-By: Packages' "Release: $release" | sort -u | head -n 1
}

# apt_of deb|deb-src SUITE apt-get|apt-cache ...: apt with one index of one
# suite and a state of its own, so that the system's sources stay as they are.
apt_of() {
    local index=$1 suite=$2 tool=$3
    local state=$BUILD/apt/$suite-$index
    shift 3

    [ -e "$state/updated" ] || apt_update "$index" "$suite"
    "$tool" -c="$state/apt.conf" "$@"
}

apt_update() {
    local index=$1 suite=$2
    local state=$BUILD/apt/$suite-$index own uri security

    own=$(own_suite)
    uri=$(mirror "$own")
    [ -n "$uri" ] || uri=$(mirror stable)
    [ -n "$uri" ] || die "apt knows no mirror of Debian's $own suite:" \
                         "see /etc/apt/sources.list and sources.list.d"

    rm -rf "$state"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"

    local key='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
    echo "$index $key $uri $suite main" >"$state/sources.list"

    if [ "$suite" = "$own" ]; then
        security=$(mirror "$own-security")
        [ -z "$security" ] || echo "$index $key $security $own-security main" \
            >>"$state/sources.list"
    fi

    # sid's release file may be past its date on a mirror that is a snapshot
    cat >"$state/apt.conf" <<END
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$state/lists";
Dir::Cache "$state/cache";
Acquire::Check-Valid-Until "false";
Acquire::Retries "3";
Acquire::Languages "none";
APT::Sandbox::User "root";
END

    note "reading the package lists of $suite ($index)"
    quiet "apt-$suite-$index" apt-get -c="$state/apt.conf" \
        -o APT::Update::Error-Mode=any update
    touch "$state/updated"
}

# get SUITE deb|deb-src ARGUMENTS...: downloads into build/dl; when it fails the
# list may have aged, so once more with a new one.
get() {
    local suite=$1 index=$2
    shift 2

    mkdir -p "$BUILD/dl"
    (
        cd "$BUILD/dl"
        apt_of "$index" "$suite" apt-get "$@" >"$LOG/download.log" 2>&1 && exit
        apt_update "$index" "$suite"
        quiet download apt_of "$index" "$suite" apt-get "$@"
    )
}

# unpack PATTERN DIRECTORY: all of it or nothing, whenever it is interrupted.
unpack() {
    local archive to=$2

    mapfile -t archive < <(find "$BUILD/dl" -name "$1" ! -name '*.asc')

    rm -rf "$to" "$to.new"
    mkdir -p "$to.new"
    case ${archive[0]-} in
    *.deb) dpkg-deb -x "${archive[0]}" "$to.new" ;;
    *.tar.*) tar -xf "${archive[0]}" -C "$to.new" --strip-components=1 ;;
    *) die "no archive $1 in $BUILD/dl" ;;
    esac
    mv "$to.new" "$to"
}

# The upstream versions of a source package, as "UPSTREAM FULL" lines.
source_versions() {
    { apt_of deb-src "$1" apt-cache showsrc --only-source "$2" || :; } \
        | sed -nE 's/^Version: (([0-9]+:)?([^-]*)(-.*)?)$/\3 \1/p' \
        | sort -Vru
}

# Sets NGINX_TREE and NGINX_VERSION.
nginx_source() {
    if [ -n "${NGINX_SRC-}" ]; then
        [ -f "$NGINX_SRC/src/core/nginx.h" ] \
            || die "NGINX_SRC=$NGINX_SRC is not an nginx source tree"
        NGINX_TREE=$(cd -- "$NGINX_SRC" && pwd -P)
        NGINX_VERSION=$(sed -nE \
            's/^#define +NGINX_VERSION +"(.*)"/\1/p' \
            "$NGINX_TREE/src/core/nginx.h")
        return
    fi

    if [ -z "${NGINX_VERSION-}" ]; then
        NGINX_VERSION=$(distribution_version)
        [ -n "$NGINX_VERSION" ] || die "apt knows no nginx: set NGINX_VERSION"
    fi

    NGINX_TREE=$BUILD/src/nginx-$NGINX_VERSION
    [ -d "$NGINX_TREE" ] || nginx_fetch
}

distribution_version() {
    local cache=$BUILD/apt/nginx-version

    if [ ! -s "$cache" ]; then
        mkdir -p "${cache%/*}"
        source_versions "$(own_suite)" nginx | awk 'NR == 1 { print $1 }' \
            >"$cache"
    fi
    cat "$cache"
}

nginx_fetch() {
    local suite versions upstream full seen=''

    for suite in $(suites); do
        versions=$(source_versions "$suite" nginx)

        while read -r upstream full; do
            seen+=$'\n'"  $full in $suite"
            [ "$upstream" = "$NGINX_VERSION" ] || continue
            note "fetching nginx $full from $suite"
            get "$suite" deb-src source --download-only "nginx=$full" || {
                seen+=", but its download failed"
                continue
            }
            unpack "nginx_$NGINX_VERSION.orig.tar.*" "$NGINX_TREE"
            return
        done <<<"$versions"
    done

    die "no source of nginx $NGINX_VERSION. apt knows:$seen"$'\n' \
        "For any other: NGINX_SRC=/path/to/its/source"
}

# Debian 12's own hiredis is too old: no TLS, no timeouts.
hiredis() {
    local version=1.2.0 tree=$BUILD/src/hiredis-1.2.0 to=$BUILD/hiredis suite

    [ ! -e "$to/lib/libhiredis_ssl.a" ] || return 0

    for suite in trixie sid; do
        [ ! -d "$tree" ] || break
        note "fetching hiredis $version from $suite"
        get "$suite" deb-src source --download-only "hiredis/$suite" || continue
        unpack "hiredis_$version.orig.tar.*" "$tree"
    done
    [ -d "$tree" ] || die "no source of hiredis $version"

    note "building hiredis $version"
    quiet hiredis make -C "$tree" -j "$(nproc)" static USE_SSL=1
    rm -rf "$to"
    mkdir -p "$to/include/hiredis" "$to/lib"
    cp "$tree"/*.h "$to/include/hiredis/"
    cp "$tree/libhiredis.a" "$tree/libhiredis_ssl.a" "$to/lib/"
}

test_nginx() {
    [ ! -d "$BUILD/perl" ] || return 0
    note "fetching Test::Nginx from sid"
    get sid deb download libtest-nginx-perl
    unpack 'libtest-nginx-perl_*.deb' "$BUILD/perl"
    low_ports || { rm -rf "$BUILD/perl"; die "Test::Nginx picks its ports anew"; }
}

# It listens on blocks of four ports anywhere from 1988 on. From 32768 on the
# kernel takes ports for clients, and one that lingers keeps nginx from starting
# for a minute: keep below.
low_ports() {
    local util=$BUILD/perl/usr/share/perl5/Test/Nginx/Util.pm

    grep -q '^    my .total_blocks = 15887;' "$util" \
        && sed -i '/^    my .total_blocks/s/15887/7695/' "$util"
}

# Another engine for the scripts. Only the backports of Debian 12 have it, and
# not every mirror has those: the suites say which engines they ran on.
valkey() {
    local suite=bookworm-backports to=$BUILD/valkey

    [ ! -e "$to/usr/bin/valkey-server" ] || return 0
    note "fetching Valkey from $suite"
    if ! get "$suite" deb download valkey-tools; then
        note "no Valkey: the suites do without"
        return 0
    fi
    # all of the server is in there, under the name of a tool
    unpack 'valkey-tools_*.deb' "$to"
    ln -s valkey-check-rdb "$to/usr/bin/valkey-server"
}

# Reads logs in a suite; installed, it might start and ban.
fail2ban() {
    [ ! -d "$BUILD/fail2ban" ] || return 0
    note "fetching fail2ban from $(own_suite)"
    get "$(own_suite)" deb download fail2ban
    unpack 'fail2ban_*.deb' "$BUILD/fail2ban"
}

# promtool and Prometheus itself, which need no library but libc; installed,
# it would be a service. What else the package wants is for its old pages.
prometheus() {
    [ ! -d "$BUILD/prometheus" ] || return 0
    note "fetching Prometheus from $(own_suite)"
    get "$(own_suite)" deb download prometheus
    unpack 'prometheus_*.deb' "$BUILD/prometheus"
}

# The nginx that Debian's users run, unpacked but not installed.
distribution_nginx() {
    if [ ! -d "$BUILD/distribution" ]; then
        get "$(own_suite)" deb download nginx
        unpack 'nginx_*.deb' "$BUILD/distribution"
    fi
    echo "$BUILD/distribution/usr/sbin/nginx"
}
