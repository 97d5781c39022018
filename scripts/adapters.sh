#!/usr/bin/env bash
# The long forms of the adapters' tests, each with the real framework; writes bench/results/adapters.md. Half an hour on two idle cores.
#   scripts/adapters.sh [trl|openenv|verifiers|verl|wandb ...]    only these; the page is printed instead of written
set -euo pipefail
cd "$(dirname "$0")/.."
export KERNELWRIGHT=${KERNELWRIGHT_PROGRAM:-$PWD/build/kernelwright}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$folder/page.md

# Shows a command as a person types it, runs it, and keeps what it prints on standard output.
show() {
  echo '```' >>"$page"
  echo "\$ $*" | sed "s|$folder/||g; s|$KERNELWRIGHT|kernelwright|g" >>"$page"
  "$@" 2>"$folder/log" | sed "s|$folder/||g" >>"$page" || { tail -40 "$folder/log" >&2; echo "failed: $*" >&2; exit 1; }
  echo '```' >>"$page"
  echo >>"$page"
}

trl() {
  echo "## TRL $(version trl trl): GRPOTrainer, 20 steps, our judge as reward" >>"$page"
  echo >>"$page"
  show scripts/framework_run.sh trl python/examples/trl_grpo.py --seeds 1 2 3
  show scripts/framework_run.sh trl python/examples/trl_environment.py --steps 2
}

openenv() {
  echo "## OpenEnv $(version openenv openenv): 50 episodes" >>"$page"
  echo >>"$page"
  show scripts/framework_run.sh openenv python/examples/openenv_episodes.py --episodes 50
}

verifiers() {
  echo "## verifiers $(version verifiers verifiers): 50 episodes" >>"$page"
  echo >>"$page"
  show scripts/framework_run.sh verifiers python/examples/verifiers_episodes.py --episodes 50
}

verl() {
  echo "## VERL $(version verl verl): rollout of the V1 trainer, two roles" >>"$page"
  echo >>"$page"
  show "$KERNELWRIGHT" data export --for verl --style compact --tasks 2 --family reduce_last --out "$folder/tasks.parquet"
  show scripts/framework_run.sh verl python/examples/verl_loop.py "$folder/tasks.parquet"
}

wandb() {
  echo "## W&B $(version wandb wandb): offline files" >>"$page"
  echo >>"$page"
  show scripts/framework_run.sh wandb python/examples/wandb_sync.py "$folder"
}

version() { "$(scripts/framework_env.sh "$1")" -c "import importlib.metadata as m; print(m.version('$2'))"; }

cat >"$page" <<END
# Frameworks on top of the judge

Written by \`scripts/adapters.sh\` ([docs/frameworks.md](../../docs/frameworks.md)). Machine: $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs),
$(nproc) cores, no GPU; load before: $(cut -d' ' -f1 /proc/loadavg).

END
if [ $# -gt 0 ]; then
  for one in "$@"; do "$one"; done
  cat "$page"
else
  trl; openenv; verifiers; verl; wandb
  cp "$page" bench/results/adapters.md
fi
