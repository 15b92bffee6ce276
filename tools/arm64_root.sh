#!/usr/bin/env bash
# Makes a tree of Debian 12's libraries for arm64: the preset arm64 compiles against it, its programs run with it on
# an emulated processor, and deploy/image/build takes the image's libraries from it.
#
# The packages are unpacked and not installed: no package of this machine changes, and nothing of arm64 runs meanwhile.
# What dpkg would know of them is written beside, for the image's bill of materials. Does nothing where it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# As tools/setup.sh has them for this machine.
packages=libc6-dev,libstdc++-12-dev,libcli11-dev,libcurl4-openssl-dev,libevent-dev,libfmt-dev,libgmock-dev,libgrpc++-dev,libncurses-dev
packages+=,libgtest-dev,libprotobuf-dev,librapidcheck-dev,libspdlog-dev,libssl-dev,libtomlplusplus-dev,libyaml-cpp-dev
packages+=,ncurses-base,nlohmann-json3-dev

cache=${TRANCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tranche}
root=$cache/arm64-$(sha256sum "$0" | cut -c1-12)

make_root() { # folder
  local from work=$1.download info=$1/var/lib/dpkg/info deb name
  # Where this machine gets its packages from.
  from=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 == "bookworm" { print $1; exit }')
  rm -rf "$1" "$work"
  mkdir -p "$1"/usr/{bin,lib,sbin} "$info"
  for name in bin lib sbin; do ln -s "usr/$name" "$1/$name"; done
  debootstrap --arch=arm64 --variant=minbase --download-only --include="$packages" bookworm "$work" \
    "${from:-http://deb.debian.org/debian}" >"$1.log" 2>&1 || { tail -n 20 "$1.log" >&2; return 1; }
  for deb in "$work"/var/cache/apt/archives/*.deb; do
    # Below /lib as below /usr/lib, which are one in Debian 12.
    dpkg-deb --fsys-tarfile "$deb" | tar --extract --keep-directory-symlink --directory "$1"
    name=$(dpkg-deb --field "$deb" Package)
    dpkg-deb --fsys-tarfile "$deb" | tar --list | sed 's|^\.||; s|/$||; s|^$|/.|' >"$info/$name.list"
    { dpkg-deb --field "$deb" | sed '1a Status: install ok installed'; echo; } >>"$1/var/lib/dpkg/status"
  done
  rm -rf "$work" "$1.log"
}

if [ ! -d "$root" ]; then
  echo "arm64: unpacking Debian's libraries for it"
  make_root "$root.new"
  mv "$root.new" "$root"
fi
mkdir -p build
ln -sfn "$root" build/arm64-root
