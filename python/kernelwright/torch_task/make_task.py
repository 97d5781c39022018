"""From a problem to a task's YAML: sizes, traces at several of them, one graph, its text, its inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from ..errors import TaskError
from .input_values import values_of
from .problem import Built, FakeTensorMode, Problem, shapes_at, trace_at
from .reference_text import ReferenceText, write_reference
from .size_expressions import Sizes, evaluate
from .size_search import FoundSizes, SizeSearch
from .spelling import reserved_names
from .traced_graph import TracedGraph, TracedInput
from .unify import DifferentGraphs, FamilyOfGraphs, unify

dtype_names = {
    torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float64: "float64", torch.int32: "int32",
    torch.int64: "int64", torch.int8: "int8", torch.uint8: "uint8", torch.bool: "bool",
}

real_elements = 1 << 25  # so large a problem is built with real tensors

max_inputs = 512  # of the program


@dataclass
class TaskInput:
    name: str  # in the task
    kind: str  # "input", "parameter", "buffer", "constant"
    path: str  # of a parameter or buffer in the module
    shape: list[str]
    dtype: str
    values: str  # as the YAML has it


@dataclass
class MadeTask:
    name: str
    yaml: str
    inputs: list[TaskInput]
    outputs: list[tuple[str, list[str], str]]  # name, shape, dtype
    scalar_outputs: list[str]  # those that have no dimension in PyTorch, and one element in the task
    sizes: dict[str, list[Sizes]]  # of the names that the task has
    constants: Sizes  # of the problem's other names
    notes: list[str] = field(default_factory=list)


def make_task(problem: Problem, dropout: str = "refuse", given: dict[str, list[Sizes]] | None = None,
              train_elements: int | None = None) -> MadeTask:
    """`dropout`: "refuse", or "identity" to take it as its inference form. `given`: sizes by kind (small, train, holdout) that are used
    as they are. `train_elements`: a limit for all tensors of the train size together."""
    search = SizeSearch(problem, train_elements)
    original = search.shapes(problem.sizes)
    if original is None:
        trace_at(problem, problem.sizes, fake=True)  # says why
        raise TaskError("it does not run with its own sizes")
    search.tie()
    fixed: frozenset[str] = frozenset()
    last: DifferentGraphs | None = None
    for _ in range(len(problem.sizes) + 1):
        found = search.find(fixed)
        _use_given(found, given, problem)
        try:
            samples, traces = _traces(problem, found)
            family = unify(samples, traces, found.names)
            return _write(problem, family, found, dropout)
        except (DifferentGraphs, _NoExpression) as error:
            # A size that changes what is done stays a constant; which one it is is tried out.
            last = error
            culprit = _culprit(problem, found)
            if culprit is None:
                break
            fixed = fixed | {culprit}
    found = search.find(frozenset(problem.sizes))
    if last is not None:
        found.notes.append(f"all shapes are fixed: {last}")
    samples, traces = _traces(problem, found)
    return _write(problem, unify(samples, traces, []), found, dropout)


def _built_small(problem: Problem, found: FoundSizes) -> Built:
    """With real values where they fit into memory: how the inputs are filled is read off them."""
    shapes = shapes_at(problem, found.samples[0])
    if sum(shapes.elements()) <= real_elements:
        return problem.build(found.samples[0])
    with FakeTensorMode(allow_non_fake_inputs=True):
        return problem.build(found.samples[0])


class _NoExpression(DifferentGraphs):
    """An extent is no simple expression of the sizes."""


class _NotTraced(DifferentGraphs):
    """Fake tensors pass at these sizes, torch.export does not: a weight of an LSTM with 65 rows, where 64 are four gates."""


def _use_given(found: FoundSizes, given: dict[str, list[Sizes]] | None, problem: Problem) -> None:
    if not given:
        return
    for kind, sizes in given.items():
        setattr(found, kind, [{**problem.sizes, **each} for each in sizes])
    found.samples = [*found.samples, *found.small]


def _traces(problem: Problem, found: FoundSizes) -> tuple[list[Sizes], list[TracedGraph]]:
    samples = [*found.samples, *found.small, *found.train]
    kept: list[Sizes] = []
    for sample in samples:
        if sample not in kept:
            kept.append(sample)
    # The first one with real tensors, where that costs little: it knows the values of constants.
    real = sum(shapes_at(problem, kept[0]).elements()) <= real_elements
    traces = []
    for at, sample in enumerate(kept):
        try:
            traces.append(trace_at(problem, sample, fake=at > 0 or not real))
        except TaskError as error:
            if not found.names:
                raise
            raise _NotTraced(str(error)) from error
    return kept, traces


def _culprit(problem: Problem, found: FoundSizes) -> str | None:
    """The first name whose change alone gives another graph, or an extent without an expression."""
    tiny = found.samples[0]
    try:
        base = trace_at(problem, tiny, fake=True)
    except TaskError:
        return _untraceable(problem, found)
    for name in reversed(found.names):
        beside = [sample for sample in found.samples if sample[name] != tiny[name] and
                  all(sample[other] == tiny[other] for other in tiny if other != name)]
        try:
            family = unify([tiny, *beside], [base, *(trace_at(problem, sample, fake=True) for sample in beside)], [name])
            for tensor in (*(each.name for each in base.inputs), *(each.name for each in base.outputs)):
                _shape(family, tensor)
            write_reference(family, [name], {each.name: each.name for each in base.inputs}, "identity")
        except (DifferentGraphs, TaskError):
            return name
    return found.names[-1] if found.names else None


def _untraceable(problem: Problem, found: FoundSizes) -> str | None:
    """The first name with which the module cannot be traced at all; raises the reason where its own sizes are none that can be."""
    trace_at(problem, problem.sizes, fake=True)
    for name in reversed(found.names):
        for sample in found.samples:
            if sample[name] == problem.sizes[name]:
                continue
            try:
                trace_at(problem, {**problem.sizes, name: sample[name]}, fake=True)
            except TaskError:
                return name
    return found.names[-1] if found.names else None


def _shape(family: FamilyOfGraphs, name: str) -> list[str]:
    shape = []
    for seen in family.extents[name]:
        expression = family.fitter.fit(seen)
        if expression is None:
            raise _NoExpression(f"the extents {', '.join(map(str, seen[:6]))} of '{name}' are no simple expression of the sizes")
        shape.append(expression)
    return shape


def _names(inputs: list[TracedInput], sizes: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    taken = set(sizes) | reserved_names
    for each in sorted(inputs, key=lambda each: each.kind != "input"):  # the user's own names first
        name = each.name if each.kind == "input" else each.path.replace(".", "_") or each.name
        name = "".join(char if char.isalnum() or char == "_" else "_" for char in name)[:60]
        if name[0].isdigit():
            name = "p_" + name
        while name in taken:
            name += "_"
        taken.add(name)
        names[each.name] = name
    return names


def _write(problem: Problem, family: FamilyOfGraphs, found: FoundSizes, dropout: str) -> MadeTask:
    graph = family.graph
    built = _built_small(problem, found)
    names = _names(graph.inputs, found.names)
    shapes = {each.name: _shape(family, each.name) for each in graph.inputs}
    outputs = [(each.name, _shape(family, each.name) or ["1"]) for each in graph.outputs]
    # A size that the shapes do not name cannot be asked for.
    used = [name for name in found.names
            if any(name in _words(extent) for shape in (*shapes.values(), *(shape for _, shape in outputs)) for extent in shape)]
    text = write_reference(family, used, names, dropout)
    used = [name for name in used
            if any(name in _words(extent) for each in text.inputs for extent in shapes[each]) or
            any(name in _words(extent) for _, shape in outputs for extent in shape)]
    if not text.inputs:
        raise TaskError("the outputs do not depend on any input")
    if len(text.inputs) > max_inputs:
        raise TaskError(f"it has {len(text.inputs)} inputs, parameters and buffers; a task has at most {max_inputs}")
    inputs = [_input(each, names, shapes, built, graph, problem, family)
              for each in sorted(graph.inputs, key=lambda each: text.inputs.index(each.name) if each.name in text.inputs else -1)
              if each.name in text.inputs]
    made = MadeTask(problem.name, "", inputs, _outputs(outputs, graph, names, used), [], _sizes(found, used),
                    {name: value for name, value in problem.sizes.items() if name not in used}, [*found.notes, *built.notes, *text.notes])
    made.scalar_outputs = [made.outputs[at][0] for at, each in enumerate(graph.outputs) if not graph.shapes[each.name]]
    made.yaml = _yaml(problem, made, text)
    return made


def _words(text: str) -> set[str]:
    return set(text.replace("(", " ").replace(")", " ").split())


def _input(each: TracedInput, names: dict[str, str], shapes: dict[str, list[str]], built: Built, graph: TracedGraph, problem: Problem,
           family: FamilyOfGraphs) -> TaskInput:
    if each.dtype not in dtype_names:
        raise TaskError(f"the input '{names[each.name]}' has the type {each.dtype}; known are {', '.join(dtype_names.values())}")
    values = values_of(each, built, graph, problem, family)
    return TaskInput(names[each.name], each.kind, each.path, shapes[each.name], dtype_names[each.dtype], values)


def _outputs(outputs: list[tuple[str, list[str]]], graph: TracedGraph, names: dict[str, str], sizes: list[str]):
    made = []
    taken = set(names.values()) | set(sizes)
    for at, (name, shape) in enumerate(outputs):
        dtype = graph.dtypes[name]
        if dtype not in dtype_names:
            raise TaskError(f"output {at} has the type {dtype}; known are {', '.join(dtype_names.values())}")
        own = "output" if len(outputs) == 1 else f"output_{at}"
        while own in taken:
            own += "_"
        taken.add(own)
        made.append((own, shape, dtype_names[dtype]))
    return made


def _sizes(found: FoundSizes, names: list[str]) -> dict[str, list[Sizes]]:
    """Only the names of the task, each combination once, none that is shown held out."""
    made: dict[str, list[Sizes]] = {}
    shown: list[Sizes] = []
    for kind in ("small", "train", "holdout"):
        made[kind] = []
        for sizes in getattr(found, kind):
            kept = {name: sizes[name] for name in names}
            if kept not in made[kind] and not (kind == "holdout" and kept in shown):
                made[kind].append(kept)
        shown += made[kind]
    return made


def _yaml(problem: Problem, made: MadeTask, text: ReferenceText) -> str:
    lines = [f"name: {made.name}", f"family: {problem.family}", f"summary: {_quoted(problem.summary)}", "pytorch: |"]
    lines += ["  " + line for line in text.text.rstrip("\n").splitlines()]
    lines.append("inputs:")
    for each in made.inputs:
        values = f", values: {each.values}" if each.values else ""
        lines.append(f"  {each.name}: {{dtype: {each.dtype}, shape: {_shape_text(each.shape)}{values}}}")
    lines.append("outputs:")
    for name, shape, dtype in made.outputs:
        lines.append(f"  {name}: {{dtype: {dtype}, shape: {_shape_text(shape)}}}")
    if made.sizes["small"] and made.sizes["small"][0]:
        lines.append("sizes:")
        for kind, all_sizes in made.sizes.items():
            if all_sizes:
                entries = ["{" + ", ".join(f"{name}: {value}" for name, value in each.items()) + "}" for each in all_sizes]
                lines.append(f"  {kind}: [{', '.join(entries)}]")
    return "\n".join(lines) + "\n"


def _shape_text(shape: list[str]) -> str:
    return "[" + ", ".join(extent if extent.isidentifier() or extent.isdigit() else f'"{extent}"' for extent in shape) + "]"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_sizes(made: MadeTask) -> None:
    """Every extent must be a number of at least 1 at every size."""
    for kind, all_sizes in made.sizes.items():
        for sizes in all_sizes:
            for name, shape in [(each.name, each.shape) for each in made.inputs] + [(name, shape) for name, shape, _ in made.outputs]:
                if any(evaluate(extent, sizes) < 1 for extent in shape):
                    raise TaskError(f"'{name}' is empty at the {kind} size {sizes}")
