#include "kernel/sandbox/protection.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "kernel/sandbox/isolated_process.h"
#include "kernel/sandbox/sandbox.h"

namespace kw {
namespace {

struct LayerText {
  const char* name;
  bool Protection::*flag;
  const char* active;
  const char* missing;
};

constexpr std::array<LayerText, 10> texts = {{
    {"own_user", &Protection::own_user, "runs as a user that has no rights outside",
     "runs as the same user as this program; user namespaces are not allowed here"},
    {"own_processes", &Protection::own_processes, "sees no process but its own",
     "could see other processes, though the system-call filter refuses to signal or trace them"},
    {"no_network", &Protection::no_network, "has no network interface at all",
     "shares the network, though the system-call filter refuses sockets"},
    {"own_ipc", &Protection::own_ipc, "shares no memory segment or queue with the machine",
     "shares the IPC name space, though the system-call filter refuses its calls"},
    {"empty_root", &Protection::empty_root, "its file system is an empty read-only folder",
     "files exist for it (an image's in a container, else the machine's), though the system-call filter refuses to "
     "open "
     "any"},
    {"no_capabilities", &Protection::no_capabilities, "holds no capability", "still holds capabilities"},
    {"no_new_privileges", &Protection::no_new_privileges, "cannot gain rights through set-uid programs",
     "could gain rights through set-uid programs"},
    {"landlock", &Protection::landlock, "the kernel refuses every path a second time, by Landlock",
     "this kernel has no Landlock; the other layers keep files out"},
    {"syscall_filter", &Protection::syscall_filter,
     "may use only the system calls of a compiler that is already loaded",
     "may use every system call: do not compile what you do not trust"},
    {"limits", &Protection::limits, "memory, CPU time, output and descriptors are limited",
     "resource limits could not be set"},
}};

}  // namespace

unsigned to_bits(const Protection& protection) {
  unsigned bits = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) bits |= (protection.*texts[i].flag ? 1u : 0u) << i;
  return bits;
}

Protection protection_from_bits(unsigned bits) {
  Protection protection;
  for (std::size_t i = 0; i < texts.size(); ++i) protection.*texts[i].flag = ((bits >> i) & 1u) != 0;
  return protection;
}

std::vector<ProtectionLayer> layers(const Protection& protection) {
  std::vector<ProtectionLayer> list;
  for (const LayerText& text : texts) {
    const bool active = protection.*text.flag;
    list.push_back({text.name, active, active ? text.active : text.missing});
  }
  return list;
}

std::string summary(const Protection& protection) {
  if (protection.full()) return "full";
  std::string line = "weaker:";
  const char* separator = " ";
  for (const LayerText& text : texts) {
    if (protection.*text.flag) continue;
    line += separator + ("no " + std::string(text.name));
    separator = ", ";
  }
  return line;
}

Protection probe_protection() {
  std::array<int, 2> channel{};
  if (::pipe2(channel.data(), O_CLOEXEC) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    // A pid namespace begins with the next child, so one more fork.
    const NamespaceSet entered = unshare_namespaces();
    const pid_t inner = ::fork();
    if (inner == 0) {
      const Result<Protection> protection = enter_sandbox({.keep_descriptor = channel[1]}, entered);
      const unsigned bits = protection ? to_bits(*protection) : 0;
      const bool sent = ::write(channel[1], &bits, sizeof bits) == sizeof bits;
      ::_exit(sent ? 0 : 1);
    }
    int status = 0;
    while (inner > 0 && ::waitpid(inner, &status, 0) < 0 && errno == EINTR) {
    }
    ::_exit(0);
  }
  ::close(channel[1]);
  unsigned bits = 0;
  ssize_t count = 0;
  do count = ::read(channel[0], &bits, sizeof bits);
  while (count < 0 && errno == EINTR);
  ::close(channel[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return count == sizeof bits ? protection_from_bits(bits) : Protection{};
}

}  // namespace kw
