"""KernelBench's form: our own problems in it, from the folder to the page."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

import kernelwright as kw  # noqa: E402
from kernelwright.kernelbench.__main__ import main  # noqa: E402
from kernelwright.kernelbench.degenerate import all_degenerate, degenerate_reason, zero_output  # noqa: E402
from kernelwright.kernelbench.exporting import model_new  # noqa: E402
from kernelwright.kernelbench.scoring import counts, is_fast  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
problems = Path(__file__).parent / "problems"
refused = {"L1-9": "aten.randn_like in 9_Noise.py:9", "L1-10": "depends on values"}

sine = """__global__ void sine(const float* x, float a, float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sinf(x[i] * a);
}
extern "C" void launch(const float* x, float a, float* output, int batch_size, int width, cudaStream_t stream) {
  long long n = (long long)batch_size * width;
  sine<<<(n + 255) / 256, 256, 0, stream>>>(x, a, output, n);
}
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder's problems as tasks, each reference compared with its module."""
    out = tmp_path_factory.mktemp("bench")
    assert main(["import", str(problems), "--out", str(out), "--check", "--derived"]) == 1  # two cannot be tasks
    return out


def entries(folder: Path) -> dict[str, dict]:
    return {each["key"]: each for each in json.loads((folder / "import.json").read_text())["problems"]}


def test_every_reference_equals_pytorch_s_module_and_the_rest_says_why(imported: Path) -> None:
    found = entries(imported)
    assert len(found) == 16
    for key, entry in found.items():
        if key in refused:
            assert not entry["expressible"] and refused[key] in entry["reason"], entry
        else:
            assert entry["expressible"] and entry.get("difference") is not None, entry
            assert entry["difference"] <= 1e-9, entry


def test_sizes_are_the_file_s_own_names(imported: Path) -> None:
    yaml = next((imported / "tasks").glob("kb1_2_*")).joinpath("task.yaml").read_text()
    assert "shape: [batch_size, in_channels, height, height]" in yaml  # height = width = 130 is one number
    assert "(height + 2) / 3" in yaml
    assert "kernel_size" not in yaml and "[out_channels, in_channels, 5, 5]" in yaml


def test_dropout_is_its_inference_form_and_batch_norm_the_batch_s_own(imported: Path) -> None:
    folder = next((imported / "tasks").glob("kb2_2_*"))
    assert "training=True" in (folder / "task.yaml").read_text()
    assert "inference form" in json.loads((folder / "problem.json").read_text())["notes"][-1]


def test_an_import_goes_on_and_takes_back_nothing(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (imported / "import.json").read_text()
    main(["import", str(problems), "--out", str(imported), "--levels", "1", "--derived"])
    after = json.loads((imported / "import.json").read_text())["problems"]
    assert sorted(each["key"] for each in after) == sorted(each["key"] for each in json.loads(before)["problems"])
    kept = {each["key"]: each.get("difference") for each in json.loads(before)["problems"]}
    assert {each["key"]: each.get("difference") for each in after} == kept


def test_a_folder_without_problems_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "level1" in capsys.readouterr().err


def test_hostile_files_cost_only_themselves(tmp_path: Path) -> None:
    level = tmp_path / "level1"
    level.mkdir()
    head = "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x):\n        return x\n"
    inputs = "def get_inputs():\n    return [torch.rand(4, 4)]\n"
    (level / "1_Endless.py").write_text(head + inputs + "while True:\n    pass\n")
    (level / "2_Exit.py").write_text(head + inputs + "import os\nos._exit(0)\n")
    (level / "3_No_Model.py").write_text(inputs)
    (level / "4_Syntax.py").write_text("def (:\n")
    (level / "5_Good.py").write_text(head.replace("return x", "return x * 2") + inputs)
    assert main(["import", str(tmp_path), "--out", str(tmp_path / "out"), "--seconds", "3"]) == 1
    found = entries(tmp_path / "out")
    assert [found[f"L1-{at}"]["expressible"] for at in range(1, 6)] == [False, False, False, False, True]
    assert "took over" in found["L1-1"]["reason"] and "no Model" in found["L1-3"]["reason"]


def test_the_exported_model_has_equal_weights_and_the_kernel(imported: Path) -> None:
    folder = next((imported / "tasks").glob("kb2_1_*"))
    made = json.loads((folder / "problem.json").read_text())
    source = Path(made["source"]).read_text()
    text = model_new(made, "// a kernel\n", source)
    tree = ast.parse(text)
    # Compiling needs a GPU's compiler; everything else of the file runs here.
    tree.body = [each for each in tree.body if "load_inline" not in ast.unparse(each)]
    space: dict = {"__name__": "exported"}
    exec(compile(tree, "exported.py", "exec"), space)
    original: dict = {"__name__": "original"}
    exec(source, original)
    weights = []
    for model in (original["Model"], space["ModelNew"]):
        torch.manual_seed(42)
        weights.append(model(16, 32, 4).state_dict())
    assert list(weights[0]) == list(weights[1])
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert "static_cast<const float*>(linear_weight.const_data_ptr())" in text and "// a kernel" in text
    assert "in_features = x.size(1)" in text and "out_features = scale.size(0)" in text


def test_channels_of_groups_are_read_off_a_groups(imported: Path) -> None:
    made = json.loads((next((imported / "tasks").glob("kb2_1_*")) / "problem.json").read_text())
    made["inputs"][1]["shape"] = ["in_features", "groups / 4"]
    made["outputs"][0]["shape"] = ["batch_size", "groups"]
    made["sizes"] = {"small": [{**made["sizes"]["small"][0], "groups": 8}], "train": [{**made["sizes"]["train"][0], "groups": 64}]}
    source = Path(made["source"]).read_text()
    name = made["inputs"][1]["name"]
    assert f"groups = {name}.size(1) * 4" in model_new(made, "// a kernel\n", source)
    made["sizes"]["small"][0]["groups"] = 9
    with pytest.raises(kw.KernelwrightError, match="groups cannot be read off"):
        model_new(made, "// a kernel\n", source)


def test_the_exported_binding_compiles(imported: Path, tmp_path: Path) -> None:
    # As load_inline does it: with the function that it adds, without headers of its own.
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        pytest.skip("Python.h is missing: install python3-dev")
    folder = next((imported / "tasks").glob("kb2_1_*"))
    made = json.loads((folder / "problem.json").read_text())
    text = model_new(made, "// a kernel\n", Path(made["source"]).read_text())
    values = {each.targets[0].id: each.value for each in ast.parse(text).body if isinstance(each, ast.Assign)}
    module = "\nPYBIND11_MODULE(m, m) { m.def(\"run_kernel\", torch::wrap_pybind_function(run_kernel), \"run_kernel\"); }\n"
    (tmp_path / "main.cpp").write_text(ast.literal_eval(values["_binding"]) + module)
    packages = Path(torch.__file__).parent.parent
    includes = [sysconfig.get_paths()["include"], packages / "torch" / "include", *packages.glob("nvidia/*/include")]
    done = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", *(f"-isystem{each}" for each in includes), str(tmp_path / "main.cpp")],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_score_counts_all_problems_and_only_right_kernels(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bench"
    shutil.copytree(imported, folder)
    (folder / "kernels").mkdir()
    (folder / "kernels" / "kb1_1_scaled_sine.json").write_text(json.dumps({"best": {"kernel": sine}}))
    wrong = """__global__ void f(const float* x, float* y) { y[0] = 0; }
extern "C" void launch(const float* x, float* output, int batch_size, int length, cudaStream_t stream) {
  f<<<1, 1, 0, stream>>>(x, output);
}
"""
    (folder / "kernels" / "kb1_6_exclusive_product.json").write_text(
        json.dumps({"best": {"kernel": wrong}, "library": {"status": "correct"}}))
    assert main(["score", str(folder)]) == 0
    printed = capsys.readouterr().out
    report = json.loads((folder / "score.json").read_text())
    rows = {row["key"]: row for row in report["hardened"]}
    assert rows["L1-1"]["correct"] and not rows["L1-6"]["correct"] and rows["L1-9"]["status"] == "not imported"
    assert counts(report["hardened"]) == {"problems": 16, "right": 1, "solved": 1, "fast": 0, "compile": 0, "degenerate": 0,
                                            "library": 1}
    assert report["controls"] == {"unchanged PyTorch": 0, "torch.compile alone": 0}
    assert "in the emulator at derived shapes" in printed and "stock scorer was not run" in printed
    assert "sinf(x[i] * a)" in (folder / "score.html").read_text()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_the_stock_scorer_says_that_it_needs_a_gpu(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bench"
    shutil.copytree(imported, folder)
    assert main(["score", str(folder), "--stock", str(tmp_path)]) == 2
    assert "GPU" in capsys.readouterr().err


def test_kernels_of_agents_that_learned_from_the_benchmark_are_no_score(imported: Path, tmp_path: Path,
                                                                         capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bench"
    shutil.copytree(imported, folder)
    assert "family: kernelbench" in (folder / "tasks" / "kb1_1_scaled_sine" / "task.yaml").read_text()
    (folder / "kernels").mkdir()
    (folder / "kernels" / "kb1_1_scaled_sine.json").write_text(json.dumps({"best": {"kernel": sine}, "learned_from": ["kernelbench"]}))
    assert main(["score", str(folder)]) == 2
    assert "L1-1" in capsys.readouterr().err and not (folder / "score.json").exists()
    assert main(["score", str(folder), "--even-if-learned"]) == 0
    assert capsys.readouterr().out.startswith("NOT A SCORE: 1 of the kernels")
    assert "NOT A SCORE" in (folder / "score.html").read_text()


def test_agents_that_learned_from_the_benchmark_are_not_asked(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agents, folder = tmp_path / "agents", tmp_path / "bench"
    shutil.copytree(ROOT / "weights" / "tiny", agents)
    shutil.copytree(imported, folder)
    described = json.loads((agents / "agents.json").read_text())
    (agents / "agents.json").write_text(json.dumps({**described, "learned_from": ["kernelbench"]}))
    few = ["run", str(folder), "--levels", "1", "--limit", "1", "--samples", "1", "--turns", "1", "--model", str(agents)]
    assert main(few) == 2
    assert "learned from tasks of kernelbench" in capsys.readouterr().err and not (folder / "kernels").exists()
    assert main([*few, "--even-if-learned"]) == 0
    (kept,) = (folder / "kernels").glob("*.json")
    assert json.loads(kept.read_text())["learned_from"] == ["kernelbench"]


def test_a_run_goes_on_where_it_was_ended(imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bench"
    shutil.copytree(imported, folder)
    asked = ["run", str(folder), "--levels", "1", "--samples", "1", "--turns", "1"]
    assert main([*asked, "--limit", "1"]) == 0
    first = {file.name: file.stat().st_mtime_ns for file in (folder / "kernels").iterdir()}
    capsys.readouterr()
    assert main([*asked, "--limit", "2"]) == 0
    assert "2 problems, 1 done before" in capsys.readouterr().err
    after = {file.name: file.stat().st_mtime_ns for file in (folder / "kernels").iterdir()}
    assert len(after) == 2 and first.items() <= after.items()
    assert main(["export", str(folder), "--levels", "1"]) == 0


def test_fast_means_that_the_whole_interval_is_faster() -> None:
    def verdict(upper: float, source: str = "measured") -> dict:
        return {"correct": True, "time_source": source, "times": [{"pytorch_us": 10.0, "time_interval_us": [8.0, upper]}]}

    assert is_fast(verdict(9.9)) and not is_fast(verdict(10.1)) and not is_fast(verdict(9.0, "modelled"))
    assert not is_fast({**verdict(9.0), "correct": False})


def test_the_list_of_degenerate_problems() -> None:
    """A regression test: these must stay marked, and a right kernel of a marked problem is not counted as solved."""
    assert set(zero_output) == {(2, 23), (2, 80), (2, 83)}
    for level, numbers in ((1, (23, 37, 38, 39, 53, 94, 96, 98, 100)), (2, (9, 13, 23, 36, 44, 48, 49, 80, 83, 84, 88, 89, 91, 96))):
        assert {number for of, number in all_degenerate if of == level} == set(numbers)
    row = {"level": 2, "correct": True, "degenerate": degenerate_reason(2, 80), "fast": True}
    assert counts([row]) == {"problems": 1, "right": 1, "solved": 0, "fast": 0, "compile": 0, "degenerate": 1, "library": 0}
    assert counts([{"level": 1, "correct": True, "flags": ["constant_task"]}])["solved"] == 0


def test_the_program_s_own_commands_reach_the_package(tmp_path: Path) -> None:
    program, python = str(kw.find_program()), {"KERNELWRIGHT_PYTHON": sys.executable}
    import os

    environment = {**os.environ, **python}
    file = problems / "level1" / "1_Scaled_Sine.py"
    done = subprocess.run([program, "task", "import", str(file), "--out", str(tmp_path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and (tmp_path / "kb_1_scaled_sine" / "task.yaml").exists(), done.stderr
    shown = subprocess.run([program, "tasks", "show", str(file)], capture_output=True, text=True, env=environment)
    assert shown.returncode == 0 and "torch.sin" in shown.stdout, shown.stderr
    file_of_noise = str(problems / "level1" / "9_Noise.py")
    noise = subprocess.run([program, "tasks", "show", file_of_noise], capture_output=True, text=True, env=environment)
    assert noise.returncode == 2 and "randn_like" in noise.stderr
    without = subprocess.run([program, "tasks", "show", str(file)], capture_output=True, text=True,
                             env={**environment, "KERNELWRIGHT_PYTHON": "/nonexistent/python"})
    assert without.returncode == 2 and "KERNELWRIGHT_PYTHON" in without.stderr and "kernelwright task import" in without.stderr


def test_a_derived_train_size_can_be_computed_as_a_whole(tmp_path: Path) -> None:
    from kernelwright.torch_task.import_file import import_file
    from kernelwright.torch_task.limited_process import derived_elements

    file = tmp_path / "1_Wide.py"
    file.write_text("import torch\nbatch_size = 2048\nfeatures = 2048\nclass Model(torch.nn.Module):\n"
                    "    def __init__(self, features):\n        super().__init__()\n        self.layer = torch.nn.Linear(features, features)\n"
                    "    def forward(self, x):\n        return self.layer(x)\n"
                    "def get_inputs():\n    return [torch.rand(batch_size, features)]\ndef get_init_inputs():\n    return [features]\n")
    own = import_file(file)["sizes"]["train"][0]
    assert own == {"batch_size": 2048, "features": 2048}  # no limit but that of a tensor
    derived = import_file(file, train_elements=derived_elements)["sizes"]["train"][0]
    assert 2**26 < derived["batch_size"] * derived["features"]**2 <= 2**29  # all its tensors would fit as they are
