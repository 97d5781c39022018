#!/usr/bin/env bash
# Tests that need an NVIDIA GPU, in ten minutes to half an hour; where there is none they are skipped, and the reason is said.
#   KW_BUILD    folder with the programs (default build)
#   KW_RESULTS  where the tables go (default build/gpu-results)
#   KW_THOROUGH 1: agree, self, soak and speed take kernels of all tasks, not of every third
#   KW_STEPS    some of: tests agree self repeat soak speed load_inline sanitizer calibrate kernels model ranks (default: all but the last three)
set -uo pipefail
cd "$(dirname "$0")/.."
skip() { echo "GPU tests skipped: $*"; exit 0; }
build=${KW_BUILD:-build}
results=${KW_RESULTS:-$build/gpu-results}
steps=${KW_STEPS:-tests agree self repeat soak speed load_inline sanitizer calibrate}
command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU || skip "no NVIDIA GPU on this machine"
find_program() { for place in "$build/$1" "$build"/src/*/*/"$1" "$build"/src/*/"$1"; do [ -x "$place" ] && { echo "$place"; return; }; done; }
program=$(find_program kernelwright)
bench=$(find_program gpu_bench)
[ -n "$program" ] && [ -n "$bench" ] || skip "no kernelwright, or no gpu_bench, in $build; run make build"
export KERNELWRIGHT_TASKS=${KERNELWRIGHT_TASKS:-$PWD/tasks} KERNELWRIGHT_PROFILES=${KERNELWRIGHT_PROFILES:-$PWD/profiles}
mkdir -p "$results"
failed=0

# step NAME LIMIT_SECONDS COMMAND...: output into NAME.md, the end of it shown.
step() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  timeout "$limit" "$@" >"$results/$name.md" 2>"$results/$name.log"
  code=$?
  tail -n "${SHOWN:-12}" "$results/$name.md"
  echo "--- $name: exit code $code after $((SECONDS - start)) s"
  [ $code -eq 0 ] || { failed=1; tail -n 5 "$results/$name.log"; }
}

for each in $steps; do
  case $each in
    tests)
      for test in gpu reference counters model_gpu; do
        found=$(find_program ${test}_test)
        # Those of ranks run over a driver and an NCCL that are emulated; on a card ranks are the step of that name.
        [ -n "$found" ] && step "${test}_test" 120 "$found" --gtest_filter='*Gpu*:-ModelGpuRanks*'
      done ;;
    agree) step agree 450 "$bench" agree ;;
    self) step self 270 "$bench" self ;;
    repeat) step repeat 150 "$bench" repeat ;;
    soak) step soak 300 "$bench" soak --kernels "${KW_SOAK:-600}" ;;  # 2,000 take 150 s
    speed)
      SHOWN=12 step speed 120 "$bench" speed --kernels 600 --only "values, emulator first"
      SHOWN=12 step speed_time 120 "$bench" speed --kernels 300 --only "values and time, emulator first" ;;
    load_inline)
      if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null && command -v nvcc >/dev/null; then
        step load_inline 200 python3 scripts/time_load_inline.py relu/naive
      else
        echo "--- load_inline: skipped: python3 has no torch with CUDA, or nvcc is missing"
      fi ;;
    sanitizer)
      if command -v compute-sanitizer >/dev/null; then
        step sanitizer_bugs 240 python3 scripts/sanitize_corpus.py "$bench" --only bugs --tools memcheck,racecheck --jobs 14
        step sanitizer_correct 120 python3 scripts/sanitize_corpus.py "$bench" --only correct --limit 24 --jobs 14
        step sanitizer_ours 120 python3 scripts/sanitize_corpus.py "$bench" --only correct --limit 4 --tools memcheck,initcheck,synccheck --ours --jobs 4
      else
        echo "--- sanitizer: skipped: compute-sanitizer is not on PATH"
      fi ;;
    calibrate) step calibrate 240 "$program" calibrate --measure "$results/kernels.jsonl" --out "$results/fitted.yaml" ;;
    model)  # training and generation, ours and Hugging Face's
      step model_gpu 150 "$(find_program model_gpu_bench)" correct decode train
      step model_huggingface 200 python3 scripts/gpu_huggingface_baseline.py --models small-30m,smollm2-135m,qwen2.5-coder-0.5b ;;
    ranks) step ranks 260 python3 scripts/gpu_ranks.py "$results/ranks" --build "$build" ;;  # several on this card
    kernels) step kernels 500 python3 scripts/check_kernels_on_gpu.py "$results/kernels.md" ;;
    exports) step exports 500 env KERNELWRIGHT_PROGRAM="$program" python3 scripts/check_exports_on_gpu.py ;;
    *) echo "unknown step: $each"; failed=1 ;;
  esac
done
echo "results in $results"
exit $failed
