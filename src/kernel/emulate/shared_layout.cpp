#include "kernel/emulate/shared_layout.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr std::uint32_t red_zone_bytes = 256;
constexpr std::uint32_t static_limit_bytes = 1u << 20;
constexpr int first_with_system_bytes = 90;
constexpr std::uint64_t dynamic_alignment = 16;  // at least
constexpr std::uint64_t largest_alignment = 1024;

std::uint64_t next_multiple(std::uint64_t value, std::uint64_t of) { return (value + of - 1) / of * of; }

// An array without a size: its size is given at the launch.
bool is_dynamic(const PtxVariable& variable) {
  return variable.space == PtxSpace::shared && variable.bytes == 0 &&
         (variable.external || variable.type == PtxType::none || variable.type == PtxType::b8);
}

std::uint64_t alignment_of(const PtxVariable& variable) {
  return std::clamp<std::uint64_t>(variable.alignment, 1, largest_alignment);
}

}  // namespace

std::uint64_t size_of(const PtxVariable& variable) {
  return variable.bytes != 0 ? variable.bytes : static_cast<std::uint64_t>(bytes_of(variable.type));
}

std::uint32_t reserved_shared_bytes(const std::string& target) {
  const std::size_t digits = target.find_first_of("0123456789");
  if (digits == std::string::npos) return 0;
  return std::strtol(target.c_str() + digits, nullptr, 10) >= first_with_system_bytes ? system_shared_bytes : 0;
}

Result<void> lay_out_shared(const PtxModule& module, const std::vector<std::uint32_t>& functions,
                            const std::set<std::string, std::less<>>& symbols, DecodeContext& context) {
  Program& program = *context.program;
  program.reserved_shared_bytes = reserved_shared_bytes(module.target);
  std::uint64_t real = program.reserved_shared_bytes;  // the next free byte on the GPU
  std::uint64_t window = real;                         // and here
  const auto place_at = [&](std::uint64_t real_offset) {
    const std::uint64_t wanted = real_offset % shared_period_bytes;
    std::uint64_t place = window / shared_period_bytes * shared_period_bytes + wanted;
    if (place < window) place += shared_period_bytes;
    return place;
  };
  auto place = [&](const PtxVariable& variable) -> Result<void> {
    if (variable.space != PtxSpace::shared || is_dynamic(variable) || context.shared_offsets.count(variable.name) != 0)
      return {};
    const std::uint64_t bytes = size_of(variable);
    real = next_multiple(real, alignment_of(variable));
    if (real - program.reserved_shared_bytes + bytes > static_limit_bytes)
      return Error{
          fmt::format("the kernel needs more than {} bytes of static shared memory", static_limit_bytes), "", {}};
    const std::uint64_t offset = place_at(real);
    context.shared_offsets[variable.name] = static_cast<std::uint32_t>(offset);
    program.shared.push_back(
        {variable.name, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes), false});
    real += bytes;
    window = offset + bytes + red_zone_bytes;
    return {};
  };
  for (const PtxVariable& variable : module.variables)
    if (symbols.count(variable.name) != 0) KW_TRY_VOID(place(variable));
  for (std::uint32_t index : functions)
    for (const PtxVariable& variable : module.functions[index].locals) KW_TRY_VOID(place(variable));
  program.static_shared_bytes = static_cast<std::uint32_t>(real) - program.reserved_shared_bytes;

  // All dynamic arrays begin at the same place; also those that this kernel does not use have a say in where it is.
  std::uint64_t alignment = dynamic_alignment;
  for (const PtxVariable& variable : module.variables)
    if (is_dynamic(variable)) alignment = std::max(alignment, alignment_of(variable));
  const std::uint64_t offset = place_at(next_multiple(real, alignment));
  const auto place_dynamic = [&](const PtxVariable& variable) {
    if (!is_dynamic(variable)) return;
    context.shared_offsets[variable.name] = static_cast<std::uint32_t>(offset);
    if (!program.uses_dynamic_shared)
      program.shared.push_back({variable.name, static_cast<std::uint32_t>(offset), 0, true});
    program.uses_dynamic_shared = true;
  };
  for (const PtxVariable& variable : module.variables)
    if (symbols.count(variable.name) != 0) place_dynamic(variable);
  for (std::uint32_t index : functions)
    for (const PtxVariable& variable : module.functions[index].locals) place_dynamic(variable);
  if (program.uses_dynamic_shared)
    program.static_shared_bytes =
        static_cast<std::uint32_t>(next_multiple(real, alignment)) - program.reserved_shared_bytes;
  // Without any shared memory the window is empty, whatever the system keeps.
  if (!program.shared.empty()) program.shared_window_bytes = static_cast<std::uint32_t>(offset);
  return {};
}

}  // namespace kw
