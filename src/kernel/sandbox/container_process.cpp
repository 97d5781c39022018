#include "kernel/sandbox/container_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/transfer.h"
#include "kernel/sandbox/contained_worker.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr auto start_limit = std::chrono::seconds(300);  // a daemon that copies images instead of stacking them
constexpr std::uint64_t default_memory_bytes = std::uint64_t{4} << 30;
// Of this machine, not of the image.
constexpr std::array<std::string_view, 4> not_passed = {
    "LD_LIBRARY_PATH=", "KERNELWRIGHT_CUDA=", "ASAN_OPTIONS=", "UBSAN_OPTIONS="};

Error failed(const std::string& what) { return Error{"cannot " + what + ": " + std::strerror(errno), "", {}}; }

// Where the container's first process meets us: a socket in a folder that is mounted into the container. Others of this
// machine may pass through the folder but not list it, and the socket's name cannot be guessed.
class MeetingPlace {
 public:
  static Result<MeetingPlace> make() {
    std::string pattern = (fs::temp_directory_path() / "kernelwright-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return failed("make a folder in " + pattern);
    MeetingPlace place(pattern);
    if (::chmod(pattern.c_str(), 0711) != 0) return failed("open " + pattern);
    std::random_device random;
    for (int i = 0; i < 4; ++i) place.name_ += std::to_string(random());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = place.folder_ + "/" + place.name_;
    if (path.size() >= sizeof address.sun_path) return Error{"the path of the temporary folder is too long", "", {}};
    path.copy(address.sun_path, path.size());
    place.socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (place.socket_ < 0 || ::bind(place.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::chmod(path.c_str(), 0666) != 0 || ::listen(place.socket_, 1) != 0)
      return failed("listen at " + path);
    return place;
  }
  ~MeetingPlace() {
    if (socket_ >= 0) ::close(socket_);
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
  }
  MeetingPlace(MeetingPlace&& other) noexcept
      : folder_(std::exchange(other.folder_, "")),
        name_(std::move(other.name_)),
        socket_(std::exchange(other.socket_, -1)) {}
  MeetingPlace& operator=(MeetingPlace&&) = delete;

  const std::string& folder() const { return folder_; }
  const std::string& name() const { return name_; }
  int socket() const { return socket_; }
  std::string said_file() const { return folder_ + "/said"; }  // what Docker's client has to say

 private:
  explicit MeetingPlace(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_, name_;
  int socket_ = -1;
};

Result<std::string> find_docker() {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path != nullptr ? path : "/usr/bin"; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string program = std::string(folder) + "/docker";
    if (folder.starts_with("/") && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return Error{"--sandbox docker needs the program docker, which is not in PATH", "use --sandbox namespaces", {}};
}

std::vector<std::string> docker_arguments(const SpawnOptions& options, const MeetingPlace& place) {
  const std::string memory =
      std::to_string(options.memory_bytes != 0 ? options.memory_bytes : default_memory_bytes) + "b";
  const char* image = std::getenv(sandbox_image_variable);
  // The image's own volume and health check are for the service; `--pull never`: a name that is missing here must not
  // be looked for among strangers' images.
  std::vector<std::string> arguments = {"docker",
                                        "run",
                                        "--rm",
                                        "--interactive",
                                        "--pull",
                                        "never",
                                        "--log-driver",
                                        "none",
                                        "--network",
                                        "none",
                                        "--ipc",
                                        "none",
                                        "--read-only",
                                        "--tmpfs",
                                        "/data:ro,size=4k",
                                        "--cap-drop",
                                        "ALL",
                                        "--security-opt",
                                        "no-new-privileges",
                                        "--user",
                                        "65534:65534",
                                        "--workdir",
                                        "/",
                                        "--pids-limit",
                                        "256",
                                        "--memory",
                                        memory,
                                        "--memory-swap",
                                        memory,
                                        "--ulimit",
                                        "core=0",
                                        "--no-healthcheck",
                                        "--label",
                                        "kernelwright=worker"};
  arguments.insert(arguments.end(),
                   {"--mount", "type=bind,src=" + place.folder() + ",dst=" + contained_meeting_folder});
  for (const std::string& variable : options.environment) {
    const bool passed = std::none_of(not_passed.begin(), not_passed.end(),
                                     [&](std::string_view name) { return variable.starts_with(name); });
    if (passed) arguments.insert(arguments.end(), {"--env", variable});
  }
  arguments.insert(arguments.end(), {image != nullptr && *image != 0 ? image : default_sandbox_image,
                                     contained_worker_argument, place.name()});
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  return arguments;
}

// Only async-signal-safe calls: the program may have threads.
[[noreturn]] void become_docker(const char* program, char* const* argv, const char* said_file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::setsid();  // Ctrl-C is for us to act on
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Its standard input is a pipe whose other end it holds itself: it ends when the client does, and with it the
  // container (contained_worker.cpp).
  std::array<int, 2> pipe{};
  const int null = ::open("/dev/null", O_WRONLY);
  const int said = ::open(said_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::pipe(pipe.data()) != 0 || null < 0 || said < 0) ::_exit(126);
  const int kept = ::fcntl(pipe[1], F_DUPFD, 10);
  if (kept < 0 || ::dup2(pipe[0], 0) < 0 || ::dup2(null, 1) < 0 || ::dup2(said, 2) < 0) ::_exit(126);
  ::syscall(SYS_close_range, 3, kept - 1, 0);
  ::syscall(SYS_close_range, kept + 1, ~0u, 0);
  ::execv(program, argv);
  ::_exit(127);
}

Error not_started(const MeetingPlace& place, const std::string& why) {
  std::string said;
  if (const auto text = read_file(place.said_file(), 1u << 16); text.ok()) said = *text;
  while (!said.empty() && std::isspace(static_cast<unsigned char>(said.back())) != 0) said.pop_back();
  return Error{"the container of a worker " + why + (said.empty() ? "" : ": " + said),
               "docs/container.md says how to build its image; --sandbox namespaces needs none",
               {}};
}

// The connection of the container's first process.
Result<int> meet(const MeetingPlace& place, pid_t client) {
  const Deadline deadline = std::chrono::steady_clock::now() + start_limit;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd entry{place.socket(), POLLIN, 0};
    if (::poll(&entry, 1, 100) > 0) {
      const int connection = ::accept4(place.socket(), nullptr, nullptr, SOCK_CLOEXEC);
      if (connection >= 0) return connection;
    }
    siginfo_t ended{};
    if (::waitid(P_PID, static_cast<id_t>(client), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == client)
      return not_started(place, "did not start");
  }
  return not_started(place, "did not start in time");
}

Result<void> hand_over(const MeetingPlace& place, pid_t client, int descriptor) {
  KW_TRY(const int connection, meet(place, client));
  ContainedHello hello{}, expected = contained_hello();
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const bool heard = receive_bytes(connection, &hello, sizeof hello, deadline) == Transfer::done;
  const bool same = heard && std::memcmp(&hello, &expected, sizeof hello) == 0;
  const bool sent = same && send_with_descriptor(connection, &expected.magic, sizeof expected.magic, descriptor);
  ::close(connection);
  if (!heard) return not_started(place, "ended while starting");
  if (!same)
    return Error{std::string("the image holds another version of this program; this one is ") + expected.version.data(),
                 "build the image again (docs/container.md)",
                 {}};
  if (!sent) return not_started(place, "ended while starting");
  return {};
}

}  // namespace

Result<void> choose_sandbox(const std::string& kind) {
  if (kind != "namespaces" && kind != "docker")
    return Error{"there is no sandbox '" + kind + "'", "namespaces or docker", {}};
  ::setenv(sandbox_variable, kind.c_str(), 1);
  return {};
}

bool containers_are_wanted() {
  const char* kind = std::getenv(sandbox_variable);
  return kind != nullptr && std::strcmp(kind, "docker") == 0;
}

Result<IsolatedProcess> spawn_in_container(const SpawnOptions& options) {
  if (!options.not_in_container.empty())
    return Error{"--sandbox docker does not hold " + options.not_in_container, "use --sandbox namespaces", {}};
  KW_TRY(const std::string docker, find_docker());
  KW_TRY(const MeetingPlace place, MeetingPlace::make());
  std::vector<std::string> arguments = docker_arguments(options, place);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string said = place.said_file();
  const pid_t client = ::fork();
  if (client == 0) become_docker(docker.c_str(), argv.data(), said.c_str());
  if (client < 0) return failed("start docker");
  const auto handed = hand_over(place, client, options.passed_descriptor);
  if (handed.ok()) return IsolatedProcess{client, {.container = true}};
  ::kill(client, SIGKILL);
  while (::waitpid(client, nullptr, 0) < 0 && errno == EINTR) {
  }
  return handed.error();
}

}  // namespace kw
