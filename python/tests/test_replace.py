"""kw.replace: which tensors reach the operator, what is compared, and what it says. The operator is a function on the CPU; exported
kernels themselves are checked on a GPU by scripts/check_exports_on_gpu.py."""

import pytest

torch = pytest.importorskip("torch")

from kernelwright.errors import KernelwrightError  # noqa: E402
from kernelwright.replacement import replace  # noqa: E402


def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.ReLU()))


def norm(x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias)


def test_parameters_by_name_and_arguments_in_order():
    net, x = model(), torch.randn(5, 8)
    before = net(x)
    done = replace(net, "1.0", norm, inputs=["x", "weight", "bias"], example_inputs=(torch.randn(3, 4),))
    assert done.checked and done.largest_error < 1e-6
    assert torch.allclose(net(x), before)
    with torch.no_grad():
        net[1][0].old.bias += 1  # the new submodule reads the model's own parameters
    assert not torch.allclose(net(x), before)
    done.undo()
    assert isinstance(net[1][0], torch.nn.LayerNorm)


def test_gradients_reach_the_parameters():
    net = model()
    replace(net, "1.0", norm, inputs=["x", "weight", "bias"], example_inputs=(torch.randn(3, 4),))
    net(torch.randn(5, 8)).sum().backward()
    assert net[1][0].old.weight.grad is not None


def test_other_numbers_leave_the_old_submodule():
    net = model()
    with pytest.raises(KernelwrightError, match="differs from the submodule by"):
        replace(net, "1.0", lambda x, w, b: norm(x, w, b) * 1.01, inputs=["x", "weight", "bias"], example_inputs=(torch.randn(3, 4),))
    assert isinstance(net[1][0], torch.nn.LayerNorm)


def test_shapes_and_names_are_named_in_errors():
    net, x = model(), (torch.randn(3, 4),)
    with pytest.raises(KernelwrightError, match=r"gives \(3, 4\) torch.float32, the exported kernel \(12,\)"):
        replace(net, "1.0", lambda x, w, b: norm(x, w, b).flatten(), inputs=["x", "weight", "bias"], example_inputs=x)
    with pytest.raises(KernelwrightError, match="no submodule `1.7`"):
        replace(net, "1.7", norm, inputs=["x"], example_inputs=x)
    with pytest.raises(KernelwrightError, match="needs inputs="):
        replace(net, "1.0", norm, example_inputs=x)
    with pytest.raises(KernelwrightError, match="give example_inputs="):
        replace(net, "1.0", norm, inputs=["x", "weight", "bias"])
    with pytest.raises(KernelwrightError, match="is not there; make it with"):
        replace(net, "1.0", "missing.py", example_inputs=x)


def test_a_kernel_without_a_gpu_says_so(tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    path = tmp_path / "exported.py"
    path.write_text("NAME, OPERATOR = 'f', 'f_0'\nINPUTS = (('x', 'float32', ('n',)),)\ndef f(x):\n    return x\n")
    with pytest.raises(KernelwrightError, match="there is no GPU here"):
        replace(model(), "1.1", path, example_inputs=(torch.randn(3, 4),))
    assert not replace(model(), "1.1", path, check=False).checked
