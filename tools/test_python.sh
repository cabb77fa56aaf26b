#!/usr/bin/env bash
# The virtual environment of the tests that use real clients. Installed once, from the package index.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
venv="$build/venv"
wanted=tests/requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt" 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
  cp "$wanted" "$venv/installed.txt"
fi
