#pragma once
// Starting this program again as a process of its own namespaces. It has finished nothing yet: it loads what it needs
// and then calls enter_sandbox().

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

struct NamespaceSet {
  bool user = false;
  bool rest = false;       // mount, pid, network, ipc, uts: all or none
  bool container = false;  // instead of both: somebody else's, made for it alone (container_process.h)
  friend bool operator==(const NamespaceSet&, const NamespaceSet&) = default;
};

struct IsolatedProcess {
  pid_t pid = -1;
  NamespaceSet namespaces;
};

// The number that `passed_descriptor` has in the new process.
inline constexpr int passed_descriptor_number = 3;

// The arguments that tell the new process which namespaces it is in: --namespaces=user,rest or --namespaces=container
inline constexpr const char* namespaces_argument = "--namespaces=";
NamespaceSet namespaces_from_argument(const std::string& argument);

struct SpawnOptions {
  std::vector<std::string> arguments;  // argv[1...]; the namespaces argument is appended
  std::vector<std::string> environment = {};
  int passed_descriptor = -1;
  bool namespaces = true;      // false: the weaker mode, for tests and for machines that forbid them
  bool user_namespace = true;  // false: only root can have the others then
  // For a container:
  std::uint64_t memory_bytes = 0;     // of all its processes; 0: what is usual
  std::string not_in_container = {};  // what it would be, in words, where it cannot be in one
};

// Executes this program again, or the one in an image where containers are wanted; in a build with sanitizers, one
// without. The new process gets SIGKILL when the calling THREAD ends, so call it from one that lives as long as the
// process should. Safe in a program with threads.
Result<IsolatedProcess> spawn_isolated(const SpawnOptions& options);

// For a process with one thread that will fork next: its children are in the new namespaces.
NamespaceSet unshare_namespaces();

}  // namespace kw
