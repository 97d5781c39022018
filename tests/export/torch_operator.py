#!/usr/bin/env python3
"""An exported operator in a real PyTorch on the CPU: its fake implementation under torch.export and torch.compile, with shapes
that are symbols, and what it says about inputs that it cannot take. Needs Python with torch (scripts/torch_env.sh)."""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

import torch

from recorded import ROOT, run


def load(folder, task, kernel, *options):
    path = pathlib.Path(folder) / f"{task}_exported.py"
    status, answer = run("export", kernel, "--task", task, "--as", "torch", "-o", path, *options)
    assert status == 0, answer
    specification = importlib.util.spec_from_file_location(f"exported_{task}", path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # torch.compile looks functions up by their module
    specification.loader.exec_module(module)
    return module


class ExportedOperator(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.module = load(cls.folder.name, "softmax", ROOT / "examples" / "softmax_shared.cu")
        cls.scaled = load(cls.folder.name, "saxpy", ROOT / "tasks" / "saxpy" / "naive.cu")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_export_keeps_the_operator_and_the_symbols(self):
        softmax = self.module.softmax

        class Model(torch.nn.Module):
            def forward(self, x):
                return softmax(x * 2) + 1

        rows = torch.export.Dim("rows", min=2, max=4096)
        program = torch.export.export(Model(), (torch.randn(5, 33),), dynamic_shapes={"x": {0: rows}})
        called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
        self.assertTrue(any(self.module.OPERATOR in name for name in called), called)
        value = next(node.meta["val"] for node in program.graph.nodes if self.module.OPERATOR in str(node.target))
        self.assertIsInstance(value.shape[0], torch.SymInt)
        self.assertEqual(value.shape[1], 33)
        self.assertEqual(value.dtype, torch.float32)

    def test_compile_sees_one_graph(self):
        softmax = self.module.softmax
        graphs = []

        def backend(graph, inputs):
            graphs.append(graph)
            return graph.forward

        compiled = torch.compile(lambda x: softmax(x + 1) * 2, backend=backend, fullgraph=True)
        with self.assertRaisesRegex(ValueError, "a CUDA kernel needs tensors on a GPU"):
            compiled(torch.randn(3, 8))  # traced as a whole; the run itself needs a GPU
        self.assertEqual(len(graphs), 1)
        self.assertIn(self.module.OPERATOR, graphs[0].code)

    def test_scalars_are_passed_by_value(self):
        with torch._subclasses.FakeTensorMode():
            made = self.scaled.saxpy(0.5, torch.empty(17), torch.empty(17))
        self.assertEqual((tuple(made.shape), made.dtype), ((17,), torch.float32))

    def test_says_what_is_wrong(self):
        softmax = self.module.softmax
        with self.assertRaisesRegex(TypeError, "x must be float32, not float16"):
            softmax(torch.randn(3, 4).half())
        with self.assertRaisesRegex(ValueError, "are on cpu; a CUDA kernel needs tensors on a GPU"):
            softmax(torch.randn(3, 4))
        with torch._subclasses.FakeTensorMode():
            with self.assertRaisesRegex(ValueError, r"x must have 2 dimensions \(rows, cols\), not 1"):
                softmax(torch.empty(3))
            with self.assertRaisesRegex(ValueError, "y has the shape .*, where n must be 17"):
                self.scaled.saxpy(1.0, torch.empty(17), torch.empty(16))

    def test_backward_says_that_there_is_none(self):
        with torch._subclasses.FakeTensorMode():
            x = torch.empty(3, 4, requires_grad=True)
            y = self.module.softmax(x)
            with self.assertRaisesRegex(NotImplementedError, "softmax has no backward kernel"):
                y.sum().backward()

    def test_the_schema_mutates_nothing(self):
        schema = str(getattr(torch.ops.kernelwright, self.scaled.OPERATOR).default._schema)
        self.assertIn("(float alpha, Tensor x, Tensor y) -> Tensor", schema)


if __name__ == "__main__":
    os.environ.setdefault("TORCH_LOGS", "")
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
