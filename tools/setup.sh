#!/usr/bin/env bash
# Installs the Debian packages that building and testing need. Idempotent, never asks.
#
#   tools/setup.sh build   what `make` and `make demo` need
#   tools/setup.sh test    the above, and what `make test`, `make bench` and `make lint` need
#   tools/setup.sh arm64   what `make image`, and the arm64 part of `make test-long`, need beside the above
#   tools/setup.sh lab     what `make` and `make lab` need, a Go compiler among it
#
# Does nothing (and needs no root) when everything is there already.
set -euo pipefail

want=${1:-build}

packages=(
  build-essential ccache cmake git ninja-build pkg-config
  libcli11-dev libcurl4-openssl-dev libevent-dev libfmt-dev libgrpc++-dev libncurses-dev libprotobuf-dev libspdlog-dev libssl-dev
  libtomlplusplus-dev libyaml-cpp-dev nlohmann-json3-dev protobuf-compiler protobuf-compiler-grpc zlib1g-dev
)
case "$want" in
  build) ;;
  test)
    packages+=(
      chromium-headless-shell clang-19 clang-format-19 clang-tidy-19 debootstrap libbenchmark-dev libclang-rt-19-dev
      libgmock-dev libgtest-dev librapidcheck-dev openssl python3 python3-venv zsh
    )
    ;;
  arm64)
    packages+=(
      binutils-aarch64-linux-gnu debootstrap g++-12-aarch64-linux-gnu libc6-dev-arm64-cross python3 python3-venv
      qemu-user-static
    )
    ;;
  lab)
    packages+=(
      busybox-static containernetworking-plugins iproute2 openssl procps python3 runc util-linux
    )
    ;;
  *)
    echo "setup.sh: unknown set '$want'; use 'build', 'test', 'arm64' or 'lab'" >&2
    exit 2
    ;;
esac

# Of Debian's package prometheus the tests take the two programs alone: installed whole it would run a server here.
cache=${TRANCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tranche}
prometheus=$cache/prometheus
has_prometheus() {
  { [ -x "$prometheus/promtool" ] || command -v promtool; } && { [ -x "$prometheus/prometheus" ] || command -v prometheus; }
}
no_prometheus=0
if [ "$want" = test ] && ! has_prometheus >/dev/null; then
  no_prometheus=1
fi

# Bundles the web page. Where Node.js came in another way it may be there without Debian's packages.
for program in node npm; do
  command -v $program >/dev/null || packages+=("${program/%node/nodejs}")
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
no_go=0
if [ "$want" = lab ] && ! command -v go >/dev/null; then
  no_go=1
fi
[ $((${#missing[@]} + no_go + no_prometheus)) -gt 0 ] || exit 0

get_prometheus() {
  local folder
  folder=$(mktemp -d)
  # Without lists of packages, which only root can get, there is nothing to get it from.
  if (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root prometheus) &&
    dpkg-deb --fsys-tarfile "$folder"/prometheus_*.deb | tar -C "$folder" -x ./usr/bin/prometheus ./usr/bin/promtool &&
    "$folder/usr/bin/prometheus" --version >/dev/null 2>&1; then
    mkdir -p "$prometheus"
    mv "$folder/usr/bin/prometheus" "$folder/usr/bin/promtool" "$prometheus"
  fi
  rm -rf "$folder"
  has_prometheus >/dev/null || {
    echo "setup.sh: no prometheus and promtool from Debian's package; run apt-get update, or put both on PATH" >&2
    return 1
  }
}

names=("${missing[@]}")
[ $no_go = 0 ] || names+=(golang-go)
[ $no_prometheus = 0 ] || names+=(prometheus)
echo "setup: installing ${names[*]}"
# As anybody, where root has got the lists before.
if [ $((${#missing[@]} + no_go)) = 0 ] && get_prometheus 2>/dev/null; then
  exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup.sh: missing packages: ${missing[*]}" >&2
    echo "setup.sh: run as root, or install sudo, or install these packages yourself" >&2
    exit 1
  }
  as_root=(sudo)
fi

# The release's own Go is too old to fetch a newer one by itself; that of its backports is not.
# They lie where this machine gets its packages from.
add_backports() {
  local suite=bookworm-backports from
  apt-cache policy | grep -q "n=$suite" && return
  from=$(apt-get indextargets --format '$(SITE) $(RELEASE)' 'Created-By: Packages' |
    awk '$2 == "bookworm" { print $1; exit }')
  [ -n "$from" ] || {
    echo "setup.sh: no source of Debian 12 packages is set up; install Go 1.21 or newer yourself" >&2
    exit 1
  }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from $suite main" |
    "${as_root[@]}" tee /etc/apt/sources.list.d/tranche-backports.list >/dev/null
}

install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

[ $no_go = 0 ] || add_backports
"${as_root[@]}" apt-get update -qq
[ ${#missing[@]} = 0 ] || install "${missing[@]}"
[ $no_go = 0 ] || install -t bookworm-backports golang-go
[ $no_prometheus = 0 ] || get_prometheus
