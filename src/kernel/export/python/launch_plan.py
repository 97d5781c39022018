# ---- What the launcher does for given sizes: recorded once, executed often ------------------------------------------
def _pack(layout, value, data, at, pointers):
    """Writes an argument into `data` at `at`; where device pointers belong is noted in `pointers`."""
    if isinstance(layout, tuple) and layout[0] == "struct":
        for name, offset, inner in layout[2]:
            _pack(inner, getattr(value, name), data, at + offset, pointers)
    elif isinstance(layout, tuple):  # an array inside a struct
        for index, item in enumerate(value):
            _pack(layout[3], item, data, at + index * layout[2], pointers)
    elif layout == "p":
        if not isinstance(value, DevicePointer):
            raise LaunchError("a kernel gets a pointer to memory of the host")
        if value:
            pointers.append((at, value.buffer, value.offset))
    elif value is None:
        raise LaunchError("a kernel argument is used before it has a value")
    else:
        code, convert = _PACKED[layout]
        struct.pack_into("<" + code, data, at, convert(value))


_PACKED = {
    "bool": ("B", to_bool), "i8": ("b", to_i8), "u8": ("B", to_u8), "i16": ("h", to_i16), "u16": ("H", to_u16),
    "i32": ("i", to_i32), "u32": ("I", to_u32), "i64": ("q", to_i64), "u64": ("Q", to_u64),
    "f32": ("f", f32), "f64": ("d", float), "f16": ("e", f16), "bf16": ("H", lambda value: _bf16_bits(float(value))),
}
_BYTES = {"p": 8, "bool": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}


def _bytes_of(layout):
    if isinstance(layout, tuple):
        return layout[1]
    return _BYTES[layout] if layout in _BYTES else int(layout[1:]) // 8


class Kernel:
    """An instance of a kernel: its C++ name and how its parameters lie in memory."""

    def __init__(self, name, layouts):
        self.name, self.layouts = name, layouts


class Recorder:
    """Takes down what the launcher does. `device` answers attribute(number) and occupancy(kernel, threads, shared)."""

    stream = "own"  # the launcher's stream; None is the default stream
    most_steps = 10_000

    def __init__(self, device, buffers):
        self.device = device
        self.buffers = list(buffers)  # bytes of each; scratch is added behind
        self.names = [None] * len(self.buffers)
        self.freed = {}
        self.allowed = {}
        self.steps = []

    def _add(self, step, line):
        if len(self.steps) >= self.most_steps:
            refuse(f"the launcher does more than {self.most_steps} launches and memory operations", line)
        self.steps.append(step)

    def attribute(self, number):
        return self.device.attribute(number)

    def occupancy(self, kernel, threads, shared):
        return self.device.occupancy(kernel, threads, shared)

    def launch(self, kernel, grid, block, shared, stream, arguments, line, cooperative=False):
        grid, block = (grid.x, grid.y, grid.z), (block.x, block.y, block.z)
        if 0 in grid:
            refuse(f"the grid {grid} of `{kernel.name}` has no blocks", line)
        if 0 in block or block[0] * block[1] * block[2] > 1024 or block[2] > 64:
            refuse(f"the block {block} of `{kernel.name}` cannot be launched", line)
        if grid[0] > 2147483647 or grid[1] > 65535 or grid[2] > 65535:
            refuse(f"the grid {grid} of `{kernel.name}` is too large", line)
        permitted = max(48 << 10, self.allowed.get(kernel.name, 0))
        if shared > permitted:
            refuse(f"{shared} bytes of dynamic shared memory are more than the {permitted} that are allowed", line)
        if len(arguments) != len(kernel.layouts):
            refuse(f"`{kernel.name}` takes {len(kernel.layouts)} arguments, not {len(arguments)}", line)
        starts, end = [], 0
        for layout in kernel.layouts:
            starts.append(end)
            end += -(-_bytes_of(layout) // 16) * 16  # each begins at a multiple of 16: aligned for every type
        data, pointers = bytearray(end), []
        for layout, value, start in zip(kernel.layouts, arguments, starts):
            _pack(layout, value, data, start, pointers)
        self._add(("launch", kernel, grid, block, shared, cooperative, bytes(data), tuple(starts), tuple(pointers),
                   stream is None), line)

    def launch_through(self, kernel, grid, block, arguments, shared, stream, cooperative, line):
        """cudaLaunchKernel: the arguments are read through an array of pointers."""
        values = [plus(arguments, index, 8).value.value for index in range(len(kernel.layouts))]
        self.launch(kernel, grid, block, shared, stream, values, line, cooperative)

    def allow_shared(self, kernel, amount, line):
        if not 0 <= amount <= self.attribute(97):
            refuse(f"`{kernel.name}` cannot have {amount} bytes of dynamic shared memory on this device", line)
        self.allowed[kernel.name] = amount
        self._add(("allow", kernel, amount), line)

    def allocate(self, name, size, line):
        if not 0 < size < 1 << 62:
            refuse(f"scratch memory of {size} bytes", line)
        self.buffers.append(size)
        self.names.append(name)
        self.freed[len(self.buffers) - 1] = False
        self._add(("allocate", len(self.buffers) - 1, size), line)
        return DevicePointer(len(self.buffers) - 1, 0)

    def free(self, pointer, line):
        if not pointer:
            return
        if self.freed.get(pointer.buffer, True) or pointer.offset != 0:
            refuse("something is freed that was not allocated, or twice", line)
        self.freed[pointer.buffer] = True
        self._add(("free", pointer.buffer), line)

    def _range(self, pointer, size, line):
        if not isinstance(pointer, DevicePointer) or not pointer:
            refuse("only device memory can be copied or set", line)
        if pointer.offset < 0 or pointer.offset + size > self.buffers[pointer.buffer]:
            refuse("memory outside of a buffer is copied or set", line)
        return pointer.buffer, pointer.offset

    def memset(self, pointer, value, size, line):
        self._add(("memset", self._range(pointer, size, line), value & 0xFF, size), line)

    def copy(self, target, source, size, kind, line):
        if kind not in (3, 4):
            refuse("memory is copied to or from the host", line)
        self._add(("copy", self._range(target, size, line), self._range(source, size, line), size), line)

    def finish(self):
        for buffer, freed in self.freed.items():
            if not freed:
                raise LaunchError(f"scratch memory `{self.names[buffer]}` is allocated and never freed")
        return self.steps
