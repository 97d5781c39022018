#include "compile/wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "compile/bytes.h"

namespace kw {
namespace {

constexpr std::uint64_t list_limit = 1u << 16;

void write_list(ByteWriter& writer, const std::vector<std::string>& list) {
  writer.number(list.size());
  for (const std::string& text : list) writer.text(text);
}

std::vector<std::string> read_list(ByteReader& reader) {
  std::vector<std::string> list;
  const std::uint64_t count = reader.count(list_limit);
  for (std::uint64_t i = 0; i < count && !reader.failed(); ++i) list.push_back(reader.text());
  return list;
}

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

std::string encode(const CompilerJob& job) {
  ByteWriter writer;
  writer.text(job.source);
  write_list(writer, job.options);
  write_list(writer, job.name_expressions);
  return writer.take();
}

Result<CompilerJob> decode_job(std::string_view bytes) {
  ByteReader reader(bytes);
  CompilerJob job;
  job.source = reader.text();
  job.options = read_list(reader);
  job.name_expressions = read_list(reader);
  if (!reader.complete()) return Error{"the compile job is malformed", "", {}};
  return job;
}

std::string encode(const CompilerOutput& output) {
  ByteWriter writer;
  writer.number(output.nvrtc_result);
  writer.text(output.log);
  writer.text(output.ptx);
  writer.text(output.cubin);
  write_list(writer, output.lowered_names);
  writer.number(output.compile_us);
  writer.text(output.ptx_fingerprint);
  return writer.take();
}

Result<CompilerOutput> decode_output(std::string_view bytes) {
  ByteReader reader(bytes);
  CompilerOutput output;
  output.nvrtc_result = reader.number();
  output.log = reader.text();
  output.ptx = reader.text();
  output.cubin = reader.text();
  output.lowered_names = read_list(reader);
  output.compile_us = reader.number();
  output.ptx_fingerprint = reader.text();
  if (!reader.complete()) return Error{"the compiler's answer is malformed", "", {}};
  return output;
}

std::string encode(const WorkerGreeting& greeting) {
  ByteWriter writer;
  writer.text(greeting.compiler_version);
  writer.number(greeting.header_fingerprint);
  writer.number(greeting.protection_bits);
  return writer.take();
}

Result<WorkerGreeting> decode_greeting(std::string_view bytes) {
  ByteReader reader(bytes);
  WorkerGreeting greeting;
  greeting.compiler_version = reader.text();
  greeting.header_fingerprint = reader.number();
  greeting.protection_bits = reader.number();
  if (!reader.complete()) return Error{"the worker's greeting is malformed", "", {}};
  return greeting;
}

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

}  // namespace kw
