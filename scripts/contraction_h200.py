#!/usr/bin/env python3
"""The library's products and convolutions against cuBLAS and cuDNN (docs/program.md).

Two steps, because kernels are written where the program is and measured where the GPU is:

    scripts/contraction_h200.py write FOLDER --program build/kernelwright
    scripts/contraction_h200.py measure FOLDER OUT --limit 300

`write` leaves a task and the library's kernel of each shape in FOLDER. `measure` builds them with nvcc, compares each with PyTorch in
float64 and the bound that the judge derives, and times both in turns, many launches in a CUDA graph, TF32 off. It writes OUT/times.json
and a table in Markdown. Needs nvcc and torch there.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

# name, batch, m, k, n, layout: of the left factor, then of the right one; t: transposed
PRODUCTS = [
    ("512", 1, 512, 512, 512, "nn"), ("768", 1, 768, 768, 768, "nn"), ("1024", 1, 1024, 1024, 1024, "nn"),
    ("1536", 1, 1536, 1536, 1536, "nn"), ("2048", 1, 2048, 2048, 2048, "nn"), ("3072", 1, 3072, 3072, 3072, "nn"),
    ("4096", 1, 4096, 4096, 4096, "nn"), ("8192", 1, 8192, 8192, 8192, "nn"), ("odd_1023_1111_1537", 1, 1023, 1111, 1537, "nn"),
    ("shallow_4096_512_4096", 1, 4096, 512, 4096, "nn"), ("shallow_8192_1024_2048", 1, 8192, 1024, 2048, "nn"),
    ("deep_512_8192_512", 1, 512, 8192, 512, "nn"), ("deep_1024_8192_1024", 1, 1024, 8192, 1024, "nn"),
    ("skinny_64_4096_4096", 1, 64, 4096, 4096, "nn"), ("skinny_128_8192_8192", 1, 128, 8192, 8192, "nn"),
    ("skinny_8192_4096_64", 1, 8192, 4096, 64, "nn"), ("batch16_512", 16, 512, 512, 512, "nn"),
    ("batch32_512_64_512_nt", 32, 512, 64, 512, "nt"), ("batch32_512_512_64", 32, 512, 512, 64, "nn"),
    ("2048_tn", 1, 2048, 2048, 2048, "tn"),
]
# name, batch, channels in, channels out, height and width, window, stride, padding
CONVOLUTIONS = [
    ("resnet_64_56", 32, 64, 64, 56, 3, 1, 1), ("resnet_128_28", 32, 128, 128, 28, 3, 1, 1), ("resnet_256_14", 32, 256, 256, 14, 3, 1, 1),
    ("resnet_512_7", 32, 512, 512, 7, 3, 1, 1), ("stem_7x7", 16, 3, 64, 224, 7, 2, 3), ("down_64_128", 32, 64, 128, 56, 3, 2, 1),
    ("down_256_512", 32, 256, 512, 14, 3, 2, 1), ("one_64_256", 16, 64, 256, 56, 1, 1, 0), ("one_256_64", 16, 256, 64, 56, 1, 1, 0),
    ("one_512_2048", 16, 512, 2048, 7, 1, 1, 0), ("one_stride_256_512", 16, 256, 512, 56, 1, 2, 0), ("vgg_64_224", 8, 64, 64, 224, 3, 1, 1),
    ("vgg_128_112", 8, 128, 128, 112, 3, 1, 1), ("vgg_512_28", 8, 512, 512, 28, 3, 1, 1), ("kernelbench_5x5", 16, 32, 64, 64, 5, 1, 2),
    ("kernelbench_3_16", 128, 3, 16, 32, 3, 1, 0), ("kernelbench_64_128", 64, 64, 128, 32, 3, 1, 0),
    ("alexnet_11x11", 32, 3, 96, 224, 11, 4, 2), ("unet_32_256", 4, 32, 32, 256, 3, 1, 1), ("valid_96_13", 64, 256, 384, 13, 3, 1, 1),
]


def product_task(name: str, dtype: str, batch: int, m: int, k: int, n: int, layout: str) -> str:
    lead = ["b"] if batch > 1 else []
    left = lead + (["k", "m"] if layout[0] == "t" else ["m", "k"])
    right = lead + (["n", "k"] if layout[1] == "t" else ["k", "n"])
    turned = [".transpose(-2, -1)" if side == "t" else "" for side in layout]
    text = f"left_{turned[0]} @ right_{turned[1]}"
    sizes = dict(b=batch, m=m, k=k, n=n) if batch > 1 else dict(m=m, k=k, n=n)
    small = [dict(m=33, k=70, n=46), dict(m=64, k=32, n=72)]
    small = [dict(one, b=3) if batch > 1 else one for one in small]
    return task_text(f"{dtype}_{name}", f"return {text}", "left_, right_", [("left_", dtype, left), ("right_", dtype, right)],
                     ("out", dtype, lead + ["m", "n"]), small, sizes)


def convolution_task(name: str, batch: int, inside: int, outside: int, side: int, window: int, stride: int, padding: int) -> str:
    made = f"(side + {2 * padding - window}) / {stride} + 1"
    low = max(window + 4, 8)
    small = [dict(b=2, ci=inside if inside < 8 else 16, co=17, side=low + 1), dict(b=3, ci=inside if inside < 8 else 12, co=16, side=low)]
    return task_text(f"conv_{name}", f"return torch.nn.functional.conv2d(x, w, None, {stride}, {padding})", "x, w",
                     [("x", "float32", ["b", "ci", "side", "side"]), ("w", "float32", ["co", "ci", window, window])],
                     ("out", "float32", ["b", "co", made, made]), small, dict(b=batch, ci=inside, co=outside, side=side))


def task_text(name, body, parameters, inputs, output, small, train) -> str:
    def shaped(shape):
        return "[" + ", ".join(f'"{part}"' if isinstance(part, str) and " " in part else str(part) for part in shape) + "]"

    def listed(sizes):
        return "{" + ", ".join(f"{key}: {value}" for key, value in sizes.items()) + "}"

    lines = [f"name: {name}", "pytorch: |", f"  def reference({parameters}):", f"      {body}", "inputs:"]
    lines += [f"  {each}: {{dtype: {dtype}, shape: {shaped(shape)}, values: normal}}" for each, dtype, shape in inputs]
    lines += ["outputs:", f"  {output[0]}: {{dtype: {output[1]}, shape: {shaped(output[2])}}}", "sizes:"]
    lines += ["  small: [" + ", ".join(listed(one) for one in small) + "]", f"  train: [{listed(train)}]"]
    return "\n".join(lines) + "\n"


def jobs() -> list[dict]:
    made = []
    for dtype in ("float32", "float16"):
        for shape in PRODUCTS:
            name, batch, m, k, n, layout = shape
            made.append(dict(kind=f"products in {dtype}", name=f"{dtype}_{name}", text=product_task(name, dtype, *shape[1:]), dtype=dtype,
                             flops=2.0 * batch * m * n * k))
    for shape in CONVOLUTIONS:
        name, batch, inside, outside, side, window, stride, padding = shape
        out = (side + 2 * padding - window) // stride + 1
        made.append(dict(kind="convolutions in float32", name=f"conv_{name}", text=convolution_task(*shape), dtype="float32",
                         flops=2.0 * batch * outside * out * out * inside * window * window))
    return made


def write(folder: pathlib.Path, program: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for job in jobs():
        task = folder / f"{job['name']}.yaml"
        task.write_text(job["text"])
        done = subprocess.run([program, "program", str(task), "--write"], capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"{job['name']}: {done.stderr.strip()}", file=sys.stderr)
            continue
        (folder / f"{job['name']}.cu").write_text(done.stdout)
        print(f"{job['name']}: {'tiles' if 'contract<' in done.stdout else 'PLAIN'}")
    return 1 if failed else 0


def build(folder: pathlib.Path, name: str) -> str:
    source, library = folder / f"{name}.cu", folder / f"{name}.so"
    if not source.is_file():
        return "no kernel"
    if library.is_file() and library.stat().st_mtime >= source.stat().st_mtime:
        return ""
    nvcc = "/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else "nvcc"
    part = library.with_suffix(".part.so")
    options = ["-std=c++17", "-arch=sm_90", "-O3", "-shared", "-Xcompiler", "-fPIC", "--cudart", "shared"]
    done = subprocess.run([nvcc, *options, "-o", str(part), str(source)], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr[-400:]
    part.rename(library)
    return ""


def sizes_of(text: str) -> tuple[list[str], dict[str, int]]:
    """Names in the order of the launcher's parameters, and the train size."""
    train = dict(re.findall(r"(\w+): (\d+)", text.split("train:")[1]))
    names: list[str] = []
    for shape in re.findall(r"shape: \[(.*?)\]", text):
        names = list(dict.fromkeys([*names, *re.findall(r"[a-z]+", shape)]))
    return names, {name: int(train[name]) for name in names}


class Measurement:
    """One kernel and PyTorch, on the same inputs."""

    def __init__(self, job: dict, folder: pathlib.Path):
        import torch

        self.torch, self.job = torch, job
        names, sizes = sizes_of(job["text"])
        dtype = getattr(torch, job["dtype"])
        shapes = [[int(eval(part.strip(' "').replace("/", "//"), {}, dict(sizes))) for part in shape.split(",")]
                  for shape in re.findall(r"shape: \[(.*?)\]", job["text"])]
        self.inputs = [torch.randn(shape, device="cuda", dtype=dtype) for shape in shapes[:-1]]
        self.out = torch.full(shapes[-1], float("nan"), device="cuda", dtype=dtype)
        space: dict = {"torch": torch}
        exec(re.search(r"pytorch: \|\n(.*?)\ninputs:", job["text"], re.S).group(1).replace("\n  ", "\n").strip(), space)
        self.reference = space["reference"]
        launch = ctypes.CDLL(str(folder / f"{job['name']}.so")).launch
        arguments = [ctypes.c_void_p(tensor.data_ptr()) for tensor in [*self.inputs, self.out]]
        arguments += [ctypes.c_int(sizes[name]) for name in names]
        self.ours = lambda: launch(*arguments, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def errors(self) -> dict:
        """The worst error of each in units of |truth| + rms(truth), and what the judge allows (src/kernel/judge/error_bound.cpp)."""
        torch = self.torch
        self.ours()
        truth = self.reference(*[tensor.double() for tensor in self.inputs])
        unit = truth.abs() + truth.square().mean().sqrt()
        worst = lambda got: float(((got.double() - truth).abs() / unit).nan_to_num(math.inf).max())
        own = worst(self.reference(*self.inputs))
        single = self.job["dtype"] == "float32"
        coarse = [self.tf32(tensor) if single else tensor.to(torch.bfloat16) for tensor in self.inputs]
        rough = worst(self.reference(*[tensor.double() for tensor in coarse]))
        floor, ceiling, factor = (2**-17, 2**-9, 16) if single else (2**-9, 2**-5, 3)
        bound = max(floor, min(rough / 4, ceiling), min(factor * own, max(ceiling, 2 * own)))
        return dict(ours=worst(self.out), pytorch=own, allowed=bound)

    def tf32(self, x):
        bits = x.view(self.torch.int32)
        return ((bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF).view(self.torch.float32)

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

    def times_us(self, turns: int = 7) -> dict:
        """Medians over turns, PyTorch and the kernel one after the other in each."""
        torch = self.torch
        rate = 40e12 if self.job["dtype"] == "float32" else 500e12
        launches = max(1, min(50, int(2e-3 / (self.job["flops"] / rate + 8e-6))))
        graphs = {"pytorch": self.graph(lambda: self.reference(*self.inputs), launches), "ours": self.graph(self.ours, launches)}
        events: dict = {who: [] for who in graphs}
        for _ in range(turns):
            for who, graph in graphs.items():
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                graph.replay()
                end.record()
                events[who].append((begin, end))
        torch.cuda.synchronize()
        return {who: sorted(b.elapsed_time(e) for b, e in each[1:])[(turns - 1) // 2] * 1e3 / launches for who, each in events.items()}


def mean(values: list[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else math.nan


def measure(folder: pathlib.Path, out: pathlib.Path, limit_s: float) -> int:
    start = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    every = jobs()
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("BUILDERS", 16))) as pool:
        for job, error in zip(every, pool.map(lambda job: build(folder, job["name"]), every)):
            job["failed"] = error
    print(f"built after {time.monotonic() - start:.0f} s", flush=True)
    if limit_s <= 0:
        return 0
    import torch

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    rows = []
    for job in every:
        if job["failed"] or time.monotonic() - start > limit_s:
            print(job["name"], job["failed"] or "no time left", flush=True)
            continue
        try:
            one = Measurement(job, folder)
            row = dict(kind=job["kind"], name=job["name"], errors=one.errors(), us=one.times_us(), flops=job["flops"])
        except Exception as error:  # noqa: BLE001: one kernel's failure is a line of the table
            print(job["name"], "failed:", str(error)[:300], flush=True)
            if "illegal" in str(error) or "misaligned" in str(error):
                break
            continue
        del one
        torch.cuda.empty_cache()
        rows.append(row)
        (out / "times.json").write_text(json.dumps(rows))
        print(f"{job['name']}: {row['us']['pytorch'] / row['us']['ours']:.2f} x", flush=True)
    lines = [f"{torch.cuda.get_device_name()}, torch {torch.__version__}, TF32 off", ""]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        mine = [row for row in rows if row["kind"] == kind]
        titles = ["PyTorch (us)", "library (us)", "library (TFLOP/s)", "PyTorch / library", "error / allowed", "PyTorch's"]
        lines += [f"## {kind}", "", "| shape | " + " | ".join(titles) + " |", "| --- |" + " ---: |" * len(titles)]
        for row in mine:
            us, errors = row["us"], row["errors"]
            ratio, allowed = us["pytorch"] / us["ours"], errors["allowed"]
            shape, rate = row["name"].split("_", 1)[1], row["flops"] / us["ours"] / 1e6
            lines.append(f"| {shape} | {us['pytorch']:.1f} | {us['ours']:.1f} | {rate:.1f} | "
                         f"{ratio:.2f} | {errors['ours'] / allowed:.3f} | {errors['pytorch'] / allowed:.3f} |")
        lines += ["", f"Geometric mean over {len(mine)} shapes: {mean([row['us']['pytorch'] / row['us']['ours'] for row in mine]):.3f}; "
                  f"not right: {sum(not row['errors']['ours'] <= row['errors']['allowed'] for row in mine)}", ""]
    (out / "table.md").write_text("\n".join(lines))
    print("\n".join(lines))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="tasks and kernels, with the program")
    writing.add_argument("folder", type=pathlib.Path)
    writing.add_argument("--program", default="build/kernelwright")
    measuring = commands.add_parser("measure", help="times and errors, on a GPU")
    measuring.add_argument("folder", type=pathlib.Path)
    measuring.add_argument("out", type=pathlib.Path)
    measuring.add_argument("--limit", type=float, default=300, help="seconds after which no shape is begun; 0: only build")
    arguments = parser.parse_args()
    if arguments.command == "write":
        return write(arguments.folder, arguments.program)
    return measure(arguments.folder, arguments.out, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
