// How fast the emulator is, every check on, in one run on one machine: thread instructions per second on one core, as a
// share of what the same mix of lane operations reaches without fetching, checking or finding addresses, and with
// several threads. Then what lane operations cost against each other; --lanes prints that for every form instead.
//   build/src/kernel/emulate/emulate_bench [--seconds N] [--threads N] [--only NAME] [--json | --lanes]
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "emulate_lanes.h"
#include "kernel/compile/service.h"
#include "kernel/compile/worker.h"
#include "kernel/emulate/emulator.h"
#include "kernel/emulate/operations.h"

namespace {

using namespace kw;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of this thread: what one core does, whatever else runs on the machine.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

constexpr const char* source = R"(
extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[32][33], tb[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum[4] = {0, 0, 0, 0};
  for (int t = 0; t < n; t += 32) {
    for (int i = 0; i < 32; i += 8) {
      ta[threadIdx.y + i][threadIdx.x] = a[(row + i) * n + t + threadIdx.x];
      tb[threadIdx.y + i][threadIdx.x] = b[(t + threadIdx.y + i) * n + column];
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 32; ++k)
      for (int i = 0; i < 4; ++i) sum[i] += ta[threadIdx.y + 8 * i][k] * tb[k][threadIdx.x];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) c[(row + 8 * i) * n + column] = sum[i];
}
extern "C" __global__ void softmax(const float* x, const float*, float* y, int n) {
  __shared__ float partial[8];
  const float* in = x + blockIdx.x * n;
  float highest = -3.4e38f, total = 0;
  for (int i = threadIdx.x; i < n; i += 256) highest = fmaxf(highest, in[i]);
  for (int o = 16; o > 0; o /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, o));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = highest;
  __syncthreads();
  for (int i = 0; i < 8; ++i) highest = fmaxf(highest, partial[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 256) total += expf(in[i] - highest);
  for (int o = 16; o > 0; o /= 2) total += __shfl_xor_sync(~0u, total, o);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
  __syncthreads();
  total = 0;
  for (int i = 0; i < 8; ++i) total += partial[i];
  for (int i = threadIdx.x; i < n; i += 256) y[blockIdx.x * n + i] = expf(in[i] - highest) / total;
}
extern "C" __global__ void element_wise(const float* x, const float* y, float* z, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * n; i += gridDim.x * blockDim.x) {
    float v = x[i] + y[i];
    z[i] = 0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
  }
}
extern "C" __global__ void layer_norm(const float* x, const float* w, float* y, int n) {
  __shared__ float partial[2][8];
  const float* in = x + blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += 256) { float v = in[i]; sum += v; squares += v * v; }
  for (int o = 16; o > 0; o /= 2) {
    sum += __shfl_down_sync(~0u, sum, o);
    squares += __shfl_down_sync(~0u, squares, o);
  }
  if (threadIdx.x % 32 == 0) { partial[0][threadIdx.x / 32] = sum; partial[1][threadIdx.x / 32] = squares; }
  __syncthreads();
  sum = squares = 0;
  for (int i = 0; i < 8; ++i) { sum += partial[0][i]; squares += partial[1][i]; }
  float mean = sum / n, scale = rsqrtf(squares / n - mean * mean + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 256) y[blockIdx.x * n + i] = (in[i] - mean) * scale * w[i];
}
extern "C" __global__ void histogram(const float* x, const float*, float* y, int n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[static_cast<unsigned>(x[i] * 256) & 255], 1u);
  __syncthreads();
  atomicAdd(reinterpret_cast<unsigned*>(y) + threadIdx.x, bins[threadIdx.x]);
}
// A warp for each 16 x 8 tile, tf32.
extern "C" __global__ void matmul_mma(const float* a, const float* b, float* c, int n) {
  int lane = threadIdx.x, row = blockIdx.y * 16 + lane / 4, column = blockIdx.x * 8;
  float d[4] = {0, 0, 0, 0};
  for (int k = 0; k < n; k += 8) {
    unsigned a0 = __float_as_uint(a[row * n + k + lane % 4]), a1 = __float_as_uint(a[(row + 8) * n + k + lane % 4]);
    unsigned a2 = __float_as_uint(a[row * n + k + 4 + lane % 4]), a3 = __float_as_uint(a[(row + 8) * n + k + 4 + lane % 4]);
    unsigned b0 = __float_as_uint(b[(k + lane % 4) * n + column + lane / 4]);
    unsigned b1 = __float_as_uint(b[(k + 4 + lane % 4) * n + column + lane / 4]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  c[row * n + column + lane % 4 * 2] = d[0]; c[row * n + column + lane % 4 * 2 + 1] = d[1];
  c[(row + 8) * n + column + lane % 4 * 2] = d[2]; c[(row + 8) * n + column + lane % 4 * 2 + 1] = d[3];
}
)";

struct Workload {
  const char* kernel;
  std::array<std::uint32_t, 3> grid;
  std::array<std::uint32_t, 3> block;
  std::uint32_t n;
};
const std::vector<Workload> workloads = {
    {"matmul_tiled", {8, 8, 1}, {32, 8, 1}, 256},  {"matmul_naive", {8, 32, 1}, {32, 8, 1}, 256},
    {"softmax", {512, 1, 1}, {256, 1, 1}, 512},    {"element_wise", {256, 1, 1}, {256, 1, 1}, 512},
    {"layer_norm", {512, 1, 1}, {256, 1, 1}, 512}, {"histogram", {64, 1, 1}, {256, 1, 1}, 512},
    {"matmul_mma", {16, 8, 1}, {32, 1, 1}, 128},
};

struct Memory {
  DeviceMemory device;
  std::vector<std::string> parameters;
  std::uint64_t output = 0, output_bytes = 0;

  // As the judge does before each run; what atomics add to is set to zero, as a launcher would.
  void renew_output(bool zero) {
    KW_CHECK((zero ? device.fill(output, 0, output_bytes) : device.poison(output, output_bytes)).ok());
  }

  explicit Memory(std::uint32_t n) {
    std::vector<float> values(std::size_t{n} * n);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 1000) / 1000.0f;
    std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    for (const char* name : {"x", "y", "z"}) {
      bool is_output = *name == 'z';
      std::uint64_t address =
          device.allocate(bytes.size(), name, is_output ? MemoryAccessRight::read_write : MemoryAccessRight::read_only)
              .value();
      if (is_output) {
        output = address;
        output_bytes = bytes.size();
      } else {
        KW_CHECK(device.write(address, bytes).ok());
      }
      parameters.emplace_back(reinterpret_cast<const char*>(&address), sizeof address);
    }
    parameters.emplace_back(reinterpret_cast<const char*>(&n), sizeof n);
  }
};

struct Measurement {
  double per_second = 0;      // thread instructions, by the clock on the wall
  double per_cpu_second = 0;  // likewise, of the calling thread
  RunStatistics statistics;
};

Measurement emulate(const LoadedModule& module, const Workload& workload, int threads, double seconds) {
  Memory memory(workload.n);
  LaunchArguments launch;
  launch.kernel = workload.kernel;
  launch.grid = workload.grid;
  launch.block = workload.block;
  launch.parameters = memory.parameters;
  RunOptions options;
  options.threads = threads;
  Measurement best;
  const auto start = Clock::now();
  do {
    memory.renew_output(std::string_view(workload.kernel) == "histogram");
    const auto begin = Clock::now();
    const double cpu_begin = cpu_seconds();
    RunResult result = module.run(memory.device, launch, {}, options).value();
    const auto executed = static_cast<double>(result.statistics.thread_instructions);
    const double rate = executed / seconds_since(begin), cpu_rate = executed / (cpu_seconds() - cpu_begin);
    if (result.status != RunStatus::ok) fmt::print("{}: {}\n", workload.kernel, name_of(result.status));
    KW_CHECK(result.status == RunStatus::ok);
    // The best of several: what else runs on the machine can only slow it down.
    best.per_second = std::max(best.per_second, rate);
    best.per_cpu_second = std::max(best.per_cpu_second, cpu_rate);
    best.statistics = std::move(result.statistics);
  } while (seconds_since(start) < seconds);
  return best;
}

// The instructions that ran, in the proportion in which they ran, as bare calls of lane operations on registers that
// are in the cache: no fetch, no guards, no shadows, no addresses. Loads and stores are copies of as many bytes,
// branches are nothing, a matrix product is its multiplications.
class BareLoop {
 public:
  BareLoop(const Program& program, const RunStatistics& statistics) : registers_((slots_ + 1) * 256 + 64) {
    auto* first = registers_.data();
    while (reinterpret_cast<std::uintptr_t>(first) % 64 != 0) ++first;
    for (std::size_t i = 0; i < slots_ * 64; ++i) {
      const float value = 0.5f + static_cast<float>(i % 7);
      std::memcpy(first + i * 4, &value, 4);
    }
    constexpr std::uint64_t length = 4096;
    std::uint64_t due = 0;
    for (const FunctionCode& function : program.functions) {
      for (const Instruction& in : function.code) {
        due += statistics.counts[in.origin].warps * length;
        for (; due >= statistics.warp_instructions; due -= statistics.warp_instructions) add(function, in, first);
      }
    }
  }

  double thread_instructions_per_second(double seconds) {
    const double start = cpu_seconds();
    std::uint64_t executed = 0;
    do {
      for (int repeat = 0; repeat < 64; ++repeat) {
        for (Step& step : steps_) {
          if (step.operation != nullptr)
            step.operation(step.arguments);
          else if (step.products != 0)
            multiply(step);
          else if (step.copied != 0)
            std::memcpy(step.arguments.destination, step.arguments.source[0], step.copied);
        }
        executed += steps_.size() * warp_lanes;
      }
    } while (cpu_seconds() - start < seconds);
    return static_cast<double>(executed) / (cpu_seconds() - start);
  }

 private:
  struct Step {
    LaneOperation operation = nullptr;
    LaneArguments arguments;
    std::size_t copied = 0;
    std::size_t products = 0;
  };

  void add(const FunctionCode& function, const Instruction& in, std::byte* first) {
    Step step;
    auto slot = [&](Slot number) { return first + number / slot_bytes % slots_ * 256; };
    step.operation = in.lane;
    step.arguments.active = all_lanes;
    step.arguments.destination = slot(in.destination == no_slot ? 0 : in.destination);
    for (int i = 0; i < 4; ++i) step.arguments.source[i] = slot(in.source[i] == no_slot ? 0 : in.source[i]);
    step.arguments.predicate_in = 0x55555555;
    step.arguments.predicate_out = &predicate_;
    if (in.run == run_load || in.run == run_store) {
      const MemoryAccess& access = function.memory[in.detail];
      step.copied = std::min<std::size_t>(256, std::size_t{access.element_bytes} * access.elements * warp_lanes);
    } else if (in.run == run_mma) {
      const MatrixOperation& matrix = function.matrices[in.detail];
      step.products = std::size_t{matrix.m} * matrix.n * matrix.k;
    }
    steps_.push_back(step);
  }

  static void multiply(Step& step) {
    auto* to = reinterpret_cast<float*>(step.arguments.destination);
    auto* from = reinterpret_cast<const float*>(step.arguments.source[0]);
    for (std::size_t i = 0; i < step.products; i += 32)
      for (int lane = 0; lane < 32; ++lane) to[lane] += from[lane] * from[31 - lane];
  }

  static constexpr std::size_t slots_ = 64;
  std::vector<std::byte> registers_;
  std::vector<Step> steps_;
  std::uint32_t predicate_ = 0;
};

std::string compiled_ptx() {
  CompileService service({.pool = {.workers = 1}, .disk_cache = false, .disk = {}, .memory_cache_bytes = 0});
  CompileRequest request;
  request.source = source;
  request.file_name = "emulate_bench.cu";
  request.architecture = GpuArchitecture::sm_80;
  request.want_cubin = false;
  CompileResult result = service.compile(request);
  if (!result.ok()) {
    fmt::print(stderr, "the kernels do not compile: {}\n", result.explanation);
    for (const Diagnostic& diagnostic : result.diagnostics) fmt::print(stderr, "  {}\n", diagnostic.message);
    std::exit(1);
  }
  return result.ptx;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = run_if_compile_worker(argc, argv)) return *code;
  double seconds = 1;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::string only;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--seconds" && i + 1 < argc) seconds = std::atof(argv[++i]);
    if (option == "--threads" && i + 1 < argc) threads = std::atoi(argv[++i]);
    if (option == "--only" && i + 1 < argc) only = argv[++i];
    if (option == "--json") json = true;
    if (option == "--lanes") {
      report_every_lane_form();
      return 0;
    }
  }
  const LoadedModule module = LoadedModule::load(compiled_ptx()).value();
  if (!json) {
    fmt::print("{} cores, {}; every check on; G thread instructions/s, best of {} s\n",
               std::thread::hardware_concurrency(), name_of(best_vector_unit()), seconds);
    fmt::print("{:<14} {:>9} {:>11} {:>7} {:>12} {:>11}\n", "kernel", "one core", "bare loop", "share",
               fmt::format("{} threads", threads), "x one core");
  } else {
    fmt::print("[");
  }
  bool first = true;
  for (const Workload& workload : workloads) {
    if (!only.empty() && only != workload.kernel) continue;
    const Measurement one = emulate(module, workload, 1, seconds);
    const double bare =
        BareLoop(*module.program(workload.kernel).value(), one.statistics).thread_instructions_per_second(seconds / 2);
    const double many = emulate(module, workload, threads, seconds).per_second;
    if (json) {
      fmt::print(
          "{}\n  {{\"kernel\": \"{}\", \"one_core\": {:.0f}, \"bare_loop\": {:.0f}, \"share\": {:.3f}, "
          "\"threads\": {}, \"many\": {:.0f}, \"scaling\": {:.3f}}}",
          first ? "" : ",", workload.kernel, one.per_cpu_second, bare, one.per_cpu_second / bare, threads, many,
          many / one.per_second);
    } else {
      fmt::print("{:<14} {:>9.2f} {:>11.2f} {:>6.0f}% {:>12.2f} {:>11.2f}\n", workload.kernel, one.per_cpu_second / 1e9,
                 bare / 1e9, 100 * one.per_cpu_second / bare, many / 1e9, many / one.per_second);
    }
    first = false;
  }
  if (json)
    fmt::print("\n]\n");
  else if (only.empty())
    report_lane_ratios();
  return 0;
}
