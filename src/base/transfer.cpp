#include "base/transfer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace kw {
namespace {

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

// Waits until the socket can go on; false at the deadline.
bool wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{socket, events, 0};
    const int count = ::poll(&entry, 1, milliseconds_until(deadline));
    if (count > 0) return true;
    if (count == 0) return false;
    if (errno != EINTR) return false;
  }
}

}  // namespace

Transfer send_bytes(int socket, const void* bytes, std::size_t count, Deadline deadline) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(socket, next, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      next += sent;
      count -= static_cast<std::size_t>(sent);
    } else if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(socket, POLLOUT, deadline)) return Transfer::late;
    } else if (sent < 0 && errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

Transfer receive_bytes(int socket, void* bytes, std::size_t count, Deadline deadline) {
  char* next = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::recv(socket, next, count, MSG_DONTWAIT);
    if (got > 0) {
      next += got;
      count -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      return Transfer::closed;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLIN, deadline)) return Transfer::late;
    } else if (errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

bool send_with_descriptor(int socket, const void* bytes, std::size_t count, int descriptor) {
  iovec part{const_cast<void*>(bytes), count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* first = CMSG_FIRSTHDR(&message);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(count);
}

bool receive_with_descriptor(int socket, void* bytes, std::size_t count, int& descriptor) {
  descriptor = -1;
  iovec part{bytes, count};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(count)) return false;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each))
    if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS)
      std::memcpy(&descriptor, CMSG_DATA(each), sizeof descriptor);
  return true;
}

}  // namespace kw
