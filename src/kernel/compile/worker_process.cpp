#include "kernel/compile/worker_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "kernel/compile/nvrtc.h"
#include "kernel/compile/worker.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {
namespace {

constexpr auto start_limit = std::chrono::seconds(60);  // loading NVRTC on a busy machine
constexpr auto grace = std::chrono::seconds(5);         // for the worker to end a compilation at its own deadline
constexpr std::uint64_t greeting_limit_bytes = 1u << 16;

// The worker needs few variables, and the sandbox removes even these. malloc: huge pages, and no returning of memory
// in between (see compile_and_exit in worker.cpp).
std::vector<std::string> worker_environment() {
  std::vector<std::string> environment = {
      "GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.trim_threshold=536870912:"
      "glibc.malloc.mmap_threshold=33554432"};
  for (const char* name : {"KERNELWRIGHT_CUDA", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

Deadline after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::string signal_text(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

JobResult failure(CompileStatus status, std::string explanation) { return {status, std::move(explanation), {}}; }

std::string seconds(double ms) {
  std::string text = std::to_string(ms / 1000.0);
  text.erase(text.find('.') + 2);
  return text + " s";
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

JobResult out_of_memory(const CompileLimits& limits) {
  return failure(CompileStatus::out_of_memory,
                 "the compiler needed more than the allowed " + mebibytes(limits.memory_bytes) + " of memory");
}

JobResult judge_output(Result<CompilerOutput> output, const CompilerJob& job, const CompileLimits& limits) {
  if (!output || output->lowered_names.size() != (output->lowered_names.empty() ? 0 : job.name_expressions.size())) {
    return failure(CompileStatus::compiler_crashed,
                   "the compiler itself failed on this source: its answer was malformed");
  }
  JobResult result{CompileStatus::compile_error, "", std::move(*output)};
  result.output.ptx_fingerprint.clear();
  switch (result.output.nvrtc_result) {
    case NVRTC_SUCCESS:
      result.status = CompileStatus::compiled;
      break;
    case NVRTC_ERROR_COMPILATION:
      // The front end ends with this message when memory is refused.
      if (result.output.log.find("error: out of memory") != std::string::npos) return out_of_memory(limits);
      result.explanation = "the source does not compile";
      break;
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return out_of_memory(limits);
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
      result.explanation = "a requested kernel is not in the source";
      break;
    case NVRTC_ERROR_INVALID_INPUT:
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE:
      result.explanation = "the compiler refused its input";
      break;
    case NVRTC_ERROR_INVALID_OPTION:
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
      return failure(CompileStatus::internal_error, "the compiler could not start: " + result.output.log);
    default:
      return failure(CompileStatus::compiler_crashed,
                     "the compiler itself failed on this source with an internal error");
  }
  return result;
}

JobResult judge(const ReplyHead& head, const std::string& body, const CompilerJob& job, const CompileLimits& limits) {
  switch (head.outcome) {
    case WorkerOutcome::finished:
      return judge_output(decode_output(body), job, limits);
    case WorkerOutcome::over_time:
      return failure(CompileStatus::timeout, "the compiler was stopped after " +
                                                 seconds(static_cast<double>(head.cpu_us) / 1000) +
                                                 " of CPU time; the limits are " + seconds(limits.wall_ms) + " and " +
                                                 std::to_string(limits.cpu_seconds) + " s of CPU time");
    case WorkerOutcome::over_memory:
      return out_of_memory(limits);
    case WorkerOutcome::over_output:
      return failure(CompileStatus::output_too_large, "the compiler wrote more than the allowed " +
                                                          mebibytes(limits.output_bytes) + " of log, PTX and cubin");
    case WorkerOutcome::died:
      if (head.signal == SIGSYS) {
        return failure(CompileStatus::compiler_crashed,
                       "the compiler itself failed on this source, at a system call that it may not make");
      }
      // A refused allocation often ends in a crash; then nearly all of the memory was in use.
      if (head.peak_bytes >= limits.memory_bytes / 4 * 3) return out_of_memory(limits);
      return failure(CompileStatus::compiler_crashed,
                     "the compiler itself crashed on this source (" +
                         (head.signal != 0 ? signal_text(head.signal) : "exit code " + std::to_string(head.exit_code)) +
                         ")");
    case WorkerOutcome::not_started:
      return failure(CompileStatus::internal_error, "no process for the compiler: " + body);
    case WorkerOutcome::ready:
    case WorkerOutcome::failed:
      break;
  }
  return failure(CompileStatus::internal_error, "the compile worker broke the protocol");
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(bool namespaces) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error{std::string("cannot make a socket: ") + std::strerror(errno), "", {}};
  }
  SpawnOptions options;
  options.arguments = {worker_argument};
  options.environment = worker_environment();
  options.passed_descriptor = pair[1];
  options.namespaces = namespaces;
  Result<IsolatedProcess> process = spawn_isolated(options);
  ::close(pair[1]);
  if (!process) {
    ::close(pair[0]);
    return process.error();
  }
  WorkerProcess worker(process->pid, pair[0]);
  KW_TRY(worker.greeting_, worker.receive_greeting());
  return worker;
}

Result<WorkerGreeting> WorkerProcess::receive_greeting() const {
  ReplyHead head;
  const Deadline deadline = after(start_limit);
  const Transfer transfer = receive_bytes(socket_, &head, sizeof head, deadline);
  if (transfer == Transfer::late) return Error{"the compile worker did not start in time", "", {}};
  const bool sane = transfer == Transfer::done && head.magic == reply_magic && head.body_bytes <= greeting_limit_bytes;
  std::string body(sane ? head.body_bytes : 0, '\0');
  if (!sane || receive_bytes(socket_, body.data(), body.size(), deadline) != Transfer::done) {
    return Error{
        "the compile worker ended while starting", "the program's main() must call run_if_compile_worker() first", {}};
  }
  if (head.outcome != WorkerOutcome::ready) return Error{body, "", {}};
  return decode_greeting(body);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      greeting_(std::move(other.greeting_)) {}

WorkerProcess::~WorkerProcess() {
  if (socket_ >= 0) ::close(socket_);
  if (pid_ <= 0) return;
  // In its own pid namespace the worker is the first process, so its forks end with it.
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool WorkerProcess::is_alive() const {
  pollfd entry{socket_, POLLIN | POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) == 0;
}

WorkerProcess::Answer WorkerProcess::run(const CompilerJob& job, const CompileLimits& limits) {
  const std::string body = encode(job);
  if (body.size() > request_limit_bytes)
    return {failure(CompileStatus::rejected, "the source is too large"), false, true};
  RequestHead request;
  request.magic = request_magic;
  request.wall_ms = static_cast<std::uint32_t>(limits.wall_ms);
  request.cpu_seconds = static_cast<std::uint64_t>(limits.cpu_seconds);
  request.memory_bytes = limits.memory_bytes;
  request.output_bytes = limits.output_bytes;
  request.body_bytes = body.size();
  const Deadline deadline = after(std::chrono::milliseconds(limits.wall_ms) + grace);
  const JobResult lost = failure(CompileStatus::internal_error, "the compile worker was lost");
  if (send_bytes(socket_, &request, sizeof request, deadline) != Transfer::done ||
      send_bytes(socket_, body.data(), body.size(), deadline) != Transfer::done) {
    return {lost, true, false};
  }

  std::uint32_t accepted = 0;
  Transfer transfer = receive_bytes(socket_, &accepted, sizeof accepted, deadline);
  if (transfer == Transfer::closed) return {lost, true, false};
  ReplyHead head;
  if (transfer == Transfer::done) transfer = receive_bytes(socket_, &head, sizeof head, deadline);
  if (transfer == Transfer::late) {
    return {failure(CompileStatus::timeout, "the compile worker did not answer and was stopped"), true, true};
  }
  if (transfer != Transfer::done || accepted != accepted_magic || head.magic != reply_magic ||
      head.body_bytes > limits.output_bytes + (8u << 20)) {
    return {lost, true, true};
  }
  std::string answer(head.body_bytes, '\0');
  if (receive_bytes(socket_, answer.data(), answer.size(), deadline) != Transfer::done) return {lost, true, true};
  return {judge(head, answer, job, limits), false, true};
}

}  // namespace kw
