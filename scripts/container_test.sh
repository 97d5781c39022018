#!/usr/bin/env bash
# Builds an image from what `make container-tree` has made, starts it as docs/container.md says, and looks whether it is what the page
# promises: not root, a read-only root, healthy, a full sandbox inside, a right and a wrong kernel judged, and a clean end.
#   scripts/container_test.sh [cpu|cuda]      make container-test does all of it
# BASE names a base image; unless given, one is made with debootstrap (needs root). NETWORK=host is for a daemon without a bridge.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-cpu}
network=${NETWORK:-host}
port=8000 # the image's health check asks there
name=kernelwright-test-$$
say() { echo "container_test: $*"; }
fail() { say "$*" >&2; exit 1; }

docker info >/dev/null 2>&1 || fail "no Docker daemon answers; docs/container.md has the command that starts one"
[ -x "build-container/$target/bin/kernelwright" ] || fail "build-container/$target is not there; run \`make container-tree TARGET=$target\`"
if [ -z "${BASE:-}" ]; then
  BASE=base:bookworm
  if ! docker image inspect "$BASE" >/dev/null 2>&1; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    debootstrap --variant=minbase --include=ca-certificates bookworm "$folder" >/dev/null
    chmod 755 "$folder" # mktemp's folder is its owner's alone, and it becomes the image's root
    tar -C "$folder" -c . | docker import - "$BASE" >/dev/null
    say "base image made with debootstrap"
  fi
fi

start=$SECONDS
DOCKER_BUILDKIT=1 docker build -q --network host --build-arg BASE="$BASE" --build-arg PROGRAM=tree --target "$target" \
  -t "kernelwright:$target" . >/dev/null
say "image kernelwright:$target built in $((SECONDS - start)) s, $(docker image inspect -f '{{.Size}}' "kernelwright:$target" |
  awk '{printf "%.0f MiB", $1 / 1048576}')"

options=(--network "$network" --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges
  --security-opt seccomp=unconfined --security-opt apparmor=unconfined)
publish=()
[ "$network" = host ] || publish=(-p "127.0.0.1:$port:$port")
if curl -fsS -o /dev/null "http://127.0.0.1:$port/health" 2>/dev/null; then fail "somebody else answers at port $port"; fi
trap 'docker rm -f "$name" >/dev/null 2>&1 || true; docker volume rm "$name" >/dev/null 2>&1 || true; rm -rf "${folder:-}"' EXIT
start=$SECONDS
docker run -d --name "$name" --health-interval 2s -v "$name:/data" "${options[@]}" ${publish[@]+"${publish[@]}"} \
  "kernelwright:$target" >/dev/null
for _ in $(seq 300); do
  state=$(docker inspect -f '{{.State.Status}} {{.State.Health.Status}}' "$name")
  [ "$state" = "running starting" ] || break
  sleep 1
done
[ "$state" = "running healthy" ] || { docker logs "$name" | tail -20; fail "the container is $state"; }
say "healthy after $((SECONDS - start)) s"
for _ in $(seq 300); do curl -fsS -o /dev/null "http://127.0.0.1:$port/ready" 2>/dev/null && break; sleep 1; done

[ "$(docker exec "$name" id -u)" = 10001 ] || fail "it does not run as user 10001"
if docker exec "$name" touch /opt/kernelwright/written 2>/dev/null; then fail "the root file system can be written to"; fi
say "user 10001, read-only root"

judge() { # the file of a kernel of the task softmax: the status of its verdict
  python3 -c 'import json, sys; print(json.dumps({"task": "softmax", "kernel": open(sys.argv[1]).read()}))' "$1" |
    curl -fsS -H 'Content-Type: application/json' -d @- "http://127.0.0.1:$port/v1/judge" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["verdict"]["status"])'
}
[ "$(judge examples/softmax_shared.cu)" = correct ] || fail "a right kernel is not judged to be right"
[ "$(judge tests/bugs/softmax_sync_missing_before_read.cu)" = race ] || fail "a race is not found"
say "judged over HTTP: correct, race"

sandbox=$(docker exec "$name" kernelwright doctor | grep '^ *sandbox') || fail "doctor says nothing of the sandbox"
grep -q full <<<"$sandbox" || fail "the sandbox inside is not complete: $sandbox"
say "inside:$sandbox"
docker stop -t 60 "$name" >/dev/null
code=$(docker inspect -f '{{.State.ExitCode}}' "$name")
[ "$code" = 0 ] || fail "it ended with $code after docker stop"
say "ended cleanly; everything is as docs/container.md says"
