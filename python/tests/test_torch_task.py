"""Tasks from PyTorch: what they say, that their references agree with the modules, and what is refused and why."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

import kernelwright as kw  # noqa: E402
from kernelwright.torch_task.from_module import made_from  # noqa: E402
from kernelwright.torch_task.limited_process import run_limited  # noqa: E402
from kernelwright.torch_task.size_expressions import Fitter, evaluate  # noqa: E402


def answers(task: kw.Task, folder: Path) -> list[tuple[dict[str, int], dict[str, torch.Tensor]]]:
    """Inputs and outputs of the program's own reference, in float64, at the small sizes."""
    task.save(folder / f"{task.name}.yaml")
    command = [str(kw.find_program()), "tasks", "answer", str(folder / f"{task.name}.yaml"), "--out", str(folder), "--precision", "truth"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = []
    for at, sizes in enumerate(json.loads((folder / task.name / "sizes.json").read_text())):
        tensors = {file.stem: torch.from_numpy(numpy.load(file)) for file in (folder / task.name / str(at)).glob("*.npy")}
        found.append((sizes, {name: value.double() if value.is_floating_point() else value for name, value in tensors.items()}))
    return found


def test_a_function_with_free_extents(tmp_path: Path) -> None:
    def scaled_difference(x, y):
        """Twice x minus y, and where x is larger."""
        return 2.5 * x - y, x > y

    task = kw.task_from(scaled_difference, (torch.randn(300, 512), torch.randn(300, 512)))
    assert task.name == "scaled_difference" and "shape: [rows, cols]" in task.yaml and "{rows: 300, cols: 512}" in task.yaml
    for _, tensors in answers(task, tmp_path):
        difference, larger = scaled_difference(tensors["x"], tensors["y"])
        assert torch.equal(difference, tensors["output_0"]) and torch.equal(larger, tensors["output_1"])


def test_parameters_become_inputs_and_their_extents_vary_with_the_inputs(tmp_path: Path) -> None:
    made = made_from(torch.nn.Linear(64, 128), (torch.rand(32, 64),))
    by_name = {each.name: each for each in made.inputs}
    assert by_name["weight"].kind == "parameter" and by_name["weight"].shape[1] == by_name["input"].shape[1]
    for _, tensors in answers(kw.Task.from_yaml(made.yaml), tmp_path):
        expected = torch.nn.functional.linear(tensors["input"], tensors["weight"], tensors["bias"])
        assert torch.allclose(expected, tensors["output"], rtol=1e-12)


def test_names_of_extents_and_sizes_are_taken_as_given(tmp_path: Path) -> None:
    task = kw.task_from(torch.nn.ReLU(), (torch.randn(64, 32),), dynamic={"input": ["n", None]}, name="mine",
                        sizes={"small": [{"n": 3}, {"n": 5}], "train": [{"n": 1000}]})
    assert "name: mine" in task.yaml and "shape: [n, 32]" in task.yaml and "train: [{n: 1000}]" in task.yaml
    assert [sizes for sizes, _ in answers(task, tmp_path)] == [{"n": 3}, {"n": 5}]
    with pytest.raises(kw.TaskError, match="'m' is not one of n"):
        kw.task_from(torch.nn.ReLU(), (torch.randn(64, 32),), dynamic={"input": ["n", None]}, sizes={"small": [{"m": 3}]})


def test_fixed_shapes_are_possible(tmp_path: Path) -> None:
    task = kw.task_from(torch.nn.Softmax(-1), (torch.randn(4, 7),), dynamic=False)
    assert "sizes:" not in task.yaml and "[4, 7]" in task.yaml
    assert len(answers(task, tmp_path)) == 1


def test_batch_norm_uses_running_statistics_in_eval_and_the_batch_s_own_in_training() -> None:
    module = torch.nn.BatchNorm1d(16)
    training = made_from(module, (torch.randn(8, 16),))
    assert "training=True" in training.yaml and not any("running" in each.name for each in training.inputs)
    evaluating = made_from(module.eval(), (torch.randn(8, 16),))
    assert {"running_mean", "running_var"} <= {each.name for each in evaluating.inputs}


def test_random_numbers_are_refused_with_operation_and_line() -> None:
    def noisy(x):
        y = x * 2
        return y + torch.rand_like(y)

    place = r"aten\.rand_like in test_torch_task\.py:\d+: return y \+ torch\.rand_like\(y\).*random numbers"
    with pytest.raises(kw.TaskError, match=place):
        kw.task_from(noisy, (torch.randn(4, 4),))
    dropout = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5))
    with pytest.raises(kw.TaskError, match=r"dropout.*\.eval\(\)"):
        kw.task_from(dropout, (torch.randn(4, 8),))
    assert "dropout" not in kw.task_from(dropout.eval(), (torch.randn(4, 8),)).yaml
    assert "inference form" in made_from(dropout.train(), (torch.randn(4, 8),), dropout="identity").notes[0]


def test_what_cannot_be_traced_says_where() -> None:
    def branches(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(kw.TaskError, match="test_torch_task.py"):
        kw.task_from(branches, (torch.randn(4, 4),))
    with pytest.raises(kw.TaskError, match="depends on values"):
        kw.task_from(lambda x: torch.nonzero(x), (torch.randn(4, 4),), name="places")
    with pytest.raises(kw.TaskError, match="complex64"):
        kw.task_from(lambda x: torch.fft.fft(x), (torch.randn(4, 4),), name="spectrum")


@pytest.mark.parametrize("module", [torch.nn.LSTM(8, 16, batch_first=True), torch.nn.GRU(8, 16, 2), torch.nn.RNN(8, 16),
                                    torch.nn.LSTM(8, 16, bidirectional=True, proj_size=4)],
                         ids=["lstm", "gru_of_two_layers", "rnn", "projected_lstm_both_ways"])
def test_recurrent_layers(module: torch.nn.RNNBase, tmp_path: Path) -> None:
    made = made_from(module, (torch.rand(4, 5, 8),))
    by_path = {each.path: each.name for each in made.inputs}
    assert set(by_path) - {""} == {name for name, _ in module.named_parameters()}
    for _, tensors in answers(kw.Task.from_yaml(made.yaml), tmp_path):
        module.double()
        with torch.no_grad():
            for path, value in module.named_parameters():
                value.copy_(tensors[by_path[path]])
            output, last = module(tensors["input"])
        for expected, (name, _, _) in zip((output, *(last if isinstance(last, tuple) else (last,))), made.outputs, strict=True):
            assert torch.allclose(expected, tensors[name], rtol=1e-12), name


def test_an_error_of_torch_has_its_kind_and_a_place() -> None:
    with pytest.raises(kw.TaskError, match=r"RuntimeError: .*input.size\(-1\).*\(in rnn\.py:\d+"):
        kw.task_from(torch.nn.LSTM(8, 16), (torch.rand(4, 5, 7),))


def test_a_judged_kernel_of_an_own_module(judge: kw.Judge) -> None:
    task = kw.task_from(torch.nn.ReLU(), (torch.randn(64, 32),), name="my_relu")
    kernel = """__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = %s;
}
extern "C" void launch(const float* input, float* output, int rows, int cols, cudaStream_t stream) {
  relu<<<(rows * cols + 255) / 256, 256, 0, stream>>>(input, output, rows * cols);
}
"""
    assert judge.judge(task, kernel % "fmaxf(x[i], 0.f)").correct
    assert judge.judge(task, kernel % "x[i]").status == "wrong"


def test_expressions_give_the_numbers_that_were_seen() -> None:
    samples = [{"h": h, "w": w} for h, w in ((9, 9), (10, 9), (11, 9), (12, 9), (9, 14), (9, 21), (224, 130))]
    fitter = Fitter(samples, ["h", "w"])
    for wanted in ("h", "3 * h + 1", "(h - 3) / 2 + 1", "(w - 7) / 4 + 1", "h * w", "2 * h * w", "(2 * h + 1) / 3", "h - w"):
        values = tuple(evaluate(wanted, sample) for sample in samples)
        found = fitter.fit(values)
        assert found is not None, wanted
        for h in range(9, 300, 7):
            if wanted != "h - w":
                assert evaluate(found, {"h": h, "w": 130}) == evaluate(wanted, {"h": h, "w": 130}), (wanted, found)
    assert fitter.fit((1, 5, 2, 9, 9, 1, 4)) is None
    with pytest.raises(ValueError, match="not an expression"):
        evaluate("__import__('os')", {})


def test_a_file_s_process_has_limits() -> None:
    with pytest.raises(kw.TaskError, match="CPU time|took over"):
        run_limited(lambda: [None for _ in iter(int, 1)], seconds=1)
    with pytest.raises(kw.TaskError, match="memory|MemoryError|can't allocate"):
        run_limited(lambda: len(bytearray(2 << 30)), memory_bytes=1 << 30)
    with pytest.raises(kw.TaskError, match="ValueError: no"):
        run_limited(lambda: (_ for _ in ()).throw(ValueError("no")))
    with pytest.raises(kw.TaskError, match="SystemExit"):
        run_limited(lambda: exit(3))
    with pytest.raises(kw.TaskError, match="holds a"):
        run_limited(lambda: Path("/"))
