#pragma once
// Bytes and descriptors over a socket between processes of one machine, with a deadline.

#include <sys/types.h>

#include <chrono>
#include <cstddef>

namespace kw {

using Deadline = std::chrono::steady_clock::time_point;

enum class Transfer { done, closed, late };

// Both wait, on a non-blocking or blocking descriptor alike, until all bytes are through or the deadline has passed.
Transfer send_bytes(int socket, const void* bytes, std::size_t count, Deadline deadline);
Transfer receive_bytes(int socket, void* bytes, std::size_t count, Deadline deadline);

// A message of a fixed, small size that a descriptor travels with; -1: none does.
bool send_with_descriptor(int socket, const void* bytes, std::size_t count, int descriptor);
// Blocks. False when the other side has gone or sent less; `descriptor` then is -1.
bool receive_with_descriptor(int socket, void* bytes, std::size_t count, int& descriptor);

}  // namespace kw
