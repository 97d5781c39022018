// Shifts (amounts beyond the width clamp) and funnel shifts.
#include "kernel/emulate/lanes/unit.h"

namespace kw::KW_LANES {
namespace {

template <class U, class S, class B>
void add_width(const LaneTable& table) {
  using V = typename U::Value;
  using I = typename S::Value;
  constexpr u32 width = 8 * sizeof(V);
  using Wide = std::conditional_t<sizeof(V) == 8, u64, u32>;
  using WideSigned = std::conditional_t<sizeof(V) == 8, i64, i32>;
  const char *bits = type_name<B>, *u_type = type_name<U>, *s_type = type_name<S>;
  // Masked as well as compared, so that no lane shifts by more than C++ defines.
  add_row<B, B, U32>(table, Text("shl.", bits).text, [](V a, u32 n) {
    return n >= width ? V{0} : static_cast<V>(static_cast<Wide>(a) << (n & (width - 1)));
  });
  add_row<U, U, U32>(table, Text("shr.{", bits, "|", u_type, "}").text, [](V a, u32 n) {
    return n >= width ? V{0} : static_cast<V>(static_cast<Wide>(a) >> (n & (width - 1)));
  });
  add_row<S, S, U32>(table, Text("shr.", s_type).text, [](I a, u32 n) {
    return static_cast<I>(static_cast<WideSigned>(a) >> (n >= width ? width - 1 : n));
  });
}

u32 funnel_left(u32 low, u32 high, u32 n) {
  return static_cast<u32>(((static_cast<u64>(high) << 32 | low) << n) >> 32);
}
u32 funnel_right(u32 low, u32 high, u32 n) { return static_cast<u32>((static_cast<u64>(high) << 32 | low) >> n); }

}  // namespace

void add_shift_rows(const LaneTable& table) {
  add_width<U16, S16, B16>(table);
  add_width<U32, S32, B32>(table);
  add_width<U64, S64, B64>(table);
  auto row = [&](const char* form, auto function) { add_row<B32, B32, B32, U32>(table, form, function); };
  row("shf.l.wrap.b32", [](u32 a, u32 b, u32 n) { return funnel_left(a, b, n & 31); });
  row("shf.r.wrap.b32", [](u32 a, u32 b, u32 n) { return funnel_right(a, b, n & 31); });
  row("shf.l.clamp.b32", [](u32 a, u32 b, u32 n) { return funnel_left(a, b, n < 32 ? n : 32); });
  row("shf.r.clamp.b32", [](u32 a, u32 b, u32 n) { return funnel_right(a, b, n < 32 ? n : 32); });
}

}  // namespace kw::KW_LANES
