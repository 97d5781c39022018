"""The reference of a task: the traced graph as TorchScript, one line an operation, sizes by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import TaskError
from .needed_values import base, is_in_place, needed_values, refs, roots
from .spelling import (dropouts, factories, functional, identities, infix, methods, random_arguments, reserved_names, variadic)
from .traced_graph import Op, Ref
from .unify import DifferentGraphs, FamilyOfGraphs, Varying, VaryingFloat


@dataclass
class ReferenceText:
    text: str
    inputs: list[str]  # names of the graph's inputs that are used, in order
    names: dict[str, str]  # of the graph's values in the text
    size_names: list[str]  # that the text needs
    notes: list[str]


def write_reference(family: FamilyOfGraphs, size_names: list[str], input_names: dict[str, str], dropout: str) -> ReferenceText:
    return _Writer(family, size_names, input_names, dropout).write()


_no_value = object()
max_constant_elements = 64


class _Writer:
    def __init__(self, family: FamilyOfGraphs, size_names: list[str], input_names: dict[str, str], dropout: str):
        self.family = family
        self.graph = family.graph
        self.size_names = set(size_names)
        self.dropout = dropout
        self.names = dict(input_names)
        self.taken = set(input_names.values()) | set(size_names) | reserved_names
        self.used_sizes: list[str] = []
        self.notes: list[str] = []
        self.aliases: dict[str, Any] = {}  # a value of the graph that is another value
        self.written: list[str] = []  # names of tensors that exist by now, for sizes
        self.like = ""

    def write(self) -> ReferenceText:
        needed = needed_values(self.graph, self.family.ops, self._arguments_that_count)
        ordered = sorted((each for each in self.graph.inputs if each.name in needed), key=lambda each: each.kind != "input")
        inputs = [each.name for each in ordered]
        floating = [each.name for each in ordered if each.dtype.is_floating_point]
        self.like = self.names[(floating or inputs)[0]] if inputs else ""
        self.like_is_floating = bool(floating)
        self.written = list(inputs)
        lines = [f"{self._new_name(name)} = {self._constant(name)}" for name in self.graph.constants if name in needed]
        for op in self.family.ops:
            if op.name not in needed:
                continue
            value = self._call(op)
            if value is None:
                continue
            if op.target.split(".")[1:2] and op.target.split(".")[1] in ("copy_", "fill_") and not self._users(op.name):
                lines.append(value)
            else:
                lines.append(f"{self._new_name(op.name)} = {value}")
            if op.name in self.graph.shapes:
                self.written.append(op.name)
        outputs = [self.names[self._source(each).name] for each in self.graph.outputs]
        lines.append("return " + ", ".join(outputs))
        parameters = [self.names[name] for name in inputs] + [f"{name}: int" for name in self.used_sizes]
        text = f"def reference({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in _shortened(lines))
        return ReferenceText(text, inputs, self.names, self.used_sizes, self.notes)

    def _constant(self, name: str) -> str:
        """A tensor that the module makes from numbers, as torch.tensor(0.5) does."""
        value = self.graph.constants[name]
        if type(value).__name__ == "FakeTensor" or value.numel() > max_constant_elements:
            raise TaskError(f"the module makes a tensor of shape {tuple(value.shape)} from numbers; make it a buffer (register_buffer), "
                            "so that it is an input")
        return f"torch.tensor({value.tolist()!r}, dtype={self._dtype(value.dtype)}, device={self.like}.device)"

    def _arguments_that_count(self, op: Op) -> list[Any]:
        name = base(op)
        arguments = self._by_name(op)
        if name == "batch_norm" and arguments.get("training") or name == "instance_norm" and arguments.get("use_input_stats"):
            return [value for key, value in arguments.items() if key not in ("running_mean", "running_var")]
        return [*op.args, *op.kwargs.values()]

    def _by_name(self, op: Op) -> dict[str, Any]:
        schema = self.graph.schemas.get(op.target)
        if schema is None:
            return {str(at): value for at, value in enumerate(op.args)}
        return {**dict(zip((each.name for each in schema.arguments), op.args)), **op.kwargs}

    def _users(self, name: str) -> int:
        users = sum(Ref(name) in list(refs([op.args, list(op.kwargs.values())])) for op in self.family.ops)
        return users + (Ref(name) in self.graph.outputs)

    def _new_name(self, name: str) -> str:
        if name not in self.names:
            made = name
            while made in self.taken:
                made += "_"
            self.taken.add(made)
            self.names[name] = made
        return self.names[name]

    def _source(self, value: Ref) -> Ref:
        while value.name in self.aliases:
            value = self.aliases[value.name]
        return value

    def _call(self, op: Op) -> str | None:
        """None where the value is another one."""
        if op.name in self.aliases:
            return None
        if op.target == "getitem":
            return f"{self._text(op.args[0], op)}[{op.args[1]}]"
        name = base(op)
        arguments = self._by_name(op)
        if name in dropouts:
            return self._dropout(op, arguments)
        arguments = self._without_random_numbers(op, name, arguments)
        if name in identities and not self._is_changed_in_place(op):
            self.aliases[op.name] = arguments[next(iter(arguments))]
            return None
        special = getattr(self, "_write_" + name, None)
        if special is not None:
            text = special(op, arguments)
            if text is not _no_value:
                return text
        if name in infix and len([value for value in arguments.values() if value is not None]) == 2 and "alpha" not in arguments:
            left, right = list(arguments.values())[:2]
            return f"{self._text(left, op)} {infix[name]} {self._text(right, op)}"
        if name in factories:
            return self._factory(op, name, arguments)
        return self._plain_call(op, name, arguments)

    def _is_changed_in_place(self, op: Op) -> bool:
        return any(is_in_place(other) and other.args and op.name in roots(other.args[0], self.family.ops) for other in self.family.ops)

    def _dropout(self, op: Op, arguments: dict[str, Any]) -> None:
        active = arguments.get("train", arguments.get("training")) and arguments.get("p", 0) > 0
        if active and self.dropout == "refuse":
            raise TaskError(f"aten.{base(op)} in {op.place} draws random numbers, so that no answer is right; "
                            "call .eval() on the module, or take dropout as its inference form")
        if active:
            note = f"dropout in {op.place} is its inference form: the identity"
            if note not in self.notes:
                self.notes.append(note)
        self.aliases[op.name] = op.args[0]

    def _without_random_numbers(self, op: Op, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        harmless = random_arguments.get(name)
        if harmless is None:
            if op.target in self.graph.random:
                raise TaskError(f"{op.target.rsplit('.', 1)[0]} in {op.place} draws random numbers, so that no answer is right")
            return arguments
        for key, value in harmless.items():
            # A recurrent layer's dropout acts in training alone.
            if arguments.get(key, value) == value or (key == "dropout" and not arguments.get("train")):
                continue
            if self.dropout == "refuse":
                raise TaskError(f"{op.target.rsplit('.', 1)[0]} in {op.place} has {key}={arguments[key]} and draws random numbers; "
                                "call .eval() on the module, or take dropout as its inference form")
            self.notes.append(f"{key} of {name} in {op.place} is {value}: its inference form")
            arguments = {**arguments, key: value}
        return arguments

    def _plain_call(self, op: Op, name: str, arguments: dict[str, Any]) -> str:
        schema = self.graph.schemas[op.target]
        parts, by_keyword = [], False
        for argument in schema.arguments:
            irrelevant = argument.name in ("cudnn_enabled", "cudnn_enable")
            if irrelevant or argument.name not in arguments or self._is_default(argument, arguments[argument.name]):
                by_keyword = True
                continue
            value = self._text(arguments[argument.name], op, argument.name)
            by_keyword = by_keyword or argument.kwarg_only
            parts.append(f"{argument.name}={value}" if by_keyword and parts else value)
        if name in methods and parts:
            is_list = name in variadic and len(parts) == 2 and parts[1].startswith("[") and parts[1] != "[]"
            inner = parts[1][1:-1] if is_list else ", ".join(parts[1:])
            return f"{parts[0]}.{name}({inner})"
        if name.startswith(("linalg_", "special_", "fft_")):
            return f"torch.{name.replace('_', '.', 1)}({', '.join(parts)})"
        return f"{'F' if name in functional else 'torch'}.{name}({', '.join(parts)})"

    def _is_default(self, argument, value: Any) -> bool:
        if not argument.has_default_value() or isinstance(value, (Varying, VaryingFloat, Ref)):
            return False
        default = argument.default_value
        if isinstance(value, list) and isinstance(default, int) and not isinstance(default, bool):
            return all(each == default for each in value)
        if value is None or isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return True
        return type(default) is type(value) and default == value

    def _factory(self, op: Op, name: str, arguments: dict[str, Any]) -> str:
        dtype = arguments.get("dtype")
        made = self.graph.dtypes[op.name]
        kept = {key: value for key, value in arguments.items() if key not in ("dtype", "device", "layout", "pin_memory", "memory_format")}
        schema = self.graph.schemas[op.target]
        kept = {key: value for key, value in kept.items()
                if not any(each.name == key and self._is_default(each, value) for each in schema.arguments)}
        parts = [self._text(value, op, key) for key, value in kept.items()]
        if name.endswith("_like") or name.startswith("new_"):
            source = next(iter(arguments.values()))
            if isinstance(source, Ref) and dtype is not None and dtype != self.graph.dtypes[source.name]:
                parts.append(f"dtype={self._dtype(dtype)}")
            return f"torch.{name}({', '.join(parts)})" if name.endswith("_like") else f"{parts[0]}.{name}({', '.join(parts[1:])})"
        default = made == torch.int64 and name in ("arange", "tril_indices", "triu_indices", "full", "range")
        options = [] if default and dtype is None else [f"dtype={self._dtype(made)}"]
        return f"torch.{name}({', '.join([*parts, *options, f'device={self.like}.device'])})"

    def _dtype(self, dtype: torch.dtype) -> str:
        # float32 in the module is "the task's type": the truth is computed in float64.
        if dtype == torch.float32 and self.like_is_floating:
            return f"{self.like}.dtype"
        return str(dtype)

    # Operators whose usual spelling differs from ATen's.
    def _write_rsub(self, op: Op, arguments: dict[str, Any]):
        if arguments.get("alpha", 1) != 1:
            return _no_value
        return f"{self._text(arguments['other'], op)} - {self._text(arguments['self'], op)}"

    def _write_neg(self, op: Op, arguments: dict[str, Any]):
        return f"-{self._text(arguments['self'], op)}"

    def _write_bitwise_not(self, op: Op, arguments: dict[str, Any]):
        return f"~{self._text(arguments['self'], op)}"

    def _write_div(self, op: Op, arguments: dict[str, Any]):
        if arguments.get("rounding_mode") is None:
            return f"{self._text(arguments['self'], op)} / {self._text(arguments['other'], op)}"
        return _no_value

    def _write_batch_norm(self, op: Op, arguments: dict[str, Any]):
        return self._norm(op, arguments, "batch_norm", arguments["training"])

    def _write_instance_norm(self, op: Op, arguments: dict[str, Any]):
        return self._norm(op, arguments, "instance_norm", arguments["use_input_stats"])

    def _norm(self, op: Op, arguments: dict[str, Any], name: str, own_statistics: bool) -> str:
        running = [None, None] if own_statistics else [arguments["running_mean"], arguments["running_var"]]
        parts = [self._text(each, op) for each in (arguments["input"], *running)]
        parts += [f"{key}={self._text(arguments[key], op)}" for key in ("weight", "bias") if arguments[key] is not None]
        if name == "batch_norm" and own_statistics:
            parts.append("training=True")
        if name == "instance_norm" and not own_statistics:
            parts.append("use_input_stats=False")
        if arguments["eps"] != 1e-5:
            parts.append(f"eps={arguments['eps']!r}")
        return f"F.{name}({', '.join(parts)})"

    def _write_slice(self, op: Op, arguments: dict[str, Any]):
        start, end, step = (arguments.get(key) for key in ("start", "end", "step"))
        first = "" if start in (None, 0) else self._text(start, op)
        last = "" if end is None or (isinstance(end, int) and end >= 2**62) else self._text(end, op)
        if isinstance(end, Varying) and min(end.values) >= 2**62:
            last = ""
        every = "" if step in (None, 1) else f":{self._text(step, op)}"
        return self._indexed(op, arguments, f"{first}:{last}{every}")

    def _write_select(self, op: Op, arguments: dict[str, Any]):
        return self._indexed(op, arguments, self._text(arguments["index"], op))

    def _indexed(self, op: Op, arguments: dict[str, Any], index: str):
        dim = arguments.get("dim", 0)
        if not isinstance(dim, int) or dim < 0:
            return _no_value
        return f"{self._text(arguments['self'], op)}[{', '.join([':'] * dim + [index])}]"

    def _write_index(self, op: Op, arguments: dict[str, Any]):
        parts = [":" if each is None else self._text(each, op) for each in arguments["indices"]]
        return f"{self._text(arguments['self'], op)}[{', '.join(parts)}]"

    def _write_to(self, op: Op, arguments: dict[str, Any]):
        return self._cast(op, arguments["self"] if "self" in arguments else op.args[0])

    _write__to_copy = _write_to

    def _cast(self, op: Op, source: Any):
        before, after = self.graph.dtypes[source.name], self.graph.dtypes[op.name]
        if before == after:
            self.aliases[op.name] = source
            return None
        return f"{self._text(source, op)}.to({self._dtype(after)})"

    def _write_type_as(self, op: Op, arguments: dict[str, Any]):
        return self._cast(op, arguments["self"])

    def _write_einsum(self, op: Op, arguments: dict[str, Any]):
        return f"torch.einsum({arguments['equation']!r}, {self._text(arguments['tensors'], op)})"

    def _write_numpy_T(self, op: Op, arguments: dict[str, Any]):
        return f"{self._text(arguments['self'], op)}.t()" if len(self.graph.shapes[op.name]) == 2 else _no_value

    def _write_mT(self, op: Op, arguments: dict[str, Any]):
        return f"{self._text(arguments['self'], op)}.transpose(-2, -1)"

    def _write_broadcast_tensors(self, op: Op, arguments: dict[str, Any]):
        """Tensors of one shape are themselves."""
        tensors = arguments["tensors"]
        if len({self.graph.shapes[each.name] for each in tensors}) != 1:
            return _no_value
        for other in self.family.ops:
            if other.target == "getitem" and other.args[0] == Ref(op.name):
                self.aliases[other.name] = tensors[other.args[1]]
        return None

    def _write_mse_loss(self, op: Op, arguments: dict[str, Any]):
        return self._loss(op, arguments, "mse_loss", ())

    def _write_l1_loss(self, op: Op, arguments: dict[str, Any]):
        return self._loss(op, arguments, "l1_loss", ())

    def _write_smooth_l1_loss(self, op: Op, arguments: dict[str, Any]):
        return self._loss(op, arguments, "smooth_l1_loss", ("beta",))

    def _write_huber_loss(self, op: Op, arguments: dict[str, Any]):
        return self._loss(op, arguments, "huber_loss", ("delta",))

    def _write_kl_div(self, op: Op, arguments: dict[str, Any]):
        return self._loss(op, arguments, "kl_div", ("log_target",))

    def _write_cross_entropy_loss(self, op: Op, arguments: dict[str, Any]):
        classes = len(self.graph.shapes[arguments["self"].name]) > 1 and not self.graph.dtypes[arguments["target"].name].is_floating_point
        plain = arguments.get("weight") is None and arguments.get("ignore_index", -100) == -100
        return self._loss(op, arguments, "cross_entropy", ("label_smoothing",)) if classes and plain else _no_value

    def _loss(self, op: Op, arguments: dict[str, Any], name: str, options: tuple[str, ...]):
        parts = [self._text(arguments["self"], op), self._text(arguments["target"], op)]
        reduction = arguments.get("reduction", 1)
        if reduction != 1:
            parts.append(f"reduction='{('none', 'mean', 'sum')[reduction]}'")
        schema = {each.name: each for each in self.graph.schemas[op.target].arguments}
        parts += [f"{key}={arguments[key]!r}" for key in options if key in arguments and not self._is_default(schema[key], arguments[key])]
        return f"F.{name}({', '.join(parts)})"

    def _text(self, value: Any, op: Op, argument: str = "") -> str:
        if isinstance(value, Ref):
            return self.names[self._source(value).name]
        if isinstance(value, Varying):
            return self._size(value, op)
        if isinstance(value, VaryingFloat):
            return self._number(value, op)
        if isinstance(value, list):
            return self._list(value, op, argument)
        if isinstance(value, torch.dtype):
            return self._dtype(value)
        if isinstance(value, float):
            if value in (float("inf"), float("-inf")):
                return "math.inf" if value > 0 else "-math.inf"
            return "math.nan" if value != value else repr(value)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 2**62:
            return "None"
        return repr(value)

    def _list(self, value: list[Any], op: Op, argument: str) -> str:
        varying = [at for at, each in enumerate(value) if isinstance(each, Varying)]
        texts = []
        for at, each in enumerate(value):
            if isinstance(each, Varying) and base(op) in ("view", "reshape", "_unsafe_view") and len(varying) == 1 and -1 not in value:
                texts.append("-1")
            else:
                texts.append(self._text(each, op))
        # What goes for all dimensions is written once: a stride of 2.
        if len(texts) > 1 and len(set(texts)) == 1 and argument in ("stride", "padding", "dilation", "kernel_size", "output_padding"):
            return texts[0]
        return f"[{', '.join(texts)}]"

    def _size(self, value: Varying, op: Op) -> str:
        text = self._size_of_names(value) or self._size_of_tensors(value)
        if text is None:
            raise TaskError(f"{op.target.rsplit('.', 1)[0]} in {op.place} uses the numbers {', '.join(map(str, value.values[:5]))} at "
                            "different sizes, which is no simple expression of them")
        return text

    def _number(self, value: VaryingFloat, op: Op) -> str:
        """What modules make of sizes: a size, its square root, and one over them."""
        for form, undone in (("float({})", lambda x: x), ("math.sqrt({})", lambda x: x * x), ("1.0 / ({})", lambda x: 1 / x),
                             ("1.0 / math.sqrt({})", lambda x: 1 / (x * x))):
            wholes = [undone(each) for each in value.values] if all(value.values) else []
            if wholes and all(abs(each - round(each)) < 1e-6 * abs(each) for each in wholes):
                text = self._size_of_names(Varying(tuple(round(each) for each in wholes)))
                if text is not None:
                    return form.format(text)
        raise DifferentGraphs(f"{op.target.rsplit('.', 1)[0]} in {op.place} uses the number {value.values[0]} at some sizes and "
                              f"{value.values[-1]} at others")

    def _size_of_names(self, value: Varying) -> str | None:
        text = self.family.fitter.fit(value.values)
        if text is None:
            return None
        names = [name for name in self.family.fitter.names if name in _words(text)]
        if any(name not in self.size_names for name in names):
            return None
        for name in names:
            if name not in self.used_sizes:
                self.used_sizes.append(name)
        return text.replace("/", "//")

    def _size_of_tensors(self, value: Varying) -> str | None:
        known = [(name, dim, seen) for name in self.written for dim, seen in enumerate(self.family.extents.get(name, []))]
        for name, dim, seen in known:
            if seen == value.values:
                return f"{self.names[self._source(Ref(name)).name]}.size({dim})"
        for first in known:
            for second in known:
                if tuple(a * b for a, b in zip(first[2], second[2])) == value.values:
                    return " * ".join(f"{self.names[self._source(Ref(each[0])).name]}.size({each[1]})" for each in (first, second))
        return None


def _words(text: str) -> set[str]:
    return set(text.replace("(", " ").replace(")", " ").split())


def _shortened(lines: list[str]) -> list[str]:
    """An operation on several results takes its tuple apart in the same line: `torch.max(x, 1)[0]`."""
    kept: list[str] = []
    for line in lines:
        name, _, value = line.partition(" = ")
        if kept and value.endswith("]") and "[" in value:
            source, _, index = value.rpartition("[")
            before, _, call = kept[-1].partition(" = ")
            once = sum(_uses(other, source) for other in lines) == 2
            if source == before and index[:-1].isdigit() and once and call.endswith(")"):
                kept[-1] = f"{name} = {call}[{index}"
                continue
        kept.append(line)
    return kept


def _uses(line: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", line) is not None
