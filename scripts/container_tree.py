#!/usr/bin/env python3
"""Makes the folder that an image has in /opt: the installed program and the libraries that it loads, at places that the
program finds wherever the folder lies.
  scripts/container_tree.py cpu build-container/cpu      from build/, with the CPU half of libtorch
  scripts/container_tree.py cuda build-container/cuda    also what models and references need on a GPU
The files of a Python package are those that its own list names; headers and Python code of PyTorch stay out."""

import importlib.metadata
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = (ROOT / ".deps" / "site-packages").resolve()
# Of torch/lib; the rest of it needs a GPU, or Python.
TORCH_CPU = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"}
TORCH_CUDA = TORCH_CPU | {"libtorch.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libc10_cuda.so",
                          "libcaffe2_nvrtc.so"}


def pinned(file):
    lines = (line.split("#")[0].strip() for line in (ROOT / "scripts" / file).read_text().splitlines())
    return [line.split("==")[0] for line in lines if line]


def wanted(path, torch_libraries):
    """Whether the program or a kernel reads this file of a package."""
    if path.parts[0] == "torch":
        return path.parts[1] == "lib" and len(path.parts) == 3 and path.name in torch_libraries
    if path.parts[0] != "nvidia" or path.suffix in (".py", ".pyc", ".a"):
        return False
    # NVRTC's other build, and CUPTI's halves for profilers with windows, are not loaded.
    unused = ".alt.so" in path.name or path.name.startswith(("libnvperf_host", "libpcsamplingutil", "libcheckpoint"))
    return path.parts[2] in ("lib", "include") and not unused


def copy_packages(names, torch_libraries, to):
    for name in names:
        package = next(iter(importlib.metadata.Distribution.discover(name=name, path=[str(SITE)])), None)
        if package is None:
            sys.exit(f"container_tree: {name} is not installed in {SITE}; run `make setup-program`, with GPU=1 for the cuda target")
        for file in package.files:
            path = pathlib.PurePosixPath(file)
            if not wanted(path, torch_libraries):
                continue
            place = to / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(SITE / path, place)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("cpu", "cuda"):
        sys.exit(__doc__)
    target, tree = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    program = ROOT / "build" / "kernelwright"
    if not program.exists():
        sys.exit("container_tree: there is no program in build/; run `make program`")
    if "KW_VECTOR_UNITS:STRING=all" not in (ROOT / "build" / "CMakeCache.txt").read_text():
        sys.exit("container_tree: build/ is made for this processor alone; run `cmake --preset release -DKW_VECTOR_UNITS=all`")
    gpu_library = tree / "lib" / "kernelwright" / "libkernelwright_model_gpu.so"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["cmake", "--install", str(ROOT / "build"), "--prefix", str(tree), "--strip"], check=True, stdout=subprocess.DEVNULL)
    packages = tree / "lib" / "kernelwright" / "site-packages"
    copy_packages(pinned("requirements.txt"), TORCH_CPU if target == "cpu" else TORCH_CUDA, packages)
    if target == "cuda":
        copy_packages(pinned("requirements-gpu.txt"), TORCH_CUDA, packages)
        if not gpu_library.exists():
            sys.exit("container_tree: libkernelwright_model_gpu.so is not built; run `make program GPU=1`")
    else:
        gpu_library.unlink(missing_ok=True)
    files = [path for path in tree.rglob("*") if path.is_file()]
    print(f"{tree}: {len(files)} files, {sum(path.stat().st_size for path in files) / 2**20:,.0f} MiB")


main()
