// cvt from whole number to whole number: narrowing keeps the low bits, .sat clamps, a register wider than the type is
// extended by its sign.
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

using Integers = List<U8, S8, U16, S16, U32, S32, U64, S64>;

template <class To, class From>
To clamped(From value) {
  constexpr u64 highest =
      std::is_signed_v<To> ? (u64{1} << (8 * sizeof(To) - 1)) - 1 : ~u64{0} >> (64 - 8 * sizeof(To));
  if constexpr (std::is_signed_v<From>) {
    constexpr i64 lowest = std::is_signed_v<To> ? -static_cast<i64>(highest) - 1 : 0;
    if (value < 0) return static_cast<To>(value < lowest ? lowest : static_cast<i64>(value));
  }
  return static_cast<To>(static_cast<u64>(value) > highest ? highest : static_cast<u64>(value));
}

// The same type in a register of 4 or 8 bytes.
template <class T, class S>
struct InRegister : T {
  using Slot = S;
  static typename T::Value read(S slot) { return static_cast<typename T::Value>(slot); }
  static S write(typename T::Value value) { return static_cast<S>(value); }  // extends by the sign of Value
};

template <class D, class S>
void add_wide(const LaneTable& table, const char* destination, const char* source, const char* widths) {
  using V = typename S::Value;
  add_row<D, S>(table, Text("cvt.", destination, ".", source, "@", widths).text,
                [](V value) { return static_cast<typename D::Value>(value); });
}

}  // namespace

void add_convert_integer_rows(const LaneTable& table) {
  Integers::for_each([&]<class D>(D) {
    Integers::for_each([&]<class S>(S) {
      using To = typename D::Value;
      using From = typename S::Value;
      const char *to = type_name<D>, *from = type_name<S>;
      add_row<D, S>(table, Text("cvt.", to, ".", from).text, [](From value) { return static_cast<To>(value); });
      constexpr bool fits = std::is_signed_v<From> ? std::is_signed_v<To> && sizeof(From) <= sizeof(To)
                                                   : sizeof(From) < sizeof(To) + (std::is_signed_v<To> ? 0 : 1);
      if constexpr (!fits)
        add_row<D, S>(table, Text("cvt.sat.", to, ".", from).text, [](From value) { return clamped<To>(value); });
      constexpr bool narrow_to = sizeof(To) < 8, narrow_from = sizeof(From) < 8,
                     sign_reaches = std::is_signed_v<To> && sizeof(To) < 4;
      if constexpr (sign_reaches) add_wide<InRegister<D, u32>, S>(table, to, from, "d4");
      if constexpr (narrow_to) add_wide<InRegister<D, u64>, S>(table, to, from, "d8");
      if constexpr (narrow_from) add_wide<D, InRegister<S, u64>>(table, to, from, "s8");
      if constexpr (sign_reaches && narrow_from)
        add_wide<InRegister<D, u32>, InRegister<S, u64>>(table, to, from, "d4s8");
      if constexpr (narrow_to && narrow_from) add_wide<InRegister<D, u64>, InRegister<S, u64>>(table, to, from, "d8s8");
    });
  });
}

}  // namespace kw::KW_LANES
