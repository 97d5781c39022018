# ---- Shapes, types and sizes -----------------------------------------------------------------------------------------
_ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int32": 4, "int64": 8, "int8": 1, "uint8": 1,
               "bool": 1}
_MOST_ELEMENTS = (1 << 31) - 1  # kernels compute indices in 32 bits


def shape_of(shape, sizes):
    return tuple(EXPRESSIONS[part](sizes) if part in EXPRESSIONS else sizes[part] if part in sizes else int(part)
                 for part in shape)


def sizes_from(shapes, given):
    """The task's sizes from the shapes of the inputs ({name: shape}); those that no shape shows come from `given`."""
    sizes = dict(given)
    for name, _, shape in INPUTS:
        if shape is None:
            continue
        found = shapes[name]
        if len(found) != len(shape):
            raise ValueError(f"{NAME}: {name} must have {len(shape)} dimensions ({', '.join(shape)}), not {len(found)}")
        for part, number in zip(shape, found):
            if part in SIZES and part not in sizes:
                sizes[part] = number
    for name, _, shape in INPUTS:
        if shape is None:
            continue
        wanted = shape_of(shape, sizes)
        for part, number, expected in zip(shape, shapes[name], wanted):
            if number != expected:
                raise ValueError(f"{NAME}: {name} has the shape {tuple(shapes[name])}, where {part} must be {expected}")
    return sizes


def check_sizes(sizes):
    for name, value in sizes.items():
        if not 1 <= value <= 2147483647:
            raise ValueError(f"{NAME}: the size {name} = {value} must be at least 1 and fit 32 bits")
    for name, _, shape in (*INPUTS, *OUTPUTS):
        if shape is not None and math.prod(shape_of(shape, sizes)) > _MOST_ELEMENTS:
            raise ValueError(f"{NAME}: {name} has more than {_MOST_ELEMENTS} elements")


def buffer_bytes(sizes):
    return [math.prod(shape_of(shape, sizes)) * _ITEM_BYTES[dtype]
            for _, dtype, shape in (*INPUTS, *OUTPUTS) if shape is not None]


def record(device, sizes, scalars, buffers):
    """What the launcher does for these sizes, as steps."""
    recorder = Recorder(device, buffers)
    arguments, index, scalar = [], 0, iter(scalars)
    for _, dtype, shape in (*INPUTS, *OUTPUTS):
        if shape is None:
            arguments.append(_SCALARS[dtype](next(scalar)))
        else:
            arguments.append(DevicePointer(index, 0))
            index += 1
    launch(recorder, *arguments, *(sizes[name] for name in SIZES))
    return recorder.finish()


_SCALARS = {"float32": f32, "float16": f16, "bfloat16": bf16, "float64": float, "int32": to_i32, "int64": to_i64,
            "int8": to_i8, "uint8": to_u8, "bool": to_bool}
