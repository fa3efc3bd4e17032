#!/usr/bin/env bash
# Fresh machines: `make demo` and tests in root file systems of Debian releases, made by mmdebstrap.
#   platforms.sh [RELEASE...]     bookworm, trixie and sid (unstable) unless named
# Needs root and mmdebstrap.  What is committed in this clone is tested.
#   PLATFORM_TARGETS    what `make` builds there after the demo: `test`; on sid nothing more
#   DEBIAN_MIRROR       http://deb.debian.org/debian
#   PIP_CERT            certificates that pip is to trust there as well
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" -eq 0 ] || { echo "platforms.sh: run as root" >&2; exit 1; }
bash vagrant/packages.sh mmdebstrap util-linux

make_root() { # RELEASE FOLDER
    # Mirrors that are snapshots have an index of unstable that has expired.
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,python3,make,git,procps \
        --aptopt='Acquire::Check-Valid-Until "false"' "$1" "$2" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
    && git clone --quiet . "$2/dcnlab" \
    && cp /etc/resolv.conf "$2/etc/resolv.conf" \
    && install -m 755 /dev/stdin "$2/usr/sbin/policy-rc.d" <<<$'#!/bin/sh\nexit 101' \
    && if [ -n "${PIP_CERT:-}" ]; then install -m 644 "$PIP_CERT" "$2/etc/ssl/pip.pem"; fi
}

# Its mounts and processes end with its namespaces.
in_root() { # FOLDER TARGET...
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1; shift
        mount --bind "$root" "$root"
        mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/run"; mount -t tmpfs tmpfs "$root/tmp"
        certificates=
        if [ -e "$root/etc/ssl/pip.pem" ]; then certificates=PIP_CERT=/etc/ssl/pip.pem; fi
        # Not only chroot: in one, the kernel refuses new user namespaces.
        cd "$root"; pivot_root . .; umount --lazy .
        exec env --chdir=/dcnlab --ignore-environment HOME=/root $certificates \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin make --keep-going "$@"
    ' platforms "$@" </dev/null
}

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
failed=()
[ $# -gt 0 ] || set -- bookworm trixie sid
for release in "$@"; do
    targets=(${PLATFORM_TARGETS-test})
    [ "$release" != sid ] || targets=()
    echo "== $release: make demo ${targets[*]}"
    if make_root "$release" "$work/$release" && in_root "$work/$release" demo ${targets[@]+"${targets[@]}"}; then
        echo "== $release: passed"
    else
        failed+=("$release")
        echo "== $release: FAILED"
    fi
    rm -rf --one-file-system "${work:?}/$release"
done
[ ${#failed[@]} -eq 0 ] || { echo "platforms.sh: failed: ${failed[*]}" >&2; exit 1; }
