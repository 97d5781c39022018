#!/usr/bin/env bash
# Tests the Python package: types for 3.10 and 3.13, its tests against the real program, and `pip install ./python` in an environment that
# has nothing else of the checkout. KERNELWRIGHT_PROGRAM names the program; arguments go to pytest.
# Where the packages cannot be installed, it says so and exits with 77, which the tests take as skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
needs=scripts/requirements-python.txt
python=$(scripts/world_env.sh python) || { echo "skipped: the packages of $needs cannot be installed here"; exit 77; }
export KERNELWRIGHT=${KERNELWRIGHT_PROGRAM:-$PWD/build/kernelwright}
export PYTHONDONTWRITEBYTECODE=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for version in 3.10 3.13; do
  (cd python && "$python" -m mypy --python-version $version --cache-dir "$folder/mypy")
done
"$python" -m pytest -q -p no:cacheprovider --ignore python/tests/frameworks python/tests "$@"
# As a user has it: a copy of the sources, so that nothing is left in the checkout.
cp -r python "$folder/source"
"$python" -m pip --disable-pip-version-check -q install --no-deps --no-build-isolation --target "$folder/installed" "$folder/source"
(cd "$folder" && PYTHONPATH="$folder/installed" "$python" - "$OLDPWD/examples/softmax_shared.cu" <<'END'
import sys
import kernelwright as kw
assert kw.__file__.startswith(sys.path[1]), kw.__file__
verdict = kw.Judge().judge("softmax", open(sys.argv[1]).read())
best = kw.Agents().best("relu", turns=2, samples=2)
print("installed by pip:", verdict.status, verdict.speedup, "and by agents:", best.speedup)
assert verdict.correct and "__global__" in best.kernel
END
)
