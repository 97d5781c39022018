#!/usr/bin/env python3
"""How long PyTorch's load_inline takes from a kernel's text to a checked result: what judges built on it pay for each kernel.

Usage: scripts/time_load_inline.py TASK/KERNEL ... (for example relu/naive). Needs a GPU, nvcc and torch with CUDA.
"""
import pathlib
import sys
import time

import torch
from torch.utils.cpp_extension import load_inline

import gpu_tasks

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "float64": "double", "int32": "int", "int64": "long long",
           "int8": "signed char", "uint8": "unsigned char"}


def binding(task):
    """A function over tensors that calls the kernel file's own launcher."""
    tensors = [(name, spec) for part in ("inputs", "outputs") for name, spec in task[part].items()]
    sizes = gpu_tasks.size_names(task)
    parameters = ", ".join([f"torch::Tensor {name}" for name, _ in tensors] + [f"int64_t {name}" for name in sizes])
    arguments = ", ".join([f"({C_TYPES[spec['dtype']]}*){name}.data_ptr()" for name, spec in tensors] + [f"(int){name}" for name in sizes] + ["0"])
    return f"void run({parameters});", f"#include <torch/extension.h>\nvoid run({parameters}) {{ launch({arguments}); }}\n"


def main():
    for name in sys.argv[1:]:
        task_name, kernel = name.split("/")
        task = gpu_tasks.load_task(ROOT / "tasks" / task_name / "task.yaml")
        text = (ROOT / "tasks" / task_name / f"{kernel}.cu").read_text()
        declaration, body = binding(task)
        start = time.perf_counter()
        module = load_inline(name=f"timed_{task_name}_{int(time.time())}", cpp_sources=declaration, cuda_sources=text + body, functions=["run"],
                             extra_cuda_cflags=["-arch=sm_90"])
        print(f"{name}: load_inline took {time.perf_counter() - start:.1f} s", flush=True)
        del module
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
