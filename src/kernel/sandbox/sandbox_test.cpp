// Each test goes into a sandbox in a child process, tries something there, and looks at how the child ended.
#include "kernel/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>

#include "base/file.h"

namespace kw {
namespace {

constexpr int entering_failed = 99;

struct Ending {
  int exit_code = -1;
  int signal = 0;
};

// `attempt` runs inside; its return value becomes the exit code.
Ending inside(FilterRole role, bool namespaces, const std::function<int()>& attempt) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    const NamespaceSet entered = namespaces ? unshare_namespaces() : NamespaceSet{};
    const pid_t inner = ::fork();
    if (inner == 0) {
      if (!enter_sandbox({.keep_descriptor = -1, .role = role}, entered)) ::_exit(entering_failed);
      ::_exit(attempt());
    }
    int status = 0;
    ::waitpid(inner, &status, 0);
    if (WIFSIGNALED(status)) {
      ::signal(WTERMSIG(status), SIG_DFL);
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      ::kill(::getpid(), WTERMSIG(status));
    }
    ::_exit(WEXITSTATUS(status));
  }
  int status = 0;
  ::waitpid(outer, &status, 0);
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

// 0 when the call failed, as it should inside.
int refused(long result) { return result < 0 ? 0 : 1; }

class Sandbox : public testing::TestWithParam<bool> {
 protected:
  Ending compiler(const std::function<int()>& attempt) { return inside(FilterRole::compiler, GetParam(), attempt); }
};

void expect_refused(const Ending& ending) {
  if (ending.signal != 0) {
    EXPECT_EQ(ending.signal, SIGSYS);
  } else {
    EXPECT_EQ(ending.exit_code, 0);
  }
}

TEST_P(Sandbox, OrdinaryWorkGoesOn) {
  const Ending ending = compiler([] {
    void* memory = std::malloc(64u << 20);
    if (memory == nullptr) return 1;
    static_cast<char*>(memory)[12345] = 1;
    std::free(memory);
    timespec now{};
    return ::clock_gettime(CLOCK_MONOTONIC, &now) == 0 && ::getpid() > 0 ? 0 : 2;
  });
  EXPECT_EQ(ending.exit_code, 0);
}

TEST_P(Sandbox, NoFileCanBeOpened) {
  TemporaryFolder folder;
  const std::string secret = folder.path() / "secret";
  ASSERT_TRUE(write_file_atomic(secret, "planted"));
  for (const std::string& path : {secret, std::string("/etc/passwd"), std::string("/proc/self/environ"),
                                  std::string("/proc/1/maps"), std::string("/"), std::string(".")}) {
    expect_refused(compiler([&] { return refused(::open(path.c_str(), O_RDONLY)); }));
    expect_refused(compiler([&] { return refused(::syscall(SYS_open, path.c_str(), O_RDONLY)); }));
    expect_refused(compiler([&] {
      struct stat status {};
      return refused(::stat(path.c_str(), &status));
    }));
  }
}

TEST_P(Sandbox, NothingCanBeWritten) {
  TemporaryFolder folder;
  const std::string target = folder.path() / "written";
  expect_refused(compiler([&] { return refused(::open(target.c_str(), O_WRONLY | O_CREAT, 0600)); }));
  expect_refused(compiler([&] { return refused(::creat(target.c_str(), 0600)); }));
  expect_refused(compiler([&] { return refused(::mkdir(target.c_str(), 0700)); }));
  expect_refused(compiler([&] { return refused(::symlink("/etc/passwd", target.c_str())); }));
  expect_refused(compiler([&] { return refused(::unlink(target.c_str())); }));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_P(Sandbox, HostileCallsEndTheProcess) {
  EXPECT_EQ(compiler([] { return refused(::socket(AF_INET, SOCK_STREAM, 0)); }).signal, SIGSYS);
  EXPECT_EQ(compiler([] { return refused(::socket(AF_UNIX, SOCK_STREAM, 0)); }).signal, SIGSYS);
  EXPECT_EQ(compiler([] {
              char* const none[] = {nullptr};
              return refused(::execve("/bin/true", none, none));
            }).signal,
            SIGSYS);
  EXPECT_EQ(compiler([] { return refused(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }).signal, SIGSYS);
  EXPECT_EQ(compiler([] { return refused(::syscall(SYS_io_uring_setup, 8, nullptr)); }).signal, SIGSYS);
  EXPECT_EQ(compiler([] { return refused(::unshare(0)); }).signal, SIGSYS);
  EXPECT_EQ(compiler([] { return refused(::syscall(SYS_bpf, 0, nullptr, 0)); }).signal, SIGSYS);
}

TEST_P(Sandbox, NoNewProcessAndNoSignal) {
  const pid_t test = ::getpid();
  expect_refused(compiler([] { return refused(::fork()); }));
  expect_refused(compiler([=] { return refused(::kill(test, 0)); }));
  expect_refused(compiler([] { return refused(::kill(1, 0)); }));
  expect_refused(compiler([] { return refused(::kill(-1, 0)); }));
  expect_refused(compiler([=] { return refused(::syscall(SYS_tgkill, test, test, 0)); }));
  expect_refused(compiler([=] {
    const rlimit zero{0, 0};
    return refused(::prlimit(test, RLIMIT_CPU, &zero, nullptr));
  }));
}

TEST_P(Sandbox, NoExecutableMemory) {
  expect_refused(compiler([] {
    void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? 0 : 1;
  }));
  expect_refused(compiler([] {
    void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return refused(::mprotect(page, 4096, PROT_READ | PROT_EXEC));
  }));
}

TEST_P(Sandbox, EnvironmentAndDescriptorsAreGone) {
  ::setenv("KW_TEST_SECRET", "planted", 1);
  const int open_file = ::open("/etc/passwd", O_RDONLY);
  ASSERT_GE(open_file, 0);
  EXPECT_EQ(compiler([=] {
              char byte = 0;
              return ::getenv("KW_TEST_SECRET") == nullptr && ::read(open_file, &byte, 1) < 0 ? 0 : 1;
            }).exit_code,
            0);
  ::close(open_file);
  ::unsetenv("KW_TEST_SECRET");
}

TEST_P(Sandbox, MemoryLimitHolds) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the address sanitizer reserves more than any limit";
#endif
#endif
  EXPECT_EQ(compiler([] {
              if (!limit_this_process({.memory_bytes = 256u << 20, .cpu_seconds = 0})) return 1;
              return std::malloc(512u << 20) == nullptr ? 0 : 2;
            }).exit_code,
            0);
}

TEST_P(Sandbox, CpuLimitHolds) {
  const Ending ending = compiler([] {
    if (!limit_this_process({.memory_bytes = 0, .cpu_seconds = 1})) return 1;
    volatile unsigned spin = 0;
    for (;;) spin = spin ^ 1;
  });
  // The first process of a pid namespace is spared every default action but the last; a compilation never is the first.
  EXPECT_EQ(ending.signal, GetParam() ? SIGKILL : SIGXCPU);
}

TEST_P(Sandbox, ForkBombStaysOut) {
  // The service may fork, the compiler may not; even the service cannot leave its namespaces.
  expect_refused(inside(FilterRole::service, GetParam(), [] { return refused(::unshare(CLONE_NEWUSER)); }));
  expect_refused(compiler([] {
    int made = 0;
    for (int i = 0; i < 1000; ++i) made += ::fork() >= 0 ? 1 : 0;
    return made == 0 ? 0 : 1;
  }));
}

INSTANTIATE_TEST_SUITE_P(Modes, Sandbox, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Namespaces" : "WeakerMode"; });

TEST(ProtectionLayers, ProbeFindsTheFilterAndSaysWhatIsMissing) {
  const Protection found = probe_protection();
  EXPECT_TRUE(found.syscall_filter);
  EXPECT_TRUE(found.no_new_privileges);
  EXPECT_TRUE(found.limits);
  EXPECT_EQ(protection_from_bits(to_bits(found)), found);
  EXPECT_EQ(summary(found) == "full", found.full());
  for (const ProtectionLayer& layer : layers(found)) EXPECT_FALSE(layer.meaning.empty()) << layer.name;
  EXPECT_EQ(summary(Protection{}).rfind("weaker: no own_user", 0), 0u);
}

TEST(ProtectionLayers, ServiceInItsNamespacesSeesOnlyItself) {
  if (!probe_protection().own_processes) GTEST_SKIP() << "namespaces are not allowed here";
  EXPECT_EQ(inside(FilterRole::service, true, [] { return static_cast<int>(::getpid()); }).exit_code, 1);
  const pid_t test = ::getpid();
  EXPECT_EQ(inside(FilterRole::service, true, [=] { return refused(::kill(test, 0)); }).exit_code, 0);
}

}  // namespace
}  // namespace kw
