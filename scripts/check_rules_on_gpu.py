#!/usr/bin/env python3
"""The truth about tests/cuda_rules: every kernel as a program of its own, built by plain nvcc, on a real GPU and under compute-sanitizer.

Shares nothing with the C++ program. A kernel whose first lines say `status: correct` must give PyTorch's values in every run and be clean under all
four tools, but for reports that its `gpu:` line names with the reason; any other must show what its `gpu:` line says (values, memcheck, racecheck, synccheck, initcheck, hang), `none` excepted.
Needs a GPU, nvcc, compute-sanitizer, torch and PyYAML.
Usage: scripts/check_rules_on_gpu.py [--jobs N] [--folder tests/cuda_rules] [--out table.md] [NAME ...]
Prints a Markdown table; exit code 1 when a file's claim is not what the GPU shows.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile
import threading

import torch

from gpu_tasks import ROOT, TORCH_TYPES, call_arguments, evaluate, load_task, make_inputs, reference_function, size_names

CUDA_TYPES = {"float32": "float", "float16": "__half", "bfloat16": "__nv_bfloat16", "float64": "double",
              "int32": "int", "int64": "long long", "int8": "signed char", "uint8": "unsigned char"}
ALLOWED = {"float32": 2e-4, "float16": 2e-2, "bfloat16": 8e-2, "float64": 1e-10}
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SEEDS = 3
REPEATS = 30
TORCH = threading.Lock()  # its default type is one for the whole process


def facts_of(path):
    return dict(re.findall(r"^// (task|status|gpu|kind): *(.*)$", path.read_text(), re.MULTILINE))


def harness(kernel, task, cases):
    """A program that runs the launcher for each case and writes its outputs; argument: folder with inputs, repeats."""
    inputs, outputs, sizes = task["inputs"], task["outputs"], size_names(task)
    lines = ["#include <cuda_bf16.h>", "#include <cuda_fp16.h>", f'#include "{kernel}"', "#include <cstdio>", "#include <cstdlib>",
             "#include <string>", "#include <vector>",
             "static std::vector<char> read(const std::string& name) { std::vector<char> bytes; FILE* f = fopen(name.c_str(), \"rb\");",
             "  if (!f) exit(9); fseek(f, 0, SEEK_END); bytes.resize(ftell(f)); rewind(f);",
             "  if (fread(bytes.data(), 1, bytes.size(), f) != bytes.size()) exit(9); fclose(f); return bytes; }",
             "static void check(cudaError_t e) { if (e != cudaSuccess) { printf(\"CUDA %s\\n\", cudaGetErrorString(e)); exit(7); } }",
             "int main(int, char** argv) { const std::string folder = argv[1]; const int repeats = atoi(argv[2]); cudaStream_t s; check(cudaStreamCreate(&s));"]
    for number, (case_sizes, _) in enumerate(cases):
        lines.append("{")
        arguments = []
        for name, spec in inputs.items():
            kind = CUDA_TYPES[spec["dtype"]]
            lines.append(f'auto b_{name} = read(folder + "/{number}.{name}");')
            if spec["shape"]:
                lines.append(f"{kind}* p_{name}; check(cudaMalloc(&p_{name}, b_{name}.size())); "
                             f"check(cudaMemcpy(p_{name}, b_{name}.data(), b_{name}.size(), cudaMemcpyHostToDevice));")
                arguments.append(f"p_{name}")
            else:
                arguments.append(f"*({kind}*)b_{name}.data()")
        for name, spec in outputs.items():
            elements = 1
            for entry in spec["shape"]:
                elements *= evaluate(entry, case_sizes)
            lines.append(f"{CUDA_TYPES[spec['dtype']]}* p_{name}; const size_t n_{name} = {elements}ull * sizeof(*p_{name}); check(cudaMalloc(&p_{name}, n_{name}));")
            arguments.append(f"p_{name}")
        arguments += [str(case_sizes[name]) for name in sizes] + ["s"]
        lines.append("for (int r = 0; r < repeats; ++r) {")
        for name in outputs:
            lines.append(f"check(cudaMemset(p_{name}, 0xff, n_{name}));")
        lines.append(f"launch({', '.join(arguments)}); check(cudaGetLastError()); check(cudaDeviceSynchronize());")
        for name in outputs:
            lines.append(f'{{ std::vector<char> o(n_{name}); check(cudaMemcpy(o.data(), p_{name}, n_{name}, cudaMemcpyDeviceToHost)); '
                         f'FILE* f = fopen((folder + "/out.{number}.{name}." + std::to_string(r)).c_str(), "wb"); fwrite(o.data(), 1, o.size(), f); fclose(f); }}')
        lines.append("}")
        for name, spec in list(inputs.items()) + list(outputs.items()):
            if spec["shape"]:
                lines.append(f"check(cudaFree(p_{name}));")
        lines.append("}")
    lines.append("return 0; }")
    return "\n".join(lines)


def bytes_of(tensor):
    return tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes()


def prepare(path, facts, folder):
    task = load_task(facts["task"])
    cases = []
    for sizes in task["sizes"]["small"]:
        for seed in range(SEEDS):
            cases.append((sizes, make_inputs(task, sizes, 100 + seed, device="cpu")))
    function, names = reference_function(task)
    truths = []
    for number, (sizes, inputs) in enumerate(cases):
        for name, tensor in inputs.items():
            (folder / f"{number}.{name}").write_bytes(bytes_of(tensor))
        torch.set_default_dtype(torch.float64)
        answer = function(*call_arguments(names, {k: v.clone() for k, v in inputs.items()}, sizes, wide=True))
        torch.set_default_dtype(torch.float32)
        truths.append(answer if isinstance(answer, tuple) else (answer,))
    (folder / "harness.cu").write_text(harness(path, task, cases))
    return task, truths


def wrong_values(task, truths, folder, repeats):
    """In how many runs an output is not PyTorch's."""
    wrong = 0
    for number, truth in enumerate(truths):
        for repeat in range(repeats):
            good = True
            for (name, spec), right in zip(task["outputs"].items(), truth):
                got = torch.frombuffer(bytearray((folder / f"out.{number}.{name}.{repeat}").read_bytes()), dtype=TORCH_TYPES[spec["dtype"]])
                right = right.reshape(-1)
                if spec["dtype"] in ALLOWED:
                    right = right.double()
                    scale = right.abs() + right.square().mean().sqrt() + 1e-30
                    good = good and bool(((got.double() - right).abs() / scale <= ALLOWED[spec["dtype"]]).all())
                else:
                    good = good and torch.equal(got, right.to(got.dtype))
            wrong += not good
    return wrong


def run(command, limit):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return None, "hang"


def look_at(path):
    facts = facts_of(path)
    shown = set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with TORCH:
            task, truths = prepare(path, facts, folder)
        program = folder / "program"
        code, text = run(["nvcc", "-O3", "-lineinfo", "-std=c++17", "-arch=native", "-o", str(program), str(folder / "harness.cu")], 120)
        if code != 0:
            return path, facts, {"does not build"}, text[-400:]
        code, text = run([str(program), name, str(REPEATS)], 60)
        if code is None:
            return path, facts, {"hang"}, ""
        if code != 0:
            shown.add("fault")
        elif wrong_values(task, truths, folder, REPEATS):
            shown.add("values")
        for tool in TOOLS:
            code, text = run(["compute-sanitizer", "--tool", tool, "--print-limit", "2", str(program), name, "1"], 120)
            counts = [int(number) for number in re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", text)]
            if code is None:
                shown.add("hang")
            elif not counts:
                shown.add(f"{tool}: no answer")
            elif sum(counts):
                shown.add(tool)
    return path, facts, shown, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() - 2))
    parser.add_argument("--folder", default=str(ROOT / "tests/cuda_rules"))
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    files = [path for path in sorted(pathlib.Path(arguments.folder).resolve().glob("*.cu")) if not arguments.names or path.stem in arguments.names]
    rows, against = [], 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, facts, shown, note in pool.map(look_at, files):
            right = facts["status"] == "correct"
            claim = facts.get("gpu", "none").split("(")[0].strip()
            wanted = re.split(r"[|, ]+", claim)
            holds = shown <= set(wanted) if right else claim == "none" or any(each in shown or (each == "values" and "fault" in shown) for each in wanted)
            against += not holds
            rows.append(f"| {path.stem} | {facts['status']} | {'' if right and claim == 'none' else claim} | {', '.join(sorted(shown)) or 'clean and right'} | {'' if holds else 'NO'} |")
            print(rows[-1], note, flush=True)
    head = ["| kernel | verdict wanted | claimed on a GPU | seen on the GPU | |", "| --- | --- | --- | --- | --- |"]
    table = "\n".join(head + rows + ["", f"{len(files) - against} of {len(files)} kernels are what their files say."])
    if arguments.out:
        pathlib.Path(arguments.out).write_text(table + "\n")
    print(table.splitlines()[-1])
    return 1 if against else 0


if __name__ == "__main__":
    raise SystemExit(main())
