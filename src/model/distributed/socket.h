#pragma once
// TCP connections between ranks: calls that end by a deadline, whatever the other side does. IPv4 alone.

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace kw {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_in(double seconds);
// Milliseconds for poll(): 0 when it is over.
int poll_patience(Deadline deadline);

class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

struct Listener {
  Socket socket;
  int port = 0;
};
// `port` 0: any that is free. `reachable`: by other machines too.
Result<Listener> listen_at(int port, bool reachable);

// An error of one attempt; who wants to try again does.
Result<Socket> connect_to(const std::string& host, int port, Deadline deadline);

// Non-blocking, without delay for small messages, with probes that find a machine that has vanished.
void prepare_connection(const Socket& socket);

// "10.0.0.7" of the other side; empty: it has gone.
std::string peer_address(const Socket& socket);
bool is_loopback(const std::string& address);

Result<void> send_all(const Socket& socket, std::span<const std::byte> bytes, Deadline deadline);
Result<void> receive_all(const Socket& socket, std::span<std::byte> bytes, Deadline deadline);

}  // namespace kw
