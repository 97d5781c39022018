#!/usr/bin/env python3
"""The export for C: plain C reads the headers, nvcc compiles the files, two of them link into one program, and the functions refuse
sizes and pointers that they cannot take before anything is launched. Needs nvcc and cc; launches need a GPU
(scripts/check_exports_on_gpu.py)."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from recorded import ROOT, run

MAIN = r"""
#include <stdio.h>
#include "softmax.h"
#include "col_sum.h"
int main(void) {
  float* aligned = (float*)0x100000;
  float* crooked = (float*)0x100004;
  int wrong = 0;
  wrong += softmax(aligned, aligned, 0, 4, 0) != cudaErrorInvalidValue;
  wrong += softmax(aligned, aligned, 4, -1, 0) != cudaErrorInvalidValue;
  wrong += softmax(0, aligned, 4, 4, 0) != cudaErrorInvalidValue;
  wrong += softmax(crooked, aligned, 4, 4, 0) != cudaErrorInvalidValue;
  wrong += softmax(aligned, aligned, 100000, 100000, 0) != cudaErrorInvalidValue;
  wrong += col_sum(aligned, aligned, 0, 3, 0) != cudaErrorInvalidValue;
  printf("%d wrong\n", wrong);
  return wrong;
}
"""


def nvcc_program():
    """The toolkit's, or the one that `make setup` installs."""
    found = [*sorted((ROOT / ".deps" / "site-packages" / "nvidia").glob("*/bin/nvcc")), shutil.which("nvcc")]
    return next((str(path) for path in found if path), None)


def main():
    nvcc = nvcc_program()
    if nvcc is None or shutil.which("cc") is None:
        print("nvcc or cc is not installed")
        sys.exit(77)
    include = pathlib.Path(nvcc).parent.parent / "include"
    libraries = [folder for folder in (pathlib.Path(nvcc).parent.parent / name for name in ("lib64", "lib")) if folder.is_dir()]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for task in ("softmax", "col_sum"):
            status, answer = run("export", ROOT / "tasks" / task / "optimised.cu", "--task", task, "--as", "c", "-o", folder / f"{task}.cu")
            assert status == 0, answer
            assert answer["files"] == [str(folder / f"{task}.cu"), str(folder / f"{task}.h")], answer
        (folder / "main.c").write_text(MAIN)
        subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", f"-I{include}", "-c", "main.c", "-o", "main.o"], cwd=folder, check=True)
        for task in ("softmax", "col_sum"):
            subprocess.run([nvcc, "-std=c++17", "-arch=sm_90", "-c", f"{task}.cu", "-o", f"{task}.o"], cwd=folder, check=True)
        static = [str(path) for library in libraries for path in library.glob("libcudart_static.a")]
        if not static:
            print("compiled; not linked, because the static CUDA runtime is not installed")
            sys.exit(0)
        subprocess.run(["c++", "main.o", "softmax.o", "col_sum.o", static[0], "-lpthread", "-ldl", "-lrt", "-o", "program"], cwd=folder,
                       check=True)
        done = subprocess.run([str(folder / "program")], capture_output=True, text=True, env={**os.environ})
        print(done.stdout.strip())
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
