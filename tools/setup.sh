#!/usr/bin/env bash
# Installs the Debian packages that building and testing need. Idempotent, never asks.
#
#   tools/setup.sh build   what `make` and `make demo` need
#   tools/setup.sh test    the above, and what `make test`, `make bench` and `make lint` need
#
# Does nothing (and needs no root) when everything is there already.
set -euo pipefail

want=${1:-build}

packages=(
  build-essential ccache cmake git ninja-build pkg-config
  libcli11-dev libcurl4-openssl-dev libfmt-dev libgrpc++-dev libprotobuf-dev libspdlog-dev libyaml-cpp-dev
  nlohmann-json3-dev protobuf-compiler protobuf-compiler-grpc
)
case "$want" in
  build) ;;
  test)
    packages+=(
      clang-19 clang-format-19 clang-tidy-19 libbenchmark-dev libclang-rt-19-dev libgmock-dev
      libgtest-dev librapidcheck-dev openssl python3 python3-venv
    )
    ;;
  *)
    echo "setup.sh: unknown set '$want'; use 'build' or 'test'" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "setup: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup.sh: missing packages: ${missing[*]}" >&2
    echo "setup.sh: run as root, or install sudo, or install these packages yourself" >&2
    exit 1
  }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null
