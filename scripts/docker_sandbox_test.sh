#!/usr/bin/env bash
# Both sandboxes against what strangers may send: compilers get the hostile corpus (tests/hostile and its generated siblings), in containers
# as well as in namespaces; then a command judges with --sandbox docker, its reference included, and nothing is left running.
#   scripts/docker_sandbox_test.sh [build folder]
# Needs a Docker daemon and the image kernelwright:cpu (`make container-test`); where one is missing it says so and exits with 77, which
# the tests take as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
image=${KERNELWRIGHT_SANDBOX_IMAGE:-kernelwright:cpu}
skip() { echo "skipped: $*"; exit 77; }
command -v docker >/dev/null || skip "docker is not installed"
docker info >/dev/null 2>&1 || skip "no Docker daemon answers"
docker image inspect "$image" >/dev/null 2>&1 || skip "there is no image $image; make container-test builds it"

for sandbox in namespaces docker; do
  export KERNELWRIGHT_SANDBOX=$sandbox
  echo "== $sandbox"
  "$build/src/kernel/compile/compile_test" --gtest_filter='*Hostile*' --gtest_brief=1
done
unset KERNELWRIGHT_SANDBOX
status=$("$build/kernelwright" judge softmax examples/softmax_shared.cu --sandbox docker --sandbox-image "$image" --no-cache --json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["status"])')
[ "$status" = correct ] || { echo "judge --sandbox docker says $status"; exit 1; }
for _ in $(seq 60); do
  left=$(docker ps -q --filter label=kernelwright=worker)
  [ -n "$left" ] || break
  sleep 1
done
[ -z "$left" ] || { echo "containers are left: $left"; exit 1; }
echo "passed: the corpus in both sandboxes, judge --sandbox docker, nothing left running"
