#!/usr/bin/env bash
# A wheel of the Python package that carries the program: what `make install` installs, in kernelwright/_program. docs/python.md says
# what it needs where it is installed.   scripts/python_wheel.sh [BUILD] [OUT]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
out=${2:-build/python}
python=$(scripts/world_env.sh python)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$out" "$folder/packed"
cp -r python "$folder/source"
rm -rf "$folder/source/kernelwright/_program"
"$python" -m pip --disable-pip-version-check -q wheel --no-deps --no-build-isolation -w "$folder/pure" "$folder/source"
"$python" -m wheel unpack -d "$folder" "$folder"/pure/*.whl >/dev/null
content=$(echo "$folder"/kernelwright-*)
cmake --install "$build" --prefix "$content/kernelwright/_program" --strip >"$folder/install.log" || { cat "$folder/install.log"; exit 1; }
test -x "$content/kernelwright/_program/bin/kernelwright"
cp scripts/requirements.txt "$content/kernelwright/_program/needs.txt"
"$python" -m wheel pack -d "$folder/packed" "$content" >/dev/null
platform=$("$python" -c 'import os, platform
print("manylinux_" + os.confstr("CS_GNU_LIBC_VERSION").split()[1].replace(".", "_") + "_" + platform.machine())')
"$python" -m wheel tags --remove --platform-tag "$platform" "$folder"/packed/*.whl >/dev/null
mv "$folder"/packed/*.whl "$out/"
ls -sh "$out"/kernelwright-*.whl
