#!/usr/bin/env bash
# Runs the libFuzzer programs of build-asan for FUZZ_RUNS executions each. New inputs are kept in the cache folder, so every run goes on
# where the last one stopped; the seeds in tests/fuzz are committed. A crash leaves its input in build-asan/crash-*.
# FUZZ_SECONDS ends a fuzzer earlier, so that slow ones with large seeds do not hold up `make test`.
#   FUZZ_RUNS=1000000 scripts/fuzz.sh task_yaml_fuzz ...
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${FUZZ_RUNS:-20000}
cache=${KERNELWRIGHT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kernelwright}/fuzz
run_one() {
  local name=$1 program log start=$SECONDS
  program=$(find build-asan/src -type f -name "$name" | head -1)
  [ -n "$program" ] || { echo "there is no fuzzer $name in build-asan" >&2; return 1; }
  mkdir -p "$cache/$name"
  local seeds=() dictionary=()
  for folder in "tests/fuzz/$name" "tests/fuzz/$name.more"; do [ -d "$folder" ] && seeds+=("$folder"); done
  [ -e "tests/fuzz/$name.dict" ] && dictionary=(-dict="tests/fuzz/$name.dict")
  log=$(mktemp)
  if "$program" -runs="$runs" -max_total_time="${FUZZ_SECONDS:-0}" -timeout=300 -rss_limit_mb=2048 -max_len="${FUZZ_MAX_LEN:-4096}" \
    -artifact_prefix=build-asan/crash-"$name"- -print_final_stats=1 "${dictionary[@]}" "$cache/$name" "${seeds[@]}" >"$log" 2>&1; then
    echo "$name: $(awk '/stat::number_of_executed_units/ {print $2}' "$log") executions in $((SECONDS - start)) s, no crash, no hang"
    rm -f "$log"
  else
    tail -n 60 "$log"
    echo "$name: FAILED, the input is in build-asan/crash-$name-*" >&2
    return 1
  fi
}
# As many at a time as there are cores.
failed=0
running=0
for name in "$@"; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run_one "$name" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
