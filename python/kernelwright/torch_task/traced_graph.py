"""A module's computation as plain data: torch.export's graph with the shapes of everything in it."""

from __future__ import annotations

import contextlib
import operator
import pathlib
import re
import traceback
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import TaskError
from .quiet import quiet


@dataclass(frozen=True)
class Ref:
    """A value of the graph by name."""

    name: str


@dataclass
class Op:
    name: str
    target: str  # "aten.conv2d.default", or "getitem"
    args: list[Any]  # Ref, int, float, bool, str, None, torch.dtype, lists of them; in the order of the schema
    kwargs: dict[str, Any]
    place: str  # "model.py:12: x = self.conv(x)"


@dataclass
class TracedInput:
    name: str
    kind: str  # "input", "parameter", "buffer", "constant"
    path: str  # of a parameter or buffer inside the module: "conv.weight"
    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass
class TracedGraph:
    inputs: list[TracedInput]
    ops: list[Op]
    outputs: list[Ref]
    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, torch.dtype]
    schemas: dict[str, Any] = field(default_factory=dict)  # target -> FunctionSchema
    random: set[str] = field(default_factory=set)  # targets that draw random numbers
    constants: dict[str, torch.Tensor] = field(default_factory=dict)  # tensors that the module makes from numbers


_own_folder = str(pathlib.Path(__file__).parent)


def place_of(stack_trace: str | None) -> str:
    """The line of the user's own code: the last one outside torch. Where there is none, as for a bare torch.nn.LSTM, the module's line."""
    users, modules = "", ""
    lines = (stack_trace or "").splitlines()
    for at, line in enumerate(lines):
        match = re.match(r'\s*File "(.*)", line (\d+)', line)
        if match is None or match.group(1).startswith(("<", _own_folder)):
            continue
        code = lines[at + 1].strip() if at + 1 < len(lines) and not lines[at + 1].lstrip().startswith("File ") else ""
        place = f"{match.group(1).rsplit('/', 1)[-1]}:{match.group(2)}" + (f": {code}" if code else "")
        if "/torch/" not in match.group(1):
            users = place
        elif "/torch/nn/modules/" in match.group(1) and not match.group(1).endswith("/module.py"):
            modules = place
    return users or modules


def place_of_error(error: BaseException) -> str:
    return place_of("".join(traceback.format_list(traceback.extract_tb(error.__traceback__))))


def trace(module: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None) -> TracedGraph:
    """Raises TaskError where torch.export cannot follow the module."""
    program = exported(module, inputs, dynamic_shapes)
    return _read(program)


def exported(module: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any = None):
    try:
        with quiet(), _lstm_states_without_a_dimension_too_many():
            return torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes, strict=False)
    except Exception as error:  # torch.export raises errors of many kinds
        place = place_of_error(error)
        raise TaskError(f"torch.export cannot trace it: {first_line(error)}" + (f" (in {place})" if place else "")) from error


@contextlib.contextmanager
def _lstm_states_without_a_dimension_too_many():
    """What torch traces in the place of an LSTM (2.11) removes the wrong dimension of one: the last states would have four of them."""
    from torch._decomp import decompositions

    original = getattr(decompositions, "one_layer_lstm", None)
    if original is None:
        yield
        return

    def repaired(*arguments, **options):
        output, states = original(*arguments, **options)
        return output, tuple(state.squeeze(0) if state.dim() == 3 else state for state in states)

    decompositions.one_layer_lstm = repaired
    try:
        yield
    finally:
        decompositions.one_layer_lstm = original


def first_line(error: BaseException) -> str:
    """What a person can use of an error of many lines; "tuple index out of range" says little without its kind."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


_kinds = {"USER_INPUT": "input", "PARAMETER": "parameter", "BUFFER": "buffer", "CONSTANT_TENSOR": "constant"}


def _read(program) -> TracedGraph:
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    graph = TracedGraph([], [], [], {}, {})
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            graph.shapes[node.name] = tuple(value.shape)
            graph.dtypes[node.name] = value.dtype
        if node.op == "placeholder":
            _read_placeholder(node, specs[node.name], value, graph, program.constants)
        elif node.op == "call_function":
            graph.ops.append(_read_call(node, graph))
        elif node.op == "output":
            for output in _flat(node.args[0]):
                if not isinstance(output, torch.fx.Node) or output.name not in graph.shapes:
                    raise TaskError(f"the module returns {output!r}, which is no tensor")
                graph.outputs.append(Ref(output.name))
        else:
            raise TaskError(f"the graph holds {node.op} {node.target}" + _in_place(node))
    return graph


def _read_placeholder(node, spec, value, graph: TracedGraph, constants: dict[str, Any]) -> None:
    kind = _kinds.get(spec.kind.name)
    if kind is None:
        raise TaskError(f"the module takes {spec.kind.name.lower()} '{node.name}', which cannot be an input of a kernel")
    if not isinstance(value, torch.Tensor):
        if node.users:
            raise TaskError(f"the input '{node.name}' is {value!r}, which is no tensor")
        return
    if kind == "constant":
        graph.constants[node.name] = constants[spec.target]
        return
    graph.inputs.append(TracedInput(node.name, kind, spec.target or "", tuple(value.shape), value.dtype))


def _in_place(node) -> str:
    place = place_of(node.meta.get("stack_trace"))
    return f" in {place}" if place else ""


def _read_call(node, graph: TracedGraph) -> Op:
    place = place_of(node.meta.get("stack_trace"))
    if node.target is operator.getitem:
        return Op(node.name, "getitem", [_plain(each, node) for each in node.args], {}, place)
    if node.target in (operator.add, operator.sub, operator.mul, operator.floordiv) or not hasattr(node.target, "_schema"):
        maker = next((str(each.args[0].target) for each in node.graph.nodes if each.target is torch.ops.aten.sym_size.int), "")
        raise TaskError((f"the shape of what {maker} gives depends on values" if maker else "a shape depends on values") +
                        ", so that no output can be declared" + _in_place(node))
    target = str(node.target)
    schema = node.target._schema
    graph.schemas[target] = schema
    if torch.Tag.nondeterministic_seeded in node.target.tags:
        graph.random.add(target)
    if not target.startswith("aten."):
        raise TaskError(f"the operator {target} is not one of ATen" + _in_place(node))
    return Op(node.name, target, [_plain(each, node) for each in node.args],
              {key: _plain(value, node) for key, value in node.kwargs.items()}, place)


def _plain(value: Any, node) -> Any:
    if isinstance(value, torch.fx.Node):
        return Ref(value.name)
    if isinstance(value, (list, tuple)):
        return [_plain(each, node) for each in value]
    if value is None or isinstance(value, (bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return value
    raise TaskError(f"{node.target} has an argument {value!r}, which a task cannot hold" + _in_place(node))


def _flat(value: Any):
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _flat(each)
    else:
        yield value
