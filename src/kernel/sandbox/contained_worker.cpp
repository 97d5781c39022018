#include "kernel/sandbox/contained_worker.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/transfer.h"
#include "kernel/sandbox/container_process.h"

namespace kw {
namespace {

constexpr std::uint64_t magic_number = 0x6b77636f6e740001;  // "kwcont", first form

// The descriptor for the worker, or -1.
int fetch_descriptor(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = std::string(contained_meeting_folder) + "/" + name;
  if (path.size() >= sizeof address.sun_path) return -1;
  path.copy(address.sun_path, path.size());
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0 || ::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return -1;
  const ContainedHello hello = contained_hello();
  std::uint64_t answer = 0;
  int descriptor = -1;
  if (send_bytes(connection, &hello, sizeof hello, Deadline::max()) == Transfer::done)
    receive_with_descriptor(connection, &answer, sizeof answer, descriptor);
  ::close(connection);
  return descriptor;
}

[[noreturn]] void become_worker(int descriptor, int argc, char** argv) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  const int copy = ::fcntl(descriptor, F_DUPFD, passed_descriptor_number + 1);
  if (null < 0 || copy < 0) ::_exit(126);
  for (const int standard : {0, 1, 2}) ::dup2(null, standard);
  if (::dup2(copy, passed_descriptor_number) < 0) ::_exit(126);
  ::syscall(SYS_close_range, passed_descriptor_number + 1, ~0u, 0);
  std::string program = "kernelwright", namespaces = std::string(namespaces_argument) + "container";
  std::vector<char*> arguments = {program.data()};
  arguments.insert(arguments.end(), argv, argv + argc);
  arguments.push_back(namespaces.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

// Until the worker ends, or Docker's client does: then standard input ends. With the first process of a container the
// kernel ends all others.
int outlive(pid_t worker) {
  sigset_t child, before;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &before);
  ::signal(SIGCHLD, [](int) {});  // so that waiting is interrupted
  for (;;) {
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) == worker) return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    pollfd input{0, POLLIN, 0};
    if (::ppoll(&input, 1, nullptr, &before) > 0) {
      char byte = 0;
      if (::read(0, &byte, 1) <= 0) return 1;
    }
  }
}

}  // namespace

ContainedHello contained_hello() {
  ContainedHello hello;
  hello.magic = magic_number;
  std::snprintf(hello.version.data(), hello.version.size(), "%s", KW_VERSION);
  return hello;
}

std::optional<int> run_if_contained_worker(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[1], contained_worker_argument) != 0) return std::nullopt;
  const int descriptor = fetch_descriptor(argv[2]);
  if (descriptor < 0) {
    std::fprintf(stderr, "kernelwright: nobody is at %s/%s\n", contained_meeting_folder, argv[2]);
    return 1;
  }
  const pid_t worker = ::fork();
  if (worker < 0) return 1;
  if (worker == 0) become_worker(descriptor, argc - 3, argv + 3);
  ::close(descriptor);
  return outlive(worker);
}

}  // namespace kw
