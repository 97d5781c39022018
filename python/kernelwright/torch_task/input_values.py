"""With what a task's inputs are filled: what the problem's own inputs and parameters look like."""

from __future__ import annotations

import torch

from .problem import Built, Problem
from .traced_graph import TracedGraph, TracedInput
from .unify import FamilyOfGraphs


def values_of(each: TracedInput, built: Built, graph: TracedGraph, problem: Problem, family: FamilyOfGraphs) -> str:
    """As the YAML has it; empty for the default."""
    value = _value(each, built, graph)
    if each.kind == "input":
        at = [other.name for other in graph.inputs if other.kind == "input"].index(each.name)
        limits = _integer_limits(at, built, problem, family)
        if limits:
            return limits
    if value is None or value.numel() == 0 or each.dtype == torch.bool or type(value).__name__ == "FakeTensor":
        return ""
    return _described(value.detach(), each.kind)


def _value(each: TracedInput, built: Built, graph: TracedGraph) -> torch.Tensor | None:
    if each.kind == "input":
        return built.inputs[[other.name for other in graph.inputs if other.kind == "input"].index(each.name)]
    named = {**dict(built.module.named_parameters(remove_duplicate=False)), **dict(built.module.named_buffers(remove_duplicate=False))}
    return named.get(each.path)


def _integer_limits(at: int, built: Built, problem: Problem, family: FamilyOfGraphs) -> str:
    """Of an input that torch.randint made: [0, classes - 1], by the names of the sizes where the limit goes with one."""
    if at not in built.integer_limits:
        return ""
    low, high = built.integer_limits[at]
    from .problem import FakeTensorMode

    seen = []
    for sample in family.fitter.samples:
        with FakeTensorMode(allow_non_fake_inputs=True):
            seen.append(problem.build(sample).integer_limits.get(at, (low, high))[1] + 1)
    expression = family.fitter.fit(tuple(seen)) if len(set(seen)) > 1 else None
    return f'{{integers: [{low}, "{expression} - 1"]}}' if expression else f"{{integers: [{low}, {high}]}}"


def _described(value: torch.Tensor, kind: str) -> str:
    if not value.dtype.is_floating_point:
        return f"{{integers: [{int(value.min())}, {int(value.max())}]}}"
    value = value.float()
    low, high = float(value.min()), float(value.max())
    whole = bool((value == value.round()).all())
    if kind != "input":
        # Ones and zeros at the start of training would hide a scale or a shift that a kernel forgets.
        if low == high:
            return f"{{uniform: [{_round(low - 0.5)}, {_round(low + 0.5)}]}}"
        bound = max(abs(low), abs(high))
        return "" if bound > 2.5 else f"{{uniform: [{_round(-bound)}, {_round(bound)}]}}"
    if whole and value.numel() > 1 and high - low < 100:
        return f"{{integers: [{int(low)}, {int(high)}]}}"
    if value.numel() == 1:
        return f"{{uniform: [{_round(low)}, {_round(high)}]}}"
    if low >= 0 and high <= 1:
        return "uniform" if high > 0.5 else f"{{uniform: [{_round(low)}, {_round(high)}]}}"
    if low < -0.5 and high > 0.5 and high < 8:
        return ""
    return f"{{uniform: [{_round(low)}, {_round(high)}]}}"


def _round(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 1e-6 or value == 0 else f"{value:.3e}"
