#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>

extern char** environ;

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
};

// A write to a child that has gone must be an error code here, not a signal that ends the program. Blocked for this
// thread only, since several may run children at once.
class PipeSignalBlock {
 public:
  PipeSignalBlock() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlock() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlock(const PipeSignalBlock&) = delete;
  PipeSignalBlock& operator=(const PipeSignalBlock&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

void set_limit(int resource, rlim_t value) {
  const struct rlimit limit {
    value, value
  };
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Between fork and exec only async-signal-safe calls are allowed, so everything is prepared before.
[[noreturn]] void become_child(char* const* arguments, char* const* environment, const char* folder, Pipe& input,
                               Pipe& output, Pipe& errors, Pipe& start_failure, const ChildLimits& limits) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input.read_end, STDIN_FILENO);
  ::dup2(output.write_end, STDOUT_FILENO);
  ::dup2(errors.write_end, STDERR_FILENO);
  ::signal(SIGPIPE, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  if (limits.cpu) set_limit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu->count()));
  if (limits.memory_bytes) set_limit(RLIMIT_AS, *limits.memory_bytes);
  if (*folder == '\0' || ::chdir(folder) == 0) ::execvpe(arguments[0], arguments, environment);
  const int reason = errno;
  [[maybe_unused]] const auto told = ::write(start_failure.write_end, &reason, sizeof reason);
  ::_exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Reads what is there; returns false at the end of the stream or past the limit.
enum class ReadState { open, ended, over_limit };
ReadState drain(int fd, std::string& into, std::size_t limit) {
  std::array<char, 65536> chunk;
  const ssize_t count = ::read(fd, chunk.data(), chunk.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? ReadState::open : ReadState::ended;
  if (count == 0) return ReadState::ended;
  const std::size_t room = limit - into.size();
  into.append(chunk.data(), std::min(room, static_cast<std::size_t>(count)));
  return static_cast<std::size_t>(count) > room ? ReadState::over_limit : ReadState::open;
}

}  // namespace

Result<ChildOutcome> run_child(const ChildCommand& command, const ChildLimits& limits) {
  KW_CHECK(!command.arguments.empty());
  std::vector<std::string> argument_texts = command.arguments;
  std::vector<std::string> environment_texts = command.extra_environment;
  // clearenv() leaves none at all.
  for (char** entry = environ; entry && *entry; ++entry) environment_texts.emplace_back(*entry);
  const std::vector<char*> arguments = pointers_to(argument_texts);
  const std::vector<char*> environment = pointers_to(environment_texts);

  Pipe input, output, errors, start_failure;
  if (!input.open() || !output.open() || !errors.open() || !start_failure.open()) {
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno), "", {}};
  }
  const auto started = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) return Error{std::string("cannot start a process: ") + std::strerror(errno), "", {}};
  if (child == 0) {
    become_child(arguments.data(), environment.data(), command.folder.c_str(), input, output, errors, start_failure,
                 limits);
  }
  ::setpgid(child, child);  // also here, so that the group exists before we might have to kill it
  Pipe::close_end(input.read_end);
  Pipe::close_end(output.write_end);
  Pipe::close_end(errors.write_end);
  Pipe::close_end(start_failure.write_end);
  for (const int fd : {input.write_end, output.read_end, errors.read_end}) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }

  ChildOutcome outcome;
  bool killed = false;
  const auto kill_group = [&](ChildEnd why) {
    if (!killed) outcome.end = why;
    killed = true;
    ::kill(-child, SIGKILL);
  };
  int start_error = 0;
  const bool start_failed = ::read(start_failure.read_end, &start_error, sizeof start_error) == sizeof start_error;

  const PipeSignalBlock no_pipe_signal;
  std::size_t input_written = 0;
  const auto deadline = started + limits.wall;
  while (!start_failed && (output.read_end >= 0 || errors.read_end >= 0)) {
    if (input.write_end >= 0 && input_written == command.input.size()) Pipe::close_end(input.write_end);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      kill_group(ChildEnd::deadline);
      break;
    }
    std::array<pollfd, 3> waits{
        {{output.read_end, POLLIN, 0}, {errors.read_end, POLLIN, 0}, {input.write_end, POLLOUT, 0}}};
    ::poll(waits.data(), waits.size(), static_cast<int>(std::min<long long>(left, 1000)));
    for (const auto& [wait, fd, text] : {std::tuple{&waits[0], &output.read_end, &outcome.output},
                                         std::tuple{&waits[1], &errors.read_end, &outcome.error_output}}) {
      if (*fd < 0 || wait->revents == 0) continue;
      const ReadState state = drain(*fd, *text, limits.output_bytes);
      if (state == ReadState::over_limit) kill_group(ChildEnd::output_limit);
      if (state != ReadState::open) Pipe::close_end(*fd);
    }
    if (input.write_end >= 0 && waits[2].revents != 0) {
      const ssize_t count =
          ::write(input.write_end, command.input.data() + input_written, command.input.size() - input_written);
      if (count > 0) input_written += static_cast<std::size_t>(count);
      if (count < 0 && errno != EINTR && errno != EAGAIN) Pipe::close_end(input.write_end);
    }
  }

  // The streams may be closed while the child still runs: the deadline holds for that too.
  int status = 0;
  struct rusage usage {};
  for (;;) {
    const pid_t done = ::wait4(child, &status, killed ? 0 : WNOHANG, &usage);
    if (done == child || (done < 0 && errno != EINTR)) break;
    if (done == 0) {
      if (Clock::now() >= deadline) kill_group(ChildEnd::deadline);
      ::usleep(1000);
    }
  }
  ::kill(-child, SIGKILL);  // what the child may have left behind in its group
  if (start_failed) {
    return Error{"cannot start " + command.arguments[0] + ": " + std::strerror(start_error), "", {}};
  }
  outcome.wall_s = std::chrono::duration<double>(Clock::now() - started).count();
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  outcome.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  outcome.peak_memory_bytes = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  if (!killed && WIFSIGNALED(status)) {
    outcome.end = ChildEnd::signalled;
    outcome.signal_number = WTERMSIG(status);
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

}  // namespace kw
