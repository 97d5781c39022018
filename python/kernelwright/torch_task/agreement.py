"""Is a task's reference what the module computes? The program answers with its reference, PyTorch with the module itself, on the same
inputs, in float64."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

from ..errors import KernelwrightError, TaskError
from ..program import find_program
from .limited_process import run_limited


def write_answers(tasks: list[pathlib.Path], folder: pathlib.Path, program: str | None = None, seed: int = 1) -> dict[str, str]:
    """FOLDER/NAME/SIZE/*.npy by `kernelwright tasks answer`; what failed, by the task's name."""
    failed: dict[str, str] = {}
    for at in range(0, len(tasks), 16):
        some = tasks[at:at + 16]
        command = [str(find_program(program)), "tasks", "answer", *map(str, some), "--out", str(folder), "--precision", "truth",
                   "--seed", str(seed), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            answers = json.loads(done.stdout)
        except ValueError as error:
            raise KernelwrightError(f"`kernelwright tasks answer` failed: {done.stderr.strip()[-2000:]}") from error
        if isinstance(answers, dict):  # a task that cannot even be read
            raise KernelwrightError(f"`kernelwright tasks answer`: {answers['error']['message']}")
        for answer in answers:
            if not answer["passed"]:
                failed[answer["task"]] = answer["problem"]["message"]
    return failed


def largest_difference(made: dict[str, Any], folder: pathlib.Path, seconds: float = 300) -> float:
    """Of all sizes and outputs, relative to the largest value of the output; answers must be in FOLDER. Raises TaskError where shapes or
    types differ."""
    return run_limited(lambda: _largest_difference(made, folder), seconds)


def _largest_difference(made: dict[str, Any], folder: pathlib.Path) -> float:
    import numpy
    import torch

    from .file_problem import FileProblem
    from .problem import tensors_of

    torch.set_num_threads(1)
    problem = FileProblem(pathlib.Path(made["source"]), made["name"])
    for name, to in made["tied"].items():
        problem.tie(name, to)
    worst = 0.0
    for at, sizes in enumerate(json.loads((folder / made["name"] / "sizes.json").read_text())):
        place = folder / made["name"] / str(at)
        given = {each["name"]: torch.from_numpy(numpy.load(place / f"{each['name']}.npy")) for each in made["inputs"]}
        given = {name: value.double() if value.is_floating_point() else value for name, value in given.items()}
        built = problem.build({**problem.sizes, **made["constants"], **sizes})
        module = _deterministic(built.module).double()
        inputs = [value.double() if value.is_floating_point() else value for value in built.inputs]
        user = [each for each in made["inputs"] if each["kind"] == "input"]
        if len(user) != len(inputs):
            raise TaskError("an input is not used, so that the inputs cannot be told apart")
        inputs = [given[each["name"]] for each in user]
        # Tensors that the module makes itself are float64 then, as in the program's truth.
        torch.set_default_dtype(torch.float64)
        with torch.no_grad():
            _load(module, made, given)
            outputs = tensors_of(module(*inputs))
        torch.set_default_dtype(torch.float32)
        for output, declared in zip(outputs, made["outputs"], strict=True):
            answer = torch.from_numpy(numpy.load(place / f"{declared['name']}.npy"))
            worst = max(worst, _difference(output.reshape(answer.shape) if output.dim() == 0 else output, answer, declared["name"]))
    return worst


def _load(module, made: dict[str, Any], given: dict[str, Any]) -> None:
    tensors = {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}
    for each in made["inputs"]:
        if each["kind"] in ("parameter", "buffer"):
            tensors[each["path"]].copy_(given[each["name"]])


def _deterministic(module):
    """Dropout as the task takes it."""
    import torch

    torch.nn.functional.dropout = lambda value, *_, **__: value
    for each in module.modules():
        if isinstance(each, torch.nn.modules.dropout._DropoutNd):
            each.p = 0.0
            each.eval()
        elif isinstance(each, (torch.nn.RNNBase, torch.nn.MultiheadAttention)):
            each.dropout = 0.0
    return module


def _difference(output, answer, name: str) -> float:
    import torch

    if output.shape != answer.shape:
        raise TaskError(f"'{name}' has the shape {tuple(output.shape)} in PyTorch and {tuple(answer.shape)} in the task")
    if not output.is_floating_point():
        if not torch.equal(output.to(torch.int64), answer.to(torch.int64)):
            raise TaskError(f"'{name}' holds other whole numbers than PyTorch's")
        return 0.0
    output, answer = output.double(), answer.double()
    same = (output == answer) | (output.isnan() & answer.isnan())
    if same.all():
        return 0.0
    scale = float(answer[answer.isfinite()].abs().max()) if answer.isfinite().any() else 1.0
    return float((output - answer)[~same].abs().nan_to_num(nan=float("inf")).max()) / max(scale, 1e-300)
