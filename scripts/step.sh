#!/usr/bin/env bash
# Runs one step of `make test` and notes how long it took; `--summary` prints where the time went.
#   step.sh NAME COMMAND...
set -uo pipefail
times=build/step-times.txt
if [ "$1" = --summary ]; then
  echo "where the time went:"
  awk -F'\t' '{printf "  %5d s  %s\n", $1, $2; sum += $1} END {printf "  %5d s  in all\n", sum}' "$times"
  rm -f "$times"
  exit 0
fi
name=$1
shift
echo "== $name"
start=$SECONDS
"$@"
code=$?
mkdir -p build
printf '%d\t%s\n' $((SECONDS - start)) "$name" >>"$times"
if [ $code -ne 0 ]; then
  echo "== $name FAILED (exit $code) after $((SECONDS - start)) s"
  rm -f "$times"
fi
exit $code
