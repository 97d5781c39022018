# ---- The kernel file, compiled as a whole by nvcc: its own launcher runs ----------------------------------------------
class _Half(ctypes.Structure):  # __half and __nv_bfloat16 by value
    _fields_ = [("bits", ctypes.c_ushort)]


def _half_bits(value):
    return _Half(struct.unpack("<H", struct.pack("<e", f16(value)))[0])


_BY_VALUE = {"float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int, "int64": ctypes.c_longlong,
             "int8": ctypes.c_byte, "uint8": ctypes.c_ubyte, "bool": ctypes.c_bool, "float16": _half_bits,
             "bfloat16": lambda value: _Half(_bf16_bits(float(value)))}


class CompiledDevice(Device):
    """The launcher in a shared library, compiled at the first use and kept in the cache folder."""

    def _load(self):
        architecture = f"sm_{self.attribute(75)}{self.attribute(76)}"
        cache = os.environ.get("KERNELWRIGHT_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kernelwright")
        folder = os.path.join(cache, "exports")
        os.makedirs(folder, exist_ok=True)
        library = os.path.join(folder, f"{OPERATOR}-{architecture}.so")
        if not os.path.exists(library):
            self._compile(folder, library, architecture)
        self.library = ctypes.CDLL(library)
        self.functions = {}

    def _compile(self, folder, library, architecture):
        nvcc = os.environ.get("KERNELWRIGHT_NVCC") or shutil.which("nvcc")
        if nvcc is None:
            raise CudaError(f"{NAME} was exported with --compile nvcc, and there is no nvcc on PATH: install the CUDA "
                            "toolkit, name it in KERNELWRIGHT_NVCC, or export without --compile nvcc")
        work = tempfile.mkdtemp(prefix="building-", dir=folder)
        try:
            source = os.path.join(work, "kernel.cu")
            with open(source, "w", encoding="utf-8") as file:
                file.write(KERNEL_FILE + '\nextern "C" int kernelwright_last_error() { return (int)cudaGetLastError(); }\n')
            made = os.path.join(work, "kernel.so")
            done = subprocess.run([nvcc, "-O3", "-std=c++17", f"-arch={architecture}", "-shared", "-Xcompiler", "-fPIC",
                                   "-o", made, source], capture_output=True, text=True, errors="replace")
            if done.returncode:
                raise CudaError("nvcc does not compile the kernel:\n" + done.stderr)
            os.replace(made, library)  # whole, or not there
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def plan(self, sizes, scalars, buffers):
        if self.functions is None:
            with self.lock:
                if self.functions is None:
                    self._load()
        return sizes, scalars

    def run(self, plan, pointers, stream, allocate):
        sizes, scalars = plan
        tensors, values, arguments = iter(pointers), iter(scalars), []
        for _, dtype, shape in (*INPUTS, *OUTPUTS):
            arguments.append(_BY_VALUE[dtype](next(values)) if shape is None else ctypes.c_void_p(next(tensors)))
        arguments += [ctypes.c_int(size) for size in sizes]
        self.library.launch(*arguments, ctypes.c_void_p(stream))
        error = self.library.kernelwright_last_error()
        if error:
            raise CudaError(f"{NAME}: the launcher failed with CUDA error {error}")


Device = CompiledDevice
