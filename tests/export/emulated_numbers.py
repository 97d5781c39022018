#!/usr/bin/env python3
"""The numbers of exported kernels, without a GPU: the exported file compiles its kernels with NVRTC, plans with its translated
launcher and calls the driver, which here is the one over the emulator. The task's own PyTorch text says what is right.

Needs Python with torch (scripts/torch_env.sh), and the library kernelwright_emulated_driver in KERNELWRIGHT_LIBCUDA."""

import ctypes
import inspect
import math
import os
import pathlib
import sys
import tempfile

import torch

from recorded import ROOT, load_without_framework, run

# Launchers with scratch, several launches, scalars, 16-bit types, more than one output, expressions as shapes.
TASKS = ["softmax", "full_sum", "full_max", "layer_norm", "layer_norm_bf16", "matmul", "matmul_f16", "col_sum", "saxpy", "mlp",
         "attention", "group_norm", "softmax_f16", "adam_step", "max_pool2d", "avg_pool1d_stride", "leaky_relu_f16", "relu"]


class EmulatedMemory:
    """Device memory by the driver's own calls."""

    def __init__(self, driver):
        self.driver = driver

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address, address.value

    def upload(self, tensor):
        size = tensor.numel() * tensor.element_size()
        _, address = self.allocate(size)
        self.driver.call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), ctypes.c_void_p(tensor.data_ptr()),
                         ctypes.c_size_t(size), None)
        return address

    def download(self, address, tensor):
        size = tensor.numel() * tensor.element_size()
        self.driver.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(tensor.data_ptr()), ctypes.c_uint64(address),
                         ctypes.c_size_t(size), None)
        self.driver.call("cuCtxSynchronize")


def reference(task):
    """The task's PyTorch text as a function, and the names of its parameters."""
    _, answer = run("tasks", "show", task)
    space = {"torch": torch, "F": torch.nn.functional, "math": math, "Tensor": torch.Tensor}
    exec(answer["pytorch"], space)  # our own suite's text
    return space["reference"], list(inspect.signature(space["reference"]).parameters)


def judge(module, task, sizes):
    """The largest error in units of the output type's precision."""
    torch.manual_seed(5)
    driver = module.CudaDriver()
    device = module.Device(driver, 0, form="ptx")
    device.make_current()
    memory = EmulatedMemory(driver)
    values, scalars, pointers, named = [], [], [], {}
    for name, dtype, shape in module.INPUTS:
        if shape is None:
            scalars.append(0.75)
            named[name] = 0.75
            continue
        tensor = torch.rand(module.shape_of(shape, sizes)).add(0.1).to(getattr(torch, dtype))
        values.append(tensor)
        pointers.append(memory.upload(tensor))
        named[name] = tensor.double()
    outputs = [torch.zeros(module.shape_of(shape, sizes), dtype=getattr(torch, dtype)) for _, dtype, shape in module.OUTPUTS]
    addresses = [memory.allocate(output.numel() * output.element_size())[1] for output in outputs]
    plan = device.plan(tuple(sizes[name] for name in module.SIZES), tuple(scalars), module.buffer_bytes(sizes))
    device.run(plan, [*pointers, *addresses], None, memory.allocate)
    function, parameters = reference(task)
    truth = function(*(named[name] if name in named else sizes[name] for name in parameters))
    truth = truth if isinstance(truth, tuple) else (truth,)
    worst = 0.0
    for output, address, right in zip(outputs, addresses, truth):
        memory.download(address, output)
        scale = right.double().abs().max().item() * torch.finfo(output.dtype).eps + 1e-30
        worst = max(worst, (output.double() - right.double().reshape(output.shape)).abs().max().item() / scale)
    return worst


def main():
    if not os.path.exists(os.environ.get("KERNELWRIGHT_LIBCUDA", "")):
        print("KERNELWRIGHT_LIBCUDA must name the library kernelwright_emulated_driver")
        sys.exit(77)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for task in TASKS if len(sys.argv) < 2 else sys.argv[1:]:
            for kernel in ("naive.cu", "optimised.cu"):
                source = ROOT / "tasks" / task / kernel
                if not source.exists():
                    continue
                path = pathlib.Path(folder) / f"{task}.py"
                status, answer = run("export", source, "--task", task, "--as", "torch", "-o", path)
                assert status == 0, answer
                _, plans = run("plan", task, source)
                # The emulator takes its time; sizes of 1 alone show little.
                sizes = min((plan["sizes"] for plan in plans["plans"]),
                            key=lambda one: (math.prod(one.values()) < 64, math.prod(one.values())))
                worst = judge(load_without_framework(path), task, sizes)
                good = worst < 64
                failures += not good
                print(f"{'good' if good else 'WRONG'}  {task}/{kernel}  {sizes}  error {worst:.2f} units")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
