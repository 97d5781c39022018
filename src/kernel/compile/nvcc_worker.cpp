#include "kernel/compile/nvcc_worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/file.h"
#include "kernel/compile/nvcc_log.h"
#include "kernel/sandbox/private_root.h"
#include "kernel/sandbox/sandbox.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_part_bytes = std::uint64_t{64} << 20;
constexpr std::size_t max_log_bytes = std::size_t{4} << 20;

bool send_part(int socket, const std::string& part, Deadline deadline) {
  const std::uint64_t bytes = part.size();
  return send_bytes(socket, &bytes, sizeof bytes, deadline) == Transfer::done &&
         send_bytes(socket, part.data(), part.size(), deadline) == Transfer::done;
}

bool receive_part(int socket, std::string& part, Deadline deadline) {
  std::uint64_t bytes = 0;
  if (receive_bytes(socket, &bytes, sizeof bytes, deadline) != Transfer::done || bytes > max_part_bytes) return false;
  part.resize(static_cast<std::size_t>(bytes));
  return receive_bytes(socket, part.data(), part.size(), deadline) == Transfer::done;
}

bool receive_request(int socket, NvccRequest& request, Deadline deadline) {
  for (std::string* part : {&request.nvcc, &request.architecture, &request.text})
    if (!receive_part(socket, *part, deadline)) return false;
  for (std::uint64_t* number : {&request.wall_s, &request.memory_bytes, &request.scratch_bytes})
    if (receive_bytes(socket, number, sizeof *number, deadline) != Transfer::done) return false;
  return true;
}

bool send_answer(int socket, const NvccAnswer& answer, Deadline deadline) {
  const std::string succeeded = answer.succeeded ? "1" : "";
  for (const std::string* part :
       {&answer.refused, &answer.problem, &succeeded, &answer.log, &answer.ptx, &answer.cubin})
    if (!send_part(socket, *part, deadline)) return false;
  return true;
}

// What a compiler needs of a machine: toolkit, host compiler, headers and libraries. Nothing of /etc, /home, /proc.
std::vector<std::string> compiler_files(const fs::path& nvcc) {
  std::vector<std::string> paths = {nvcc.parent_path().parent_path().string(),
                                    "/usr/include",
                                    "/usr/lib/gcc",
                                    "/usr/libexec/gcc",
                                    "/usr/lib/x86_64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu",
                                    "/usr/lib64",
                                    "/lib/x86_64-linux-gnu",
                                    "/lib/aarch64-linux-gnu",
                                    "/lib64",
                                    "/bin/sh",
                                    "/dev/null"};
  for (const char* program : {"sh", "gcc", "g++", "as", "rm"}) paths.push_back(fmt::format("/usr/bin/{}", program));
  return paths;
}

bool set_limit(int which, rlim_t value) {
  const rlimit limit{value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(which), &limit) == 0;
}

// From here on this process and all that it starts have nothing but those files and a folder to write in.
Result<void> give_up_machine(const NvccRequest& request, const NamespaceSet& namespaces) {
  const Error forbidden{
      "whole programs are compiled in a file system of their own, which this machine forbids", "", {}};
  if (!namespaces.rest || ::getpid() != 1) return forbidden;
  KW_TRY(const SyscallFilter filter, SyscallFilter::make(FilterRole::programs));
  const auto entered = enter_private_root(compiler_files(request.nvcc), false, request.scratch_bytes);
  if (!entered.ok()) return Error{forbidden.message + " (" + entered.error().message + ")", "", {}};
  ::setsid();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !drop_capabilities())
    return Error{"rights could not be given up", "", {}};
  if (!set_limit(RLIMIT_CORE, 0) || !set_limit(RLIMIT_FSIZE, request.scratch_bytes) || !set_limit(RLIMIT_NOFILE, 256))
    return Error{"limits could not be set", "", {}};
  // Changing credentials has cleared it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  return filter.install();
}

std::string problem_of(const ChildOutcome& outcome, const NvccRequest& request) {
  switch (outcome.end) {
    case ChildEnd::deadline:
      return fmt::format("the compilation took longer than {} s", request.wall_s);
    case ChildEnd::output_limit:
      return "the compilers said more than 4 MiB";
    case ChildEnd::signalled:
      return fmt::format("nvcc was ended by signal {}", outcome.signal_number);
    case ChildEnd::exited:
      break;
  }
  return "";
}

NvccAnswer compile(const NvccRequest& request) {
  NvccAnswer answer;
  const std::string folder = scratch_folder;
  if (const auto written = write_file_atomic(fs::path(folder) / whole_program_name, request.text); !written.ok()) {
    answer.refused = written.error().message;
    return answer;
  }
  ::clearenv();
  const std::string path = "PATH=" + fs::path(request.nvcc).parent_path().string() + ":/usr/bin:/bin";
  const ChildCommand command{
      {request.nvcc, "-c", "-std=c++17", "-lineinfo", "-Xptxas", "-v", "--keep", "--keep-dir", folder, "-gencode",
       fmt::format("arch=compute_{0},code=sm_{0}", request.architecture), "-o", "program.o", whole_program_name},
      "",
      folder,
      {path, "TMPDIR=" + folder, "LANG=C", "LC_ALL=C"}};
  ChildLimits limits;
  limits.wall = std::chrono::seconds(request.wall_s);
  limits.cpu = std::chrono::seconds(request.wall_s);
  limits.memory_bytes = request.memory_bytes;
  limits.output_bytes = max_log_bytes;
  const auto outcome = run_child(command, limits);
  if (!outcome.ok()) {
    answer.refused = outcome.error().message;
    return answer;
  }
  answer.problem = problem_of(*outcome, request);
  answer.succeeded = outcome->succeeded();
  answer.log = outcome->error_output + "\n" + outcome->output;
  if (auto ptx = read_file(fs::path(folder) / "program.ptx", max_part_bytes); ptx.ok()) answer.ptx = *std::move(ptx);
  if (auto cubin = read_file(fs::path(folder) / "program.cubin", max_part_bytes); cubin.ok())
    answer.cubin = *std::move(cubin);
  return answer;
}

}  // namespace

bool send_request(int socket, const NvccRequest& request, Deadline deadline) {
  for (const std::string* part : {&request.nvcc, &request.architecture, &request.text})
    if (!send_part(socket, *part, deadline)) return false;
  for (const std::uint64_t* number : {&request.wall_s, &request.memory_bytes, &request.scratch_bytes})
    if (send_bytes(socket, number, sizeof *number, deadline) != Transfer::done) return false;
  return true;
}

bool receive_answer(int socket, NvccAnswer& answer, Deadline deadline) {
  std::string succeeded;
  for (std::string* part : {&answer.refused, &answer.problem, &succeeded, &answer.log, &answer.ptx, &answer.cubin})
    if (!receive_part(socket, *part, deadline)) return false;
  answer.succeeded = succeeded == "1";
  return true;
}

std::optional<int> run_if_nvcc_worker(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], nvcc_worker_argument) != 0) return std::nullopt;
  const int socket = passed_descriptor_number;
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);  // the compilers have no business with it
  const Deadline soon = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  NvccRequest request;
  if (!receive_request(socket, request, soon)) return 1;
  const NamespaceSet namespaces = namespaces_from_argument(argv[argc - 1]);
  NvccAnswer answer;
  if (const auto given_up = give_up_machine(request, namespaces); given_up.ok())
    answer = compile(request);
  else
    answer.refused = given_up.error().message;
  return send_answer(socket, answer, std::chrono::steady_clock::now() + std::chrono::minutes(1)) ? 0 : 1;
}

}  // namespace kw
