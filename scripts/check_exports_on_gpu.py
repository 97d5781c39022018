#!/usr/bin/env python3
"""Runs exported kernels on a real GPU: as a PyTorch operator (alone, inside torch.compile, with --cubin, with --compile nvcc), as a CuPy
function and from C. Numbers are compared with the task's PyTorch text in float64, times with what `kernelwright judge` measures.

    scripts/check_exports_on_gpu.py [TASK ...]

Needs a GPU, nvcc, torch with CUDA and PyYAML; CuPy where it is installed, and says so where it is not. Prints one line a form and a
kernel; ends with an error when one is wrong, or slower than the judge's time by more than 5 % and 2 us.
"""
import ctypes
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

from gpu_tasks import ROOT, call_arguments, load_task, make_inputs, reference_function, time_us

PROGRAM = os.environ.get("KERNELWRIGHT_PROGRAM", str(ROOT / "build" / "kernelwright"))
ALLOWED = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 1.6e-2, torch.float64: 1e-12}
TASKS = ["softmax", "matmul", "full_sum", "col_sum", "layer_norm", "saxpy", "mlp", "attention", "histogram", "softmax_f16"]


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


def error_of(outputs, truths):
    """The largest error relative to |truth| + rms(truth), and what is allowed."""
    worst, allowed = 0.0, 0.0
    for made, truth in zip(outputs, truths):
        if not made.is_floating_point():
            worst = max(worst, 0.0 if torch.equal(made.long(), truth.long().reshape(made.shape)) else 1.0)
            continue
        right = truth.double().reshape(made.shape)
        scale = right.abs() + right.square().mean().sqrt()
        worst = max(worst, float(((made.double() - right).abs() / scale.clamp_min(1e-30)).max()))
        allowed = max(allowed, ALLOWED[made.dtype])
    return worst, allowed


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def torch_forms(folder, task, kernel):
    """(name, function) of every PyTorch form."""
    architecture = "sm_%d%d" % torch.cuda.get_device_capability()
    forms = {"torch": [], "torch cubin": ["--cubin", architecture], "torch nvcc": ["--compile", "nvcc"]}
    for name, options in forms.items():
        path = folder / f"{task}_{name.replace(' ', '_')}.py"
        status, answer = program("export", kernel, "--task", task, "--as", "torch", "-o", path, *options)
        if status:
            yield name, None, str(answer)
            continue
        function = getattr(load(path), task)
        yield name, function, ""
        if name == "torch":
            torch._dynamo.reset()  # or else kernel after kernel counts as the same function, compiled again
            yield "torch.compile", torch.compile(lambda *inputs: function(*inputs), fullgraph=True), ""


def cupy_form(folder, task, kernel):
    try:
        import cupy
    except ImportError:
        return None, "CuPy is not installed"
    path = folder / f"{task}_cupy.py"
    status, answer = program("export", kernel, "--task", task, "--as", "cupy", "-o", path)
    if status:
        return None, str(answer)
    function = getattr(load(path), task)

    def call(*inputs):
        given = [cupy.from_dlpack(value) if isinstance(value, torch.Tensor) else value for value in inputs]
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            made = function(*given)
        return tuple(torch.from_dlpack(one) for one in as_tuple(made))

    return call, ""


def c_form(folder, task, kernel, outputs_like, sizes, names):
    path = folder / f"{task}.cu"
    status, answer = program("export", kernel, "--task", task, "--as", "c", "-o", path)
    if status:
        return None, str(answer)
    library = folder / f"{task}.so"
    done = subprocess.run(["nvcc", "-O3", "-std=c++17", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", library, path],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    function = getattr(ctypes.CDLL(str(library)), task)

    def call(*inputs):
        outputs = tuple(torch.empty_like(one) for one in outputs_like)
        arguments = [ctypes.c_void_p(value.data_ptr()) if isinstance(value, torch.Tensor) else ctypes.c_float(value) for value in inputs]
        arguments += [ctypes.c_void_p(one.data_ptr()) for one in outputs]
        arguments += [ctypes.c_int(sizes[name]) for name in names]
        result = function(*arguments, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if result:
            raise RuntimeError(f"{task} returned {result}")
        return outputs

    return call, ""


def check(folder, name, kernel):
    """Lines of (form, error, allowed, time in us, the judge's, problem)."""
    task = load_task(name)
    sizes = task["sizes"]["train"][0]
    inputs = make_inputs(task, sizes, 11)
    for key, spec in task["inputs"].items():
        if not spec["shape"]:
            inputs[key] = inputs[key].item()
    function, parameters = reference_function(task)
    tensors = {key: value if isinstance(value, torch.Tensor) else torch.tensor(value) for key, value in inputs.items()}
    truths = as_tuple(function(*call_arguments(parameters, tensors, sizes, wide=True)))
    status, verdict = program("judge", name, kernel)
    if status:
        raise SystemExit(f"the judge does not take {kernel}: {verdict.get('summary', verdict)}")
    measured_there = verdict.get("time_source") == "measured"  # a modelled time says nothing here
    judged_us = next((one["time_us"] for one in verdict.get("times", []) if measured_there and one["size"] == sizes), None)
    forms = list(torch_forms(folder, name, kernel))
    module = sys.modules[f"{name}_torch"]
    arguments = [inputs[key] for key in task["inputs"]] + [sizes[key] for key in module.GIVEN_SIZES]
    made = as_tuple(forms[0][1](*arguments))
    forms.append(("cupy", *cupy_form(folder, name, kernel)))
    forms.append(("c", *c_form(folder, name, kernel, made, sizes, module.SIZES)))
    for form, call, problem in forms:
        if call is None:
            yield form, None, None, None, judged_us, problem
            continue
        given = arguments if form != "c" else arguments[:len(task["inputs"])]
        worst, allowed = error_of(as_tuple(call(*given)), truths)
        yield form, worst, allowed, time_us(lambda: call(*given))["us"], judged_us, ""


def main():
    if not torch.cuda.is_available():
        sys.exit("there is no GPU")
    if shutil.which("nvcc") is None:
        sys.exit("nvcc is not on PATH")
    failures = 0
    for name in sys.argv[1:] or TASKS:
        for variant in ("naive.cu", "optimised.cu"):
            kernel = ROOT / "tasks" / name / variant
            if not kernel.exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                for form, worst, allowed, taken, judged, problem in check(pathlib.Path(folder), name, kernel):
                    if worst is None:
                        missing = problem == "CuPy is not installed"
                        failures += not missing
                        print(f"{'SKIP ' if missing else 'FAIL '} {name}/{variant}  {form:14s} {problem.strip()[-300:]}")
                        continue
                    slow = judged is not None and taken > judged * 1.05 + 2
                    wrong = worst > allowed
                    failures += wrong or slow
                    against = f"judge {judged:.2f} us" if judged is not None else "the judge gave no time"
                    print(f"{'WRONG' if wrong else 'SLOW ' if slow else 'good '} {name}/{variant}  {form:14s} error {worst:.2e}  "
                          f"{taken:.2f} us, {against}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
