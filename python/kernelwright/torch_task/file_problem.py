"""A problem in KernelBench's form: a Python file with a class Model, get_inputs() and get_init_inputs().

The file's own whole numbers (`batch_size = 16`, `shape = (512, 512)`, `torch.rand(4, 3)` in get_inputs) are the sizes: the file is built
again with other numbers in their places. The file is executed, so this runs in a child process with limits (limited_process.py).
"""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

import torch

from ..errors import TaskError
from .problem import Built
from .size_expressions import Sizes

# Numbers of these names say what is computed, not how large it is.
_hyper_parameters = re.compile(r"kernel|stride|padding|dilation|group|pool")
_axes = re.compile(r"^dim$|axis")
_reserved = {"in", "is", "and", "or", "not", "lambda", "stream", "launch", "int", "float", "torch", "F", "math"}


def task_name(text: str) -> str:
    name = re.sub(r"\W+", "_", text).strip("_").lower()
    return (name if name and not name[0].isdigit() else f"kb_{name}")[:60]


class FileProblem:
    def __init__(self, path: pathlib.Path, name: str | None = None, family: str = "imported"):
        self.path = path
        self.family = family
        self.name = name or task_name(path.stem)
        try:
            self.source = path.read_text()
            self.tree = ast.parse(self.source, str(path))
        except (OSError, SyntaxError, ValueError) as error:
            raise TaskError(f"{path}: {error}") from error
        for needed in ("Model", "get_inputs"):
            if not any(getattr(each, "name", None) == needed for each in self.tree.body):
                raise TaskError(f"{path} has no {needed}: the form is a class Model, get_inputs() and get_init_inputs()")
        self.literals: dict[str, ast.Constant] = {}
        _Sizes(self.literals).read(self.tree)
        self.sizes = {name: literal.value for name, literal in self.literals.items()}
        self.tied: dict[str, str] = {}  # a size that has to be equal to another
        self.summary = self._summary()

    def _summary(self) -> str:
        model = next(each for each in self.tree.body if getattr(each, "name", None) == "Model")
        text = ast.get_docstring(model) or re.sub(r"[\d_]+", " ", self.path.stem).strip()
        return re.sub(r"\s+", " ", text.split("\n\n")[0]).strip()[:300]

    def tie(self, name: str, to: str) -> None:
        self.tied[name] = to
        del self.sizes[name]

    def namespace(self, sizes: Sizes) -> dict[str, Any]:
        for name, literal in self.literals.items():
            literal.value = sizes[self.tied.get(name, name)]
        space: dict[str, Any] = {"__name__": "kernelwright_problem", "__file__": str(self.path)}
        exec(compile(self.tree, str(self.path), "exec"), space)  # noqa: S102 - in a child process with limits
        return space

    def build(self, sizes: Sizes) -> Built:
        space = self.namespace(sizes)
        torch.manual_seed(0)
        init = space["get_init_inputs"]() if "get_init_inputs" in space else []
        drawn: list[tuple[torch.Tensor, int, int]] = []
        original = torch.randint

        def recorded(*arguments, **options):
            made = original(*arguments, **options)
            low, high = (0, arguments[0]) if len(arguments) < 2 or not isinstance(arguments[1], int) else arguments[:2]
            drawn.append((made, options.get("low", low), options.get("high", high)))
            return made

        torch.randint = recorded
        try:
            given = space["get_inputs"]()
        finally:
            torch.randint = original
        module = space["Model"](**init) if isinstance(init, dict) else space["Model"](*init)
        built = Built(module, tuple(_as_tensor(each) for each in given))
        for at, value in enumerate(built.inputs):
            for made, low, high in drawn:
                if made is value:
                    built.integer_limits[at] = (low, high - 1)
        return built


def _as_tensor(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (bool, int, float)):
        return torch.tensor(float(value) if isinstance(value, float) else value)
    raise TaskError(f"get_inputs() gives a {type(value).__name__}, which is no tensor and no number")


class _Sizes(ast.NodeVisitor):
    """Finds the whole numbers of module-level assignments, get_inputs and get_init_inputs, and gives each a name."""

    def __init__(self, literals: dict[str, ast.Constant]):
        self.literals = literals

    def read(self, tree: ast.Module) -> None:
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                statement.value = self.folded(statement.value)
                self._assignment(statement.targets, statement.value)
            elif isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs"):
                for node in ast.walk(statement):
                    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                        self._assignment(node.targets, node.value)
                for node in ast.walk(statement):
                    if isinstance(node, ast.Call):
                        self._call(node)

    def folded(self, value: ast.expr) -> ast.expr:
        """2 * 1024 is one size."""
        if isinstance(value, (ast.Tuple, ast.List)):
            value.elts = [self.folded(each) for each in value.elts]
        if isinstance(value, ast.BinOp) and all(isinstance(each, (ast.BinOp, ast.Constant, ast.operator)) for each in ast.walk(value)):
            try:
                number = eval(compile(ast.Expression(value), "size", "eval"), {"__builtins__": {}})  # noqa: S307 - constants alone
            except Exception:
                return value
            if isinstance(number, int):
                return ast.copy_location(ast.Constant(number), value)
        return value

    def _assignment(self, targets: list[ast.expr], value: ast.expr) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if isinstance(value, ast.Constant) and names:
            self._add(names[0], value)
        elif isinstance(value, (ast.Tuple, ast.List)):
            pairs = targets[0].elts if isinstance(targets[0], ast.Tuple) and len(targets[0].elts) == len(value.elts) else None
            for at, element in enumerate(value.elts):
                name = pairs[at].id if pairs and isinstance(pairs[at], ast.Name) else f"{names[0]}_{at}" if names else None
                if name and isinstance(element, ast.Constant):
                    self._add(name, element)

    def _call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called not in ("rand", "randn", "zeros", "ones", "empty", "randint"):
            return
        for value in ast.walk(node):
            if isinstance(value, ast.Constant) and (called != "randint" or value not in node.args):
                self._add(f"extent_{len(self.literals)}", value)

    def _add(self, name: str, literal: ast.Constant) -> None:
        usable = type(literal.value) is int and literal.value > 1 and not _hyper_parameters.search(name.lower())
        usable = usable and not (literal.value <= 8 and _axes.search(name.lower()))
        if not usable or any(known is literal for known in self.literals.values()):
            return
        name = re.sub(r"\W", "_", name)
        while name in self.literals or name in _reserved:
            name += "_"
        self.literals[name] = literal
