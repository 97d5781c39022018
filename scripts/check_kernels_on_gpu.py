#!/usr/bin/env python3
"""Runs every task's kernels (naive.cu, optimised.cu) on a real GPU, natively, at all sizes, against the PyTorch reference in float64.

An oracle that shares nothing with the C++ program: the file is built by plain nvcc as a shared library and its own launcher is called.
Needs a GPU, nvcc, torch with CUDA and PyYAML. Prints one line a kernel, writes a Markdown table to the file given as argument, and all
times as JSON lines beside it.
"""
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
import yaml

from gpu_tasks import ROOT, TORCH_TYPES, call_arguments, evaluate, make_inputs, reference_function, size_names, time_us

# Error allowed relative to |truth| + rms(truth): serial float sums over thousands of elements; for half types a rounding of an operand
# (probabilities of an attention) and one of the output.
ALLOWED = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 1.6e-2, "float64": 1e-12}


def build(kernel, folder):
    """kernel: (task, "naive" or "optimised")."""
    name, variant = kernel
    library = folder / f"{name}_{variant}.so"
    done = subprocess.run(["nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", str(library),
                           str(ROOT / "tasks" / name / f"{variant}.cu")], capture_output=True, text=True)
    return kernel, library if done.returncode == 0 else None, done.stderr


def scalar_argument(tensor, dtype):
    value = tensor.item()
    if dtype in ("float16", "bfloat16"):
        raise NotImplementedError("half scalars by value")
    kind = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int, "int64": ctypes.c_longlong}[dtype]
    return kind(value)


def run(task, launch, sizes, seed):
    inputs = make_inputs(task, sizes, seed)
    outputs, arguments = {}, []
    for name, spec in task["inputs"].items():
        arguments.append(scalar_argument(inputs[name], spec["dtype"]) if not spec["shape"] else ctypes.c_void_p(inputs[name].data_ptr()))
    for name, spec in task["outputs"].items():
        shape = [evaluate(entry, sizes) for entry in spec["shape"]]
        dtype = TORCH_TYPES[spec["dtype"]]
        poison = float("nan") if dtype.is_floating_point else 77
        outputs[name] = torch.full(shape, poison, device="cuda", dtype=dtype)
        arguments.append(ctypes.c_void_p(outputs[name].data_ptr()))
    arguments += [ctypes.c_int(sizes[name]) for name in size_names(task)]
    arguments.append(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    function, names = reference_function(task)

    def reference(wide):
        answer = function(*call_arguments(names, inputs, sizes, wide))
        return answer if isinstance(answer, tuple) else (answer,)

    torch.set_default_dtype(torch.float64)
    truth = reference(True)
    torch.set_default_dtype(torch.float32)
    before = {name: tensor.clone() for name, tensor in inputs.items()}
    launch(*arguments)
    torch.cuda.synchronize()

    worst = 0.0
    for (name, spec), right in zip(task["outputs"].items(), truth):
        got = outputs[name]
        if spec["dtype"] in ALLOWED:
            right = right.double().reshape(got.shape)
            scale = right.abs() + right.square().mean().sqrt()
            error = ((got.double() - right).abs() / scale.clamp_min(1e-30)).max().item() / ALLOWED[spec["dtype"]]
        else:
            error = 0.0 if torch.equal(got, right.reshape(got.shape).to(got.dtype)) else math.inf
        worst = max(worst, error if error == error else math.inf)
    unchanged = all(torch.equal(before[name], inputs[name]) for name in inputs)

    def median_us(call):
        return time_us(call, trials_min=9, trials_max=9)["us"]

    return worst, unchanged, median_us(lambda: launch(*arguments)), median_us(lambda: reference(False))


def main():
    tasks = {path.parent.name: yaml.safe_load(path.read_text()) for path in sorted(ROOT.glob("tasks/*/task.yaml"))}
    kernels = [(name, variant) for name in (sys.argv[2:] or tasks) for variant in ("naive", "optimised")
               if (ROOT / "tasks" / name / f"{variant}.cu").exists()]
    rows, times, failures = {}, [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = {kernel: (library, log) for kernel, library, log in pool.map(lambda k: build(k, pathlib.Path(folder)), kernels)}
        for kernel in kernels:
            name, variant = kernel
            library, log = built[kernel]
            if library is None:
                print(f"FAIL {name} {variant}: does not build\n{log}")
                failures += 1
                continue
            task = tasks[name]
            launch = ctypes.CDLL(str(library)).launch
            worst, clean, first_us, torch_us, problem = 0.0, True, math.nan, math.nan, ""
            for kind in ("small", "train", "holdout"):
                for number, sizes in enumerate(task["sizes"][kind]):
                    try:
                        error, unchanged, own, eager = run(task, launch, sizes, 1000 + number)
                    except Exception as reason:  # the table must name every kernel, also one that breaks
                        problem = f"{kind} {sizes}: {str(reason).splitlines()[0][:120]}"
                        break
                    torch.cuda.empty_cache()
                    worst, clean = max(worst, error), clean and unchanged
                    if error > 1:
                        problem = f"{kind} {sizes}: {error:.3g} x the allowed error"
                    times.append({"task": name, "kernel": variant, "kind": kind, "size": sizes, "us": own, "pytorch_us": eager})
                    if kind == "train" and number == 0:
                        first_us, torch_us = own, eager
                if problem:
                    break
            ok = not problem and clean and worst <= 1
            failures += not ok
            print(f"{'ok  ' if ok else 'FAIL'} {name:32} {variant:9} error {worst:8.3g} of allowed, {first_us:10.1f} us, eager {torch_us:10.1f} us"
                  f"{'' if clean else ', INPUT CHANGED'} {problem}", flush=True)
            rows.setdefault(name, {})[variant] = (ok, worst, first_us, torch_us)
    print(f"{len(kernels) - failures} passed, {failures} failed")
    with open(sys.argv[1], "w") as out:
        out.write("| task | right | worst error / allowed | naive (us) | optimised (us) | PyTorch eager (us) | naive / optimised | eager / optimised |\n"
                  "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
        for name, found in rows.items():
            naive, optimised = found.get("naive"), found.get("optimised")
            right = all(each[0] for each in found.values())
            worst = max(each[1] for each in found.values())
            cells = [f"{naive[2]:.1f}" if naive else "", f"{optimised[2]:.1f}" if optimised else "", f"{(naive or optimised)[3]:.1f}",
                     f"{naive[2] / optimised[2]:.2f}" if naive and optimised else "", f"{optimised[3] / optimised[2]:.2f}" if optimised else ""]
            out.write(f"| {name} | {'yes' if right else 'NO'} | {worst:.3g} | {' | '.join(cells)} |\n")
    with open(pathlib.Path(sys.argv[1]).with_suffix(".jsonl"), "w") as out:
        for each in times:
            out.write(json.dumps(each) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
