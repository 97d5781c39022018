# ---- The function ----------------------------------------------------------------------------------------------------
_MODULES = {}


class _CupyDevice(Device):
    """Compiles and loads through cupy.RawModule; the rest is the driver's."""

    def _load(self):
        architecture = f"sm_{self.attribute(75)}{self.attribute(76)}"
        if CUBINS:
            return super()._load()
        options = tuple(option for option in OPTIONS if not option.startswith("--gpu-architecture"))
        options += tuple(f"-I{folder}" for folder in _installed_folders("include"))
        options += tuple(f"-I{folder}" for folder in _installed_folders("include", "cccl"))
        folder = tempfile.mkdtemp(prefix="kernelwright-")
        try:
            for name, text in HEADERS.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            module = cupy.RawModule(code=SOURCE, options=(f"-I{folder}", *options), name_expressions=list(KERNELS))
            functions = {name: ctypes.c_void_p(module.get_function(name).kernel.ptr) for name in KERNELS}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        _MODULES[self.ordinal, architecture] = module  # functions live as long as their module
        self.functions = functions


_DTYPES = {name: numpy.dtype(name) for name in _ITEM_BYTES if name != "bfloat16"}
_driver = None
_devices = {}


def _gpu(index):
    global _driver
    if _driver is None:
        _driver = CudaDriver()
    if index not in _devices:
        _devices[index] = _CupyDevice(_driver, index)
    _devices[index].make_current()
    return _devices[index]


def _dtype(name):
    if name == "bfloat16":
        import ml_dtypes  # CuPy has no bfloat16 of its own

        return numpy.dtype(ml_dtypes.bfloat16)
    return _DTYPES[name]


def _run(*arguments):
    arrays, scalars, shapes = [], [], {}
    for (name, dtype, shape), argument in zip(INPUTS, arguments):
        if shape is None:
            scalars.append(argument)
            continue
        if not isinstance(argument, cupy.ndarray):
            raise TypeError(f"{NAME}: {name} must be a cupy.ndarray, not {type(argument).__name__}")
        if argument.dtype != _dtype(dtype):
            raise TypeError(f"{NAME}: {name} must be {dtype}, not {argument.dtype}")
        if not argument.flags.c_contiguous:
            raise ValueError(f"{NAME}: {name} must be contiguous; call cupy.ascontiguousarray({name})")
        if argument.data.ptr % ALIGNMENT:
            raise ValueError(f"{NAME}: {name} must begin at a multiple of {ALIGNMENT} bytes; call {name}.copy()")
        if arrays and argument.device != arrays[0].device:
            raise ValueError(f"{NAME}: {name} is on {argument.device}, another input is on {arrays[0].device}")
        arrays.append(argument)
        shapes[name] = argument.shape
    sizes = sizes_from(shapes, dict(zip(GIVEN_SIZES, arguments[len(INPUTS):])))
    check_sizes(sizes)
    with (arrays[0].device if arrays else cupy.cuda.Device()) as device:
        outputs = [cupy.empty(shape_of(shape, sizes), dtype=_dtype(dtype)) for _, dtype, shape in OUTPUTS]
        gpu = _gpu(device.id)
        plan = gpu.plan(tuple(sizes[name] for name in SIZES), tuple(scalars), buffer_bytes(sizes))

        def allocate(size):
            scratch = cupy.cuda.alloc(size)
            return scratch, scratch.ptr

        gpu.run(plan, [array.data.ptr for array in (*arrays, *outputs)], cupy.cuda.get_current_stream().ptr, allocate)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
