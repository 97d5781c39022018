#!/usr/bin/env python3
"""QLoRA on one NVIDIA GPU: tests of the packed base by name; LoRA and QLoRA on random 7B weights, trained and decoded side by side, with
memory as the driver reports it. Three minutes at most, half of them to make the weights; 45 GiB of host memory, 70 GiB on the GPU.
libtorch's folders are found where python3 has torch. Nothing else should use the GPU: memory is that of the whole device.

    scripts/gpu_qlora.py RESULTS [--build build] [--seconds 175] [--model qwen2.5-coder-7b] [--gpu-memory 22]
"""
import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = "PackedBaseOnGpu.*:ModelOnGpu.TrainerInBf16IsNearTheCpu:ModelOnGpu.DecoderInBf16IsNearTheCpu:ModelOnGpu.RestoredItContinuesBitForBit"


def from_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name, command, results, environment, seconds):
    """What it printed and whether it ended well; all of it is kept, also where time ran out."""
    began = time.monotonic()
    path = results / f"{name}.txt"
    with open(path, "w") as out:
        try:
            code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=environment, timeout=max(seconds, 1)).returncode
        except subprocess.TimeoutExpired:
            code = "time is over"
    print(f"{name}: {'ok' if code == 0 else f'FAILED, {code}'}, {time.monotonic() - began:.1f} s", flush=True)
    return path.read_text(), code == 0


def verdict(what, found, wanted, unit=""):
    """A wanted figure below 0 is a bound from above."""
    bound = f"{'at least' if wanted > 0 else 'below'} {abs(wanted):g}{unit}"
    if found is None:
        return f"| {what} | not measured | {bound} | |"
    ok = found >= wanted if wanted > 0 else found < -wanted
    return f"| {what} | {found:g}{unit} | {bound} | {'yes' if ok else 'NO'} |"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=float, default=175)
    parser.add_argument("--model", default="qwen2.5-coder-7b")
    parser.add_argument("--gpu-memory", type=float, default=22)
    parser.add_argument("--cpu", action="store_true", help="CPU tensors and a tiny model, to try the script")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    arguments.results.mkdir(parents=True, exist_ok=True)
    ranks = from_script("gpu_ranks")
    environment = dict(os.environ, LD_LIBRARY_PATH=ranks.library_path(), KERNELWRIGHT_CACHE=str(arguments.results / "cache"))
    place = ranks.Runner(arguments.results, arguments.build, arguments.seconds)

    tests, tests_ok = run("tests", [place.program("model_gpu_test"), f"--gtest_filter={TESTS}"], arguments.results, environment,
                          min(60, end - time.monotonic()))
    bench_words = ["qlora", "--models", arguments.model, "--sequences", "4", "--length", "2048", "--batches", "1,4,8,64",
                   "--gpu-memory", str(arguments.gpu_memory), "--profile"]
    if arguments.cpu:
        bench_words = ["qlora", "--models", "tiny-1m", "--sequences", "4", "--length", "64", "--batches", "1,4", "--cpu"]
    bench, bench_ok = run("bench", [place.program("model_gpu_bench"), *bench_words], arguments.results, environment,
                          end - time.monotonic())

    def number(pattern):
        found = re.search(pattern, bench)
        return float(found.group(1)) if found else None

    trained = {row[0]: row for row in map(cells, re.findall(r"^\| Q?LoRA.*\|$", bench, re.M))}
    decoded = {row[0]: row for row in map(cells, re.findall(r"^\| \d+ \|.*\|$", bench, re.M))}
    agreement = [float(mean) for mean in re.findall(r"sampled against scored, NF4, .*mean ([\d.e+-]+),", bench)]
    memory = [float(row[5]) for name, row in trained.items() if "limited" in name and len(row) > 7]
    passed, skipped = len(re.findall(r"\[       OK \]", tests)), len(set(re.findall(r"\[  SKIPPED \] (\S+)", tests)))
    print(f"\ntests: {passed} passed, {skipped} skipped, {'none' if tests_ok else 'SOME'} failed")
    print("\n".join(line for line in bench.splitlines() if line.startswith(("|", "of LoRA", "#", "small", "tiny", "sampled", "qwen"))))
    print("\n| what | found | wanted | |\n| --- | --- | --- | --- |")
    print(verdict("loss on the packed base against the expanded one, 50 steps", number(r"at most ([\d.e+-]+) from"), -1e-2))
    print(verdict("sampled against scored in NF4, mean", max(agreement) if agreement else None, -5e-3))
    print(verdict("NF4 against bf16, batch 1", float(decoded["1"][3]) if "1" in decoded else None, 2.2, " x"))
    print(verdict("QLoRA of LoRA's rate, no limit", number(r"rate: ([\d.]+) % without"), 85, " %"))
    print(verdict("QLoRA of LoRA's rate, limit, one pass", number(r"([\d.]+) % within"), 85, " %"))
    print(verdict("QLoRA of LoRA's rate, limit, short passes", number(r"([\d.]+) % in short"), 85, " %"))
    print(verdict("QLoRA within the limit, whole device as the driver says", max(memory) if memory else None,
                  -arguments.gpu_memory, " GiB"))
    return 0 if tests_ok and bench_ok else 1


if __name__ == "__main__":
    sys.exit(main())
