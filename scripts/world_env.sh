#!/usr/bin/env bash
# The Python environment of the tests in tests/world: clients that people use, pinned, outside the checkout. A second run with nothing to
# do takes a moment. The last line printed is its python.
# KERNELWRIGHT_CACHE moves it (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
python=/usr/bin/python3
key=$(cat scripts/requirements-world.txt scripts/world_env.sh <($python --version) | sha256sum | cut -c1-16)
folder=$cache/world/$key
if [ ! -e "$folder/.ready" ]; then
  mkdir -p "$cache/world"
  exec 9>"$cache/world/lock"
  flock 9
fi
if [ ! -e "$folder/.ready" ]; then
  rm -rf "$folder"
  $python -m venv "$folder/venv"
  "$folder/venv/bin/pip" --disable-pip-version-check -q install --no-deps --no-cache-dir -r scripts/requirements-world.txt
  touch "$folder/.ready"
fi
echo "$folder/venv/bin/python"
