"""What a task is made from: something that can be built and traced at chosen sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..errors import TaskError
from .size_expressions import Sizes
from .traced_graph import TracedGraph, first_line, place_of_error, trace


@dataclass
class Built:
    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    notes: list[str] = field(default_factory=list)
    integer_limits: dict[int, tuple[int, int]] = field(default_factory=dict)  # input -> (low, high), both included


class Problem(Protocol):
    name: str
    family: str  # of the task
    summary: str
    sizes: Sizes  # by name, as the problem itself has them

    def build(self, sizes: Sizes) -> Built: ...

    def tie(self, name: str, to: str) -> None:
        """From now on `name` has the value of `to`, and is no size of its own."""


@dataclass(frozen=True)
class Shapes:
    """Of everything that goes in and out, and the type of each output."""

    inputs: tuple[tuple[int, ...], ...]
    parameters: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]

    def elements(self) -> list[int]:
        counts = []
        for shape in (*self.inputs, *self.parameters, *self.outputs):
            count = 1
            for extent in shape:
                count *= extent
            counts.append(count)
        return counts


def shapes_at(problem: Problem, sizes: Sizes) -> Shapes:
    """Without computing or holding anything: fake tensors. Raises what the module raises."""
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        built = problem.build(sizes)
        outputs = tensors_of(built.module(*built.inputs))
        named = [*built.module.parameters(), *built.module.buffers()]
        shapes = Shapes(tuple(tuple(each.shape) for each in built.inputs), tuple(tuple(each.shape) for each in named),
                        tuple(tuple(each.shape) for each in outputs))
    if any(extent == 0 for shape in (*shapes.inputs, *shapes.parameters, *shapes.outputs) for extent in shape):
        raise TaskError("a tensor is empty at these sizes")
    return shapes


def valid_shapes(problem: Problem, sizes: Sizes) -> Shapes | None:
    try:
        return shapes_at(problem, sizes)
    except Exception:  # whatever a user's module raises: these sizes do not work
        return None


def multiply_adds(problem: Problem, sizes: Sizes) -> int:
    """Of the products and convolutions that the module computes."""
    from torch.utils.flop_counter import FlopCounterMode
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        built = problem.build(sizes)
        with FlopCounterMode(display=False) as counter:
            built.module(*built.inputs)
    return counter.get_total_flops() // 2


def trace_at(problem: Problem, sizes: Sizes, fake: bool) -> TracedGraph:
    try:
        if fake:
            with FakeTensorMode(allow_non_fake_inputs=True):
                built = problem.build(sizes)
                return trace(built.module, built.inputs)
        built = problem.build(sizes)
    except TaskError:
        raise
    except Exception as error:
        place = place_of_error(error)
        raise TaskError(f"it cannot be built: {first_line(error)}" + (f" (in {place})" if place else "")) from error
    return trace(built.module, built.inputs)


def tensors_of(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_of(each)]
    if isinstance(value, dict):
        return [tensor for each in value.values() for tensor in tensors_of(each)]
    raise TaskError(f"the module returns {type(value).__name__}, which is no tensor")
