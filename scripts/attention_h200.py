#!/usr/bin/env python3
"""The library's attention against PyTorch's (docs/program.md).

Two steps, because kernels are written where the program is and measured where the GPU is:

    scripts/attention_h200.py write FOLDER --program build/kernelwright [--build]
    scripts/attention_h200.py measure FOLDER OUT --limit 70

`write` leaves a task and the library's kernel of each form in FOLDER, and the same kernel with other constants (VARIANTS). `--build`
makes shared libraries of them with nvcc; `measure` builds those that are missing. It compares each with attention in float64 and the bound
that the judge derives, and times them and PyTorch's flash attention, its cuDNN attention and what PyTorch chooses in turns, many launches
in a CUDA graph. It writes OUT/times.json and tables in Markdown. Needs torch there; with 16 cores it builds in about 30 s, and measures in
another 60 s.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

# batch, heads, length
SHAPES = [(16, 32, 512), (8, 32, 1024), (16, 16, 1024), (8, 16, 2048), (4, 32, 4096), (4, 16, 8192)]
# By type and head size: queries of a block, keys at a time, warps, stages, queries in registers. None: as the library has them.
VARIANTS: dict = {
    ("float16", 64): [None, (128, 128, 4, 2, 0), (64, 64, 4, 2, 1), (128, 64, 8, 2, 1), (128, 64, 4, 3, 0)],
    ("float16", 128): [None, (128, 64, 4, 2, 0), (128, 32, 4, 3, 0), (64, 64, 4, 2, 1), (128, 64, 8, 2, 1)],
    ("float32", 64): [None, (128, 32, 8, 2, 0), (64, 64, 4, 2, 0), (128, 32, 4, 2, 0)],
    ("float32", 128): [None, (64, 32, 4, 2, 0), (128, 16, 8, 2, 0)],
}


def task_text(dtype: str, head: int, causal: bool) -> str:
    # The head's size is a constant in the kernel, as in a model's.
    shape = f"[b, h, t, {head}]"
    lines = [f"name: {name_of(dtype, head, causal)}", "pytorch: |", "  def reference(q, k, v):",
             f"      return F.scaled_dot_product_attention(q, k, v, is_causal={causal})", "inputs:"]
    lines += [f"  {each}: {{dtype: {dtype}, shape: {shape}, values: normal}}" for each in "qkv"]
    lines += ["outputs:", f"  out: {{dtype: {dtype}, shape: {shape}}}", "sizes:", "  small: [{b: 2, h: 2, t: 67}, {b: 1, h: 3, t: 128}]",
              "  train: [{b: 4, h: 8, t: 1024}]"]
    return "\n".join(lines) + "\n"


def name_of(dtype: str, head: int, causal: bool) -> str:
    return f"{dtype}_{head}_{'causal' if causal else 'full'}"


def forms() -> list[tuple[str, int, bool]]:
    return list(itertools.product(("float16", "bfloat16", "float32"), (64, 128), (True, False)))


def variants(dtype: str, head: int, causal: bool) -> list:
    return VARIANTS.get((dtype, head), [None])


def with_constants(text: str, variant: tuple) -> str:
    for name, value in zip(("tile_q", "tile_k", "warps", "stages"), variant):
        text, count = re.subn(rf"(\b{name} = )\d+(?=[,;])", rf"\g<1>{value}", text, count=1)
        assert count == 1, name
    text, count = re.subn(r"(queries_in_registers = )\w+;", rf"\g<1>{'true' if variant[4] else 'false'};", text, count=1)
    assert count == 1
    return text


def label(variant) -> str:
    return "library" if variant is None else "x".join(str(part) for part in variant)


def write(folder: pathlib.Path, program: str, build_too: bool) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for form in forms():
        name = name_of(*form)
        task = folder / f"{name}.yaml"
        task.write_text(task_text(*form))
        done = subprocess.run([program, "program", str(task), "--write"], capture_output=True, text=True)
        if done.returncode != 0 or "attend<" not in done.stdout:
            failed += 1
            print(f"{name}: {done.stderr.strip() or 'PLAIN'}", file=sys.stderr)
            continue
        for variant in variants(*form):
            text = done.stdout if variant is None else with_constants(done.stdout, variant)
            (folder / f"{name}_{label(variant)}.cu").write_text(text)
        print(f"{name}: {len(variants(*form))} kernels")
    if build_too:
        for name, error in build_all(folder, 2).items():
            if error:
                failed += 1
                print(f"{name}: {error}", file=sys.stderr)
    return 1 if failed else 0


def build(folder: pathlib.Path, name: str) -> str:
    source, library = folder / f"{name}.cu", folder / f"{name}.so"
    if not source.is_file():
        return "no kernel"
    if library.is_file() and library.stat().st_mtime >= source.stat().st_mtime:
        return ""
    nvcc = "/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else "nvcc"
    part = library.with_suffix(".part.so")
    options = ["-std=c++17", "-gencode=arch=compute_90,code=sm_90", "-O3", "-shared", "-Xcompiler", "-fPIC", "--cudart", "static"]
    done = subprocess.run([nvcc, *options, "-o", str(part), str(source)], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr[-400:]
    part.rename(library)
    return ""


def build_all(folder: pathlib.Path, builders: int) -> dict[str, str]:
    names = [f"{name_of(*form)}_{label(variant)}" for form in forms() for variant in variants(*form)]
    with concurrent.futures.ThreadPoolExecutor(builders) as pool:
        return dict(zip(names, pool.map(lambda name: build(folder, name), names)))


class Measurement:
    """PyTorch and one kernel's variants, on the same inputs."""

    def __init__(self, folder: pathlib.Path, form: tuple[str, int, bool], shape: tuple[int, int, int], failed: dict[str, str]):
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        self.torch = torch
        dtype, head, self.causal = form
        self.dtype = getattr(torch, dtype)
        batch, heads, length = shape
        self.inputs = [torch.randn((batch, heads, length, head), device="cuda", dtype=self.dtype) for _ in range(3)]
        self.out = torch.empty_like(self.inputs[0])
        self.flops = 4.0 * batch * heads * length * length * head / (2 if self.causal else 1)
        attention = torch.nn.functional.scaled_dot_product_attention
        self.calls = {"pytorch": lambda: attention(*self.inputs, is_causal=self.causal)}
        named = (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))
        for name, backend in named if dtype != "float32" else ():  # which has neither
            def call(backend=backend):
                with sdpa_kernel(backend):
                    return attention(*self.inputs, is_causal=self.causal)
            try:
                call()
                self.calls[name] = call
            except RuntimeError as error:
                print(name, "is not there:", str(error)[:100], flush=True)
        arguments = [ctypes.c_void_p(tensor.data_ptr()) for tensor in [*self.inputs, self.out]]
        arguments += [ctypes.c_int(value) for value in shape]
        for variant in variants(*form):
            name = f"{name_of(*form)}_{label(variant)}"
            if failed.get(name):
                continue
            launch = ctypes.CDLL(str(folder / f"{name}.so")).launch
            self.calls[label(variant)] = lambda launch=launch: launch(
                *arguments, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def truth(self, inputs):
        torch = self.torch
        q, k, v = inputs
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if self.causal:
            seen = torch.ones(scores.shape[-2:], device="cuda", dtype=torch.bool).tril()
            scores = scores.masked_fill(~seen, -math.inf)
        return torch.softmax(scores, -1) @ v

    def coarse(self, x):
        bits = {self.torch.float16: 7, self.torch.bfloat16: 4, self.torch.float32: 10}[self.dtype]
        whole = x.float().view(self.torch.int32)
        drop = 23 - bits
        return ((whole + (1 << (drop - 1)) - 1 + ((whole >> drop) & 1)) & ~((1 << drop) - 1)).view(self.torch.float32)

    def errors(self) -> dict:
        """The worst error of each in units of |truth| + rms(truth), and what the judge allows (src/kernel/judge/error_bound.cpp)."""
        torch = self.torch
        got = {}
        for name, call in self.calls.items():
            if name in ("pytorch", "flash", "cudnn"):
                got[name] = call().clone()
                continue
            self.out.fill_(float("nan"))
            call()
            torch.cuda.synchronize()
            got[name] = self.out.clone()
        worst = dict.fromkeys(got, 0.0)
        rough = 0.0
        for b, h in ((0, 0), (self.inputs[0].shape[0] - 1, self.inputs[0].shape[1] - 1)):  # all heads are computed alike
            part = [tensor[b, h] for tensor in self.inputs]
            truth = self.truth([tensor.double() for tensor in part])
            unit = truth.abs() + truth.square().mean().sqrt()
            for name, out in got.items():
                worst[name] = max(worst[name], float(((out[b, h].double() - truth).abs() / unit).nan_to_num(math.inf).max()))
            coarse = self.truth([self.coarse(tensor).double() for tensor in part])
            rough = max(rough, float(((coarse - truth).abs() / unit).max()))
        # The other heads, by PyTorch's.
        for name, out in got.items():
            far = (out.float() - got["pytorch"].float()).abs().max()
            if not float(far) < 0.05 * float(got["pytorch"].float().abs().max()):
                worst[name] = math.inf
        floor, ceiling, factor = {torch.float16: (2**-9, 2**-5, 3), torch.bfloat16: (2**-6, 2**-3, 3)}.get(self.dtype, (2**-17, 2**-9, 16))
        own = worst["pytorch"]
        worst["allowed"] = max(floor, min(rough / 4, ceiling), min(factor * own, max(ceiling, 2 * own)))
        return worst

    def graph(self, call, launches: int):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                call()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made, capture_error_mode="relaxed"):
            for _ in range(launches):
                call()
        return made

    def times_us(self, turns: int) -> dict:
        """Medians over turns, one after the other in each."""
        torch = self.torch
        rate = 40e12 if self.dtype == torch.float32 else 350e12
        launches = max(1, min(20, int(2e-3 / (self.flops / rate + 8e-6))))
        graphs = {name: self.graph(call, launches) for name, call in self.calls.items()}
        events: dict = {name: [] for name in graphs}
        for _ in range(turns):
            for name, graph in graphs.items():
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                graph.replay()
                end.record()
                events[name].append((begin, end))
        torch.cuda.synchronize()
        return {name: sorted(b.elapsed_time(e) for b, e in each[1:])[(turns - 1) // 2] * 1e3 / launches for name, each in events.items()}


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else math.nan


def tables(rows: list[dict], title: str) -> str:
    lines = [title, ""]
    for form in dict.fromkeys(row["form"] for row in rows):
        mine = [row for row in rows if row["form"] == form]
        names = list(mine[0]["us"])
        lines += [f"## {form}", "", "TFLOP/s; in brackets, error / allowed where that is more than 1.", "",
                  "| batch, heads, length | " + " | ".join(names) + " | library / flash | error / allowed | flash's |",
                  "| --- |" + " ---: |" * (len(names) + 3)]
        for row in mine:
            cells = []
            for name in names:
                ratio = row["errors"][name] / row["errors"]["allowed"]
                cells.append(f"{row['flops'] / row['us'][name] / 1e6:.0f}" + ("" if ratio <= 1 else f" ({ratio:.2g})"))
            errors, us = row["errors"], row["us"]
            flash = "flash" if "flash" in us else "pytorch"
            last = [f"{us[flash] / us['library']:.2f}", f"{errors['library'] / errors['allowed']:.3f}",
                    f"{errors[flash] / errors['allowed']:.3f}"]
            lines.append(f"| {row['shape']} | " + " | ".join(cells + last) + " |")
        flash = "flash" if "flash" in names else "pytorch"
        means = [f"{name}: {mean([row['us'][flash] / row['us'][name] for row in mine if name in row['us']]):.3f}" for name in names]
        lines += ["", f"Speed of {flash} = 1, geometric means: " + ", ".join(means), ""]
    for title, wanted in (("16 bits, causal", lambda name: "float32" not in name and "causal" in name),
                          ("16 bits", lambda name: "float32" not in name), ("float32", lambda name: "float32" in name)):
        mine = [row for row in rows if wanted(row["form"])]
        ratios = [row["us"].get("flash", row["us"]["pytorch"]) / row["us"]["library"] for row in mine]
        wrong = sum(not row["errors"]["library"] <= row["errors"]["allowed"] for row in mine)
        lines.append(f"{title}: {len(mine)} rows, library / {'flash' if '16' in title else 'PyTorch'} {mean(ratios):.3f} (geometric mean), "
                     f"not right: {wrong}")
    return "\n".join(lines)


def measure(folder: pathlib.Path, out: pathlib.Path, limit_s: float) -> int:
    start = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    failed = build_all(folder, int(os.environ.get("BUILDERS", 16)))
    for name, error in failed.items():
        if error:
            print(name, error, flush=True)
    print(f"built after {time.monotonic() - start:.0f} s", flush=True)
    if limit_s <= 0:
        return 0
    import torch

    torch.manual_seed(1)
    rows = []
    # Shape by shape, so that every form has some where time runs out.
    for shape, form in itertools.product(SHAPES, forms()):
        if time.monotonic() - start > limit_s:
            print(name_of(*form), shape, "no time left", flush=True)
            continue
        if form[0] != "float16" and shape not in SHAPES[1:4:2]:
            continue
        try:
            one = Measurement(folder, form, shape, failed)
            row = dict(form=name_of(*form), shape=", ".join(map(str, shape)), errors=one.errors(), us=one.times_us(7), flops=one.flops)
        except Exception as error:  # noqa: BLE001: one form's failure is a line
            print(name_of(*form), shape, "failed:", str(error)[:300], flush=True)
            if "illegal" in str(error) or "misaligned" in str(error):
                break
            continue
        del one
        torch.cuda.empty_cache()
        rows.append(row)
        (out / "times.json").write_text(json.dumps(rows))
    text = tables(rows, f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    (out / "table.md").write_text(text + "\n")
    print(text)
    print(f"{time.monotonic() - start:.0f} s")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="tasks and kernels, with the program")
    writing.add_argument("folder", type=pathlib.Path)
    writing.add_argument("--program", default="build/kernelwright")
    writing.add_argument("--build", action="store_true", help="shared libraries too, with nvcc")
    measuring = commands.add_parser("measure", help="times and errors, on a GPU")
    measuring.add_argument("folder", type=pathlib.Path)
    measuring.add_argument("out", type=pathlib.Path)
    measuring.add_argument("--limit", type=float, default=70, help="seconds after which no shape is begun; 0: only build")
    arguments = parser.parse_args()
    if arguments.command == "write":
        return write(arguments.folder, arguments.program, arguments.build)
    return measure(arguments.folder, arguments.out, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
