#!/usr/bin/env bash
# A Python environment with what scripts/requirements-NAME.txt pins, outside the checkout; NAME is `world` (the tests in tests/world:
# clients that people use) unless an argument says otherwise. A second run with nothing to do takes a moment. The last line printed is its
# python.
# KERNELWRIGHT_CACHE moves it (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
python=/usr/bin/python3
name=${1:-world}
key=$(cat "scripts/requirements-$name.txt" scripts/world_env.sh <($python --version) | sha256sum | cut -c1-16)
folder=$cache/world/$key
if [ ! -e "$folder/.ready" ]; then
  mkdir -p "$cache/world"
  exec 9>"$cache/world/lock"
  flock 9
fi
if [ ! -e "$folder/.ready" ]; then
  rm -rf "$folder"
  $python -m venv "$folder/venv"
  "$folder/venv/bin/pip" --disable-pip-version-check -q install --no-deps --no-cache-dir -r "scripts/requirements-$name.txt"
  touch "$folder/.ready"
fi
echo "$folder/venv/bin/python"
