"""kw.task_from: a module or a function of your own becomes a task.

Parameters and buffers become inputs, hyper-parameters constants. Which extents may vary, and which have to be equal, torch.export says
(Dim.AUTO); the others are fixed.
"""

from __future__ import annotations

import copy
import inspect
import re
import types
from typing import Any, Callable, Mapping, Sequence

import torch

from ..errors import TaskError
from ..task import Task
from .make_task import MadeTask, check_sizes, make_task
from .problem import Built
from .quiet import quiet
from .size_expressions import Sizes
from .traced_graph import exported

Dynamic = Mapping[str, Mapping[int, str] | Sequence[str | None]]


def task_from(module_or_function: torch.nn.Module | Callable[..., Any], example_inputs: Sequence[Any], *,
              sizes: Mapping[str, Sequence[Sizes]] | None = None, dynamic: Dynamic | bool | None = None, name: str | None = None,
              dropout: str = "refuse") -> Task:
    """A task that asks for a kernel which computes what the module computes.

    example_inputs: tensors (or numbers, which become scalar inputs) in the order of forward's parameters; their shapes are the train
        size.
    dynamic: names of extents that may vary, by input: `{"x": {0: "rows", 1: "cols"}}` or `{"x": ["rows", "cols"]}`; the same name twice
        says that they are equal. None: all that torch.export finds free. False: none, the shapes are fixed.
    sizes: `{"small": [{"rows": 3, "cols": 7}], "train": [...], "holdout": [...]}`; what is left out is derived.
    dropout: "refuse" (random numbers have no right answer; call .eval()), or "identity".

    Raises TaskError, which names the operation and the line where it is used, for what a task cannot express.
    """
    return Task.from_yaml(made_from(module_or_function, example_inputs, sizes=sizes, dynamic=dynamic, name=name, dropout=dropout).yaml)


def made_from(module_or_function, example_inputs, *, sizes=None, dynamic=None, name=None, dropout: str = "refuse") -> MadeTask:
    if dropout not in ("refuse", "identity"):
        raise ValueError("dropout is 'refuse' or 'identity'")
    with quiet():
        problem = ModuleProblem(module_or_function, tuple(example_inputs), dynamic, name)
        made = make_task(problem, dropout, _checked_sizes(sizes, problem))
    check_sizes(made)
    return made


def _checked_sizes(sizes, problem: ModuleProblem) -> dict[str, list[Sizes]] | None:
    if sizes is None:
        return None
    for kind, entries in sizes.items():
        if kind not in ("small", "train", "holdout"):
            raise TaskError(f"sizes has the key {kind!r}; known are small, train and holdout")
        for entry in entries:
            for size in entry:
                if size not in problem.sizes:
                    raise TaskError(f"the size {size!r} is not one of {', '.join(problem.sizes) or '(none: all shapes are fixed)'}")
    return {kind: [dict(entry) for entry in entries] for kind, entries in sizes.items()}


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        code = getattr(function, "__code__", None)
        if inspect.isfunction(function) and code is not None:
            # torch.export remembers lines of functions that are called forward.
            function = types.FunctionType(code.replace(co_name="forward"), function.__globals__, "forward", function.__defaults__,
                                          function.__closure__)
        self.forward = function  # its signature is the function's own


class _Functional(torch.nn.Module):
    """A module whose parameters and buffers are arguments, so that their extents may vary."""

    def __init__(self, module: torch.nn.Module, names: list[str]):
        super().__init__()
        self.held = [module]  # in a list: it must not register as a submodule
        self.names = names

    def forward(self, state, inputs):
        return torch.func.functional_call(self.held[0], dict(zip(self.names, state)), tuple(inputs))


class ModuleProblem:
    def __init__(self, module_or_function, inputs: tuple[Any, ...], dynamic=None, name: str | None = None):
        is_module = isinstance(module_or_function, torch.nn.Module)
        self.module = module_or_function if is_module else _Function(module_or_function)
        self.example = tuple(_tensor(each, at) for at, each in enumerate(inputs))
        self.family = "imported"
        shown = type(module_or_function).__name__ if is_module else getattr(module_or_function, "__name__", "function")
        self.name = name or re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", shown)).strip("_").lower() or "task"
        of_torch = is_module and type(module_or_function).__module__.startswith("torch.")
        document = None if of_torch else inspect.getdoc(module_or_function)
        self.summary = re.sub(r"\s+", " ", (document or shown).split("\n\n")[0]).strip()[:300]
        self.state = {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}
        self.input_names = _input_names(self.module, len(self.example))
        # The names of extents, by tensor: None for a fixed one.
        self.extents: dict[str, list[str | None]] = {}
        self.sizes: Sizes = {}
        self.tied: dict[str, str] = {}
        if dynamic is None or dynamic is True:
            self._free_extents()
        elif dynamic:
            self._named_extents(dynamic)

    def tie(self, name: str, to: str) -> None:
        self.tied[name] = to
        del self.sizes[name]

    def build(self, sizes: Sizes) -> Built:
        inputs = tuple(self._at(name, value, sizes) for name, value in zip(self.input_names, self.example))
        state = {path: self._at(path, value, sizes) for path, value in self.state.items()}
        if all(state[path] is value for path, value in self.state.items()):
            return Built(self.module, inputs)
        # A copy of the module in which each of its own tensors is the one of these sizes.
        others: dict[int, Any] = {}
        for path, value in self.state.items():
            is_parameter = isinstance(value, torch.nn.Parameter)
            others[id(value)] = torch.nn.Parameter(state[path], requires_grad=False) if is_parameter else state[path]
        return Built(copy.deepcopy(self.module, others), inputs)

    def _at(self, name: str, value: torch.Tensor, sizes: Sizes) -> torch.Tensor:
        shape = tuple(extent if own is None else sizes[self.tied.get(own, own)]
                      for extent, own in zip(value.shape, self.extents.get(name, [None] * value.dim())))
        if shape == tuple(value.shape) and not _is_fake_mode():
            return value
        if _is_fake_mode():
            return torch.empty(shape, dtype=value.dtype)
        # The same values again and again: how an input is filled is read off them.
        flat = value.detach().reshape(-1)
        count = 1
        for extent in shape:
            count *= extent
        return flat[torch.arange(count) % max(flat.numel(), 1)].reshape(shape)

    def _named_extents(self, dynamic: Dynamic) -> None:
        for name, extents in dynamic.items():
            if name not in self.input_names and name not in self.state:
                raise TaskError(f"dynamic names {name!r}; the inputs are {', '.join(self.input_names)}")
            value = self.example[self.input_names.index(name)] if name in self.input_names else self.state[name]
            pairs = extents.items() if isinstance(extents, Mapping) else enumerate(extents)
            self.extents[name] = [None] * value.dim()
            for dim, size in pairs:
                if not 0 <= dim < value.dim():
                    raise TaskError(f"{name!r} has {value.dim()} dimensions, so that there is no dimension {dim}")
                if size is None:
                    continue
                if not size.isidentifier():
                    raise TaskError(f"the size {size!r} is not made of letters, digits and _")
                if self.sizes.setdefault(size, value.shape[dim]) != value.shape[dim]:
                    raise TaskError(f"{size} is {self.sizes[size]} and, in dimension {dim} of {name!r}, {value.shape[dim]}")
                self.extents[name][dim] = size

    def _free_extents(self) -> None:
        """What torch.export leaves free when everything may vary, parameters too."""
        names = list(self.state)
        auto = torch.export.Dim.AUTO
        # Of parameters the first two extents: the others are those of a convolution's kernel.
        shapes = ([{dim: auto for dim in range(min(value.dim(), 2))} for value in self.state.values()],
                  [{dim: auto for dim in range(value.dim())} for value in self.example])
        try:
            program = exported(_Functional(self.module, names), (list(self.state.values()), list(self.example)), shapes)
        except TaskError:
            return  # every extent stays fixed; what cannot be traced at all says so later
        places = [node for node in program.graph.nodes if node.op == "placeholder"]
        if len(places) != len(names) + len(self.example):
            return
        symbols: dict[str, str] = {}
        by_tensor = [*zip(self.input_names, self.example, places[len(names):]), *zip(names, self.state.values(), places)]
        for name, value, place in by_tensor:
            made: list[str | None] = []
            for dim, extent in enumerate(place.meta["val"].shape):
                symbol = str(extent) if isinstance(extent, torch.SymInt) else None
                if symbol is None or not re.fullmatch(r"s\d+", symbol) or value.shape[dim] < 2:
                    made.append(None)
                    continue
                if symbol not in symbols:
                    symbols[symbol] = _size_name(name, dim, value.dim(), {*self.input_names, *symbols.values()})
                    self.sizes[symbols[symbol]] = value.shape[dim]
                made.append(symbols[symbol])
            self.extents[name] = made


def _size_name(tensor: str, dim: int, rank: int, taken: set[str]) -> str:
    plain = {1: ["length"], 2: ["rows", "cols"], 3: ["batch", "rows", "cols"], 4: ["batch", "channels", "height", "width"],
             5: ["batch", "channels", "depth", "height", "width"]}.get(rank, [f"extent_{at}" for at in range(rank)])
    name = plain[dim]
    if name in taken:
        name = f"{re.sub(r'[^A-Za-z0-9]+', '_', tensor)}_{dim}"
        name = f"p_{name}" if name[0].isdigit() else name
    while name in taken:
        name += "_"
    return name


def _tensor(value: Any, at: int) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value)
    raise TaskError(f"example input {at} is a {type(value).__name__}, which is no tensor and no number")


def _input_names(module: torch.nn.Module, count: int) -> list[str]:
    names = []
    try:
        for each in inspect.signature(module.forward).parameters.values():
            names += [f"{each.name}_{at}" for at in range(count - len(names))] if each.kind is each.VAR_POSITIONAL else [each.name]
    except (TypeError, ValueError):
        pass
    return (names + [f"input_{at}" for at in range(len(names), count)])[:count]


def _is_fake_mode() -> bool:
    from torch._guards import active_fake_mode

    return active_fake_mode() is not None

