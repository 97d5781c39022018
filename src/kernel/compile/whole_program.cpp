#include "kernel/compile/whole_program.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "kernel/compile/nvcc_log.h"
#include "kernel/compile/nvcc_worker.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/sandbox/isolated_process.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return !path.empty() && fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string demangled(const std::string& symbol) {
  constexpr std::size_t longest = 4096;  // nesting in a symbol is the demangler's recursion
  if (symbol.size() > longest) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || !name) return symbol;
  const std::string_view text(name.get());
  // Kernels return void, which a template's name says.
  return valid_utf8(text.starts_with("void ") ? text.substr(5) : text);
}

// The worker ends with this, and with it all that it started.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> start() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return Error{std::string("cannot make a socket: ") + std::strerror(errno), "", {}};
    SpawnOptions options;
    options.arguments = {nvcc_worker_argument};
    options.passed_descriptor = ends[1];
    options.not_in_container = "nvcc";
    const auto process = spawn_isolated(options);
    ::close(ends[1]);
    if (!process.ok()) {
      ::close(ends[0]);
      return process.error();
    }
    return std::unique_ptr<Worker>(new Worker(process->pid, ends[0]));
  }
  ~Worker() {
    ::close(socket_);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  int socket() const { return socket_; }

 private:
  Worker(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  pid_t pid_;
  int socket_;
};

WholeProgram result_of(const NvccAnswer& answer, const std::string& file_name, const std::string& text) {
  WholeProgram program;
  program.compiled = answer.succeeded;
  program.diagnostics = parse_nvcc_log(answer.log, {file_name, answer.ptx, text});
  program.problem = answer.problem;
  const bool said =
      std::ranges::any_of(program.diagnostics, [](const Diagnostic& each) { return each.severity == Severity::error; });
  if (!answer.succeeded && !said && program.problem.empty())
    program.problem = "a compiler ended without saying why; it may have reached its limit of memory or disk";
  for (EntryResources& entry : parse_resources(ptxas_lines(answer.log), answer.ptx, answer.cubin))
    if (entry.resources.known)
      program.kernels.push_back({demangled(entry.symbol), valid_utf8(entry.symbol), entry.resources});
  return program;
}

}  // namespace

Result<fs::path> find_nvcc() {
  std::vector<fs::path> places;
  if (const char* chosen = std::getenv("KERNELWRIGHT_NVCC"); chosen && *chosen) {
    if (is_program(chosen)) return fs::canonical(chosen);
    return Error{fmt::format("KERNELWRIGHT_NVCC names {}, which is no program", chosen), "", {}};
  }
  if (const auto toolkit = find_cuda_toolkit(); toolkit.ok() && !toolkit->include.empty())
    places.push_back(toolkit->include.parent_path() / "bin" / "nvcc");
  places.push_back("/usr/local/cuda/bin/nvcc");
  if (const char* path = std::getenv("PATH"))
    for (std::string_view rest = path; !rest.empty();) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (folder.starts_with("/")) places.push_back(fs::path(folder) / "nvcc");
    }
  std::error_code failed;
  for (const fs::path& place : places)
    if (is_program(place))
      if (const fs::path real = fs::canonical(place, failed); !failed) return real;
  return Error{"there is no nvcc here, which whole programs need",
               "install NVIDIA's CUDA toolkit (package cuda-nvcc-13-0) and g++, or name one with KERNELWRIGHT_NVCC; "
               "kernels for a task need neither",
               {}};
}

Result<WholeProgram> compile_whole_program(const std::string& text, const std::string& file_name,
                                           const WholeProgramOptions& options) {
  if (text.size() > max_whole_program_bytes)
    return Error{fmt::format("the program has {} bytes; at most {} are compiled", text.size(), max_whole_program_bytes),
                 "",
                 {file_name, 0, 0}};
  KW_TRY(const fs::path nvcc, find_nvcc());
  if (!is_program("/usr/bin/g++"))
    return Error{"nvcc needs a host compiler, and /usr/bin/g++ is not there", "install the package g++", {}};
  const auto started = std::chrono::steady_clock::now();
  KW_TRY(const std::unique_ptr<Worker> worker, Worker::start());
  NvccRequest request;
  request.nvcc = nvcc.string();
  request.architecture = std::string(to_string(options.architecture)).substr(3);  // "sm_90a"
  request.text = text;
  request.wall_s = static_cast<std::uint64_t>(options.wall.count());
  request.memory_bytes = options.memory_bytes;
  request.scratch_bytes = options.scratch_bytes;
  // The worker ends nvcc at the limit; this is for one that hangs itself.
  const Deadline deadline = started + options.wall + std::chrono::minutes(2);
  NvccAnswer answer;
  if (!send_request(worker->socket(), request, deadline) || !receive_answer(worker->socket(), answer, deadline))
    return Error{"the process that compiles whole programs has ended without an answer", "", {}};
  if (!answer.refused.empty())
    return Error{answer.refused, "`kernelwright doctor` says what the sandbox lacks here", {}};
  WholeProgram program = result_of(answer, file_name, text);
  program.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  return program;
}

}  // namespace kw
