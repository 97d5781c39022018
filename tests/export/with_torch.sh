#!/usr/bin/env bash
# A test of tests/export in the Python environment that has PyTorch; 77, which is a skip, where that cannot be made.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -x scripts/torch_env.sh ] || { echo "scripts/torch_env.sh is missing: the Python environment with PyTorch cannot be made"; exit 77; }
python=$(scripts/torch_env.sh | tail -1) || { echo "the Python environment with PyTorch could not be made"; exit 77; }
exec "$python" "tests/export/$1" "${@:2}"
