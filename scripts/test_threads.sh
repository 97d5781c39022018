#!/usr/bin/env bash
# Builds test programs with the thread sanitizer in build-tsan, which is configured, and runs those of their tests in which several threads
# work on the same things. A race that is found fails the program, whatever its tests say.
#   test_threads.sh short    what is built in minutes: teams of threads, rollouts, the work budget, the HTTP server (a part of `make test`)
#   test_threads.sh all      also the emulator, compilers, references, judges, conversations, training: half an hour to build
# The programs' sandboxed workers are build/kernelwright, without a sanitizer: what they do is one thread's work in a process of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

# Program and gtest filter.
short=(
  "base_test WorkBudget*"
  "arithmetic_test ThreadTeam*"
  "rollout_test -*Slow*"
  "http_test -*Slow*"
)
more=(
  "emulate_test EngineBudget*:EngineRaces*-*Slow*"
  "compile_test CompilePool*:CompileService*:CompileCachePath*:MemoryCache*-*Slow*"
  "judge_test Judge.*:JudgePool*:Batch*:JudgementBudget*-*Slow*"
  "episode_test EpisodeEngine*:EngineRequests*:JudgeFailures*:AgentModel*-*Slow*"
  "agent_service_test -*Slow*"
  "rl_test Reinforce.*:RolloutAhead.*:StartingModels*-*Slow*"
)
case ${1:-} in
  short) chosen=("${short[@]}") ;;
  all) chosen=("${short[@]}" "${more[@]}") ;;
  *) echo "usage: $0 short|all" >&2; exit 2 ;;
esac

programs=()
for test in "${chosen[@]}"; do programs+=("${test%% *}"); done
cmake --build build-tsan -j "${JOBS:-$(nproc)}" --target "${programs[@]}"

export TSAN_OPTIONS="suppressions=$PWD/tests/sanitizers/thread.supp second_deadlock_stack=1 ${TSAN_OPTIONS:-}"
# The sanitizer's memory map has no room for the most random addresses that a kernel may be told to choose.
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_addresses=(setarch "$(uname -m)" -R); fi
failed=0
for test in "${chosen[@]}"; do
  program=${test%% *} filter=${test#* } start=$SECONDS
  path=$(find build-tsan/src -type f -name "$program")
  log=build-tsan/$program.log
  if "${fixed_addresses[@]}" "$path" --gtest_filter="$filter" >"$log" 2>&1; then
    count=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\.$/\1/p' "$log")
    if [ "${count:-0}" -gt 0 ]; then
      echo "$program $filter: $count tests in $((SECONDS - start)) s, no race"
      continue
    fi
    echo "no test of $program is called $filter" >&2
  else
    cat "$log"
  fi
  echo "$program FAILED, the log is $log" >&2
  failed=1
done
exit $failed
