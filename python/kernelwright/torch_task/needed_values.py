"""Which values of a graph its outputs need, with what is done in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .traced_graph import Op, Ref, TracedGraph

_views = frozenset("""view reshape select slice transpose permute unsqueeze squeeze expand narrow diagonal alias detach t unbind getitem
split chunk contiguous flatten _to_copy to movedim split_with_sizes view_as""".split())


def needed_values(graph: TracedGraph, ops: list[Op], arguments_of: Callable[[Op], list[Any]]) -> set[str]:
    """What changes a value in place counts as a use of it, but only if the value is needed anyhow: a running mean that is updated and not
    returned is not."""
    needed = {each.name for each in graph.outputs}
    before = -1
    while before != len(needed):
        before = len(needed)
        for op in reversed(ops):
            touched = roots(op.args[0], ops) if is_in_place(op) and op.args else set()
            if op.name in needed or touched & needed:
                needed.add(op.name)
                needed |= {each.name for each in refs(arguments_of(op))}
    return needed


def roots(value: Any, ops: list[Op]) -> set[str]:
    """The value and what it is a view of."""
    found = set()
    makers = {op.name: op for op in ops}
    while isinstance(value, Ref):
        found.add(value.name)
        op = makers.get(value.name)
        value = op.args[0] if op is not None and op.args and isinstance(op.args[0], Ref) and _is_view(op) else None
    return found


def base(op: Op) -> str:
    """conv2d of aten.conv2d.default."""
    return op.target.split(".")[1] if "." in op.target else op.target


def is_in_place(op: Op) -> bool:
    name = base(op)
    return name.endswith("_") and not name.endswith("__") and name not in ("detach_", "requires_grad_")


def _is_view(op: Op) -> bool:
    return base(op) in _views or is_in_place(op)


def refs(values: Any) -> Iterator[Ref]:
    for each in values:
        if isinstance(each, Ref):
            yield each
        elif isinstance(each, list):
            yield from refs(each)
