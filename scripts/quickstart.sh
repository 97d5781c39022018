#!/usr/bin/env bash
# The main job on this machine, start to end: what works here, are the tasks sound, and compile a kernel with all its figures.
set -euo pipefail
cd "$(dirname "$0")/.."
kernelwright=build/kernelwright
run() { echo; echo "\$ $*"; "$@"; }
run $kernelwright doctor
run $kernelwright tasks check
run $kernelwright plan softmax examples/softmax_shared.cu --size rows=512,cols=8192
run $kernelwright compile softmax examples/softmax_shared.cu
for example in examples/*.cu; do
  task=$(sed -n 's#^// task: \([a-z0-9_]*\).*#\1#p' "$example" | head -1)
  echo; echo "\$ $kernelwright compile $task $example"
  $kernelwright compile "$task" "$example" | tail -n 3
done
