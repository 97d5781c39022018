"""One graph out of traces at several sizes: what differs between them becomes an expression of the sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import TaskError
from .size_expressions import Fitter, Sizes
from .traced_graph import Op, Ref, TracedGraph


@dataclass(frozen=True)
class Varying:
    """A whole number of the graph that differs between the traces: its value in each."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class VaryingFloat:
    values: tuple[float, ...]


@dataclass
class FamilyOfGraphs:
    """The first trace's graph with `Varying` in the place of numbers that differ, and all extents as values by trace."""

    graph: TracedGraph
    ops: list[Op]
    extents: dict[str, list[tuple[int, ...]]]  # of every tensor: by dimension, the value in each trace
    fitter: Fitter


class DifferentGraphs(TaskError):
    """The traces do not do the same thing."""


def unify(samples: list[Sizes], traces: list[TracedGraph], names: list[str]) -> FamilyOfGraphs:
    first = traces[0]
    for other in traces[1:]:
        if len(other.ops) != len(first.ops) or [each.name for each in other.inputs] != [each.name for each in first.inputs]:
            raise DifferentGraphs(f"its graph has {len(first.ops)} operations at some sizes and {len(other.ops)} at others")
        if other.outputs != first.outputs:
            raise DifferentGraphs("its graph returns different values at different sizes")
    ops = []
    for at, op in enumerate(first.ops):
        others = [trace.ops[at] for trace in traces]
        if any(other.target != op.target or other.name != op.name for other in others):
            raise DifferentGraphs(f"operation {at} is {op.target} at some sizes and another at others, in {op.place}")
        args = _join([other.args for other in others], op)
        kwargs = {key: _join([other.kwargs.get(key) for other in others], op) for key in op.kwargs}
        ops.append(Op(op.name, op.target, args, kwargs, op.place))
    extents = {}
    for name, shape in first.shapes.items():
        shapes = [trace.shapes.get(name, ()) for trace in traces]
        if any(len(each) != len(shape) for each in shapes):
            raise DifferentGraphs(f"'{name}' has {len(shape)} dimensions at some sizes and another number at others")
        extents[name] = [tuple(each[dim] for each in shapes) for dim in range(len(shape))]
    return FamilyOfGraphs(first, ops, extents, Fitter(samples, names))


def _join(values: list[Any], op: Op) -> Any:
    first = values[0]
    if isinstance(first, list):
        if any(not isinstance(each, list) or len(each) != len(first) for each in values):
            raise DifferentGraphs(f"{op.target} in {op.place} has arguments of different lengths at different sizes")
        return [_join([each[at] for each in values], op) for at in range(len(first))]
    if all(type(each) is type(first) and each == first for each in values):
        return first
    if all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        return Varying(tuple(values))
    if all(isinstance(each, float) for each in values):
        return VaryingFloat(tuple(values))
    if all(isinstance(each, Ref) for each in values):
        raise DifferentGraphs(f"{op.target} in {op.place} works on different values at different sizes")
    raise DifferentGraphs(f"{op.target} in {op.place} has different arguments at different sizes")
