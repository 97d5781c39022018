#!/usr/bin/env bash
# Tests of the Python package that need PyTorch: tasks from modules, and folders in KernelBench's form, against the real program; then what
# a user does on a fresh machine. KERNELWRIGHT_PROGRAM names the program; arguments go to pytest, and then the tests alone are run. Where the
# packages cannot be installed, it says so and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/torch_env.sh) || { echo "skipped: the packages of scripts/requirements-torch.txt cannot be installed here"; exit 77; }
export KERNELWRIGHT=${KERNELWRIGHT_PROGRAM:-$PWD/build/kernelwright}
export PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -q -p no:cacheprovider python/tests/test_torch_task.py python/tests/test_kernelbench.py python/tests/test_sakana.py "$@"
[ $# -eq 0 ] || exit 0

# An environment of its own with `pip install ./python`; torch and what the package needs are those that set-up installed, so that nothing is
# downloaded. A copy of the sources, so that nothing is left in the checkout.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r python "$folder/source"
"$python" -m venv "$folder/venv"
{ "$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; readlink -f .deps/site-packages; } \
  >"$(echo "$folder"/venv/lib/python3*/site-packages)/installed_by_setup.pth"
"$folder/venv/bin/pip" --disable-pip-version-check -q install --no-deps --no-build-isolation "$folder/source"
cp python/examples/own_module.py "$folder/"
said=$(cd "$folder" && env -u PYTHONPATH "$folder/venv/bin/python" own_module.py)
"$folder/venv/bin/python" - <<END
import kernelwright, torch
assert kernelwright.__file__.startswith("$folder/venv/"), kernelwright.__file__
END
echo "installed by pip, ${said##*$'\n'}"
[[ $said == *"__global__"* && $said == *"shifted: correct, "*"with another number in it: wrong" ]] || { echo "$said" >&2; exit 1; }
