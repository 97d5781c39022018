#include "kernel/sandbox/syscall_filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace kw {
namespace {

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

// What NVRTC 13.0 was seen to call (strace over compilations that succeed, fail and crash), and what the C library
// calls around it.
constexpr std::initializer_list<const char*> for_every_role = {
    "brk",
    "munmap",
    "mremap",
    "madvise",
    "futex",
    "futex_waitv",
    "membarrier",
    "read",
    "write",
    "readv",
    "writev",
    "close",
    "lseek",
    "fstat",
    "exit",
    "exit_group",
    "restart_syscall",
    "rt_sigreturn",
    "rt_sigprocmask",
    "rt_sigaction",
    "sigaltstack",
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "getrusage",
    "gettid",
    "getpid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getcwd",
    "uname",
    "sysinfo",
    "sched_yield",
    "sched_getaffinity",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "getrandom",
    "set_robust_list",
    "rseq",
    "set_tid_address",
};

constexpr std::initializer_list<const char*> for_the_service = {
    "wait4", "waitid", "kill",    "pipe2",     "poll",      "ppoll",    "close_range", "dup",    "dup2",    "dup3",
    "fcntl", "prctl",  "seccomp", "setrlimit", "getrlimit", "recvfrom", "recvmsg",     "sendto", "sendmsg",
};

// Answering over a socket that is open already.
constexpr std::initializer_list<const char*> for_talking = {"recvfrom", "recvmsg", "sendto",
                                                            "sendmsg",  "poll",    "ppoll"};

// The compiler looks for files by name before it believes that a header is given in memory. For it there are none.
constexpr std::initializer_list<const char*> file_calls = {
    "open",  "openat", "openat2",   "creat",      "stat",     "lstat",      "newfstatat",
    "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
};

// No compiler asks for these: who does is no longer a compiler, and ends here.
constexpr std::initializer_list<const char*> hostile_calls = {
    "socket",
    "socketpair",
    "connect",
    "bind",
    "execve",
    "execveat",
    "ptrace",
    "bpf",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "fsopen",
    "move_mount",
    "open_tree",
    "unshare",
    "setns",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "keyctl",
    "add_key",
    "request_key",
    "userfaultfd",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "perf_event_open",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "reboot",
    "swapon",
    "name_to_handle_at",
    "open_by_handle_at",
    "memfd_create",
    "memfd_secret",
    "shmget",
    "shmat",
    "msgget",
    "semget",
    "mq_open",
    "personality",
    "modify_ldt",
    "vfork",
};

Error failed(const char* what, int code) {
  return Error{std::string("cannot make the system-call filter: ") + what + ": " + std::strerror(-code), "", {}};
}

class Rules {
 public:
  explicit Rules(Context& context) : context_(context.get()) {}

  void add(std::uint32_t action, std::initializer_list<const char*> names) {
    for (const char* name : names) add(action, name);
  }

  template <class... Conditions>
  void add(std::uint32_t action, const char* name, Conditions... conditions) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR) return;  // newer than the library; falls under the default
    const std::array<scmp_arg_cmp, sizeof...(conditions)> list{conditions...};
    const int code = seccomp_rule_add_array(context_, action, number, sizeof...(conditions), list.data());
    if (code != 0 && error_ == 0) error_ = code;
  }

  int error() const { return error_; }

 private:
  scmp_filter_ctx context_;
  int error_ = 0;
};

Result<std::vector<sock_filter>> exported(const Context& context) {
  const int file = ::memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) return failed("memfd_create", -errno);
  int code = seccomp_export_bpf(context.get(), file);
  const off_t bytes = code == 0 ? ::lseek(file, 0, SEEK_END) : -1;
  std::vector<sock_filter> program;
  if (bytes > 0 && bytes % static_cast<off_t>(sizeof(sock_filter)) == 0) {
    program.resize(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
    if (::pread(file, program.data(), static_cast<std::size_t>(bytes), 0) != bytes) code = -EIO;
  } else if (code == 0) {
    code = -EIO;
  }
  ::close(file);
  if (code != 0) return failed("export", code);
  return program;
}

}  // namespace

// The driver is a black box that goes on opening its device files, mapping memory and making threads. What it was never
// seen to need is refused; a new program or a new socket would be the way out of this process.
Result<SyscallFilter> SyscallFilter::make_for_device(bool starts_programs) {
  Context context(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (context == nullptr) return failed("init", -ENOMEM);
  Rules rules(context);
  const auto allowed = [&](std::string_view name) {
    return name == "memfd_create" || (starts_programs && (name == "execve" || name == "vfork"));
  };
  for (const char* name : hostile_calls)
    if (!allowed(name)) rules.add(SCMP_ACT_ERRNO(EPERM), name);
  if (rules.error() != 0) return failed("rule", rules.error());
  SyscallFilter filter;
  KW_TRY(filter.program_, exported(context));
  return filter;
}

Result<SyscallFilter> SyscallFilter::make(FilterRole role) {
  if (role == FilterRole::device || role == FilterRole::programs) return make_for_device(role == FilterRole::programs);
  Context context(seccomp_init(SCMP_ACT_ERRNO(EPERM)), &seccomp_release);
  if (context == nullptr) return failed("init", -ENOMEM);
  Rules rules(context);
  rules.add(SCMP_ACT_ALLOW, for_every_role);
  rules.add(SCMP_ACT_ERRNO(ENOENT), file_calls);
  rules.add(SCMP_ACT_KILL_PROCESS, hostile_calls);

  const bool writes_code = role == FilterRole::reference || role == FilterRole::reference_service;
  for (const char* name : {"mmap", "mprotect"}) {
    if (writes_code) {
      rules.add(SCMP_ACT_ALLOW, name);
    } else {
      // No new executable memory: the compiler writes code for another machine.
      rules.add(SCMP_ACT_ALLOW, name, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    }
  }
  // Limits of this process only; NVRTC reads and raises its stack limit. The hard limits hold.
  rules.add(SCMP_ACT_ALLOW, "prlimit64", scmp_arg_cmp{0, SCMP_CMP_EQ, 0, 0});

  // clone3 hides its flags behind a pointer; "unknown call" makes the C library use clone.
  rules.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  if (role == FilterRole::reference) rules.add(SCMP_ACT_ALLOW, for_talking);
  if (role == FilterRole::service || role == FilterRole::reference_service) {
    rules.add(SCMP_ACT_ALLOW, for_the_service);
    constexpr unsigned namespaces =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    rules.add(SCMP_ACT_ALLOW, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
  }
  if (rules.error() != 0) return failed("rule", rules.error());

  SyscallFilter filter;
  KW_TRY(filter.program_, exported(context));
  return filter;
}

Result<void> SyscallFilter::install() const {
  const sock_fprog program{static_cast<unsigned short>(program_.size()), const_cast<sock_filter*>(program_.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return failed("install", -errno);
  }
  return {};
}

}  // namespace kw
