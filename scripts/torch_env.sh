#!/usr/bin/env bash
# The Python environment of the package's tests that need PyTorch: torch is the one that scripts/setup.sh installed, what its Python side
# loads is pinned in scripts/requirements-torch.txt. Outside the checkout; a second run with nothing to do takes a moment. The last line
# printed is its python.
# KERNELWRIGHT_CACHE moves it (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e .deps/.ready-program ] || { echo "torch-env: libtorch is missing: run make setup" >&2; exit 1; }
torch=$(readlink -f .deps/site-packages)
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
python=/usr/bin/python3
needs=(scripts/requirements-python.txt scripts/requirements-torch.txt)
key=$(cat "${needs[@]}" scripts/torch_env.sh <(echo "$torch") <($python --version) | sha256sum | cut -c1-16)
folder=$cache/torch/$key
if [ ! -e "$folder/.ready" ]; then
  mkdir -p "$cache/torch"
  exec 9>"$cache/torch/lock"
  flock 9
fi
if [ ! -e "$folder/.ready" ]; then
  rm -rf "$folder"
  $python -m venv "$folder/venv"
  pip=("$folder/venv/bin/pip" --disable-pip-version-check -q install --no-deps --no-cache-dir)
  # Messages go to standard error: the last line of standard output is the answer.
  "${pip[@]}" -r scripts/requirements-python.txt -r scripts/requirements-torch.txt >&2
  echo "$torch" >"$(echo "$folder"/venv/lib/python3*/site-packages)/kernelwright_torch.pth"
  "$folder/venv/bin/python" -c 'import torch, numpy' >&2
  touch "$folder/.ready"
fi
echo "$folder/venv/bin/python"
