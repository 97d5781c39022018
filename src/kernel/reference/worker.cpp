#include "kernel/reference/worker.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/bytes.h"
#include "base/transfer.h"
#include "kernel/reference/message.h"
#include "kernel/reference/session.h"
#include "kernel/sandbox/sandbox.h"

namespace kw {
namespace {

constexpr int socket_number = passed_descriptor_number;

struct Mapped {
  std::uint64_t all_bytes = 0;
  std::uint64_t resident_bytes = 0;
};

Mapped mapped_now() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages * page, resident * page};
}

bool greet(const ReferenceGreeting& greeting) {
  const std::string body = encode(greeting);
  const ReferenceFrame head{reference_magic, body.size()};
  return send_bytes(socket_number, &head, sizeof head, Deadline::max()) == Transfer::done &&
         send_bytes(socket_number, body.data(), body.size(), Deadline::max()) == Transfer::done;
}

struct Forker {
  const TorchLibrary& library;
  FaultInjection faults;
  SyscallFilter filter;
  std::uint64_t mapped_bytes = 0;

  // In the fork.
  [[noreturn]] void serve(int socket, std::uint64_t memory_bytes) {
    ::close(socket_number);
    // Without a pid namespace nothing else would end this fork together with the worker.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!limit_this_process({.memory_bytes = mapped_bytes + memory_bytes, .cpu_seconds = 0}).ok()) ::_exit(2);
    if (!filter.install().ok()) ::_exit(2);
    faults.reseed();
    serve_references(socket, library, faults);
    ::_exit(0);
  }

  ReferenceOrderDone start(int socket, std::uint64_t memory_bytes) {
    const pid_t process = socket >= 0 ? ::fork() : -1;
    if (process == 0) serve(socket, memory_bytes);
    return {reference_magic, process, 0, 0};
  }

  static ReferenceOrderDone end(std::int64_t process) {
    ReferenceOrderDone done{reference_magic, process, 0, 0};
    if (process <= 1) return done;
    ::kill(static_cast<pid_t>(process), SIGKILL);  // one that has ended already keeps its own status
    int status = 0;
    rusage usage{};
    while (::wait4(static_cast<pid_t>(process), &status, 0, &usage) < 0 && errno == EINTR) {
    }
    done.wait_status = status;
    const auto us = [](const timeval& time) {
      return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
    };
    done.cpu_us = us(usage.ru_utime) + us(usage.ru_stime);
    return done;
  }

  void obey() {
    ReferenceOrder order;
    int socket = -1;
    while (receive_with_descriptor(socket_number, &order, sizeof order, socket)) {
      if (order.magic != reference_magic) return;
      const ReferenceOrderDone done = order.start != 0 ? start(socket, order.memory_bytes) : end(order.process);
      if (socket >= 0) ::close(socket);
      if (send_bytes(socket_number, &done, sizeof done, Deadline::max()) != Transfer::done) return;
    }
  }
};

struct WorkerArguments {
  bool gpu = false;
  std::size_t instruction_set = 0;
  NamespaceSet namespaces;
};

Result<FaultInjection> faults_from_environment() {
  const char* text = std::getenv(fault_variable);
  return FaultInjection::parse(text != nullptr ? text : "");
}

Result<const TorchLibrary*> prepare(const WorkerArguments& arguments, const FaultInjection& faults) {
  const auto& library = torch_library();
  if (!library.ok()) return library.error();
  if (auto refused = faults.strike_probe(arguments.instruction_set)) return std::move(*refused);
  if (!arguments.gpu) KW_TRY_VOID((*library)->warm_up());
  return *library;
}

int fail(const Error& error) {
  greet({to_string(error), "", 0, 0});
  return 1;
}

int run_cpu_worker(const WorkerArguments& arguments) {
  auto faults = faults_from_environment();
  if (!faults.ok()) return fail(faults.error());
  const auto library = prepare(arguments, *faults);
  if (!library.ok()) return fail(library.error());
  auto filter = SyscallFilter::make(FilterRole::reference);
  if (!filter.ok()) return fail(filter.error());
  const Mapped mapped = mapped_now();
  const auto protection =
      enter_sandbox({.keep_descriptor = socket_number, .role = FilterRole::reference_service}, arguments.namespaces);
  if (!protection.ok()) return fail(protection.error());
  if (!greet({"", (*library)->version(), to_bits(*protection), mapped.resident_bytes})) return 1;
  Forker{**library, std::move(*faults), std::move(*filter), mapped.all_bytes}.obey();
  return 0;
}

// Torch's CUDA half goes on opening the driver's files and its own libraries, and makes threads: what only an intruder
// would ask for is refused.
Result<void> confine_beside_driver() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error{"new privileges cannot be given up", "", {}};
  KW_TRY(const SyscallFilter filter, SyscallFilter::make(FilterRole::device));
  return filter.install();
}

int run_gpu_worker(const WorkerArguments& arguments) {
  auto faults = faults_from_environment();
  if (!faults.ok()) return fail(faults.error());
  const auto library = prepare(arguments, *faults);
  if (!library.ok()) return fail(library.error());
  if (const auto name = (*library)->gpu_name(); !name.ok()) return fail(name.error());
  if (const auto confined = confine_beside_driver(); !confined.ok()) return fail(confined.error());
  if (!greet({"", (*library)->version(), 0, mapped_now().resident_bytes})) return 1;
  serve_references(socket_number, **library, *faults);
  return 0;
}

}  // namespace

std::string encode(const ReferenceGreeting& greeting) {
  ByteWriter writer;
  writer.text(greeting.failure);
  writer.text(greeting.torch_version);
  writer.number(greeting.protection_bits);
  writer.number(greeting.resident_bytes);
  return writer.take();
}

Result<ReferenceGreeting> decode_reference_greeting(std::string_view bytes) {
  ByteReader reader(bytes);
  ReferenceGreeting greeting;
  greeting.failure = reader.text();
  greeting.torch_version = reader.text();
  greeting.protection_bits = reader.number();
  greeting.resident_bytes = reader.number();
  if (!reader.complete()) return Error{"the greeting of the reference worker is malformed", "", {}};
  return greeting;
}

std::optional<int> run_if_reference_worker(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[1], reference_worker_argument) != 0) return std::nullopt;
  WorkerArguments arguments;
  arguments.gpu = std::strcmp(argv[2], "gpu") == 0;
  arguments.instruction_set = std::strtoul(argv[3], nullptr, 10);
  for (int i = 4; i < argc; ++i)
    if (std::strncmp(argv[i], namespaces_argument, std::strlen(namespaces_argument)) == 0)
      arguments.namespaces = namespaces_from_argument(argv[i]);
  // What libtorch prints (warnings, the text's own print) is nobody's business.
  if (FILE* null = std::fopen("/dev/null", "r+")) {
    for (const int standard : {0, 1, 2}) ::dup2(::fileno(null), standard);
    std::fclose(null);
  }
  return arguments.gpu ? run_gpu_worker(arguments) : run_cpu_worker(arguments);
}

}  // namespace kw
