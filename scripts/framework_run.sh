#!/usr/bin/env bash
# Runs a Python file with one of the frameworks of scripts/framework_env.sh and our package: scripts/framework_run.sh trl FILE.py ...
# Where the framework cannot be installed, it says so and exits with 77, which the tests take as skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
name=${1:?"usage: scripts/framework_run.sh trl|verl|openenv|verifiers|wandb|ray FILE.py ..."}
shift
python=$("$here/scripts/framework_env.sh" "$name") ||
  { echo "skipped: the packages of scripts/frameworks/$name.txt cannot be installed here"; exit 77; }
export PYTHONPATH=$here/python${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
export PATH=$(dirname "$python"):$PATH # verifiers starts uv
exec "$python" "$@"
