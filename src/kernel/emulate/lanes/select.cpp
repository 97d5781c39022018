// mov, selp, slct: values pass through unchanged.
#include "kernel/emulate/lanes/number.h"

namespace kw::KW_LANES {
namespace {

template <class T>
[[gnu::flatten]] void select_by_predicate(const LaneArguments& arguments) {
  using Slot = typename T::Slot;
  Output<T> output(arguments);
  [](u32 chosen, Slot* out, const Slot* yes, const Slot* no) {
    KW_EACH_LANE
    for (int i = 0; i < 32; ++i) out[i] = (chosen & lane_bits<Slot>.bit[i]) != 0 ? yes[i] : no[i];
  }(arguments.predicate_in, output.slots, reinterpret_cast<const Slot*>(arguments.source[0]),
    reinterpret_cast<const Slot*>(arguments.source[1]));
  output.finish();
}

template <class T>
void add_width(const LaneTable& table, const char* names) {
  using V = typename T::Value;
  add_row<T, T>(table, Text("mov.", names).text, [](V a) { return a; });
  table.add(table.context, Text("selp.", names).text, &select_by_predicate<T>,
            LaneSignature{T::type, {T::type, T::type, PtxType::pred}});
  add_row<T, T, T, S32>(table, Text("slct.", names, ".s32").text, [](V a, V b, i32 c) { return c >= 0 ? a : b; });
  add_row<T, T, T, F32>(table, Text("slct.", names, ".f32").text, [](V a, V b, float c) { return c >= 0 ? a : b; });
  add_row<T, T, T, F32>(table, Text("slct.ftz.", names, ".f32").text,
                        [](V a, V b, float c) { return flushed(c) >= 0 ? a : b; });
}

}  // namespace

void add_select_rows(const LaneTable& table) {
  add_width<B16>(table, "{b16|u16|s16}");
  add_width<B32>(table, "{b32|u32|s32|f32}");
  add_width<B64>(table, "{b64|u64|s64|f64}");
}

}  // namespace kw::KW_LANES
