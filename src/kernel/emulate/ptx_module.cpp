#include "kernel/emulate/ptx_module.h"

#include <bit>
#include <cstring>
#include <iterator>

namespace kw {
namespace {

struct TypeFacts {
  std::string_view name;
  int bytes;
};

// In the order of PtxType.
constexpr TypeFacts type_facts[] = {{"none", 0}, {"b8", 1},  {"b16", 2}, {"b32", 4},   {"b64", 8},  {"b128", 16},
                                    {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8},   {"s8", 1},   {"s16", 2},
                                    {"s32", 4},  {"s64", 8}, {"f16", 2}, {"f16x2", 4}, {"bf16", 2}, {"bf16x2", 4},
                                    {"tf32", 4}, {"f32", 4}, {"f64", 8}, {"pred", 0}};
static_assert(std::size(type_facts) == static_cast<std::size_t>(PtxType::pred) + 1);

}  // namespace

int bytes_of(PtxType type) { return type_facts[static_cast<std::size_t>(type)].bytes; }

std::string_view name_of(PtxType type) { return type_facts[static_cast<std::size_t>(type)].name; }

std::optional<PtxType> ptx_type_from_name(std::string_view name) {
  if (name.size() < 2 || name.size() > 6) return std::nullopt;
  for (std::size_t i = 1; i < std::size(type_facts); ++i) {
    if (type_facts[i].name == name) return static_cast<PtxType>(i);
  }
  return std::nullopt;
}

std::string_view name_of(PtxSpace space) {
  constexpr std::string_view names[] = {"none", "reg", "global", "shared", "local", "const", "param", "generic"};
  return names[static_cast<std::size_t>(space)];
}

double PtxOperand::as_double() const { return std::bit_cast<double>(value); }

std::uint32_t PtxOperand::single_bits() const {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t exponent = bits >> 52 & 0x7FF;
  if (single && exponent == 0x7FF) {
    return static_cast<std::uint32_t>(bits >> 63) << 31 | 0x7F800000u |
           static_cast<std::uint32_t>(bits >> 29 & 0x7FFFFF);
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(as_double()));
}

bool PtxInstruction::has(std::string_view modifier) const {
  for (const std::string& own : modifiers) {
    if (own == modifier) return true;
  }
  return false;
}

std::string PtxInstruction::form() const {
  std::string text = opcode;
  for (const std::string& modifier : modifiers) {
    text += '.';
    text += modifier;
  }
  return text;
}

PtxType PtxInstruction::type() const {
  for (auto modifier = modifiers.rbegin(); modifier != modifiers.rend(); ++modifier) {
    if (const auto found = ptx_type_from_name(*modifier)) return *found;
  }
  return PtxType::none;
}

const PtxFunction* PtxModule::find_function(std::string_view name) const {
  for (const PtxFunction& function : functions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

const PtxVariable* PtxModule::find_variable(std::string_view name) const {
  for (const PtxVariable& variable : variables) {
    if (variable.name == name) return &variable;
  }
  return nullptr;
}

}  // namespace kw
