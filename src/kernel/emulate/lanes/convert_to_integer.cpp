// cvt from floating point to whole number: rounded as asked, clamped to the destination's range.
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

template <class To, class V>
To to_integer(V whole) {
  constexpr int bits = 8 * sizeof(To);
  constexpr bool is_signed = std::is_signed_v<To>;
  // Powers of two, so exact in every V: the range is [lowest, beyond).
  constexpr V beyond = static_cast<V>(u64{1} << (bits - 1)) * V(is_signed ? 1 : 2);
  constexpr V lowest = is_signed ? -beyond : V{0};
  constexpr To highest = is_signed ? static_cast<To>((u64{1} << (bits - 1)) - 1) : static_cast<To>(~u64{0});
  constexpr To smallest = is_signed ? static_cast<To>(u64{1} << (bits - 1)) : To{0};
  const bool inside = whole >= lowest && whole < beyond;
  const V safe = inside ? whole : V{0};
  const To outside = whole >= beyond ? highest : whole < lowest ? smallest : To{0};  // NaN is 0
  if constexpr (bits < 32) {
    return inside ? static_cast<To>(static_cast<i32>(safe)) : outside;
  } else {
    return inside ? static_cast<To>(safe) : outside;
  }
}

template <class D, class S, class Round, bool ftz>
struct Convert {
  using V = typename S::Value;
  typename D::Value operator()(V x) const {
    if constexpr (ftz) x = flushed(x);
    return to_integer<typename D::Value>(Round{}(x));
  }
};

}  // namespace

void add_convert_to_integer_rows(const LaneTable& table) {
  List<U8, S8, U16, S16, U32, S32, U64, S64>::for_each([&]<class D>(D) {
    List<ToNearest, ToZero, Down, Up>::for_each([&]<class Round>(Round) {
      List<F16, BF16, F32, F64>::for_each([&]<class S>(S) {
        constexpr bool brain = std::is_same_v<S, BF16>;
        if constexpr (brain && sizeof(typename D::Value) == 1) return;  // PTX has no such form
        add_row<D, S>(table, Text("cvt", Round::name, brain ? "." : "[.sat].", type_name<D>, ".", type_name<S>).text,
                      Convert<D, S, Round, false>{});
      });
      add_row<D, F32>(table, Text("cvt", Round::name, ".ftz[.sat].", type_name<D>, ".f32").text,
                      Convert<D, F32, Round, true>{});
    });
  });
}

}  // namespace kw::KW_LANES
