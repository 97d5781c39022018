# ---- The CUDA driver and NVRTC, by ctypes: no compiler and no other package is needed --------------------------------
class CudaError(RuntimeError):
    """The driver or the compiler refused something."""


def _installed_folders(*parts):
    """Folders of NVIDIA's Python packages (nvidia/*/lib, nvidia/*/include), then of a toolkit."""
    folders = []
    for entry in sys.path:
        folders += sorted(glob.glob(os.path.join(entry, "nvidia", "*", *parts)))
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            folders.append(os.path.join(root, *parts))
            folders.append(os.path.join(root, "lib64" if parts == ("lib",) else os.path.join(*parts)))
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def _load_library(names, why):
    problems = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as problem:
            problems.append(str(problem))
    raise CudaError(f"{why}: " + "; ".join(dict.fromkeys(problems)))


class _Nvrtc:
    def __init__(self):
        names = [os.environ["KERNELWRIGHT_NVRTC"]] if "KERNELWRIGHT_NVRTC" in os.environ else []
        for folder in _installed_folders("lib"):
            names += [path for path in sorted(glob.glob(os.path.join(folder, "libnvrtc.so*"))) if "builtins" not in path]
        names += ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]
        self.library = _load_library(names, "NVRTC, CUDA's compiler at run time, is not there; PyTorch's CUDA packages "
                                            "have it, or export with --cubin")

    def check(self, result):
        if result:
            self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise CudaError("NVRTC: " + self.library.nvrtcGetErrorString(result).decode())

    def _text(self, program, kind):
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{kind}")(program, buffer))
        return buffer.raw

    def compile(self, source, headers, options, names, form):
        """The compiled kernels ("cubin" or "ptx") and the symbol of each name."""
        program = ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        titles = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        self.check(self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", len(headers),
                                                   texts, titles))
        try:
            for name in names:
                self.check(self.library.nvrtcAddNameExpression(program, name.encode()))
            given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            if self.library.nvrtcCompileProgram(program, len(options), given):
                log = self._text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
                raise CudaError("NVRTC does not compile the kernel:\n" + log)
            symbols = {}
            for name in names:
                symbol = ctypes.c_char_p()
                self.check(self.library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(symbol)))
                symbols[name] = symbol.value.decode()
            return self._text(program, "CUBIN" if form == "cubin" else "PTX"), symbols
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def compile_kernels(architecture, form="cubin"):
    """Compiles the kernels for (major, minor)."""
    number = "".join(str(part) for part in architecture)
    options = [f"--gpu-architecture={'sm' if form == 'cubin' else 'compute'}_{number}", *OPTIONS]
    options += [f"-I{folder}" for folder in _installed_folders("include")]
    options += [f"-I{folder}" for folder in _installed_folders("include", "cccl")]
    return _Nvrtc().compile(SOURCE, HEADERS, options, list(KERNELS), form)


class CudaDriver:
    """Calls of libcuda; KERNELWRIGHT_LIBCUDA names another library."""

    def __init__(self):
        name = os.environ.get("KERNELWRIGHT_LIBCUDA", "libcuda.so.1")
        self.library = _load_library([name], "the CUDA driver is not there")
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(result, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'error').decode()} ({result})")


class Device:
    """A GPU with the kernels loaded. Its attributes are asked for once."""

    def __init__(self, driver, ordinal, form="cubin"):
        self.driver, self.ordinal, self.form = driver, ordinal, form
        self.handle = ctypes.c_int()
        driver.call("cuDeviceGet", ctypes.byref(self.handle), ctypes.c_int(ordinal))
        self.context = ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.handle)
        self.attributes = {}
        self.functions = None
        self.allowed = {}
        self.plans = {}
        self.lock = threading.Lock()
        self.ready = threading.local()

    def make_current(self):
        """A thread that has not used this GPU yet has no context of it."""
        if not getattr(self.ready, "done", False):
            self.driver.call("cuCtxSetCurrent", self.context)
            self.ready.done = True

    def attribute(self, number):
        if number not in self.attributes:
            value = ctypes.c_int()
            self.driver.call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), self.handle)
            self.attributes[number] = value.value
        return self.attributes[number]

    def occupancy(self, kernel, threads, shared):
        blocks = ctypes.c_int()
        self.driver.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(blocks), self.function(kernel),
                         ctypes.c_int(threads), ctypes.c_size_t(shared))
        return blocks.value

    def function(self, kernel):
        if self.functions is None:
            self._load()
        return self.functions[kernel.name]

    def _load(self):
        architecture = (self.attribute(75), self.attribute(76))
        if CUBINS:
            name = f"sm_{architecture[0]}{architecture[1]}"
            # A cubin runs on its own and on later minor versions of its major version.
            fitting = [key for key in CUBINS if key[3:-1] == str(architecture[0]) and int(key[-1]) <= architecture[1]]
            if not fitting:
                raise CudaError(f"the exported file has cubins for {', '.join(sorted(CUBINS))}, this GPU is {name}; "
                                "export again with --cubin " + name)
            code, symbols = CUBINS[max(fitting)]
            image = base64.b64decode(code)
        else:
            image, symbols = compile_kernels(architecture, self.form)
        module = ctypes.c_void_p()
        self.driver.call("cuModuleLoadData", ctypes.byref(module), image)
        functions = {}
        for name, symbol in symbols.items():
            function = ctypes.c_void_p()
            self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
            functions[name] = function
        self.functions = functions

    def plan(self, sizes, scalars, buffers):
        """The launcher's steps for these sizes; `buffers` are the bytes of inputs and outputs."""
        key = (sizes, scalars)
        plan = self.plans.get(key)
        if plan is None:
            with self.lock:
                if self.functions is None:
                    self._load()
                if len(self.plans) >= 4096:
                    self.plans.clear()
                plan = self.plans[key] = record(self, dict(zip(SIZES, sizes)), scalars, buffers)
        return plan

    def run(self, plan, pointers, stream, allocate):
        """Executes a plan. `pointers` are addresses of inputs and outputs; allocate(bytes) gives (keep, address)."""
        addresses = list(pointers)
        kept = {}
        for step in plan:
            kind = step[0]
            if kind == "launch":
                self._launch(step, addresses, stream)
            elif kind == "allocate":
                kept[step[1]], address_of = allocate(step[2])
                addresses.append(address_of)
            elif kind == "free":
                kept.pop(step[1])
            elif kind == "allow":
                if self.allowed.get(step[1].name, 0) < step[2]:
                    self.driver.call("cuFuncSetAttribute", self.function(step[1]), ctypes.c_int(8), ctypes.c_int(step[2]))
                    self.allowed[step[1].name] = step[2]
            elif kind == "memset":
                (buffer, offset), value, size = step[1:]
                self.driver.call("cuMemsetD8Async", ctypes.c_uint64(addresses[buffer] + offset), ctypes.c_ubyte(value),
                                 ctypes.c_size_t(size), ctypes.c_void_p(stream))
            else:
                (to, to_offset), (source, source_offset), size = step[1:]
                self.driver.call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(addresses[to] + to_offset),
                                 ctypes.c_uint64(addresses[source] + source_offset), ctypes.c_size_t(size),
                                 ctypes.c_void_p(stream))

    def _launch(self, step, addresses, stream):
        # Also what the launcher put on the default stream: here it must keep the order of the caller's stream.
        _, kernel, grid, block, shared, cooperative, data, starts, pointers, _ = step
        buffer = ctypes.create_string_buffer(data, max(len(data), 1))
        for at, index, offset in pointers:
            struct.pack_into("<Q", buffer, at, addresses[index] + offset)
        base = ctypes.addressof(buffer)
        parameters = (ctypes.c_void_p * max(len(starts), 1))(*(base + start for start in starts))
        shape = [ctypes.c_uint(value) for value in (*grid, *block, shared)]
        if cooperative:
            self.driver.call("cuLaunchCooperativeKernel", self.function(kernel), *shape, ctypes.c_void_p(stream), parameters)
        else:
            self.driver.call("cuLaunchKernel", self.function(kernel), *shape, ctypes.c_void_p(stream), parameters, None)
