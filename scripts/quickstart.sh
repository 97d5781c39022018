#!/usr/bin/env bash
# The main job on this machine, start to end: what works here, are the tasks sound, judge kernels, good ones
# and a bad one, and let the agents write and improve some.
set -euo pipefail
cd "$(dirname "$0")/.."
kernelwright=build/kernelwright
run() { echo; echo "\$ $*"; "$@"; }
run $kernelwright doctor
run $kernelwright tasks check
run $kernelwright plan softmax examples/softmax_shared.cu --size rows=512,cols=8192
run $kernelwright judge softmax examples/softmax_shared.cu
for example in examples/*.cu; do
  task=$(sed -n 's#^// task: \([a-z0-9_]*\).*#\1#p' "$example" | head -1)
  echo; echo "\$ $kernelwright judge $task $example"
  $kernelwright judge "$task" "$example" | tail -n 3
done
# A kernel with a bug: a verdict that is not good is the exit code 1.
echo; echo "\$ $kernelwright judge softmax tests/bugs/softmax_sync_missing_before_read.cu"
$kernelwright judge softmax tests/bugs/softmax_sync_missing_before_read.cu && exit 1 || [ $? -eq 1 ]
# The agents that ship with it: a kernel from nothing, and one made faster, judged in the emulator.
run $kernelwright generate relu
run $kernelwright optimize softmax --turns 3 --samples 4 --temperature 0.7 --html build/optimize_softmax.html
run $kernelwright evaluate tiny --split composition --tasks 25
echo; echo "The conversation about softmax as a page: build/optimize_softmax.html"
