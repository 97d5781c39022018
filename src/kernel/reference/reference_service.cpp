#include "kernel/reference/reference_service.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/transfer.h"
#include "kernel/reference/fault_injection.h"
#include "kernel/reference/instruction_set.h"
#include "kernel/reference/worker.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {
namespace {

constexpr auto start_limit = std::chrono::seconds(300);  // loading libtorch from a slow disk on a busy machine
constexpr auto order_limit = std::chrono::seconds(60);
constexpr std::uint64_t greeting_limit_bytes = 1u << 16;
constexpr std::size_t most_processes = 8;
constexpr std::uint64_t container_memory_bytes = (most_processes + 1) * (std::uint64_t{3} << 30);
constexpr int start_attempts = 3;  // with one instruction set

Deadline after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// The kernel ends an isolated process together with the thread that started it, so all are started by one thread that
// lives as long as the program.
class StartingThread {
 public:
  Result<IsolatedProcess> start(const SpawnOptions& options) {
    std::packaged_task<Result<IsolatedProcess>()> task([&options] { return spawn_isolated(options); });
    auto started = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (!running_) std::thread([this] { work(); }).detach();
      running_ = true;
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return started.get();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<Result<IsolatedProcess>()>> tasks_;
  bool running_ = false;
};

StartingThread& starting_thread() {
  static auto* const thread = new StartingThread();  // its thread never ends
  return *thread;
}

// Little of the environment: what says where libraries are and which instructions they may use. One thread: processes
// are forked from the worker, answers do not depend on the number of cores, and other tasks use the other cores.
std::vector<std::string> worker_environment(bool gpu, std::size_t instruction_set) {
  std::vector<std::string> environment;
  const auto& chosen = instruction_sets()[instruction_set].environment;
  for (const auto& [name, value] : chosen) environment.push_back(name + "=" + value);
  std::vector<const char*> passed = {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", fault_variable};
  if (gpu) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "PATH", "HOME", "TMPDIR"}) passed.push_back(name);
  } else {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) environment.push_back(std::string(name) + "=1");
    // Tensors of full size come and go; in pages of 4 KiB the system would take longer to clear them than PyTorch to
    // compute.
    environment.emplace_back("GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
  }
  if (instruction_set == 0)
    for (const char* name : {"ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", onednn_variable})
      passed.push_back(name);
  for (const char* name : passed)
    if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
  return environment;
}

// The signal that ended it, or 0.
int end_process(pid_t process) {
  ::kill(process, SIGKILL);  // one that has ended already keeps its own status
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Result<ReferenceGreeting> receive_greeting(int socket) {
  ReferenceFrame head;
  const Deadline deadline = after(start_limit);
  Transfer transfer = receive_bytes(socket, &head, sizeof head, deadline);
  const bool sane = head.magic == reference_magic && head.body_bytes <= greeting_limit_bytes;
  std::string body(transfer == Transfer::done && sane ? head.body_bytes : 0, '\0');
  if (transfer == Transfer::done) transfer = receive_bytes(socket, body.data(), body.size(), deadline);
  if (transfer == Transfer::late) return Error{"the reference worker did not start in time", "", {}};
  if (transfer != Transfer::done || !sane) return Error{"the reference worker ended while starting", "", {}};
  return decode_reference_greeting(body);
}

bool names_missing_instructions(const std::string& failure) {
  return failure.find("could not create a primitive") != std::string::npos ||
         failure.find("computes wrong") != std::string::npos;
}

}  // namespace

struct ReferenceService::Worker {
  Worker(pid_t process, int control) : pid(process), socket(control) {}
  ~Worker() { end(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // From several threads.
  Result<ReferenceOrderDone> order(const ReferenceOrder& order, int descriptor) {
    const std::lock_guard lock(mutex);
    ReferenceOrderDone done;
    if (socket < 0 || !send_with_descriptor(socket, &order, sizeof order, descriptor) ||
        receive_bytes(socket, &done, sizeof done, after(order_limit)) != Transfer::done ||
        done.magic != reference_magic) {
      end();
      return Error{"the reference worker was lost", "", {}};
    }
    return done;
  }

  int end() {
    if (socket >= 0) ::close(std::exchange(socket, -1));
    return pid > 0 ? end_process(std::exchange(pid, -1)) : 0;
  }

  pid_t pid;
  int socket;
  std::mutex mutex;
  ReferenceGreeting greeting;
};

ReferenceService& ReferenceService::instance() {
  static auto* const service = new ReferenceService();
  return *service;
}

ReferenceLimits ReferenceService::limits() {
  const std::lock_guard lock(mutex_);
  return limits_;
}

void ReferenceService::set_limits(const ReferenceLimits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

// A worker, or why there is none.
struct ReferenceService::Start {
  std::unique_ptr<Worker> worker;
  Error error;
  bool fewer_instructions_may_help = false;
};

ReferenceService::Start ReferenceService::start_worker(bool gpu, std::size_t instruction_set) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return {nullptr, Error{std::string("cannot make a socket: ") + std::strerror(errno), "", {}}};
  SpawnOptions options;
  options.arguments = {reference_worker_argument, gpu ? "gpu" : "cpu", std::to_string(instruction_set)};
  options.environment = worker_environment(gpu, instruction_set);
  options.passed_descriptor = pair[1];
  options.namespaces = !gpu;  // the driver needs its device files and /proc
  if (gpu) options.not_in_container = "references on a GPU";
  options.memory_bytes = container_memory_bytes;
  const Result<IsolatedProcess> process = starting_thread().start(options);
  ::close(pair[1]);
  if (!process.ok()) {
    ::close(pair[0]);
    return {nullptr, process.error()};
  }
  auto worker = std::make_unique<Worker>(process->pid, pair[0]);
  auto greeting = receive_greeting(pair[0]);
  if (!greeting.ok()) {
    const int signal = worker->end();
    if (signal != 0)
      return {nullptr, Error{greeting.error().message + " by " + signal_name(signal), "", {}}, signal == SIGILL};
    return {nullptr,
            Error{greeting.error().message, "the program's main() must call run_if_reference_worker() first", {}}};
  }
  if (!greeting->failure.empty())
    return {nullptr, Error{greeting->failure, "", {}}, names_missing_instructions(greeting->failure)};
  worker->greeting = std::move(*greeting);
  return {std::move(worker), {}};
}

Result<void> ReferenceService::ensure_worker() {
  if (worker_ != nullptr && worker_->socket >= 0) return {};
  const bool injected = std::getenv(fault_variable) != nullptr;
  if (!instruction_set_known_) instruction_set_ = injected ? 0 : remembered_instruction_set().value_or(0);
  for (int attempt = 1;; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    Start started = start_worker(false, instruction_set_);
    if (started.worker != nullptr) {
      worker_ = std::move(started.worker);
      facts_.torch_version = worker_->greeting.torch_version;
      facts_.protection = protection_from_bits(static_cast<unsigned>(worker_->greeting.protection_bits));
      facts_.instruction_set = instruction_set_;
      facts_.resident_bytes = worker_->greeting.resident_bytes;
      facts_.start_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
      // What was found while faults are injected is no fact about this CPU.
      if (!instruction_set_known_ && !injected) remember_instruction_set(instruction_set_);
      instruction_set_known_ = true;
      return {};
    }
    if (started.fewer_instructions_may_help && instruction_set_ + 1 < instruction_sets().size()) {
      ++instruction_set_;
      attempt = 0;
      log_event(LogLevel::info, "fewer_instructions",
                {{"reason", started.error.message}, {"now", instruction_sets()[instruction_set_].name}});
    } else if (attempt >= start_attempts) {
      return started.error;
    }
  }
}

Result<ReferenceFacts> ReferenceService::facts() {
  const std::lock_guard lock(mutex_);
  KW_TRY_VOID(ensure_worker());
  return facts_;
}

Result<std::shared_ptr<ReferenceProcess>> ReferenceService::start() {
  for (int attempt = 1;; ++attempt) {
    std::shared_ptr<Worker> worker;
    std::size_t instruction_set = 0;
    std::uint64_t memory_bytes = 0;
    {
      const std::lock_guard lock(mutex_);
      KW_TRY_VOID(ensure_worker());
      worker = worker_;
      instruction_set = instruction_set_;
      memory_bytes = limits_.memory_bytes;
    }
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
      return Error{std::string("cannot make a socket: ") + std::strerror(errno), "", {}};
    const auto started = worker->order({reference_magic, 1, 0, memory_bytes}, pair[1]);
    ::close(pair[1]);
    if (!started.ok() || started->process <= 0) {
      ::close(pair[0]);
      if (attempt < start_attempts) continue;
      return started.ok() ? Error{"no process can be started for a reference", "", {}} : started.error();
    }
    const auto ender = [worker, process = started->process]() -> ReferenceEnd {
      const auto done = worker->order({reference_magic, 0, process, 0}, -1);
      if (!done.ok()) return {};
      const int status = static_cast<int>(done->wait_status);
      return {WIFSIGNALED(status) ? WTERMSIG(status) : 0, done->cpu_us};
    };
    KW_TRY(auto process, ReferenceProcess::make(pair[0], instruction_set, ender));
    const std::lock_guard lock(mutex_);
    std::erase_if(processes_, [](const auto& each) {
      const auto living = each.lock();
      return living == nullptr || living->ended();
    });
    for (auto each = processes_.begin(); each != processes_.end() && processes_.size() >= most_processes;) {
      const auto oldest = each->lock();
      if (oldest == nullptr) {
        each = processes_.erase(each);
        continue;
      }
      const std::unique_lock idle(oldest->mutex(), std::try_to_lock);
      if (idle.owns_lock()) oldest->end();
      each = idle.owns_lock() ? processes_.erase(each) : each + 1;
    }
    processes_.push_back(process);
    return process;
  }
}

Result<std::shared_ptr<ReferenceProcess>> ReferenceService::on_gpu() {
  // What works on the CPU is found out first: the host's half of a GPU process computes too.
  KW_TRY(const ReferenceFacts known, facts());
  const std::lock_guard lock(gpu_mutex_);
  if (gpu_ != nullptr && !gpu_->ended()) return gpu_;
  Start started = start_worker(true, known.instruction_set);
  if (started.worker == nullptr) return started.error;
  const std::shared_ptr<Worker> worker = std::move(started.worker);
  const int socket = std::exchange(worker->socket, -1);
  KW_TRY(gpu_, ReferenceProcess::make(socket, known.instruction_set,
                                      [worker]() -> ReferenceEnd { return {worker->end(), 0}; }));
  return gpu_;
}

bool ReferenceService::use_fewer_instructions_than(std::size_t instruction_set) {
  const std::lock_guard lock(mutex_);
  if (instruction_set_ > instruction_set) return true;
  if (instruction_set_ + 1 >= instruction_sets().size()) return false;
  ++instruction_set_;
  // Its forks go on until somebody asks them again.
  worker_.reset();
  return true;
}

void ReferenceService::forget_workers() {
  const std::lock_guard lock(mutex_);
  worker_.reset();
  instruction_set_known_ = false;
  const std::lock_guard gpu_lock(gpu_mutex_);
  gpu_.reset();
}

Result<ReferenceFacts> reference_facts() { return ReferenceService::instance().facts(); }

}  // namespace kw
