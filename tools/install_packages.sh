#!/usr/bin/env bash
# Installs what Dure builds and tests with, on Debian 12. Asks the network only when something lacks.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

packages=(
  # build
  g++ cmake ninja-build make ccache git pkg-config
  libopenmpi-dev openmpi-bin libboost1.81-dev libsimdjson-dev nlohmann-json3-dev
  libfmt-dev libspdlog-dev libcli11-dev libxxhash-dev
  # tests and checks
  libgtest-dev libgmock-dev libbenchmark-dev python3 python3-venv clang-format-14 clang-tidy-14
  clang-14 libclang-rt-14-dev lld-14
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "error: these packages are missing and neither root nor sudo is there: ${missing[*]}" >&2
    echo "hint: install them as root: apt-get install ${missing[*]}" >&2
    exit 2
  }
  as_root=(sudo -E)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
