"""Kernels as KernelBench wants them: a file with a class ModelNew that compiles its CUDA with load_inline.

The file holds the problem's own classes, so that ModelNew creates the same parameters in the same order and a seed gives equal weights; its
forward calls the kernel and nothing of PyTorch that computes.
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

from ..errors import KernelwrightError
from ..torch_task.size_expressions import evaluate
from .bench_folder import imported_problems, read_json

_types = {
    "float32": ("float", "float"), "float64": ("double", "double"), "float16": ("__half", "half"),
    "bfloat16": ("__nv_bfloat16", "bfloat16"),
    "int32": ("int", "int32"), "int64": ("long long", "int64"), "int8": ("signed char", "int8"), "uint8": ("unsigned char", "uint8"),
    "bool": ("bool", "bool"),
}


# load_inline forbids operators of 16-bit types, which plain nvcc, and so the judge, allows.
_flags = ["-O3", *(f"-U__CUDA_NO_{what}__" for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS"))]


def export_folder(folder: pathlib.Path, levels: set[int] | None) -> int:
    written, missing, refused = 0, [], []
    for problem in imported_problems(folder, levels):
        kernel = _best_kernel(folder, problem)
        if kernel is None:
            missing.append(problem["key"])
            continue
        made = read_json(folder / "tasks" / problem["task"] / "problem.json", "an imported problem")
        place = folder / "exports" / f"level{problem['level']}" / f"{problem['title']}.py"
        try:
            text = model_new(made, kernel, pathlib.Path(made["source"]).read_text())
        except (KernelwrightError, OSError, SyntaxError, ValueError) as error:
            refused.append(f"{problem['key']}: {error}")
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        written += 1
    print(f"{written} files in {folder / 'exports'}; {len(missing)} problems have no right kernel" +
          (f": {', '.join(missing)}" if missing else ""))
    for line in refused:
        print(f"  not exported: {line}")
    return 1 if refused else 0


def _best_kernel(folder: pathlib.Path, problem: dict[str, Any]) -> str | None:
    place = folder / "kernels" / f"{problem['task']}.json"
    if not problem["expressible"] or not place.exists():
        return None
    best = read_json(place, "a run's kernels").get("best")
    return best["kernel"] if best else None


def model_new(made: dict[str, Any], kernel: str, source: str) -> str:
    """The text of the file. Raises KernelwrightError where a size cannot be read off the inputs."""
    tensors = [each for each in made["inputs"] if each["shape"]]
    sizes = _size_names(made)
    text = [f'"""{made["name"]}: a kernel for the problem below, written by `kernelwright kernelbench export`."""', ""]
    text += [_classes(source), "", "from torch.utils.cpp_extension import load_inline", "",
             f"_kernel = r'''{_quoted(kernel)}'''", "", f"_binding = r'''{_binding(made, sizes)}'''", ""]
    # The kernel includes nothing of PyTorch, and the binding little: both compile in seconds instead of a minute.
    text += [f"_extension = load_inline(name={made['name'] + '_kernel'!r}, cpp_sources=_binding, cuda_sources=_kernel,",
             f"                         functions=['run_kernel'], extra_cuda_cflags={_flags!r}, no_implicit_headers=True)", "", ""]
    text += ["class ModelNew(Model):"]
    user = [each["name"] for each in made["inputs"] if each["kind"] == "input"]
    text += [f"    def forward(self, {', '.join(user)}):"]
    for each in made["inputs"]:
        if each["kind"] != "input":
            text.append(f"        {each['name']} = self.{each['path']}")
    for each in tensors:
        text.append(f"        {each['name']} = {each['name']}.contiguous()")
    for name, expression in sizes.items():
        text.append(f"        {name} = {expression}")
    first = tensors[0]["name"]
    for each in made["outputs"]:
        shape = ", ".join(extent.replace("/", "//") for extent in each["shape"])
        text.append(f"        {each['name']} = torch.empty(({shape},), dtype=torch.{each['dtype']}, device={first}.device)")
    names = [each["name"] for each in (*made["inputs"], *made["outputs"])] + list(sizes)
    text.append(f"        _extension.run_kernel({', '.join(names)})")
    results = [f"{each['name']}.reshape(())" if each.get("scalar") else each["name"] for each in made["outputs"]]
    text.append(f"        return {', '.join(results)}")
    made_text = "\n".join(text) + "\n"
    ast.parse(made_text)  # what is written is Python, whatever the kernel holds
    return made_text


def _quoted(kernel: str) -> str:
    if "'''" in kernel:
        raise KernelwrightError("the kernel holds three quotes in a row, which cannot be written into a Python file")
    return kernel


def _classes(source: str) -> str:
    """The problem's file without its own inputs: imports, classes, functions, constants."""
    tree = ast.parse(source)
    tree.body = [each for each in tree.body if getattr(each, "name", None) not in ("get_inputs", "get_init_inputs")]
    if not any(isinstance(each, ast.Import) and any(alias.name == "torch" for alias in each.names) for each in tree.body):
        tree.body.insert(0, ast.parse("import torch").body[0])
    return ast.unparse(tree)


def _size_names(made: dict[str, Any]) -> dict[str, str]:
    """Every size of the launcher, in its order, and how it is read off the inputs."""
    order: dict[str, str | None] = {}
    for each in (*made["inputs"], *made["outputs"]):
        for extent in each["shape"]:
            for name in re.findall(r"[A-Za-z_]\w*", extent):
                order.setdefault(name, None)
    for each in made["inputs"]:
        for dim, extent in enumerate(each["shape"]):
            for name in order:
                if order[name] is None:
                    size = f"{each['name']}.size({dim})"
                    order[name] = _inverse(extent, name, size) or _multiple(extent, name, size, made)
    for name, expression in order.items():
        if expression is None:
            raise KernelwrightError(f"{made['name']}: the size {name} cannot be read off the shapes of the inputs")
    return {name: expression for name, expression in order.items() if expression is not None}


def _inverse(extent: str, name: str, size: str) -> str | None:
    """`name` from an extent that is `name`, `a * name`, `name + b`, ...: linear in it alone."""
    if set(re.findall(r"[A-Za-z_]\w*", extent)) != {name} or "/" in extent:
        return None
    constant = evaluate(extent, {name: 0})
    slope = evaluate(extent, {name: 1}) - constant
    if slope <= 0 or evaluate(extent, {name: 7}) != 7 * slope + constant:
        return None
    text = size if constant == 0 else f"({size} - {constant})" if constant > 0 else f"({size} + {-constant})"
    return text if slope == 1 else f"{text} // {slope}"


def _multiple(extent: str, name: str, size: str, made: dict[str, Any]) -> str | None:
    """`name` from `name / 4`, a group's channels, where the division leaves nothing over at any of the task's sizes."""
    parts = re.fullmatch(rf"{re.escape(name)} / (\d+)", extent)
    declared = [each for some in made["sizes"].values() for each in some]
    if not parts or any(each[name] % int(parts[1]) for each in declared):
        return None
    return f"{size} * {parts[1]}"


def _binding(made: dict[str, Any], sizes: dict[str, str]) -> str:
    """C++ that takes tensors and sizes and calls the launcher, which is compiled apart."""
    parameters, declared, checks, arguments = [], [], [], []
    for each in made["inputs"]:
        kind, name = _types[each["dtype"]][0], each["name"]
        if not each["shape"]:
            parameters.append(f"double {name}")
            declared.append(kind)
            arguments.append(f"static_cast<{kind}>({name})")
            continue
        parameters.append(f"at::Tensor {name}")
        declared.append(f"const {kind}*")
        checks += [f'  TORCH_CHECK({name}.is_cuda() && {name}.is_contiguous(), "{name} must be a contiguous CUDA tensor");',
                   f'  TORCH_CHECK({name}.element_size() == sizeof({kind}), "{name} must be {each["dtype"]}");']
        arguments.append(f"static_cast<const {kind}*>({name}.const_data_ptr())")
    for each in made["outputs"]:
        kind = _types[each["dtype"]][0]
        parameters.append(f"at::Tensor {each['name']}")
        declared.append(f"{kind}*")
        arguments.append(f"static_cast<{kind}*>({each['name']}.mutable_data_ptr())")
    for name in sizes:
        parameters.append(f"int64_t {name}")
        declared.append("int")
        arguments.append(f"static_cast<int>({name})")
    headers = ["ATen/core/Tensor.h", "c10/cuda/CUDAStream.h", "cuda_bf16.h", "cuda_fp16.h", "torch/csrc/Exceptions.h",
               "torch/csrc/utils/pybind.h"]
    return "\n".join([*(f"#include <{header}>" for header in headers), "",
                      f"extern \"C\" void launch({', '.join([*declared, 'cudaStream_t'])});", "",
                      f"void run_kernel({', '.join(parameters)}) {{", *checks,
                      f"  launch({', '.join(arguments)}, c10::cuda::getCurrentCUDAStream());", "}", ""])
