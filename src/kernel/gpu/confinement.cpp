#include "kernel/gpu/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "kernel/gpu/driver_files.h"
#include "kernel/sandbox/private_root.h"
#include "kernel/sandbox/sandbox.h"
#include "kernel/sandbox/syscall_filter.h"

namespace kw {
namespace {

// What the driver says on its standard streams goes to nobody: a kernel that owns the process could write anything.
void silence() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  for (int standard = 0; standard <= 2; ++standard) ::dup2(null, standard);
  ::close(null);
}

}  // namespace

Confinement weaker_than(Confinement confinement) {
  return confinement == Confinement::own_user ? Confinement::own_root : Confinement::filter;
}

const char* name_of(Confinement confinement) {
  switch (confinement) {
    case Confinement::filter:
      return "filter";
    case Confinement::own_root:
      return "own_root";
    case Confinement::own_user:
      return "own_user";
  }
  return "filter";
}

Confinement confinement_from(const std::string& name) {
  for (const Confinement each : {Confinement::filter, Confinement::own_root})
    if (name == name_of(each)) return each;
  return Confinement::own_user;
}

Confinement wanted_confinement() {
  // Debuggers and sanitizers talk to the process from outside.
  const char* debugged = std::getenv("KERNELWRIGHT_GPU_DEBUG");
  if (debugged != nullptr && *debugged == '1') return Confinement::filter;
  const char* asked = std::getenv("KERNELWRIGHT_GPU_SANDBOX");
  return confinement_from(asked != nullptr ? asked : "");
}

bool needs_namespaces(Confinement confinement) { return confinement != Confinement::filter; }

Result<Confined> confine_gpu_worker(Confinement wanted, const NamespaceSet& namespaces) {
  // Made first: it needs memory files.
  KW_TRY(const SyscallFilter filter, SyscallFilter::make(FilterRole::device));
  std::string why_files;
  if (!needs_namespaces(wanted)) {
    why_files = "not asked for";
  } else if (!namespaces.rest) {
    why_files = "namespaces are not allowed here";
  } else {
    silence();
    const auto entered = enter_private_root(driver_files(), ::getpid() == 1);
    if (!entered.ok()) why_files = entered.error().message;
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error{"not confined: no_new_privs failed", "", {}};
  // Without namespaces the worker keeps its user's rights: reading hardware counters needs them.
  const bool no_rights = namespaces.rest && drop_capabilities();
  ::prctl(PR_SET_DUMPABLE, 0);
  // Changing credentials has cleared it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  KW_TRY_VOID(filter.install());

  Confined confined;
  confined.full = why_files.empty() && no_rights && ::getpid() == 1;
  if (namespaces.rest)
    confined.description = std::string("own ") + (namespaces.user ? "user, " : "") + "processes, network and IPC; ";
  confined.description +=
      why_files.empty() ? "the driver's files alone; " : "this user's files are visible (" + why_files + "); ";
  confined.description += no_rights ? "no capabilities, system-call filter" : "system-call filter";
  return confined;
}

}  // namespace kw
