#pragma once
// Comparisons and what setp and set make of them: a predicate (and its complement), or a number in each lane.

#include "kernel/emulate/lanes/number.h"

namespace kw::KW_LANES {

template <class... T>
struct List {
  template <class Each>
  static void for_each(const Each& each) {
    (each(T{}), ...);
  }
};

#define KW_COMPARISON(type, text, expression)                      \
  struct type {                                                    \
    static constexpr const char* name = text;                      \
    bool operator()(auto a, auto b) const { return (expression); } \
  };
KW_COMPARISON(Equal, "eq", a == b)
KW_COMPARISON(NotEqual, "ne", a<b || a> b)  // of floats: false for NaN
KW_COMPARISON(Less, "lt", a < b)
KW_COMPARISON(LessEqual, "le", a <= b)
KW_COMPARISON(Greater, "gt", a > b)
KW_COMPARISON(GreaterEqual, "ge", a >= b)
KW_COMPARISON(Lower, "lo", a < b)
KW_COMPARISON(LowerSame, "ls", a <= b)
KW_COMPARISON(Higher, "hi", a > b)
KW_COMPARISON(HigherSame, "hs", a >= b)
KW_COMPARISON(EqualUnordered, "equ", !(a < b || a > b))
KW_COMPARISON(NotEqualUnordered, "neu", !(a == b))
KW_COMPARISON(LessUnordered, "ltu", !(a >= b))
KW_COMPARISON(LessEqualUnordered, "leu", !(a > b))
KW_COMPARISON(GreaterUnordered, "gtu", !(a <= b))
KW_COMPARISON(GreaterEqualUnordered, "geu", !(a < b))
KW_COMPARISON(Ordered, "num", a == a && b == b)
KW_COMPARISON(Unordered, "nan", a != a || b != b)
KW_COMPARISON(BitsDiffer, "ne", a != b)
#undef KW_COMPARISON

using BitComparisons = List<Equal, BitsDiffer>;
using SignedComparisons = List<Equal, BitsDiffer, Less, LessEqual, Greater, GreaterEqual>;
using UnsignedComparisons =
    List<Equal, BitsDiffer, Less, LessEqual, Greater, GreaterEqual, Lower, LowerSame, Higher, HigherSame>;
using FloatComparisons =
    List<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, EqualUnordered, NotEqualUnordered, LessUnordered,
         LessEqualUnordered, GreaterUnordered, GreaterEqualUnordered, Ordered, Unordered>;

struct SetAlone {
  static constexpr const char* name = "";
  static constexpr bool combines = false;
  u32 operator()(u32 compared, u32) const { return compared; }
};
struct SetAnd {
  static constexpr const char* name = ".and";
  static constexpr bool combines = true;
  u32 operator()(u32 compared, u32 predicate) const { return compared & predicate; }
};
struct SetOr {
  static constexpr const char* name = ".or";
  static constexpr bool combines = true;
  u32 operator()(u32 compared, u32 predicate) const { return compared | predicate; }
};
struct SetXor {
  static constexpr const char* name = ".xor";
  static constexpr bool combines = true;
  u32 operator()(u32 compared, u32 predicate) const { return compared ^ predicate; }
};
using Combinations = List<SetAlone, SetAnd, SetOr, SetXor>;

// One copy of the comparison, shared by all but the plain setp.
template <class Op, class T>
[[gnu::noinline]] u32 compared_lanes(const LaneArguments& arguments) {
  return lanes_where<Op, T, T>(arguments);
}

template <class Op, class T, class Combine>
[[gnu::flatten]] void set_predicate(const LaneArguments& arguments) {
  const u32 compared = Combine::combines ? compared_lanes<Op, T>(arguments) : lanes_where<Op, T, T>(arguments);
  write_predicate(arguments.predicate_out, Combine{}(compared, arguments.predicate_in), arguments.active);
  if (arguments.predicate_out_other != nullptr) {
    write_predicate(arguments.predicate_out_other, Combine{}(~compared, arguments.predicate_in), arguments.active);
  }
}

template <class Op, class T, class Combine, u32 yes>
[[gnu::flatten]] void set_number(const LaneArguments& arguments) {
  const u32 result = Combine{}(compared_lanes<Op, T>(arguments), arguments.predicate_in);
  Output<B32> output(arguments);
  KW_EACH_LANE
  for (int i = 0; i < 32; ++i) output.slots[i] = (result & lane_bits<u32>.bit[i]) != 0 ? yes : 0u;
  output.finish();
}

}  // namespace kw::KW_LANES
