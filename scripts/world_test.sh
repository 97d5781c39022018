#!/usr/bin/env bash
# Runs a test of tests/world in the environment that it needs: scripts/world_test.sh openai_client.py
# Where the packages cannot be installed, it says so and exits with 77, which the tests take as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/world_env.sh) || { echo "skipped: the packages of scripts/requirements-world.txt cannot be installed here"; exit 77; }
exec "$python" "tests/world/$1"
