#include "kernel/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kw {
namespace {

Error failed(const char* what) { return Error{std::string("cannot ") + what + ": " + std::strerror(errno), "", {}}; }

// An empty tmpfs becomes the root and the old one is let go of.
bool leave_file_system() {
  // Any folder will do as the place to mount on; the sandbox never sees it.
  for (const char* place : {"/tmp", "/proc", "/dev"}) {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    if (::mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,nr_inodes=2,mode=0555") != 0)
      continue;
    if (::chdir(place) != 0) return false;
    if (::syscall(SYS_pivot_root, ".", ".") != 0) return false;
    if (::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) return false;
    return ::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                   nullptr) == 0;
  }
  return false;
}

// A rule set that handles every kind of access and allows no path.
bool forbid_paths_by_landlock() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of version 1
  const int ruleset =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0));
  if (ruleset < 0) return false;
  const bool restricted = ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return restricted;
}

bool keep_only(int descriptor) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; ++standard) {
    if (standard == descriptor) return false;
    // Without /dev/null the number stays closed, and a later pipe could take it; so that is a failure.
    if (null < 0 || ::dup2(null, standard) < 0) return false;
  }
  if (descriptor < 0) return ::syscall(SYS_close_range, 3, ~0u, 0) == 0;
  if (descriptor > 3 && ::syscall(SYS_close_range, 3, descriptor - 1, 0) != 0) return false;
  return ::syscall(SYS_close_range, descriptor + 1, ~0u, 0) == 0;
}

bool set_limit(int which, rlim_t value) {
  const rlimit limit{value, value};
  return ::setrlimit(static_cast<__rlimit_resource>(which), &limit) == 0;
}

}  // namespace

bool drop_capabilities() {
  for (int capability = 0; capability <= 63; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno == EINVAL) break;
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

Result<Protection> enter_sandbox(const SandboxOptions& options, const NamespaceSet& namespaces) {
  // Made first: it needs memory files and allocation.
  KW_TRY(const SyscallFilter filter, SyscallFilter::make(options.role));

  if (!keep_only(options.keep_descriptor)) return failed("close the other descriptors");
  ::clearenv();
  ::setsid();
  ::umask(0077);

  Protection protection;
  protection.own_user = namespaces.user || namespaces.container;
  protection.own_processes = (namespaces.rest && ::getpid() == 1) || namespaces.container;
  protection.no_network = namespaces.rest || namespaces.container;
  protection.own_ipc = namespaces.rest || namespaces.container;
  protection.empty_root = namespaces.rest && leave_file_system();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("give up new privileges");
  protection.no_new_privileges = true;
  protection.landlock = forbid_paths_by_landlock();
  protection.no_capabilities = drop_capabilities();

  protection.limits = set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_FSIZE, 0) && set_limit(RLIMIT_NOFILE, 32) &&
                      set_limit(RLIMIT_MSGQUEUE, 0) && set_limit(RLIMIT_MEMLOCK, 0);
  if (!protection.limits) return failed("set resource limits");

  // Changing credentials has cleared it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  KW_TRY_VOID(filter.install());
  protection.syscall_filter = true;
  return protection;
}

Result<void> limit_this_process(const ProcessLimits& limits) {
  if (limits.memory_bytes != 0) {
    if (!set_limit(RLIMIT_AS, limits.memory_bytes)) return failed("limit memory");
  }
  if (limits.cpu_seconds != 0) {
    // SIGXCPU first, which nothing else sends; SIGKILL a second later, should that be ignored.
    const rlimit limit{limits.cpu_seconds, limits.cpu_seconds + 1};
    if (::setrlimit(RLIMIT_CPU, &limit) != 0) return failed("limit CPU time");
  }
  return {};
}

}  // namespace kw
