#pragma once
// What the two sides of a container's start agree on (container_process.h): the first process inside connects, says
// which version it is, and is given the descriptor that its worker answers on.

#include <array>
#include <cstdint>

namespace kw {

inline constexpr const char* contained_worker_argument = "--contained-worker";
inline constexpr const char* contained_meeting_folder = "/run/kernelwright";

struct ContainedHello {
  std::uint64_t magic = 0;
  std::array<char, 56> version{};  // ends with a zero
};
ContainedHello contained_hello();  // of this program

}  // namespace kw
