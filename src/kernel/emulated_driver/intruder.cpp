#include "kernel/emulated_driver/intruder.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace kw::emulated_driver {
namespace {

int opened(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  ::close(file);
  return 0;
}

int listed(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) return errno;
  ::closedir(folder);
  return 0;
}

int connected(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int result = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  ::close(socket);
  return result;
}

int started(const std::string& program) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(errno);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int carried_out(const std::string& verb, const std::string& what) {
  if (verb == "read") return opened(what, O_RDONLY);
  if (verb == "list") return listed(what);
  if (verb == "write") return opened(what, O_WRONLY | O_CREAT);
  if (verb == "connect") return connected(std::atoi(what.c_str()));
  if (verb == "run") return started(what);
  if (verb == "signal") return ::kill(std::atoi(what.c_str()), 0) == 0 ? 0 : errno;
  return EINVAL;
}

}  // namespace

std::vector<int> carry_out(const std::string& orders) {
  std::vector<int> results;
  std::istringstream lines(orders);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) continue;
    results.push_back(carried_out(line.substr(0, space), line.substr(space + 1)));
  }
  return results;
}

}  // namespace kw::emulated_driver
