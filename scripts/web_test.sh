#!/usr/bin/env bash
# The page's JavaScript under Node's own test runner. Where there is no Node of version 18 or later it says so and exits with 77, which
# the tests take as skipped.
set -euo pipefail
cd "$(dirname "$0")/../web"
version=$(node --version 2>/dev/null) || { echo "skipped: node is not installed (apt-get install nodejs)"; exit 77; }
[[ $version =~ ^v([0-9]+)\. && ${BASH_REMATCH[1]} -ge 18 ]] || { echo "skipped: node $version has no test runner; 18 has"; exit 77; }
exec node --test tests/
