#include "model/distributed/local_ranks.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/interrupt.h"
#include "model/distributed/rank_place.h"
#include "model/distributed/socket.h"

namespace kw {
namespace {

constexpr double patience_s = 15;  // for ranks to notice that another has died, before they are asked to end
constexpr double grace_s = 120;    // and then before they are killed

struct Child {
  int rank = 0;
  pid_t pid = 0;
  bool running = true;
};

Result<std::vector<std::string>> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (arguments.empty()) return Error{"cannot tell how this program was started", "use torchrun or mpirun", {}};
  return arguments;
}

Result<std::string> new_secret() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return Error{"the system has no random bytes", "", {}};
  std::string text;
  for (const unsigned char byte : bytes) text += std::to_string(byte) + ".";
  return text;
}

Result<Child> start(int rank, const std::vector<std::string>& arguments, std::vector<std::string> environment) {
  environment.push_back("RANK=" + std::to_string(rank));
  environment.push_back("LOCAL_RANK=" + std::to_string(rank));
  std::vector<char*> argv, envp;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  for (const std::string& variable : environment) envp.push_back(const_cast<char*>(variable.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return Error{std::string("cannot start a rank: ") + std::strerror(errno), "", {}};
  if (pid == 0) {
    // A group of its own: Ctrl-C reaches it through us, once. It does not outlive us.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  return Child{rank, pid, true};
}

// How it ended, in the words of a shell's exit code; says what is unusual.
int exit_code_of(const Child& child, int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  std::cerr << "rank " << child.rank << " was ended by signal " << signal << " (" << ::strsignal(signal) << ")\n";
  return 128 + signal;
}

void signal_all(const std::vector<Child>& children, int signal) {
  for (const Child& child : children)
    if (child.running) ::kill(child.pid, signal);
}

int wait_for_all(std::vector<Child>& children) {
  int code = 0;
  bool handed_on = false;
  Deadline ask = Deadline::max(), kill = Deadline::max();
  for (std::size_t left = children.size(); left > 0;) {
    for (Child& child : children) {
      int status = 0;
      if (!child.running || ::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
      child.running = false;
      --left;
      const int ended = exit_code_of(child, status);
      if (ended == 0 || code != 0) continue;
      code = ended;
      ask = deadline_in(patience_s);
    }
    const Deadline now = std::chrono::steady_clock::now();
    if ((interrupted() || now >= ask) && !handed_on) {
      handed_on = true;
      signal_all(children, SIGTERM);
      // Who was interrupted may save first, however long that takes; who was left alone may not.
      if (now >= ask) kill = deadline_in(grace_s);
    }
    if (now >= kill) signal_all(children, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return code;
}

}  // namespace

Result<int> run_local_ranks(int count) {
  if (count < 1 || count > most_ranks) return Error{"there cannot be " + std::to_string(count) + " ranks", "", {}};
  KW_TRY(const std::vector<std::string> arguments, own_arguments());
  KW_TRY(const std::string secret, new_secret());
  int port = 0;
  {
    KW_TRY(const Listener free, listen_at(0, false));
    port = free.port < 65500 ? free.port : free.port - 100;
  }
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  const std::string size = std::to_string(count);
  for (const std::string& variable :
       {"WORLD_SIZE=" + size, "LOCAL_WORLD_SIZE=" + size, std::string("MASTER_ADDR=127.0.0.1"),
        "MASTER_PORT=" + std::to_string(port), "KERNELWRIGHT_RANKS_SECRET=" + secret})
    environment.push_back(variable);
  std::vector<Child> children;
  for (int rank = 0; rank < count; ++rank) {
    auto child = start(rank, arguments, environment);
    if (!child.ok()) {
      signal_all(children, SIGTERM);
      wait_for_all(children);
      return child.error();
    }
    children.push_back(*child);
  }
  return wait_for_all(children);
}

}  // namespace kw
