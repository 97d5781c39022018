# ---- The operator ----------------------------------------------------------------------------------------------------
_DTYPES = {name: getattr(torch, name) for name in _ITEM_BYTES}
_driver = None
_devices = {}
_device_lock = threading.Lock()


def _device(index):
    global _driver
    device = _devices.get(index)
    if device is None:
        with _device_lock:
            if _driver is None:
                _driver = CudaDriver()
            device = _devices.setdefault(index, Device(_driver, _physical(index)))
    device.make_current()
    return device


def _physical(index):
    return index  # the driver counts what CUDA_VISIBLE_DEVICES leaves, as PyTorch does


def _check_types(tensors):
    """What can be said without data: also for fake tensors, while torch.compile traces."""
    device = None
    for (name, dtype, shape), tensor in zip(INPUTS, tensors):
        if shape is None:
            continue
        if tensor.dtype != _DTYPES[dtype]:
            raise TypeError(f"{NAME}: {name} must be {dtype}, not {str(tensor.dtype).removeprefix('torch.')}")
        if device is not None and tensor.device != device:
            raise ValueError(f"{NAME}: {name} is on {tensor.device}, another input is on {device}")
        device = tensor.device
    return device


def _sizes(arguments):
    shapes = {name: tensor.shape for (name, _, shape), tensor in zip(INPUTS, arguments) if shape is not None}
    return sizes_from(shapes, dict(zip(GIVEN_SIZES, arguments[len(INPUTS):])))


def _outputs(sizes, device):
    made = [torch.empty(shape_of(shape, sizes), dtype=_DTYPES[dtype], device=device) for _, dtype, shape in OUTPUTS]
    return made[0] if len(made) == 1 else tuple(made)


def _execute(*arguments):
    device = _check_types(arguments)
    if device is None:
        raise ValueError(f"{NAME}: there is no tensor among the inputs")
    if device.type != "cuda":
        raise ValueError(f"{NAME}: the inputs are on {device}; a CUDA kernel needs tensors on a GPU, call .cuda()")
    sizes = _sizes(arguments)
    check_sizes(sizes)
    tensors, scalars = [], []
    for (name, _, shape), argument in zip(INPUTS, arguments):
        if shape is None:
            scalars.append(argument)
            continue
        if not argument.is_contiguous():
            raise ValueError(f"{NAME}: {name} must be contiguous; call {name}.contiguous()")
        if argument.data_ptr() % ALIGNMENT:
            raise ValueError(f"{NAME}: {name} must begin at a multiple of {ALIGNMENT} bytes; call {name}.clone()")
        tensors.append(argument)
    with torch.cuda.device(device):
        outputs = _outputs(sizes, device)
        tensors += outputs if isinstance(outputs, tuple) else [outputs]
        gpu = _device(device.index)
        plan = gpu.plan(tuple(sizes[name] for name in SIZES), tuple(scalars), buffer_bytes(sizes))
        pointers = [tensor.data_ptr() for tensor in tensors]

        def allocate(size):
            scratch = torch.empty(size, dtype=torch.uint8, device=device)
            return scratch, scratch.data_ptr()

        gpu.run(plan, pointers, torch.cuda.current_stream(device).cuda_stream, allocate)
    return outputs


_operator = torch.library.custom_op(f"kernelwright::{OPERATOR}", _execute, mutates_args=(), schema=SCHEMA)


@_operator.register_fake
def _(*arguments):
    device = _check_types(arguments)
    return _outputs(_sizes(arguments), device)
