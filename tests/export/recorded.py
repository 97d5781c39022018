"""Exported Python files without their framework: loading one, and what its launcher records, as `kernelwright plan` writes it."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("KERNELWRIGHT_PROGRAM", str(ROOT / "build" / "kernelwright"))


def run(*arguments):
    """The program's result as JSON; its error as text."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{arguments}: {done.stdout[-500:]} {done.stderr[-500:]}") from None
    return done.returncode, answer


class _Operator:
    def register_fake(self, function):
        return function

    def register_autograd(self, *arguments, **settings):
        pass


def load_without_framework(path):
    """The exported module. Its framework is only named when it is loaded; nothing of it is called."""
    torch = types.ModuleType("torch")
    torch.__getattr__ = lambda name: name
    torch.library = types.SimpleNamespace(custom_op=lambda *arguments, **settings: _Operator())
    before = sys.modules.get("torch")
    sys.modules["torch"] = torch
    try:
        specification = importlib.util.spec_from_file_location("exported_" + pathlib.Path(path).stem, path)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    finally:
        if before is None:
            del sys.modules["torch"]
        else:
            sys.modules["torch"] = before
    return module


class PlannedDevice:
    """The GPU that `kernelwright plan` assumes: an H200."""

    attributes = {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2147483647, 6: 65535, 7: 65535, 8: 48 << 10, 10: 32, 12: 65536, 16: 132,
                  38: 60 << 20, 39: 2048, 75: 9, 76: 0, 81: 228 << 10, 82: 65536, 95: 1, 97: 227 << 10, 106: 32}

    def attribute(self, number):
        return self.attributes[number]

    def occupancy(self, kernel, threads, shared):
        if not 0 < threads <= 1024:
            return 0
        return min(2048 // (-(-threads // 32) * 32), 32, (228 << 10) // (shared + 1024))


def _argument(module, layout, start, data, pointers):
    size = module._bytes_of(layout)
    inside = sorted((at - start, buffer, offset) for at, buffer, offset in pointers if start <= at < start + size)
    return (None if layout == "p" else data[start:start + size].hex(), inside)


def recorded_steps(module, sizes, scalars):
    """What the exported launcher does, in a form that can be compared."""
    steps = []
    for step in module.record(PlannedDevice(), sizes, scalars, module.buffer_bytes(sizes)):
        if step[0] == "launch":
            _, kernel, grid, block, shared, cooperative, data, starts, pointers, default_stream = step
            arguments = [_argument(module, layout, start, data, pointers) for layout, start in zip(kernel.layouts, starts)]
            steps.append(("launch", kernel.name, grid, block, shared, cooperative, default_stream, arguments))
        elif step[0] == "allow":
            steps.append(("allow", step[1].name, step[2]))
        else:
            steps.append(step)
    return steps


def _planned_argument(argument):
    if "bytes" not in argument:
        pointer = argument["pointer"]
        return None, [] if pointer is None else [(0, pointer["index"], pointer["offset_bytes"])]
    pointers = sorted((inside["at_bytes"], inside["pointer"]["index"], inside["pointer"]["offset_bytes"])
                      for inside in argument.get("pointers", []) if inside["pointer"] is not None)
    return argument["bytes"], pointers


def planned_steps(plan):
    """The same of the interpreter's plan."""
    def place(pointer):
        return pointer["index"], pointer["offset_bytes"]

    steps = []
    for step in plan["steps"]:
        kind = step["step"]
        if kind == "launch":
            arguments = [_planned_argument(argument) for argument in step["arguments"]]
            steps.append(("launch", step["kernel"], tuple(step["grid"]), tuple(step["block"]),
                          step["dynamic_shared_bytes"], step["cooperative"], step["default_stream"], arguments))
        elif kind == "allocate":
            steps.append(("allocate", step["index"], step["bytes"]))
        elif kind == "free":
            steps.append(("free", step["index"]))
        elif kind == "shared_memory_limit":
            steps.append(("allow", step["kernel"], step["bytes"]))
        elif kind == "memset":
            steps.append(("memset", place(step["target"]), step["value"], step["bytes"]))
        else:
            steps.append(("copy", place(step["target"]), place(step["source"]), step["bytes"]))
    return steps
