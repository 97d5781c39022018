// Bits one at a time, after the pseudo-code of the PTX ISA.
#include "kernel/emulate/lane_oracle.h"

namespace kw::oracle {
namespace {

int width_of(const std::string& type) { return type == "pred" ? 1 : std::atoi(type.c_str() + 1); }
bool bit(std::uint64_t value, int index) { return ((value >> index) & 1) != 0; }
std::uint64_t masked(int width, std::uint64_t value) {
  return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

std::optional<Outcome> logic(const Form& form, const Operands& o) {
  const std::string& op = form.opcode;
  const bool predicate = form.types[0] == "pred";
  const int width = width_of(form.types[0]);
  const std::uint64_t a = predicate ? o.predicate : o.value[0], b = predicate ? o.predicate_other : o.value[1];
  std::uint64_t result = 0;
  for (int i = 0; i < width; ++i) {
    const bool x = bit(a, i), y = bit(b, i);
    const bool z = op == "and" ? x && y : op == "or" ? x || y : op == "xor" ? x != y : op == "not" ? !x : x;
    result |= static_cast<std::uint64_t>(z) << i;
  }
  if (op == "cnot") result = masked(width, a) == 0 ? 1 : 0;
  if (predicate) return Outcome{std::nullopt, result != 0};
  return Outcome{result};
}

int highest(std::uint64_t value, int width) {
  for (int i = width - 1; i >= 0; --i) {
    if (bit(value, i)) return i;
  }
  return -1;
}

std::optional<Outcome> counting(const Form& form, const Operands& o) {
  const std::string& op = form.opcode;
  const int width = width_of(form.types[0]);
  std::uint64_t a = masked(width, o.value[0]);
  if (op == "popc") {
    int count = 0;
    for (int i = 0; i < width; ++i) count += bit(a, i);
    return Outcome{static_cast<std::uint64_t>(count)};
  }
  if (op == "clz") return Outcome{static_cast<std::uint64_t>(width - 1 - highest(a, width))};
  if (op == "brev") {
    std::uint64_t result = 0;
    for (int i = 0; i < width; ++i) result |= static_cast<std::uint64_t>(bit(a, i)) << (width - 1 - i);
    return Outcome{result};
  }
  // bfind
  if (form.types[0][0] == 's' && bit(a, width - 1)) a = masked(width, ~a);
  const int position = highest(a, width);
  if (position < 0) return Outcome{0xffffffffu};
  return Outcome{static_cast<std::uint64_t>(form.has("shiftamt") ? width - 1 - position : position)};
}

std::optional<Outcome> field(const Form& form, const Operands& o) {
  const int width = width_of(form.types[0]), last = width - 1;
  const bool insert = form.opcode == "bfi";
  std::uint64_t position = o.value[insert ? 2 : 1], length = o.value[insert ? 3 : 2];
  if (width == 32) position &= 0xff, length &= 0xff;  // the 64-bit forms clamp instead
  if (insert) {
    std::uint64_t result = o.value[1];
    for (int i = 0; i < width; ++i) {
      const std::uint64_t target = position + static_cast<std::uint64_t>(i);
      if (static_cast<std::uint64_t>(i) >= length || target > static_cast<std::uint64_t>(last)) break;
      result = (result & ~(std::uint64_t{1} << target)) | static_cast<std::uint64_t>(bit(o.value[0], i)) << target;
    }
    return Outcome{result};
  }
  const std::uint64_t end = std::min<std::uint64_t>(position + length - 1, static_cast<std::uint64_t>(last));
  const bool sign = form.types[0][0] == 's' && length != 0 && bit(o.value[0], static_cast<int>(end));
  std::uint64_t result = 0;
  for (int i = 0; i < width; ++i) {
    const std::uint64_t from = position + static_cast<std::uint64_t>(i);
    const bool inside = static_cast<std::uint64_t>(i) < length && from <= static_cast<std::uint64_t>(last);
    result |= static_cast<std::uint64_t>(inside ? bit(o.value[0], static_cast<int>(from)) : sign) << i;
  }
  return Outcome{result};
}

std::optional<Outcome> shift(const Form& form, const Operands& o) {
  const int width = width_of(form.types[0]);
  const auto amount = static_cast<std::int64_t>(o.value[1] & 0xffffffffu);
  const bool fill = form.opcode == "shr" && form.types[0][0] == 's' && bit(o.value[0], width - 1);
  std::uint64_t result = 0;
  for (int i = 0; i < width; ++i) {
    const std::int64_t from = form.opcode == "shl" ? i - amount : i + amount;
    result |= static_cast<std::uint64_t>(from < 0        ? false
                                         : from >= width ? fill
                                                         : bit(o.value[0], static_cast<int>(from)))
              << i;
  }
  return Outcome{result};
}

std::optional<Outcome> funnel(const Form& form, const Operands& o) {
  const auto amount =
      static_cast<int>(form.has("wrap") ? o.value[2] & 31 : std::min<std::uint64_t>(o.value[2] & 0xffffffffu, 32));
  auto both = [&](int i) { return i < 0 || i > 63 ? false : i < 32 ? bit(o.value[0], i) : bit(o.value[1], i - 32); };
  std::uint64_t result = 0;
  for (int i = 0; i < 32; ++i)
    result |= static_cast<std::uint64_t>(form.has("l") ? both(32 + i - amount) : both(i + amount)) << i;
  return Outcome{result};
}

std::optional<Outcome> permutation(const Form& form, const Operands& o) {
  // Table of the ISA: for each mode and the two low bits of c, the bytes from 3 to 0.
  struct Mode {
    const char* name;
    const char* bytes[4];
  };
  static const Mode modes[] = {{"f4e", {"3210", "4321", "5432", "6543"}}, {"b4e", {"5670", "6701", "7012", "0123"}},
                               {"rc8", {"0000", "1111", "2222", "3333"}}, {"ecl", {"3210", "3211", "3222", "3333"}},
                               {"ecr", {"0000", "1110", "2210", "3210"}}, {"rc16", {"1010", "3232", "1010", "3232"}}};
  auto byte = [&](int i) { return ((i < 4 ? o.value[0] : o.value[1]) >> (8 * (i & 3))) & 0xff; };
  std::uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const int selector = static_cast<int>(o.value[2] >> (4 * i)) & 15;
    std::uint64_t chosen = byte(selector & 7);
    if ((selector & 8) != 0) chosen = bit(chosen, 7) ? 0xff : 0;
    for (const Mode& mode : modes) {
      if (form.has(mode.name)) chosen = byte(mode.bytes[o.value[2] & 3][3 - i] - '0');
    }
    result |= chosen << (8 * i);
  }
  return Outcome{result};
}

std::optional<Outcome> lookup(const Form& form, const Operands& o) {
  std::uint64_t result = 0;
  for (int i = 0; i < 32; ++i) {
    const int index = 4 * bit(o.value[0], i) + 2 * bit(o.value[1], i) + bit(o.value[2], i);
    result |= static_cast<std::uint64_t>(bit(o.value[3], index)) << i;
  }
  Outcome outcome{result};
  if (form.has("and")) outcome.predicate = result != 0 && o.predicate;
  if (form.has("or")) outcome.predicate = result != 0 || o.predicate;
  return outcome;
}

std::optional<Outcome> masks(const Form& form, const Operands& o) {
  const std::uint64_t a = o.value[0] & 0xffffffffu, b = o.value[1] & 0xffffffffu;
  const bool clamp = form.has("clamp");
  std::uint64_t result = 0;
  if (form.opcode == "bmsk") {
    const std::uint64_t first = clamp ? a : a & 31, length = clamp ? b : b & 31;
    for (std::uint64_t i = 0; i < 32; ++i) result |= static_cast<std::uint64_t>(i >= first && i < first + length) << i;
    return Outcome{result};
  }
  // szext: b is the width that is kept; a width of 0 keeps nothing.
  const std::uint64_t length = clamp ? std::min<std::uint64_t>(b, 32) : b & 31;
  const bool sign = form.types[0] == "s32" && length > 0 && length < 32 && bit(a, static_cast<int>(length) - 1);
  for (std::uint64_t i = 0; i < 32; ++i)
    result |= static_cast<std::uint64_t>(i < length ? bit(a, static_cast<int>(i)) : sign) << i;
  return Outcome{result};
}

std::optional<Outcome> nth_set(const Operands& o) {
  const auto mask = static_cast<std::uint32_t>(o.value[0]), base = static_cast<std::uint32_t>(o.value[1]);
  const auto offset = static_cast<std::int32_t>(o.value[2]);
  if (offset == INT32_MIN) return Outcome{0};  // seen on an H200
  std::vector<std::uint32_t> found;
  for (int i = 0; i < 32; ++i) {
    const int position = offset >= 0 ? i : 31 - i;
    if (bit(mask, position) &&
        (offset >= 0 ? static_cast<std::uint32_t>(position) >= base : static_cast<std::uint32_t>(position) <= base)) {
      found.push_back(static_cast<std::uint32_t>(position));
    }
  }
  if (base > 31) return Outcome{0xffffffffu};
  if (offset == 0) return Outcome{bit(mask, static_cast<int>(base)) ? base : 0xffffffffu};
  const auto count = static_cast<std::size_t>(offset > 0 ? offset : -offset);
  return Outcome{count <= found.size() ? found[count - 1] : 0xffffffffu};
}

}  // namespace

std::optional<Outcome> expected_bits(const Form& form, const Operands& o) {
  const std::string& op = form.opcode;
  if (op == "mov") {
    if (form.types[0] == "pred") return Outcome{std::nullopt, o.predicate};
    const int width = form.types[0].ends_with("64") ? 64 : form.types[0].ends_with("32") ? 32 : 16;
    return Outcome{masked(width, o.value[0])};
  }
  if (op == "and" || op == "or" || op == "xor" || op == "not" || op == "cnot") return logic(form, o);
  if (op == "popc" || op == "clz" || op == "brev" || op == "bfind") return counting(form, o);
  if (op == "bfe" || op == "bfi") return field(form, o);
  if (op == "shl" || op == "shr") return shift(form, o);
  if (op == "shf") return funnel(form, o);
  if (op == "prmt") return permutation(form, o);
  if (op == "lop3") return lookup(form, o);
  if (op == "bmsk" || op == "szext") return masks(form, o);
  if (op == "fns") return nth_set(o);
  return std::nullopt;
}

}  // namespace kw::oracle
