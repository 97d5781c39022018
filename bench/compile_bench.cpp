// How fast the compile service is, in one run on one machine: the pool with 1, 2 and 4 workers against NVRTC called in
// a loop in one process and against `nvcc -cubin`; results from the cache; memory of a worker.
//   build/compile_bench [--seconds N]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "base/file.h"
#include "kernel/compile/compiler.h"
#include "kernel/compile/headers.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/service.h"
#include "kernel/compile/worker.h"

namespace {

using namespace kw;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A typical answer to a task: row-wise softmax with warp shuffles, about 60 lines. `variant` makes each one new.
std::string softmax_source(int variant) {
  return R"(#include <cuda_runtime.h>
#include <cfloat>

// Variant )" +
         std::to_string(variant) +
         R"(
constexpr int kBlock = 256;
constexpr int kVariant = )" +
         std::to_string(variant) +
         R"(;

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

// One block for each row: maximum, sum of exponentials, then the result.
__global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float partial[kBlock / 32];
  const int row = blockIdx.x;
  if (row >= rows + kVariant * 0) return;
  const float* in = x + static_cast<long long>(row) * cols;
  float* out = y + static_cast<long long>(row) * cols;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;

  float highest = -FLT_MAX;
  for (int i = threadIdx.x; i < cols; i += kBlock) highest = fmaxf(highest, in[i]);
  highest = warp_max(highest);
  if (lane == 0) partial[warp] = highest;
  __syncthreads();
  highest = partial[0];
  for (int i = 1; i < kBlock / 32; ++i) highest = fmaxf(highest, partial[i]);
  __syncthreads();

  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kBlock) total += expf(in[i] - highest);
  total = warp_sum(total);
  if (lane == 0) partial[warp] = total;
  __syncthreads();
  total = 0.0f;
  for (int i = 0; i < kBlock / 32; ++i) total += partial[i];

  const float scale = 1.0f / total;
  for (int i = threadIdx.x; i < cols; i += kBlock) out[i] = expf(in[i] - highest) * scale;
}
)";
}

CompileRequest request_for(int variant) {
  CompileRequest request;
  request.source = softmax_source(variant);
  request.file_name = "softmax.cu";
  request.kernels = {"softmax"};
  return request;
}

CompilerJob job_for(int variant) {
  const CompileRequest request = request_for(variant);
  const CanonicalSource canonical = canonicalise(request.source, request.file_name).value();
  return {canonical.text, nvrtc_options(request, canonical.text), request.kernels};
}

std::atomic<int> next_variant = 1;

// CPU time of all processes that this one has started and waited for, and of theirs.
double children_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct Rate {
  double per_second = 0;
  double cpu_ms = 0;      // of one compilation; other work on the machine does not change it much
  double worker_mib = 0;  // proportional set size, the mean over the workers
};

// The plain loop: no sandbox, no fork, one process. In a child of its own, so that NVRTC is not loaded here.
Rate in_process_rate(double seconds) {
  int channel[2];
  KW_CHECK(::pipe(channel) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const CudaToolkit toolkit = find_cuda_toolkit().value();
    const Nvrtc nvrtc = Nvrtc::load(toolkit.nvrtc).value();
    const HeaderSet headers = HeaderSet::load(toolkit.include);
    run_nvrtc(nvrtc, headers, job_for(-1), 1u << 24);
    const auto start = Clock::now();
    const std::clock_t cpu_start = std::clock();
    int count = 0;
    for (; seconds_since(start) < seconds; ++count) {
      KW_CHECK(run_nvrtc(nvrtc, headers, job_for(next_variant++), 1u << 24).output.nvrtc_result == NVRTC_SUCCESS);
    }
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    const Rate rate{count / seconds_since(start), 1000 * cpu / count, 0};
    KW_CHECK(::write(channel[1], &rate, sizeof rate) == sizeof rate);
    ::_exit(0);
  }
  Rate rate;
  KW_CHECK(::read(channel[0], &rate, sizeof rate) == sizeof rate);
  ::waitpid(child, nullptr, 0);
  ::close(channel[0]);
  ::close(channel[1]);
  return rate;
}

double nvcc_rate(double seconds) {
  const std::filesystem::path nvcc = find_cuda_toolkit().value().include.parent_path() / "bin" / "nvcc";
  if (!std::filesystem::exists(nvcc)) return 0;
  TemporaryFolder folder;
  const auto start = Clock::now();
  int count = 0;
  for (; seconds_since(start) < seconds; ++count) {
    const std::filesystem::path source = folder.path() / "k.cu";
    KW_CHECK(write_file_atomic(source, softmax_source(next_variant++)).ok());
    const std::string command = nvcc.string() + " -arch=sm_90 -std=c++17 -lineinfo -cubin -o " +
                                (folder.path() / "k.cubin").string() + " " + source.string() + " >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) return 0;
  }
  return count / seconds_since(start);
}

double proportional_mib(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Pss:", 0) == 0) return std::strtod(line.c_str() + 4, nullptr) / 1024;
  }
  return 0;
}

void wait_for_all(CompileService& service, int workers) {
  KW_CHECK(service.facts().ok());
  while (service.pool().worker_pids().size() < static_cast<std::size_t>(workers)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// As many callers as workers, through the public call, without any cache.
Rate pool_rate(int workers, double seconds) {
  const ServiceOptions options{.pool = {.workers = workers}, .disk_cache = false, .disk = {}, .memory_cache_bytes = 0};
  // What starting and ending costs is not part of a compilation.
  const double cpu_before = children_cpu_seconds();
  {
    CompileService idle(options);
    wait_for_all(idle, workers);
  }
  const double cpu_start = children_cpu_seconds();

  Rate rate;
  std::atomic<int> count = 0;
  {
    CompileService service(options);
    wait_for_all(service, workers);
    std::vector<std::thread> callers;
    const auto start = Clock::now();
    for (int i = 0; i < workers; ++i) {
      callers.emplace_back([&] {
        while (seconds_since(start) < seconds) {
          KW_CHECK(service.compile(request_for(next_variant++)).ok());
          ++count;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    rate.per_second = count / seconds_since(start);
    for (const int pid : service.pool().worker_pids()) rate.worker_mib += proportional_mib(pid) / workers;
  }
  rate.cpu_ms = 1000 * (children_cpu_seconds() - cpu_start - (cpu_start - cpu_before)) / count;
  return rate;
}

struct HitRates {
  double same_text = 0;     // the very same request
  double other_layout = 0;  // another layout of a known source: canonical form, hash, positions mapped anew
  double from_disk = 0;     // a new process
};

HitRates hit_rates(double seconds) {
  TemporaryFolder folder;
  const ServiceOptions options{.pool = {.workers = 1}, .disk_cache = true, .disk = {.folder = folder.path()}};
  HitRates rates;
  const auto rate_of = [&](const std::function<void(int)>& hit) {
    const auto start = Clock::now();
    int count = 0;
    for (; seconds_since(start) < seconds; ++count) hit(count);
    return count / seconds_since(start);
  };
  CompileService service(options);
  const CompileRequest request = request_for(0);
  KW_CHECK(service.compile(request).ok());
  rates.same_text = rate_of([&](int) { KW_CHECK(service.compile(request).from_cache); });
  rates.other_layout = rate_of([&](int i) {
    CompileRequest other = request;
    other.source += "// " + std::to_string(i) + "\n";
    KW_CHECK(service.compile(other).from_cache);
  });
  CompileService fresh(
      {.pool = {.workers = 1}, .disk_cache = true, .disk = {.folder = folder.path()}, .memory_cache_bytes = 0});
  rates.from_disk = rate_of([&](int) { KW_CHECK(fresh.compile(request).from_cache); });
  return rates;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = kw::run_if_compile_worker(argc, argv)) return *code;
  double seconds = 10;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtod(argv[i + 1], nullptr);
  }
  fmt::print("{} cores; a 60-line softmax for sm_90, PTX and cubin, every source new; {} s each\n",
             std::thread::hardware_concurrency(), seconds);
  const double nvcc = nvcc_rate(seconds);
  fmt::print("nvcc -cubin, one after the other   {:8.1f} compiles/s\n", nvcc);
  const Rate loop = in_process_rate(seconds);
  fmt::print("NVRTC loop in one process          {:8.1f} compiles/s  {:5.1f} ms of CPU each\n", loop.per_second,
             loop.cpu_ms);
  Rate one;
  for (const int workers : {1, 2, 4}) {
    const Rate rate = pool_rate(workers, seconds);
    if (workers == 1) one = rate;
    fmt::print(
        "pool, {} sandboxed worker{}          {:8.1f} compiles/s  {:5.1f} ms of CPU each;  {:4.2f} x one worker, "
        "{:4.2f} x the "
        "loop, {:4.1f} x nvcc;  {:.0f} MiB a worker\n",
        workers, workers == 1 ? " " : "s", rate.per_second, rate.cpu_ms, rate.per_second / one.per_second,
        rate.per_second / loop.per_second, nvcc > 0 ? rate.per_second / nvcc : 0.0, rate.worker_mib);
  }
  fmt::print("sandbox and fork cost              {:8.1f} ms of CPU a compile ({:.0f} % of the loop)\n",
             one.cpu_ms - loop.cpu_ms, 100 * (one.cpu_ms / loop.cpu_ms - 1));
  const HitRates hits = hit_rates(std::min(seconds, 3.0));
  fmt::print("cache hit, same request            {:8.0f} /s\n", hits.same_text);
  fmt::print("cache hit, other layout            {:8.0f} /s\n", hits.other_layout);
  fmt::print("cache hit, from disk               {:8.0f} /s\n", hits.from_disk);
}
