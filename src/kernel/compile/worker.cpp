#include "kernel/compile/worker.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>

#include "kernel/compile/compiler.h"
#include "kernel/sandbox/sandbox.h"

namespace kw {
namespace {

constexpr int socket_number = passed_descriptor_number;
constexpr std::size_t compiler_stack_bytes = 256u << 20;  // reserved, not used; deep nesting ends at its guard page
constexpr int exit_over_output = 3;
constexpr int exit_over_memory = 4;

struct Worker {
  Nvrtc nvrtc;
  HeaderSet headers;
  SyscallFilter compiler_filter;
  std::uint64_t mapped_bytes = 0;  // by the loaded compiler; the limit of a compilation comes on top
};

Deadline no_deadline() { return std::chrono::steady_clock::now() + std::chrono::hours(24 * 365); }

bool reply(ReplyHead head, std::string_view body) {
  head.magic = reply_magic;
  head.body_bytes = body.size();
  return send_bytes(socket_number, &head, sizeof head, no_deadline()) == Transfer::done &&
         send_bytes(socket_number, body.data(), body.size(), no_deadline()) == Transfer::done;
}

std::uint64_t mapped_bytes_now() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Touches every stage once, so that all lazily loaded parts are in memory before the doors close.
void warm_up(const Worker& worker) {
  CompilerJob job;
  job.source =
      "#include <cuda_fp16.h>\ntemplate <int n> __global__ void warm(float* x, __half h) {\n"
      "  __shared__ float s[n]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads();\n"
      "  x[threadIdx.x] = expf(s[n - 1 - threadIdx.x]) + __half2float(h) / x[0] + powf(x[1], x[2]) + sinf(x[3]); }\n";
  job.options = {"--gpu-architecture=sm_90", "--std=c++17", "-lineinfo", "--ptxas-options=-v"};
  job.name_expressions = {"warm<128>"};
  run_nvrtc(worker.nvrtc, worker.headers, job, 1u << 20);
  job.source = "__global__ void warm() { unknown; }\n";
  run_nvrtc(worker.nvrtc, worker.headers, job, 1u << 20);
}

struct Compilation {
  const Worker* worker;
  const CompilerJob* job;
  std::uint64_t output_bytes;
  int result_descriptor;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::size_t memory_probe_bytes = 0;  // half of what a compilation may use; set before its thread starts

// NVRTC does not check every allocation. A crash right after one was refused, or with most of the memory in use, is a
// matter of memory, not a fault.
void tell_memory_from_fault(int) {
  if (errno == ENOMEM) ::_exit(exit_over_memory);
  void* probe = ::mmap(nullptr, memory_probe_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) ::_exit(exit_over_memory);
  // Otherwise the same instruction runs again, now with the default action.
}

void watch_for_faults() {
  // A full stack is a fault too, so the handler has its own.
  static std::array<char, 1 << 16> handler_stack;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = tell_memory_from_fault;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGABRT}) ::sigaction(number, &action, nullptr);
}

void* compile_in_thread(void* argument) {
  const Compilation& compilation = *static_cast<const Compilation*>(argument);
  watch_for_faults();
  if (!compilation.worker->compiler_filter.install()) ::_exit(2);
  errno = 0;
  const LimitedOutput limited =
      run_nvrtc(compilation.worker->nvrtc, compilation.worker->headers, *compilation.job, compilation.output_bytes);
  if (limited.over_limit) ::_exit(exit_over_output);
  ::_exit(write_all(compilation.result_descriptor, encode(limited.output)) ? 0 : 5);
}

// In the fork. The compiler runs in a thread of its own: its memory then comes from a fresh arena of huge pages instead
// of copies of the worker's pages one by one (measured: a third of the page faults), and its stack has a known size.
[[noreturn]] void compile_and_exit(const Worker& worker, const RequestHead& head, std::string_view body, int result) {
  ::close(socket_number);
  // Without a pid namespace nothing else would end this fork together with the worker.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  const Result<CompilerJob> job = decode_job(body);
  if (!job) ::_exit(2);
  const ProcessLimits limits{.memory_bytes = worker.mapped_bytes + compiler_stack_bytes + head.memory_bytes,
                             .cpu_seconds = head.cpu_seconds};
  if (!limit_this_process(limits)) ::_exit(2);
  memory_probe_bytes = head.memory_bytes / 2;
  Compilation compilation{&worker, &*job, head.output_bytes, result};
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, compiler_stack_bytes);
  pthread_t thread{};
  if (::pthread_create(&thread, &attributes, compile_in_thread, &compilation) != 0) ::_exit(2);
  ::pthread_join(thread, nullptr);
  ::_exit(2);
}

enum class Collected { all, over_time, over_output, abandoned };

// Reads the fork's answer until it closes the pipe; also watches whether anybody still waits for it.
Collected collect(int pipe, const RequestHead& head, std::string& bytes) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(head.wall_ms);
  // What encode() adds to the parts it counts is small; lowered names are bounded by the request.
  const std::uint64_t limit = head.output_bytes + (4u << 20);
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Collected::over_time;
    std::array<pollfd, 2> entries{{{pipe, POLLIN, 0}, {socket_number, POLLRDHUP, 0}}};
    const int count = ::poll(entries.data(), entries.size(), static_cast<int>(left));
    if (count < 0 && errno != EINTR) return Collected::abandoned;
    if (count <= 0) continue;
    if ((entries[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return Collected::abandoned;
    if (entries[0].revents == 0) continue;
    const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
    if (got == 0) return Collected::all;
    if (got < 0) continue;
    if (bytes.size() + static_cast<std::size_t>(got) > limit) return Collected::over_output;
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// False when nobody listens any more.
bool serve_one(const Worker& worker, const RequestHead& head, const std::string& body) {
  ReplyHead answer;
  std::array<int, 2> channel{};
  const bool piped = ::pipe2(channel.data(), 0) == 0;
  const pid_t child = piped ? ::fork() : -1;
  if (child == 0) {
    ::close(channel[0]);
    compile_and_exit(worker, head, body, channel[1]);
  }
  if (piped) ::close(channel[1]);
  if (child < 0) {
    if (piped) ::close(channel[0]);
    answer.outcome = WorkerOutcome::not_started;
    return reply(answer, std::strerror(errno));
  }

  std::string bytes;
  const Collected collected = collect(channel[0], head, bytes);
  ::close(channel[0]);
  if (collected != Collected::all) ::kill(child, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (collected == Collected::abandoned) return false;

  answer.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  answer.cpu_us = static_cast<std::uint64_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 +
                  static_cast<std::uint64_t>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  answer.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  const bool out_of_cpu = answer.signal == SIGXCPU;
  // Nobody here sent that, so it was the kernel: for memory, or at the second CPU limit.
  const bool killed_by_system = collected == Collected::all && answer.signal == SIGKILL;
  if (collected == Collected::over_time || out_of_cpu) {
    answer.outcome = WorkerOutcome::over_time;
  } else if (answer.exit_code == exit_over_memory || killed_by_system) {
    answer.outcome = WorkerOutcome::over_memory;
  } else if (collected == Collected::over_output || answer.exit_code == exit_over_output) {
    answer.outcome = WorkerOutcome::over_output;
  } else {
    answer.outcome = answer.signal == 0 && answer.exit_code == 0 ? WorkerOutcome::finished : WorkerOutcome::died;
  }
  if (answer.outcome != WorkerOutcome::finished) bytes.clear();
  return reply(answer, bytes);
}

void serve(const Worker& worker) {
  std::string body;
  for (;;) {
    RequestHead head;
    if (receive_bytes(socket_number, &head, sizeof head, no_deadline()) != Transfer::done) return;
    if (head.magic != request_magic || head.body_bytes > request_limit_bytes) return;
    body.resize(head.body_bytes);
    if (receive_bytes(socket_number, body.data(), body.size(), no_deadline()) != Transfer::done) return;
    if (send_bytes(socket_number, &accepted_magic, sizeof accepted_magic, no_deadline()) != Transfer::done) return;
    if (!serve_one(worker, head, body)) return;
  }
}

Result<Worker> prepare() {
  KW_TRY(const CudaToolkit toolkit, find_cuda_toolkit());
  KW_TRY(Nvrtc nvrtc, Nvrtc::load(toolkit.nvrtc));
  KW_TRY(SyscallFilter filter, SyscallFilter::make(FilterRole::compiler));
  Worker worker{nvrtc, HeaderSet::load(toolkit.include), std::move(filter), 0};
  warm_up(worker);
  worker.mapped_bytes = mapped_bytes_now();
  return worker;
}

int run_worker(const NamespaceSet& namespaces) {
  const Result<Worker> worker = prepare();
  Result<Protection> protection =
      worker ? enter_sandbox({.keep_descriptor = socket_number}, namespaces) : Result<Protection>(worker.error());
  if (!protection) {
    ReplyHead head;
    head.outcome = WorkerOutcome::failed;
    reply(head, to_string(protection.error()));
    return 1;
  }
  ReplyHead head;
  head.outcome = WorkerOutcome::ready;
  const WorkerGreeting greeting{worker->nvrtc.version(), worker->headers.fingerprint(), to_bits(*protection)};
  if (reply(head, encode(greeting))) serve(*worker);
  return 0;
}

}  // namespace

std::optional<int> run_if_compile_worker(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], worker_argument) != 0) return std::nullopt;
  NamespaceSet namespaces;
  for (int i = 2; i < argc; ++i) {
    if (std::strncmp(argv[i], namespaces_argument, std::strlen(namespaces_argument)) == 0) {
      namespaces = namespaces_from_argument(argv[i]);
    }
  }
  return run_worker(namespaces);
}

}  // namespace kw
