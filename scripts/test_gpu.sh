#!/usr/bin/env bash
# Tests that need an NVIDIA GPU; where there is none they are skipped, and the reason is said.
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "GPU tests skipped: $*"; exit 0; }
command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU || skip "no NVIDIA GPU on this machine"
# References on the GPU and their times; they skip themselves, with the reason, where torch cannot use it.
[ ! -x build/src/reference/reference_test ] || build/src/reference/reference_test --gtest_filter='*Gpu*'
command -v nvcc >/dev/null || skip "nvcc is not on PATH"
python3 -c 'import torch, yaml; assert torch.cuda.is_available()' 2>/dev/null || skip "python3 has no torch with CUDA, or no PyYAML"
mkdir -p build
exec python3 scripts/check_kernels_on_gpu.py build/kernels.md
