"""Tasks for Python on a GPU: reading them, making inputs, calling their PyTorch text, timing. Shares nothing with the C++ program.

Needs torch and PyYAML; a GPU only when something is timed.
"""
import ast
import math
import pathlib
import re
import time

import torch
import torch.nn.functional as F
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64,
               "int32": torch.int32, "int64": torch.int64, "int8": torch.int8, "uint8": torch.uint8}


def load_task(path):
    """A name of the suite, a task's folder or its YAML file."""
    for candidate in (ROOT / "tasks" / path / "task.yaml", pathlib.Path(path) / "task.yaml", pathlib.Path(path)):
        if candidate.is_file():
            return yaml.safe_load(candidate.read_text())
    raise FileNotFoundError(f"{path} is neither a task of the suite nor a folder or file with one")


def names_of(text):
    return re.findall(r"[A-Za-z_]\w*", str(text))


def evaluate(text, sizes):
    """A shape expression: whole-number division, so Python's // after parsing."""
    tree = ast.parse(str(text), mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node.op = ast.FloorDiv()
    return eval(compile(tree, "shape", "eval"), {}, dict(sizes))


def size_names(task):
    names = []
    for spec in list(task["inputs"].values()) + list(task["outputs"].values()):
        for entry in spec["shape"]:
            names += [name for name in names_of(entry) if name not in names]
    return names


def make_input(spec, sizes, generator):
    shape = [evaluate(entry, sizes) for entry in spec["shape"]]
    dtype = TORCH_TYPES[spec["dtype"]]
    values = spec.get("values", "normal" if dtype.is_floating_point else {"integers": [0, 9]})
    if isinstance(values, dict) and "integers" in values:
        low, high = (evaluate(bound, sizes) for bound in values["integers"])
        made = torch.randint(low, high + 1, shape, generator=generator, device=generator.device, dtype=torch.int64)
    elif values == "normal":
        made = torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float32)
    else:
        low, high = {"uniform": (0, 1), "positive": (0.1, 2)}.get(values) if isinstance(values, str) else values["uniform"]
        made = low + (high - low) * torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float32)
    return made.to(dtype)


def make_inputs(task, sizes, seed, device="cuda"):
    generator = torch.Generator(device=device).manual_seed(seed)
    return {name: make_input(spec, sizes, generator) for name, spec in task["inputs"].items()}


def reference_function(task):
    """The text's function, and the names of its parameters: inputs and sizes."""
    scope = {"torch": torch, "F": F, "math": math, "List": list}
    exec(task["pytorch"], scope)
    function = scope["reference"]
    return function, function.__code__.co_varnames[:function.__code__.co_argcount]


def call_arguments(names, inputs, sizes, wide=False):
    """The values of the parameters; wide: floating-point inputs in float64."""
    return [(inputs[name].double() if wide and inputs[name].dtype.is_floating_point else inputs[name]) if name in inputs else sizes[name]
            for name in names]


FLUSH = None


def flush_l2():
    """Writes more than twice the L2."""
    global FLUSH
    if FLUSH is None:
        l2_bytes = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0)
        FLUSH = torch.empty(max(2 * l2_bytes, 256 << 20), dtype=torch.int8, device="cuda")
    FLUSH.zero_()


def median_interval(samples):
    """95 % interval of the median: order statistics with ranks from the binomial distribution's normal approximation."""
    ordered, count = sorted(samples), len(samples)
    half_width = 0.98 * math.sqrt(count)
    low, high = math.floor(count / 2 - half_width), math.ceil(count / 2 + 1 + half_width)
    return (ordered[0], ordered[-1]) if low < 1 or high > count else (ordered[low - 1], ordered[high - 1])


def median(samples):
    ordered, middle = sorted(samples), len(samples) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def event_us(enqueue):
    """Device time, host time of enqueueing, and whether the device came to it before the host was done. enqueue(start, end) records both."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    host_us = enqueue(start, end)
    exposed = start.query()
    end.synchronize()
    return start.elapsed_time(end) * 1000, host_us, exposed


def time_us(call, trials_min=20, trials_max=200, relative_interval=0.02, budget_ms=1000, warm_up_calls=5):
    """Device time of a call, the L2 flushed before each. The host's enqueueing hides behind flushes queued ahead, as many as it takes; a
    trial in which it did not is made again, 20 times at most, and counted as exposed after that."""
    def one(flushes):
        def enqueue(start, end):
            for _ in range(flushes):
                flush_l2()
            start.record()
            before = time.perf_counter()
            call()
            host_us = (time.perf_counter() - before) * 1e6
            end.record()
            return host_us
        return event_us(enqueue)

    def one_flush(start, end):
        start.record()
        flush_l2()
        end.record()
        return 0.0

    for _ in range(warm_up_calls):
        call()
        torch.cuda.synchronize()
    probes = [one(1)[1] for _ in range(5)]
    flush_us = max(median([event_us(one_flush)[0] for _ in range(5)]), 1.0)
    flushes_max = max(1, int(10_000 / flush_us))
    flushes = min(max(1, math.ceil((2 * median(probes) + 50) / flush_us)), flushes_max)

    trials, hosts, exposed_trials, repeated, in_a_row = [], [], 0, 0, 0
    start_s = time.perf_counter()
    while len(trials) < trials_max:
        wall_ms = (time.perf_counter() - start_s) * 1000
        if len(trials) >= 3 and wall_ms >= budget_ms:
            break
        if len(trials) >= max(trials_min, 3):
            low, high = median_interval(trials)
            if high - low <= relative_interval * (high + low) / 2:
                break
        device_us, host_us, exposed = one(flushes)
        if exposed and repeated < 20 and wall_ms < budget_ms / 2:
            repeated, in_a_row = repeated + 1, in_a_row + 1
            if in_a_row % 2 == 0:
                flushes = min(2 * flushes, flushes_max)
            continue
        in_a_row = 0
        trials.append(device_us)
        hosts.append(host_us)
        exposed_trials += exposed
    low, high = median_interval(trials)
    return {"us": median(trials), "low_us": low, "high_us": high, "trials": len(trials), "exposed": exposed_trials,
            "enqueue_us": median(hosts), "flushes": flushes}
