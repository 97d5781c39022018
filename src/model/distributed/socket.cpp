#include "model/distributed/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace kw {
namespace {

constexpr int waiting_connections = 128;

Error socket_error(const std::string& what) { return {what + ": " + std::strerror(errno), "", {}}; }

void set_number(const Socket& socket, int level, int name, int value) {
  static_cast<void>(::setsockopt(socket.fd(), level, name, &value, sizeof value));
}

Result<Socket> new_socket() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return socket_error("cannot make a socket");
  return socket;
}

// Returns false when the deadline came first.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
  for (;;) {
    pollfd waiting{socket.fd(), events, 0};
    const int ready = ::poll(&waiting, 1, poll_patience(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // the call that follows says what is wrong
  }
}

}  // namespace

Deadline deadline_in(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

int poll_patience(Deadline deadline) {
  using namespace std::chrono;
  const auto left = ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 3600 * 1000));
}

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Listener> listen_at(int port, bool reachable) {
  KW_TRY(Socket socket, new_socket());
  set_number(socket, SOL_SOCKET, SO_REUSEADDR, 1);  // a run that is started again need not wait for its last one's port
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(reachable ? INADDR_ANY : INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), waiting_connections) != 0) {
    return socket_error("cannot listen at port " + std::to_string(port));
  }
  socklen_t length = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return socket_error("cannot tell a socket's port");
  return Listener{std::move(socket), ntohs(address.sin_port)};
}

Result<Socket> connect_to(const std::string& host, int port, Deadline deadline) {
  addrinfo wanted{};
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); failed != 0)
    return Error{"cannot find the host '" + host + "': " + ::gai_strerror(failed), "", {}};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  KW_TRY(Socket socket, new_socket());
  const std::string where = host + ":" + std::to_string(port);
  if (::connect(socket.fd(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return socket_error("cannot connect to " + where);
    if (!wait_for(socket, POLLOUT, deadline)) return Error{where + " does not answer", "", {}};
    int failed = 0;
    socklen_t length = sizeof failed;
    if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &failed, &length) != 0 || failed != 0) {
      errno = failed;
      return socket_error("cannot connect to " + where);
    }
  }
  prepare_connection(socket);
  return socket;
}

void prepare_connection(const Socket& socket) {
  static_cast<void>(::fcntl(socket.fd(), F_SETFL, ::fcntl(socket.fd(), F_GETFL) | O_NONBLOCK));
  set_number(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // A machine that lost its power closes nothing: after ten quiet seconds it is asked, and is gone after forty.
  set_number(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_number(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_number(socket, IPPROTO_TCP, TCP_KEEPCNT, 6);
}

std::string peer_address(const Socket& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  char text[INET_ADDRSTRLEN] = "";
  if (::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text) != nullptr ? text : "";
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "localhost"; }

Result<void> send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLOUT, deadline)) return Error{"the other side takes nothing", "", {}};
    } else if (errno != EINTR) {
      return socket_error("the connection is broken");
    }
  }
  return {};
}

Result<void> receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t came = ::recv(socket.fd(), bytes.data(), bytes.size(), 0);
    if (came > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(came));
    } else if (came == 0) {
      return Error{"the connection was closed", "", {}};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLIN, deadline)) return Error{"the other side says nothing", "", {}};
    } else if (errno != EINTR) {
      return socket_error("the connection is broken");
    }
  }
  return {};
}

}  // namespace kw
