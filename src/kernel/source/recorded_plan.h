#pragma once
// For tests: a launch plan in the words of a CUDA runtime that records what host code does
// (tests/launchers/recording_runtime.cpp, tests/extensions/recording_torch.h), so that both can be compared.

#include <algorithm>
#include <sstream>
#include <string>

#include "kernel/source/launch_plan.h"

namespace kw {

inline std::uint64_t address_of(const DevicePointer& pointer) {
  if (pointer.buffer == DevicePointer::null_buffer) return 0;
  return (static_cast<std::uint64_t>(pointer.buffer + 1) << 40) + static_cast<std::uint64_t>(pointer.offset_bytes);
}

inline std::string hex_of(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

inline std::string bytes_of(const KernelArgument& argument) {
  std::string bytes;
  const auto put = [&](std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  };
  if (const auto* pointer = std::get_if<DevicePointer>(&argument.value)) {
    bytes.resize(8);
    put(0, address_of(*pointer));
  } else {
    bytes = std::get<std::string>(argument.value);
    for (const EmbeddedPointer& inside : argument.pointers) put(inside.offset_bytes, address_of(inside.pointer));
  }
  return bytes;
}

// The spelling that both sides are brought to: `float const*` as the demangler writes it, without spaces.
inline std::string canonical(std::string text) {
  for (std::size_t at = 0; (at = text.find("const ", at)) != std::string::npos;) {
    const std::size_t star = text.find_first_of("*,>)", at + 6);
    const std::size_t end = star == std::string::npos ? text.size() : star;
    if (end == at + 6 || text[at + 6] == '*') break;
    const std::string type = text.substr(at + 6, end - at - 6);
    text = text.substr(0, at) + type + " const" + text.substr(end);
    at += type.size() + 6;
  }
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

inline std::string signature_of(const KernelLaunch& launch) {
  std::string text = canonical(launch.kernel) + "(";
  for (const KernelArgument& argument : launch.arguments) {
    if (&argument != &launch.arguments.front()) text += ",";
    text += canonical(argument.type);
  }
  return text + ")";
}

inline std::string line_of(const LaunchStep& step, const LaunchPlan& plan) {
  std::ostringstream line;
  if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
    line << "launch " << signature_of(*launch) << " " << launch->grid.x << " " << launch->grid.y << " "
         << launch->grid.z << " " << launch->block.x << " " << launch->block.y << " " << launch->block.z << " "
         << launch->dynamic_shared_bytes << " " << launch->cooperative << " "
         << (launch->default_stream ? "default" : "own");
    for (const KernelArgument& argument : launch->arguments) {
      line << " ";
      for (const char c : bytes_of(argument)) {
        const auto byte = static_cast<unsigned char>(c);
        line << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
      }
    }
  } else if (const auto* set = std::get_if<MemorySet>(&step)) {
    line << "memset " << hex_of(address_of(set->target)) << " " << int{set->value} << " " << set->bytes;
  } else if (const auto* copy = std::get_if<MemoryCopy>(&step)) {
    line << "copy " << hex_of(address_of(copy->target)) << " " << hex_of(address_of(copy->source)) << " "
         << copy->bytes;
  } else if (const auto* allocate = std::get_if<ScratchAllocate>(&step)) {
    line << "allocate " << hex_of(address_of({allocate->buffer, 0})) << " "
         << plan.buffers[static_cast<std::size_t>(allocate->buffer)].bytes;
  } else if (const auto* free = std::get_if<ScratchFree>(&step)) {
    line << "free " << hex_of(address_of({free->buffer, 0}));
  } else if (const auto* limit = std::get_if<SharedMemoryLimit>(&step)) {
    line << "limit " << canonical(limit->kernel) << " " << limit->bytes;
  }
  return line.str();
}

// From the `(` of the parameters on; template arguments may contain brackets too.
inline std::size_t parameters_of(const std::string& signature) {
  int angle = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] == '<') ++angle;
    if (signature[i] == '>') --angle;
    if (signature[i] == '(' && angle == 0) return i;
  }
  return std::string::npos;
}

// A dependent parameter type is mangled as it was written (`Tile<4>::Element const*`), so only kernels without such
// types can be compared by signature; the others, and extern "C" ones, by name.
inline bool same_kernel(const std::string& planned, const std::string& recorded) {
  if (planned == recorded) return true;
  const std::size_t open = parameters_of(recorded);
  const std::string name = planned.substr(0, parameters_of(planned));
  if (open == std::string::npos) return name == recorded;
  return name == recorded.substr(0, open) && recorded.find("::", open) != std::string::npos;
}

}  // namespace kw
