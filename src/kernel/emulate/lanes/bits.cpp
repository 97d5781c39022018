// Bits: logic, counting, bit fields, permutation.
#include "kernel/emulate/lanes/unit.h"

namespace kw::KW_LANES {
namespace {

template <class T>
void add_logic(const LaneTable& table) {
  using V = typename T::Value;
  const char* type = type_name<T>;
  add_row<T, T, T>(table, Text("and.", type).text, [](V a, V b) { return static_cast<V>(a & b); });
  add_row<T, T, T>(table, Text("or.", type).text, [](V a, V b) { return static_cast<V>(a | b); });
  add_row<T, T, T>(table, Text("xor.", type).text, [](V a, V b) { return static_cast<V>(a ^ b); });
  add_row<T, T>(table, Text("not.", type).text, [](V a) { return static_cast<V>(~a); });
  add_row<T, T>(table, Text("cnot.", type).text, [](V a) { return static_cast<V>(a == 0); });
}

template <class Op>
void predicate_logic(const LaneArguments& arguments) {
  write_predicate(arguments.predicate_out, Op{}(arguments.predicate_in, arguments.predicate_in_other),
                  arguments.active);
}
template <class Op>
void add_predicate_row(const LaneTable& table, const char* form, int sources, Op) {
  const LaneSignature signature{PtxType::pred, {PtxType::pred, sources == 2 ? PtxType::pred : PtxType::none}};
  table.add(table.context, form, &predicate_logic<Op>, signature);
}

// Index of the highest set bit, -1 if there is none. In float arithmetic, because x86 before AVX-512CD counts zeros in
// scalars only: the exponent of a number whose lower half is cleared cannot be rounded up.
i32 highest_bit(u32 a) {
  const u32 top = a & ~(a >> 1);
  const i32 exponent = static_cast<i32>(bits_as<u32>(static_cast<float>(static_cast<i32>(top >> 1))) >> 23) - 126;
  return a == 0 ? -1 : a == 1 ? 0 : exponent;
}
i32 highest_bit(u64 a) { return a == 0 ? -1 : 63 - __builtin_clzll(a); }

template <class V>
i32 population(V a) {
  if constexpr (sizeof(V) == 8) {
    return population(static_cast<u32>(a)) + population(static_cast<u32>(a >> 32));
  } else {
    a -= (a >> 1) & 0x55555555u;
    a = (a & 0x33333333u) + ((a >> 2) & 0x33333333u);
    a = (a + (a >> 4)) & 0x0f0f0f0fu;
    return static_cast<i32>((a * 0x01010101u) >> 24);
  }
}
u32 reversed(u32 a) {
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  a = ((a >> 8) & 0x00ff00ffu) | ((a & 0x00ff00ffu) << 8);
  return (a >> 16) | (a << 16);
}
u64 reversed(u64 a) {
  return (static_cast<u64>(reversed(static_cast<u32>(a))) << 32) | reversed(static_cast<u32>(a >> 32));
}

// A mask of the `length` low bits; all ones from the width on.
template <class V>
V low_ones(u32 length) {
  constexpr u32 width = 8 * sizeof(V);
  return length >= width ? ~V{0} : static_cast<V>((V{1} << (length & (width - 1))) - 1);
}
template <class V>
V shifted_left(V a, u32 n) {
  constexpr u32 width = 8 * sizeof(V);
  return n >= width ? V{0} : static_cast<V>(a << (n & (width - 1)));
}
template <class V>
V shifted_right(V a, u32 n) {
  constexpr u32 width = 8 * sizeof(V);
  return n >= width ? V{0} : static_cast<V>(a >> (n & (width - 1)));
}

// PTX wants position and length in 0..255. The 32-bit instructions take their low byte; the hardware has no 64-bit
// ones, and the code that stands in for them clamps.
template <class V>
void restrict_field(u32& position, u32& length) {
  if constexpr (sizeof(V) == 4) {
    position &= 0xff;
    length &= 0xff;
  } else {
    position = position > 64 ? 64 : position;
    length = length > 64 ? 64 : length;
  }
}

template <class V, bool is_signed>
V extract_field(V a, u32 position, u32 length) {
  constexpr u32 last = 8 * sizeof(V) - 1;
  restrict_field<V>(position, length);
  const V field = shifted_right(a, position) & low_ones<V>(length);
  if (!is_signed) return field;
  const u32 end = position + length - 1;  // of the field; length 0 is masked below
  const V sign = (a >> ((end > last ? last : end) & last)) & 1;
  const u32 kept = position > last ? 0 : (length > last + 1 - position ? last + 1 - position : length);
  return length == 0 ? V{0} : static_cast<V>(field | (sign != 0 ? static_cast<V>(~low_ones<V>(kept)) : V{0}));
}
template <class V>
V insert_field(V a, V b, u32 position, u32 length) {
  restrict_field<V>(position, length);
  const V mask = shifted_left(low_ones<V>(length), position);
  return (b & ~mask) | (shifted_left(a, position) & mask);
}

template <class T, class Signed>
void add_fields(const LaneTable& table) {
  using V = typename T::Value;
  using Bits = std::conditional_t<sizeof(V) == 4, B32, B64>;
  constexpr int last = 8 * sizeof(V) - 1;
  const char *type = type_name<T>, *signed_type = type_name<Signed>, *bits = type_name<Bits>;
  add_row<U32, Bits>(table, Text("popc.", bits).text, [](V a) { return population(a); });
  add_row<U32, Bits>(table, Text("clz.", bits).text, [](V a) { return last - highest_bit(a); });
  add_row<Bits, Bits>(table, Text("brev.", bits).text, [](V a) { return reversed(a); });
  add_row<U32, T>(table, Text("bfind.", type).text, [](V a) { return highest_bit(a); });
  add_row<U32, T>(table, Text("bfind.shiftamt.", type).text, [](V a) { return a == 0 ? -1 : last - highest_bit(a); });
  // Of a signed number: the highest bit that differs from the sign.
  add_row<U32, Signed>(table, Text("bfind.", signed_type).text,
                       [](auto a) { return highest_bit(static_cast<V>(a < 0 ? ~a : a)); });
  add_row<U32, Signed>(table, Text("bfind.shiftamt.", signed_type).text, [](auto a) {
    const i32 position = highest_bit(static_cast<V>(a < 0 ? ~a : a));
    return position < 0 ? -1 : last - position;
  });
  add_row<T, T, U32, U32>(table, Text("bfe.", type).text,
                          [](V a, u32 position, u32 length) { return extract_field<V, false>(a, position, length); });
  add_row<Signed, Signed, U32, U32>(table, Text("bfe.", signed_type).text, [](auto a, u32 position, u32 length) {
    return extract_field<V, true>(static_cast<V>(a), position, length);
  });
  add_row<Bits, Bits, Bits, U32, U32>(table, Text("bfi.", bits).text, [](V a, V b, u32 position, u32 length) {
    return insert_field(a, b, position, length);
  });
}

template <bool clamp>
u32 bit_mask(u32 a, u32 b) {
  const u32 first = a & 31, length = b & 31;
  const bool empty_start = clamp && a >= 32;
  const u32 from = empty_start ? 0 : ~0u << first;
  const bool to_the_end = first + length >= 32 || empty_start || (clamp && b >= 32);
  const u32 beyond = to_the_end ? 0 : ~0u << ((first + length) & 31);
  return from & ~beyond;
}
template <bool clamp, bool is_signed>
u32 sign_extended(u32 a, u32 b) {
  const u32 length = b & 31;
  const bool whole = clamp && b >= 32;
  const u32 above = whole ? 0 : ~0u << length;
  const bool sign = is_signed && length != 0 && !whole && ((a >> ((length - 1) & 31)) & 1) != 0;
  return (a & ~above) | (sign ? above : 0);
}

u32 find_nth_set(u32 mask, u32 base, i32 offset) {
  if (offset == static_cast<i32>(0x80000000u)) return 0;  // as the hardware's routine, whose count overflows
  if (base > 31) return ~0u;
  if (offset == 0) return ((mask >> base) & 1) != 0 ? base : ~0u;
  i64 count = offset > 0 ? static_cast<i64>(offset) - 1 : -static_cast<i64>(offset) - 1;
  for (i32 position = static_cast<i32>(base); position >= 0 && position < 32; position += offset > 0 ? 1 : -1) {
    if (((mask >> position) & 1) == 0) continue;
    if (count-- == 0) return static_cast<u32>(position);
  }
  return ~0u;
}

// One byte of {b, a} (8 bytes, a low), or its sign replicated where bit 3 of the selector says so.
u32 chosen_byte(u32 a, u32 b, u32 selector) {
  const u32 word = (selector & 4) != 0 ? b : a;
  const u32 byte = (word >> ((selector & 3) * 8)) & 0xff;
  return (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xff : 0) : byte;
}
u32 permuted(u32 a, u32 b, u32 s0, u32 s1, u32 s2, u32 s3) {
  return chosen_byte(a, b, s0) | (chosen_byte(a, b, s1) << 8) | (chosen_byte(a, b, s2) << 16) |
         (chosen_byte(a, b, s3) << 24);
}
void add_permutations(const LaneTable& table) {
  auto row = [&](const char* form, auto function) { add_row<B32, B32, B32, B32>(table, form, function); };
  row("prmt.b32",
      [](u32 a, u32 b, u32 c) { return permuted(a, b, c & 15, (c >> 4) & 15, (c >> 8) & 15, (c >> 12) & 15); });
  row("prmt.b32.f4e", [](u32 a, u32 b, u32 c) {
    c &= 3;
    return permuted(a, b, c, c + 1, c + 2, c + 3);
  });
  row("prmt.b32.b4e", [](u32 a, u32 b, u32 c) {
    c &= 3;
    return permuted(a, b, c, (c + 7) & 7, (c + 6) & 7, (c + 5) & 7);
  });
  row("prmt.b32.rc8", [](u32 a, u32 b, u32 c) {
    c &= 3;
    return permuted(a, b, c, c, c, c);
  });
  // Edge clamp left and right: byte c is kept on one side of itself.
  row("prmt.b32.ecl", [](u32 a, u32 b, u32 c) {
    c &= 3;
    return permuted(a, b, c, c > 1 ? c : 1, c > 2 ? c : 2, 3);
  });
  row("prmt.b32.ecr", [](u32 a, u32 b, u32 c) {
    c &= 3;
    return permuted(a, b, 0, c < 1 ? c : 1, c < 2 ? c : 2, c);
  });
  row("prmt.b32.rc16", [](u32 a, u32 b, u32 c) {
    c = (c & 1) * 2;
    return permuted(a, b, c, c + 1, c, c + 1);
  });
}

// lop3: bit (4a + 2b + c) of the table. The table is an immediate in PTX, the same in all lanes.
u32 looked_up(u32 a, u32 b, u32 c, u32 table) {
  auto bit = [&](int index) { return 0u - ((table >> index) & 1); };
  auto select = [](u32 condition, u32 yes, u32 no) { return no ^ ((no ^ yes) & condition); };
  const u32 none = select(c, bit(1), bit(0)), only_b = select(c, bit(3), bit(2));
  const u32 only_a = select(c, bit(5), bit(4)), both = select(c, bit(7), bit(6));
  return select(a, select(b, both, only_a), select(b, only_b, none));
}
template <bool conjunction>
[[gnu::flatten]] void look_up_with_predicate(const LaneArguments& arguments) {
  auto nonzero = [](u32 a, u32 b, u32 c, u32 t) { return looked_up(a, b, c, t) != 0; };
  const u32 set = lanes_where<decltype(nonzero), B32, B32, B32, B32>(arguments);
  auto value = [](u32 a, u32 b, u32 c, u32 t) { return looked_up(a, b, c, t); };
  if (arguments.destination != nullptr) map<B32, decltype(value), B32, B32, B32, B32>(arguments);
  write_predicate(arguments.predicate_out, conjunction ? set & arguments.predicate_in : set | arguments.predicate_in,
                  arguments.active);
}

}  // namespace

void add_bits_rows(const LaneTable& table) {
  add_logic<B16>(table);
  add_logic<B32>(table);
  add_logic<B64>(table);
  add_predicate_row(table, "and.pred", 2, [](u32 a, u32 b) { return a & b; });
  add_predicate_row(table, "or.pred", 2, [](u32 a, u32 b) { return a | b; });
  add_predicate_row(table, "xor.pred", 2, [](u32 a, u32 b) { return a ^ b; });
  add_predicate_row(table, "not.pred", 1, [](u32 a, u32) { return ~a; });
  add_predicate_row(table, "mov.pred", 1, [](u32 a, u32) { return a; });
  add_fields<U32, S32>(table);
  add_fields<U64, S64>(table);
  add_row<B32, U32, U32>(table, "bmsk.clamp.b32", [](u32 a, u32 b) { return bit_mask<true>(a, b); });
  add_row<B32, U32, U32>(table, "bmsk.wrap.b32", [](u32 a, u32 b) { return bit_mask<false>(a, b); });
  add_row<U32, U32, U32>(table, "szext.clamp.u32", [](u32 a, u32 b) { return sign_extended<true, false>(a, b); });
  add_row<U32, U32, U32>(table, "szext.wrap.u32", [](u32 a, u32 b) { return sign_extended<false, false>(a, b); });
  add_row<S32, S32, U32>(table, "szext.clamp.s32",
                         [](i32 a, u32 b) { return sign_extended<true, true>(static_cast<u32>(a), b); });
  add_row<S32, S32, U32>(table, "szext.wrap.s32",
                         [](i32 a, u32 b) { return sign_extended<false, true>(static_cast<u32>(a), b); });
  add_row<B32, B32, B32, S32>(table, "fns.b32",
                              [](u32 mask, u32 base, i32 offset) { return find_nth_set(mask, base, offset); });
  add_permutations(table);
  add_row<B32, B32, B32, B32, B32>(table, "lop3.b32", [](u32 a, u32 b, u32 c, u32 t) { return looked_up(a, b, c, t); });
  LaneSignature signature{PtxType::b32, {PtxType::b32, PtxType::b32, PtxType::b32, PtxType::b32, PtxType::pred}};
  signature.predicate_result = true;
  table.add(table.context, "lop3.and.b32", &look_up_with_predicate<true>, signature);
  table.add(table.context, "lop3.or.b32", &look_up_with_predicate<false>, signature);
}

}  // namespace kw::KW_LANES
