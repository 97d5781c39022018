#!/usr/bin/env bash
# The Python environment that the parity scripts compare with: transformers, peft, bitsandbytes, gguf, tokenizers, tiktoken, all pinned.
# torch is the one that scripts/setup.sh installed. Lies outside the checkout; a second run with nothing to do takes a moment. The last
# line printed is the folder.
# KERNELWRIGHT_CACHE moves it (default ~/.cache/kernelwright).
set -euo pipefail
cd "$(dirname "$0")/.."
say() { echo "parity-env: $*" >&2; }

[ -e .deps/.ready-program ] || { say "libtorch is missing: run make setup"; exit 1; }
torch=$(readlink -f .deps/site-packages)
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}
python=/usr/bin/python3
# Another pin, another torch, another script: another folder.
key=$(cat scripts/requirements-parity.txt scripts/parity_env.sh <(echo "$torch") <($python --version) | sha256sum | cut -c1-16)
folder=$cache/parity/$key

if [ ! -e "$folder/.ready" ]; then
  mkdir -p "$cache/parity"
  exec 9>"$cache/parity/lock"
  flock 9
fi
if [ ! -e "$folder/.ready" ]; then
  rm -rf "$folder"
  start=$SECONDS
  say "installing in $folder (about 500 MB)"
  $python -m venv "$folder/venv"
  pip=("$folder/venv/bin/pip" --disable-pip-version-check -q)
  "${pip[@]}" install --no-deps --no-cache-dir -r scripts/requirements-parity.txt
  echo "$torch" >"$(echo "$folder"/venv/lib/python3*/site-packages)/kernelwright_torch.pth"

  # Qwen's vocabulary, as its makers publish it on PyPI.
  "${pip[@]}" download --no-deps -d "$folder/download" dashscope==2.0.2
  $python - "$folder" <<'PYTHON'
import glob, pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
wheel = zipfile.ZipFile(glob.glob(str(folder / "download" / "dashscope-*.whl"))[0])
(folder / "qwen.tiktoken").write_bytes(wheel.read("dashscope/resources/qwen.tiktoken"))
PYTHON
  echo "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186  $folder/qwen.tiktoken" | sha256sum --check --quiet
  rm -rf "$folder/download"
  "$folder/venv/bin/python" -c 'import torch, transformers, peft, bitsandbytes, gguf, safetensors, tokenizers, tiktoken' 
  say "installed in $((SECONDS - start)) s"
  touch "$folder/.ready"
fi
echo "$folder"
