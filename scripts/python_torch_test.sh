#!/usr/bin/env bash
# Tests of the Python package that need PyTorch: tasks from modules, and folders in KernelBench's form, against the real program.
# KERNELWRIGHT_PROGRAM names it; arguments go to pytest. Where the packages cannot be installed, it says so and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/torch_env.sh) || { echo "skipped: the packages of scripts/requirements-torch.txt cannot be installed here"; exit 77; }
export KERNELWRIGHT=${KERNELWRIGHT_PROGRAM:-$PWD/build/kernelwright}
export PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -q -p no:cacheprovider python/tests/test_torch_task.py python/tests/test_kernelbench.py python/tests/test_sakana.py "$@"
