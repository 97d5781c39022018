// Whole-number arithmetic: add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max, dot products.
#include "kernel/emulate/lanes/unit.h"

namespace kw::KW_LANES {
namespace {

template <class T>
using Double =
    std::conditional_t<std::is_signed_v<T>,
                       std::conditional_t<sizeof(T) == 2, i32, std::conditional_t<sizeof(T) == 4, i64, i128>>,
                       std::conditional_t<sizeof(T) == 2, u32, std::conditional_t<sizeof(T) == 4, u64, u128>>>;

// Signed overflow wraps: the arithmetic is done unsigned, and 16 bits as 32 so that promotion to int cannot overflow.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
T multiply(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}
template <class T>
T multiply_high(T a, T b) {
  return static_cast<T>((static_cast<Double<T>>(a) * b) >> (8 * sizeof(T)));
}
template <class T>
T plus(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
i32 saturate(i64 value) {
  return static_cast<i32>(value > 0x7fffffff ? 0x7fffffff : value < -0x80000000ll ? -0x80000000ll : value);
}

// What the hardware's routines give for a zero divisor: all bits set, for the quotient and for the rest.
template <class T>
T quotient(T a, T b) {
  if constexpr (sizeof(T) <= 4) {
    // Exact: a quotient of 32-bit numbers is at least 2^-33 (relative) below the next whole number, and double rounds
    // at 2^-53.
    const double whole = static_cast<double>(a) / static_cast<double>(b == 0 ? T{1} : b);
    const T truncated = static_cast<T>(static_cast<i64>(whole));
    return b == 0 ? static_cast<T>(~u64{0}) : truncated;
  } else {
    if (b == 0) return static_cast<T>(~u64{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(-static_cast<u64>(a));
    return a / b;
  }
}
template <class T>
T remainder(T a, T b) {
  const T q = quotient(a, b == 0 ? T{1} : b);
  return b == 0 ? static_cast<T>(~u64{0})
                : static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(multiply(q, b)));
}

template <class T, class W>
void add_arithmetic(const LaneTable& table) {
  using V = typename T::Value;
  const char* type = type_name<T>;
  auto row = [&](const char* op, auto function) { add_row<T, T, T>(table, Text(op, ".", type).text, function); };
  row("add", [](V a, V b) { return plus(a, b); });
  row("sub", [](V a, V b) { return plus(a, static_cast<V>(-static_cast<Wrapping<V>>(b))); });
  row("mul.lo", [](V a, V b) { return multiply(a, b); });
  row("mul.hi", [](V a, V b) { return multiply_high(a, b); });
  row("div", [](V a, V b) { return quotient(a, b); });
  row("rem", [](V a, V b) { return remainder(a, b); });
  row("min", [](V a, V b) { return a < b ? a : b; });
  row("max", [](V a, V b) { return a > b ? a : b; });
  add_row<T, T, T, T>(table, Text("mad.lo.", type).text, [](V a, V b, V c) { return plus(multiply(a, b), c); });
  add_row<T, T, T, T>(table, Text("mad.hi.", type).text, [](V a, V b, V c) { return plus(multiply_high(a, b), c); });
  add_row<T, T, T, T>(table, Text("sad.", type).text, [](V a, V b, V c) {
    using U = Wrapping<V>;
    return static_cast<V>(static_cast<U>(c) +
                          (a < b ? static_cast<U>(b) - static_cast<U>(a) : static_cast<U>(a) - static_cast<U>(b)));
  });
  if constexpr (sizeof(V) < 8) {
    using D = typename W::Value;
    add_row<W, T, T>(table, Text("mul.wide.", type).text,
                     [](V a, V b) { return static_cast<D>(a) * static_cast<D>(b); });
    add_row<W, T, T, W>(table, Text("mad.wide.", type).text,
                        [](V a, V b, D c) { return plus(static_cast<D>(static_cast<D>(a) * static_cast<D>(b)), c); });
  }
  if constexpr (std::is_signed_v<V>) {
    add_row<T, T>(table, Text("abs.", type).text, [](V a) {
      return static_cast<V>(a < 0 ? -static_cast<Wrapping<V>>(a) : static_cast<Wrapping<V>>(a));
    });
    add_row<T, T>(table, Text("neg.", type).text, [](V a) { return static_cast<V>(-static_cast<Wrapping<V>>(a)); });
  }
}

template <class T>
void add_packed(const LaneTable& table) {
  using V = typename T::Value;
  const char* type = type_name<T>;
  add_row<T, T, T>(table, Text("add.", type).text, [](V a, V b) { return plus(a, b); });
  add_row<T, T, T>(table, Text("min.", type).text, [](V a, V b) { return a < b ? a : b; });
  add_row<T, T, T>(table, Text("max.", type).text, [](V a, V b) { return a > b ? a : b; });
}

// The 24 low bits of a lane, sign- or zero-extended.
template <class V>
V low24(V a) {
  return static_cast<V>(static_cast<V>(static_cast<u32>(a) << 8) >> 8);
}
template <class T>
void add_24bit(const LaneTable& table) {
  using V = typename T::Value;
  using D = Double<V>;
  const char* type = type_name<T>;
  add_row<T, T, T>(table, Text("mul24.lo.", type).text, [](V a, V b) { return multiply(low24(a), low24(b)); });
  add_row<T, T, T>(table, Text("mul24.hi.", type).text,
                   [](V a, V b) { return static_cast<V>((static_cast<D>(low24(a)) * low24(b)) >> 16); });
  add_row<T, T, T, T>(table, Text("mad24.lo.", type).text,
                      [](V a, V b, V c) { return plus(multiply(low24(a), low24(b)), c); });
  add_row<T, T, T, T>(table, Text("mad24.hi.", type).text, [](V a, V b, V c) {
    return plus(static_cast<V>((static_cast<D>(low24(a)) * low24(b)) >> 16), c);
  });
}

// dp4a: four products of bytes; dp2a: two products of a 16-bit half of a with a byte of b.
template <class A, class B>
void add_dot_product(const LaneTable& table) {
  using Accumulator = std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, S32, U32>;
  using AByte = std::conditional_t<std::is_signed_v<A>, i8, u8>;
  using AHalf = std::conditional_t<std::is_signed_v<A>, i16, u16>;
  using BByte = std::conditional_t<std::is_signed_v<B>, i8, u8>;
  using LaneA = std::conditional_t<std::is_signed_v<A>, S32, U32>;
  using LaneB = std::conditional_t<std::is_signed_v<B>, S32, U32>;
  const char *a_name = type_name<LaneA>, *b_name = type_name<LaneB>;
  add_row<Accumulator, LaneA, LaneB, Accumulator>(table, Text("dp4a.", a_name, ".", b_name).text, [](A a, B b, auto c) {
    u32 sum = static_cast<u32>(c);
    for (int shift = 0; shift < 32; shift += 8) {
      sum += static_cast<u32>(static_cast<i32>(static_cast<AByte>(static_cast<u32>(a) >> shift)) *
                              static_cast<i32>(static_cast<BByte>(static_cast<u32>(b) >> shift)));
    }
    return sum;
  });
  auto dp2a = [&](const char* half, auto function) {
    add_row<Accumulator, LaneA, LaneB, Accumulator>(table, Text("dp2a.", half, ".", a_name, ".", b_name).text,
                                                    function);
  };
  dp2a("lo", [](A a, B b, auto c) {
    const u32 first = static_cast<u32>(static_cast<AHalf>(static_cast<u32>(a))) *
                      static_cast<u32>(static_cast<BByte>(static_cast<u32>(b)));
    const u32 second = static_cast<u32>(static_cast<AHalf>(static_cast<u32>(a) >> 16)) *
                       static_cast<u32>(static_cast<BByte>(static_cast<u32>(b) >> 8));
    return static_cast<u32>(c) + first + second;
  });
  dp2a("hi", [](A a, B b, auto c) {
    const u32 first = static_cast<u32>(static_cast<AHalf>(static_cast<u32>(a))) *
                      static_cast<u32>(static_cast<BByte>(static_cast<u32>(b) >> 16));
    const u32 second = static_cast<u32>(static_cast<AHalf>(static_cast<u32>(a) >> 16)) *
                       static_cast<u32>(static_cast<BByte>(static_cast<u32>(b) >> 24));
    return static_cast<u32>(c) + first + second;
  });
}

}  // namespace

void add_integer_rows(const LaneTable& table) {
  add_arithmetic<U16, U32>(table);
  add_arithmetic<S16, S32>(table);
  add_arithmetic<U32, U64>(table);
  add_arithmetic<S32, S64>(table);
  add_arithmetic<U64, U64>(table);
  add_arithmetic<S64, S64>(table);
  add_packed<U16x2>(table);
  add_packed<S16x2>(table);
  add_24bit<U32>(table);
  add_24bit<S32>(table);
  add_dot_product<u32, u32>(table);
  add_dot_product<u32, i32>(table);
  add_dot_product<i32, u32>(table);
  add_dot_product<i32, i32>(table);

  add_row<S32, S32, S32>(table, "add.sat.s32", [](i32 a, i32 b) { return saturate(static_cast<i64>(a) + b); });
  add_row<S32, S32, S32>(table, "sub.sat.s32", [](i32 a, i32 b) { return saturate(static_cast<i64>(a) - b); });
  add_row<S32, S32, S32, S32>(table, "mad.hi.sat.s32",
                              [](i32 a, i32 b, i32 c) { return saturate(static_cast<i64>(multiply_high(a, b)) + c); });
  add_row<S32, S32, S32, S32>(table, "mad24.hi.sat.s32", [](i32 a, i32 b, i32 c) {
    return saturate(static_cast<i64>(static_cast<i32>((static_cast<i64>(low24(a)) * low24(b)) >> 16)) + c);
  });
  add_row<S32, S32, S32>(table, "min.relu.s32", [](i32 a, i32 b) { return a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); });
  add_row<S32, S32, S32>(table, "max.relu.s32", [](i32 a, i32 b) { return a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); });
  add_row<S16x2, S16x2, S16x2>(table, "min.relu.s16x2",
                               [](i16 a, i16 b) { return a < b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); });
  add_row<S16x2, S16x2, S16x2>(table, "max.relu.s16x2",
                               [](i16 a, i16 b) { return a > b ? (a > 0 ? a : 0) : (b > 0 ? b : 0); });

  // The sum of the absolute differences of four bytes; without .add the four differences stay in their bytes.
  add_row<U32, U32, U32, U32>(table, "vabsdiff4.u32.u32.u32.add", [](u32 a, u32 b, u32 c) {
    for (int shift = 0; shift < 32; shift += 8) {
      const u32 x = (a >> shift) & 0xff, y = (b >> shift) & 0xff;
      c += x < y ? y - x : x - y;
    }
    return c;
  });
  add_row<U32, U32, U32, U32>(table, "vabsdiff4.u32.u32.u32", [](u32 a, u32 b, u32) {
    u32 result = 0;
    for (int shift = 0; shift < 32; shift += 8) {
      const u32 x = (a >> shift) & 0xff, y = (b >> shift) & 0xff;
      result |= (x < y ? y - x : x - y) << shift;
    }
    return result;
  });
}

}  // namespace kw::KW_LANES
