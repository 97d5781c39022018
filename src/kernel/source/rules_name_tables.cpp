#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel/source/rules_names.h"

namespace kw {
namespace {

using Names = std::unordered_set<std::string_view>;

struct NameGroup {
  ForbiddenName what;
  std::vector<std::string_view> names;
};

const std::vector<NameGroup>& groups() {
  static const std::vector<NameGroup> table = {
      {{"device-printf", Mention::anywhere, "prints from the kernel", "remove the output"},
       {"printf", "vprintf", "fprintf", "puts", "putchar", "fputs", "putc", "fputc", "vfprintf"}},
      {{"device-malloc", Mention::anywhere, "takes memory from the device heap",
        "use registers, shared memory, or scratch memory that the launcher allocates"},
       {"malloc", "calloc", "realloc", "__nv_aligned_device_malloc", "alloca", "__builtin_alloca", "aligned_alloc"}},
      {{"device-malloc", Mention::any_call, "gives memory back to the device heap", "remove it"}, {"free"}},
      {{"device-assert", Mention::any_call, "stops the kernel with a message", "remove the assertion"},
       {"assert", "__assertfail", "__assert_fail", "_wassert"}},
      {{"device-timer", Mention::call_without_arguments, "reads a timer", "remove it; the judge measures time"},
       {"clock"}},
      {{"device-timer", Mention::anywhere, "reads a timer", "remove it; the judge measures time"},
       {"clock64", "__clock", "__clock64", "__clockhi", "__globaltimer", "globaltimer", "get_sreg_clock",
        "get_sreg_clock64", "get_sreg_clock_hi", "get_sreg_globaltimer", "get_sreg_globaltimer_lo",
        "get_sreg_globaltimer_hi", "high_resolution_clock", "steady_clock", "system_clock"}},
      {{"device-sleep", Mention::anywhere, "makes threads wait", "remove it"},
       {"__nanosleep", "nanosleep", "usleep", "sleep_for", "sleep_until"}},
      {{"device-trap", Mention::anywhere, "stops the kernel", "handle the case or leave it out"},
       {"__trap", "__brkpt", "__prof_trigger", "__pm0", "__pm1", "__pm2", "__pm3", "__builtin_trap",
        "__builtin_debugtrap", "__exit"}},
      {{"device-trap", Mention::any_call, "ends the program", "return from the kernel instead"},
       {"abort", "exit", "_exit", "_Exit", "quick_exit", "terminate"}},
      {{"build-macro", Mention::anywhere, "lets the program depend on when or by which compiler it is built",
        "write the same code for every compiler"},
       {"__TIME__", "__DATE__", "__TIMESTAMP__", "__CUDACC_RTC__", "__NVRTC__", "__CUDACC_VER_BUILD__", "__NVCC__",
        "__CUDACC_DEBUG__"}},
      {{"grid-dependency", Mention::anywhere, "lets kernels overlap in time", "let launches follow each other"},
       {"cudaTriggerProgrammaticLaunchCompletion", "cudaGridDependencySynchronize",
        "cudaLaunchAttributeProgrammaticStreamSerialization", "griddepcontrol_wait",
        "griddepcontrol_launch_dependents"}},
      {{"l2-persistence", Mention::anywhere, "keeps data in the cache between launches",
        "read the inputs from memory in every launch"},
       {"access_property", "annotated_ptr", "apply_access_property", "associate_access_property",
        "__nv_associate_access_property", "createpolicy_fractional", "createpolicy_range",
        "cudaAccessPropertyPersisting", "cudaAccessPolicyWindow", "cudaLimitPersistingL2CacheSize",
        "cudaCtxResetPersistingL2Cache", "cudaStreamAttributeAccessPolicyWindow",
        "cudaLaunchAttributeAccessPolicyWindow"}},
      {{"host-call", Mention::anywhere, "is a call of the operating system or the host's library",
        "the launcher may only compute sizes and launch kernels"},
       {"system",
        "popen",
        "fork",
        "vfork",
        "execve",
        "execvp",
        "execl",
        "execlp",
        "execv",
        "execle",
        "fexecve",
        "posix_spawn",
        "dlopen",
        "dlsym",
        "dlclose",
        "dlmopen",
        "fopen",
        "fopen64",
        "freopen",
        "fdopen",
        "fread",
        "fwrite",
        "fgets",
        "fscanf",
        "scanf",
        "sprintf",
        "snprintf",
        "vsnprintf",
        "tmpfile",
        "mkstemp",
        "getenv",
        "secure_getenv",
        "setenv",
        "putenv",
        "mmap",
        "munmap",
        "mprotect",
        "mremap",
        "ptrace",
        "syscall",
        "socket",
        "pthread_create",
        "getaddrinfo",
        "gethostbyname",
        "gettimeofday",
        "clock_gettime",
        "timespec_get",
        "__rdtsc",
        "_rdtsc",
        "ofstream",
        "ifstream",
        "fstream",
        "memfd_create",
        "process_vm_readv",
        "process_vm_writev",
        "prctl",
        "sigaction",
        "setjmp",
        "longjmp",
        "io_uring_setup",
        "shm_open",
        "inotify_init",
        "getpid",
        "execveat",
        "sendfile",
        "openat",
        "unlinkat",
        "renameat",
        "__libc_start_main"}},
      {{"host-call", Mention::call, "is a call of the operating system or the host's library",
        "the launcher may only compute sizes and launch kernels"},
       {"open",   "open64", "creat",  "close",    "read",     "write",     "pread", "pwrite",  "lseek",
        "stat",   "fstat",  "lstat",  "unlink",   "remove",   "rename",    "link",  "symlink", "chmod",
        "chown",  "kill",   "signal", "raise",    "sleep",    "send",      "recv",  "bind",    "connect",
        "listen", "accept", "select", "poll",     "pipe",     "dup",       "dup2",  "waitpid", "ioctl",
        "time",   "chdir",  "mkdir",  "rmdir",    "atexit",   "brk",       "sbrk",  "mount",   "reboot",
        "clone",  "getpid", "access", "readlink", "truncate", "setrlimit", "alarm"}},
  };
  return table;
}

}  // namespace

const ForbiddenName* find_forbidden(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const ForbiddenName*> all;
    for (const NameGroup& group : groups()) {
      for (const std::string_view word : group.names) all.emplace(word, &group.what);
    }
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

bool is_error_report(std::string_view name) {
  static const Names names = {"printf", "fprintf", "puts", "fputs", "putchar", "exit",   "abort",   "assert",
                              "cout",   "cerr",    "clog", "endl",  "fflush",  "perror", "sprintf", "snprintf"};
  return names.contains(name);
}

bool is_forbidden_in_std(std::string_view name) {
  static const Names names = {"thread",
                              "jthread",
                              "async",
                              "future",
                              "promise",
                              "packaged_task",
                              "mutex",
                              "latch",
                              "filesystem",
                              "chrono",
                              "cout",
                              "cerr",
                              "clog",
                              "cin",
                              "this_thread",
                              "random_device",
                              "condition_variable",
                              "shared_ptr",
                              "unique_ptr",
                              "make_unique",
                              "make_shared",
                              "ostream",
                              "istream",
                              "at_quick_exit",
                              "set_terminate",
                              "time",
                              "rand",
                              "srand",
                              "locale",
                              "clock"};
  return names.contains(name);
}

bool is_allowed_runtime_call(std::string_view name) {
  static const Names names = {"cudaMallocAsync",
                              "cudaMalloc",
                              "cudaFreeAsync",
                              "cudaFree",
                              "cudaMemsetAsync",
                              "cudaMemset",
                              "cudaMemcpyAsync",
                              "cudaMemcpy",
                              "cudaFuncSetAttribute",
                              "cudaGetLastError",
                              "cudaPeekAtLastError",
                              "cudaDeviceSynchronize",
                              "cudaStreamSynchronize",
                              "cudaGetDevice",
                              "cudaDeviceGetAttribute",
                              "cudaGetDeviceProperties",
                              "cudaFuncSetCacheConfig",
                              "cudaLaunchKernel",
                              "cudaLaunchCooperativeKernel",
                              "cudaGetErrorString",
                              "cudaGetErrorName"};
  return names.contains(name) || name.starts_with("cudaOccupancy");
}

bool may_be_of_runtime(std::string_view name) {
  for (const std::string_view word :
       {"Malloc", "Free",   "Mem",     "Device",     "Get",      "Peek",        "Set",        "Stream",  "Event",
        "Func",   "Launch", "Runtime", "Occupancy",  "Graph",    "Trigger",     "Grid",       "CG",      "CDP",
        "Ctx",    "Host",   "Ipc",     "Array",      "Choose",   "Create",      "Destroy",    "Bind",    "Unbind",
        "Thread", "Driver", "Init",    "Import",     "External", "Signal",      "Wait",       "User",    "Profiler",
        "Module", "Kernel", "Library", "Configure",  "Setup",    "Register",    "Unregister", "Pointer", "Access",
        "Limit",  "Log",    "Error",   "Execution",  "Green",    "Deconstruct", "Map",        "Unmap",   "GL",
        "EGL",    "VDPAU",  "Batch",   "Synchronize"}) {
    if (name.substr(std::min<std::size_t>(name.size(), 4)).starts_with(word)) return true;
  }
  return false;
}

bool is_runtime_type_or_constant(std::string_view name) {
  static const Names names = {"cudaSuccess",    "cudaMemcpyDeviceToDevice", "cudaMemcpyDefault",  "cudaMemcpyKind",
                              "cudaDeviceAttr", "cudaFuncAttribute",        "cudaFuncAttributes", "cudaError",
                              "cudaDeviceProp"};
  if (names.contains(name) || name.ends_with("_t")) return true;
  for (const std::string_view prefix :
       {"cudaError", "cudaDevAttr", "cudaFuncAttribute", "cudaFuncCache", "cudaSharedmemCarveout"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// Types of results, and functions that say what an error is called: error-check macros of public code name them for
// many libraries. They compute nothing.
static bool tells_errors(std::string_view name) {
  static const Names names = {"cuGetErrorName",        "cuGetErrorString",     "cublasGetStatusName",
                              "cublasGetStatusString", "cudnnGetErrorString",  "ncclGetErrorString",
                              "nvrtcGetErrorString",   "cusparseGetErrorName", "cufftResult",
                              "nvrtcResult",           "ncclResult_t",         "cusparseGetErrorString"};
  return names.contains(name);
}

std::string_view library_of(std::string_view name, bool is_call) {
  if (tells_errors(name)) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> prefixes = {{{"cublas", "cuBLAS"},
                                                                                       {"cudnn", "cuDNN"},
                                                                                       {"cusparse", "cuSPARSE"},
                                                                                       {"cusolver", "cuSOLVER"},
                                                                                       {"cufft", "cuFFT"},
                                                                                       {"curandCreate", "cuRAND"},
                                                                                       {"curandGenerate", "cuRAND"},
                                                                                       {"cutensor", "cuTENSOR"},
                                                                                       {"nvrtc", "NVRTC"},
                                                                                       {"nvmlDevice", "NVML"},
                                                                                       {"nvmlInit", "NVML"},
                                                                                       {"cupti", "CUPTI"},
                                                                                       {"nccl", "NCCL"},
                                                                                       {"nvJitLink", "nvJitLink"},
                                                                                       {"nvtx", "NVTX"}}};
  for (const auto& [prefix, library] : prefixes) {
    if (!name.starts_with(prefix) || name.size() <= prefix.size()) continue;
    // cublasSgemm is the library's; `cublas_handle` and `ncclist` are the file's own words.
    const char next = name[prefix.size()];
    if (next >= 'A' && next <= 'Z') return library;
  }
  constexpr std::array<std::string_view, 24> driver = {
      "cuMem",  "cuModule", "cuLaunch",  "cuCtx",       "cuDevice",    "cuStream",  "cuEvent",    "cuFunc",
      "cuInit", "cuDriver", "cuGet",     "cuGraph",     "cuLink",      "cuLibrary", "cuKernel",   "cuTex",
      "cuSurf", "cuArray",  "cuPointer", "cuOccupancy", "cuTensorMap", "cuIpc",     "cuProfiler", "cuImport"};
  if (!is_call || !name.starts_with("cu")) return {};
  const bool found =
      std::any_of(driver.begin(), driver.end(), [&](std::string_view prefix) { return name.starts_with(prefix); });
  return found ? "the CUDA driver" : std::string_view{};
}

bool is_library_namespace(std::string_view name) {
  static const Names names = {"thrust", "cutlass", "cute", "raft", "rmm", "boost"};
  return names.contains(name) || is_torch_namespace(name);
}

bool is_torch_namespace(std::string_view name) {
  return name == "torch" || name == "at" || name == "c10" || name == "pybind11";
}

bool is_allowed_torch_call(std::string_view name) {
  static const Names names = {"empty",
                              "zeros",
                              "ones",
                              "full",
                              "empty_like",
                              "zeros_like",
                              "ones_like",
                              "full_like",
                              "dtype",
                              "device",
                              "Device",
                              "Tensor",
                              "TensorOptions",
                              "IntArrayRef",
                              "getCurrentCUDAStream",
                              "getDefaultCUDAStream",
                              "getCurrentDeviceProperties",
                              "current_device",
                              "device_of",
                              "CUDAGuard",
                              "OptionalCUDAGuard",
                              "DeviceGuard",
                              "OptionalDeviceGuard",
                              "ceil_div",
                              "ATenCeilDiv",
                              "Half",
                              "BFloat16",
                              "arg",
                              "wrap_pybind_function"};
  return names.contains(name);
}

bool is_allowed_torch_in_device(std::string_view name) {
  static const Names names = {"Half", "BFloat16", "acc_type", "opmath_type", "Tensor"};
  return names.contains(name);
}

bool is_compiler_internal(std::string_view name) {
  static const Names documented = {"__builtin_expect",
                                   "__builtin_assume",
                                   "__builtin_assume_aligned",
                                   "__builtin_unreachable",
                                   "__builtin_align__",
                                   "__builtin_huge_val",
                                   "__builtin_huge_valf",
                                   "__builtin_inff",
                                   "__builtin_inf",
                                   "__builtin_nanf",
                                   "__builtin_nan",
                                   "__builtin_bswap32",
                                   "__builtin_expect_with_probability",
                                   "__builtin_is_constant_evaluated",
                                   "__builtin_constant_p"};
  if (documented.contains(name)) return false;
  for (const std::string_view prefix : {"__nvvm_", "__builtin_", "__llvm_", "__nv_internal", "__cudaRegister",
                                        "__cudaPush", "__cudaPop", "__cudaLaunch", "__cudaInit", "__cudart"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

bool is_library_function(std::string_view name) {
  static const Names names = {
      "memcpy",    "memset",    "memmove",   "memcmp", "strlen",  "strcmp", "main", "_start",    "printf",
      "vprintf",   "malloc",    "free",      "clock",  "clock64", "expf",   "exp",  "sinf",      "sin",
      "cosf",      "cos",       "tanhf",     "tanh",   "sqrtf",   "sqrt",   "powf", "pow",       "logf",
      "log",       "fmaf",      "fma",       "fmaxf",  "fmax",    "fminf",  "fmin", "fabsf",     "fabs",
      "floorf",    "floor",     "ceilf",     "ceil",   "rsqrtf",  "rsqrt",  "erff", "erf",       "roundf",
      "rintf",     "fmodf",     "fmod",      "exp2f",  "log2f",   "log10f", "abs",  "atomicAdd", "atomicCAS",
      "atomicMax", "atomicMin", "atomicExch"};
  return names.contains(name) || name.starts_with("__nv_") || name.starts_with("__cuda") || name.starts_with("cuda");
}

}  // namespace kw
