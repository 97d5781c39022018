#!/usr/bin/env bash
# The Python environment of one framework that our adapters are tested with: scripts/framework_env.sh trl
# Every package is pinned in scripts/frameworks/NAME.txt and installed without dependency resolution, outside the checkout. torch is the
# one that scripts/setup.sh installed: never a second copy. A second run with nothing to do takes a moment. The last line printed is
# its python.
# KERNELWRIGHT_CACHE moves it (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
say() { echo "framework-env: $*" >&2; }
name=${1:?"usage: scripts/framework_env.sh trl|verl|openenv|verifiers|wandb"}
list=scripts/frameworks/$name.txt
[ -e "$list" ] || { say "there is no $list"; exit 1; }
torch=
if grep -q '^# torch: ours' "$list"; then
  torch=$(readlink -f .deps/site-packages) || true
  [ -e "$torch/torch/__init__.py" ] || { say "libtorch is missing: run make setup"; exit 1; }
fi
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
python=/usr/bin/python3
key=$(cat "$list" scripts/framework_env.sh <(echo "$torch") <($python --version) | sha256sum | cut -c1-16)
folder=$cache/frameworks/$name-$key
if [ ! -e "$folder/.ready" ]; then
  mkdir -p "$cache/frameworks"
  exec 9>"$cache/frameworks/$name.lock"
  flock 9
fi
if [ ! -e "$folder/.ready" ]; then
  rm -rf "$folder"
  say "installing in $folder"
  $python -m venv "$folder/venv"
  "$folder/venv/bin/pip" --disable-pip-version-check -q install --no-deps --no-cache-dir -r "$list" >&2
  [ -z "$torch" ] || echo "$torch" >"$(echo "$folder"/venv/lib/python3*/site-packages)/kernelwright_torch.pth"
  touch "$folder/.ready"
fi
echo "$folder/venv/bin/python"
