#pragma once
// What stands between an untrusted program and this machine, layer by layer, as found on this machine.

#include <string>
#include <vector>

namespace kw {

struct Protection {
  bool own_user = false;       // user namespace: root inside is nobody outside
  bool own_processes = false;  // pid namespace: sees and signals only its own children, and dies with its first process
  bool no_network = false;     // network namespace without any interface
  bool own_ipc = false;        // no shared memory, message queues or host name of the machine
  bool empty_root = false;     // the file system is an empty, read-only folder
  bool no_capabilities = false;
  bool no_new_privileges = false;
  bool landlock = false;        // the kernel refuses every path, a second time
  bool syscall_filter = false;  // seccomp: only the calls that a loaded compiler needs
  bool limits = false;          // memory, CPU time, file size, descriptors

  // Everything that matters is there. Without namespaces the filter and the limits still hold: "weaker".
  bool full() const {
    return own_user && own_processes && no_network && empty_root && no_new_privileges && syscall_filter && limits;
  }

  friend bool operator==(const Protection&, const Protection&) = default;
};

// As bits, to send it through a pipe.
unsigned to_bits(const Protection& protection);
Protection protection_from_bits(unsigned bits);

struct ProtectionLayer {
  std::string name;
  bool active = false;
  std::string meaning;  // one sentence: what it keeps out, or what its absence means
};

std::vector<ProtectionLayer> layers(const Protection& protection);

// "full", or "weaker: no own_processes, no empty_root".
std::string summary(const Protection& protection);

// Tries it out in a child process that enters a sandbox and ends.
Protection probe_protection();

}  // namespace kw
