#!/usr/bin/env bash
# From the built program to agents that were trained with it: what works here, a good and a bad kernel before the
# judge, then about ten minutes of training, and what the agents can do after it. Run it again after a stop: it resumes.
# ARGS: further options of `kernelwright train`, as --from-nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
kernelwright=build/kernelwright
run_folder=${KERNELWRIGHT_QUICKSTART:-build/runs/quickstart}
demonstration=${DEMONSTRATION:-examples/gated_softmax.yaml}
run() { echo; echo "\$ $*"; "$@"; }

run $kernelwright doctor
run $kernelwright judge softmax examples/softmax_shared.cu
# A kernel with a bug: a verdict that is not good is the exit code 1.
echo; echo "\$ $kernelwright judge softmax tests/bugs/softmax_sync_missing_before_read.cu"
$kernelwright judge softmax tests/bugs/softmax_sync_missing_before_read.cu && exit 1 || [ $? -eq 1 ]

# A finished run is moved aside, so that every call trains.
if [ -e "$run_folder/report.html" ]; then
  mv "$run_folder" "$run_folder-$(date -r "$run_folder/report.html" +%Y%m%d-%H%M%S)"
fi
# shellcheck disable=SC2086
run $kernelwright train "$run_folder" --preset quickstart ${ARGS:-}

echo
echo "What the agents can do now, on a task that training never showed:"
run $kernelwright optimize "$demonstration" --model "$run_folder" --turns 3 --samples 4 --temperature 0.7 --html "$run_folder/demonstration.html"

echo
echo "The report of the run:       $run_folder/report.html"
echo "The conversation as a page:  $run_folder/demonstration.html"
if [ -t 1 ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
  xdg-open "$run_folder/report.html" >/dev/null 2>&1 &
fi
