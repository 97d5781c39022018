#include "kernel/sandbox/isolated_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kernel/sandbox/container_process.h"

namespace kw {
namespace {

#ifdef KW_WORKER_PROGRAM  // in builds with sanitizers: see CMakeLists.txt
constexpr const char* worker_program = KW_WORKER_PROGRAM;
#else
constexpr const char* worker_program = "/proc/self/exe";
#endif

constexpr int other_namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

// Only async-signal-safe calls: this runs between clone and exec of a program that may have threads.
bool write_small_file(const char* path, const char* text, std::size_t bytes) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text, bytes) == static_cast<ssize_t>(bytes);
  ::close(file);
  return written;
}

std::size_t print_number(char* out, unsigned long value) {
  std::array<char, 24> digits{};
  std::size_t count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  for (std::size_t i = 0; i < count; ++i) out[i] = digits[count - 1 - i];
  return count;
}

// Root inside is the present user outside, the only mapping that an ordinary user may make.
void map_root_to(const char* path, unsigned long id) {
  std::array<char, 48> line{'0', ' '};
  std::size_t used = 2 + print_number(line.data() + 2, id);
  line[used++] = ' ';
  line[used++] = '1';
  write_small_file(path, line.data(), used);
}

void map_identities(uid_t uid, gid_t gid) {
  map_root_to("/proc/self/uid_map", uid);
  write_small_file("/proc/self/setgroups", "deny", 4);
  map_root_to("/proc/self/gid_map", gid);
}

pid_t fork_into(int namespace_flags) {
  return static_cast<pid_t>(
      ::syscall(SYS_clone, static_cast<unsigned long>(namespace_flags | SIGCHLD), nullptr, nullptr, nullptr, nullptr));
}

struct Attempt {
  int flags;
  NamespaceSet entered;
};

// Best first: with a user namespace it works for ordinary users; root in a container may have to do without one.
constexpr std::array<Attempt, 3> attempts = {{
    {CLONE_NEWUSER | other_namespaces, {true, true, false}},
    {other_namespaces, {false, true, false}},
    {0, {}},
}};

[[noreturn]] void become(char* const* argv, char* const* envp, int descriptor, const NamespaceSet& entered, uid_t uid,
                         gid_t gid) {
  if (entered.user) map_identities(uid, gid);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (descriptor >= 0) {
    // dup2 onto itself would keep close-on-exec, so go through a copy above it.
    const int copy = ::fcntl(descriptor, F_DUPFD, passed_descriptor_number + 1);
    if (copy < 0 || ::dup2(copy, passed_descriptor_number) < 0) ::_exit(126);
  }
  ::syscall(SYS_close_range, passed_descriptor_number + 1, ~0u, 0);
  ::execve(worker_program, argv, envp);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

NamespaceSet namespaces_from_argument(const std::string& argument) {
  const auto names = [&](const char* name) { return argument.find(name) != std::string::npos; };
  return {names("user"), names("rest"), names("container")};
}

Result<IsolatedProcess> spawn_isolated(const SpawnOptions& options) {
  if (containers_are_wanted()) return spawn_in_container(options);
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  std::vector<std::string> environment = options.environment;
  const std::vector<char*> envp = pointers(environment);
  for (const Attempt& attempt : attempts) {
    if (!options.namespaces && attempt.flags != 0) continue;
    if (!options.user_namespace && attempt.entered.user) continue;
    std::vector<std::string> arguments = options.arguments;
    arguments.insert(arguments.begin(), "kernelwright");
    arguments.push_back(namespaces_argument + std::string(attempt.entered.user ? "user," : "") +
                        (attempt.entered.rest ? "rest" : ""));
    const std::vector<char*> argv = pointers(arguments);
    const pid_t pid = fork_into(attempt.flags);
    if (pid == 0) become(argv.data(), envp.data(), options.passed_descriptor, attempt.entered, uid, gid);
    if (pid > 0) return IsolatedProcess{pid, attempt.entered};
  }
  return Error{std::string("cannot start a process: ") + std::strerror(errno), "", {}};
}

NamespaceSet unshare_namespaces() {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  for (const Attempt& attempt : attempts) {
    if (attempt.flags == 0 || ::unshare(attempt.flags) != 0) continue;
    if (attempt.entered.user) map_identities(uid, gid);
    return attempt.entered;
  }
  return {};
}

}  // namespace kw
