"""The archive's import on rows of our own that have its columns."""

import json
import pathlib

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("torch")
import pyarrow
import pyarrow.parquet

from kernelwright import sakana

functional = """
import torch
import torch.nn as nn

def module_fn(x: torch.Tensor, weight: torch.Tensor, negative_slope: float, repeats: int) -> torch.Tensor:
    return torch.where(x > 0, x, x * negative_slope) * weight * repeats

class Model(nn.Module):
    def __init__(self, negative_slope, repeats):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(33))
        self.negative_slope = negative_slope
        self.repeats = repeats

    def forward(self, x, fn=module_fn):
        return fn(x, self.weight, self.negative_slope, self.repeats)

def get_inputs():
    return [torch.randn(17, 33)]

def get_init_inputs():
    return [0.25, 2]
"""

cuda = """
#include <torch/extension.h>
__global__ void leaky(const float* x, const float* weight, float* y, float slope, int repeats, int cols, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (x[i] > 0.0f ? x[i] : x[i] * slope) * weight[i % cols] * repeats;
}
torch::Tensor forward(torch::Tensor x, torch::Tensor weight, float slope, int64_t repeats) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  auto y = torch::empty_like(x);
  const int n = x.numel();
  leaky<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(), y.data_ptr<float>(), slope, repeats,
                                  x.size(1), n);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "leaky"); }
"""


def row(name, code, correct=True, pytorch=functional):
    return {"Op_Name": "Leaky", "Level_ID": 1, "Task_ID": 20, "Kernel_Name": name, "CUDA_Runtime": 0.01, "PyTorch_Native_Runtime": 0.02,
            "PyTorch_Compile_Runtime": 0.02, "CUDA_Speedup_Native": 2.0, "CUDA_Speedup_Compile": 2.0, "CUDA_Code": code,
            "PyTorch_Code_Module": "", "PyTorch_Code_Functional": pytorch, "Correct": correct, "Max_Diff": 0.0, "Error": None,
            "NCU_Profile": None, "Torch_Profile": None, "Clang_Tidy": None, "__index_level_0__": 0}


def write(path: pathlib.Path, rows) -> pathlib.Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_rows_are_judged_again(tmp_path, capsys):
    rows = [row("right", cuda), row("first_row_only", cuda.replace("if (i < n)", "if (i < cols)")),
            row("on_the_host", cuda.replace("return y;", "return at::relu(x);")),
            row("known_wrong", cuda.replace("* slope", "- slope"), False),
            row("no_function", cuda, True, "x = 1\n"), row("never_ends", cuda, True, "raise SystemExit(3)\n")]
    out = tmp_path / "out"
    assert sakana.main([str(write(tmp_path / "a.parquet", rows)), "--out", str(out), "--workers", "1"]) == 0
    found = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert found[0]["status"] == "correct", found[0]
    assert [one["status"] == "correct" for one in found[1:]] == [False] * 5
    assert "at::relu" in found[2]["reason"]
    assert [one["status"] for one in found[4:]] == ["no_task", "no_task"]
    kept = [json.loads(line) for line in (out / "kept.jsonl").read_text().splitlines()]
    assert [one["source"] for one in kept] == ["kernelbench"]
    text = capsys.readouterr().out
    assert "6 rows, 5 of them correct by the archive: 1 are, 2 are not, 2 could not be decided" in text


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "columns"])
def test_damaged_files_are_named(tmp_path, capsys, damage):
    path = write(tmp_path / "a.parquet", [row("right", cuda)])
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not parquet")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    else:
        write(path, [{"Op_Name": "Leaky"}])
    assert sakana.main([str(path), "--out", str(tmp_path / "out")]) == 1
    assert "error: " in capsys.readouterr().err
