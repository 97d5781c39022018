// Extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc. The carry flag is a predicate; after a subtraction it
// is the borrow.
#include "kernel/emulate/lanes/unit.h"

namespace kw::KW_LANES {
namespace {

template <class T>
struct Carried {
  T value;
  bool carry;
};

template <class T>
Carried<T> add_with_carry(T a, T b, bool carry) {
  const T sum = a + b;
  const T total = sum + static_cast<T>(carry);
  return {total, sum < a || total < sum};
}
template <class T>
Carried<T> subtract_with_borrow(T a, T b, bool borrow) {
  const T difference = a - b;
  const T total = difference - static_cast<T>(borrow);
  return {total, a < b || difference < static_cast<T>(borrow)};
}

template <class T, bool carry_in, bool carry_out, class Op, class... S>
[[gnu::flatten]] void chain(const LaneArguments& arguments) {
  using Slot = typename T::Slot;
  Output<T> output(arguments);
  alignas(64) Slot flags[32];
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    [](u32 carries, Slot* out, Slot* flag, const typename S::Slot*... in) {
      KW_EACH_LANE
      for (int i = 0; i < 32; ++i) {
        const bool carry = carry_in && (carries & lane_bits<Slot>.bit[i]) != 0;
        const auto result = Op{}(S::read(in[i])..., carry);
        out[i] = T::write(result.value);
        flag[i] = result.carry ? ~Slot{0} : Slot{0};
      }
    }(arguments.predicate_in, output.slots, flags, reinterpret_cast<const typename S::Slot*>(arguments.source[k])...);
  }(std::index_sequence_for<S...>{});
  output.finish();
  if constexpr (carry_out) write_predicate(arguments.predicate_out, collect(flags), arguments.active);
}

template <class T, class... S, class Op>
void add_chain(const LaneTable& table, const char* first, const char* middle, const char* types, Op) {
  LaneSignature signature{T::type, {S::type...}};
  signature.carry_out = true;
  table.add(table.context, Text(first, middle, ".cc", types).text, &chain<T, false, true, Op, S...>, signature);
  signature.carry_in = true;
  table.add(table.context, Text(first, "c", middle, ".cc", types).text, &chain<T, true, true, Op, S...>, signature);
  signature.carry_out = false;
  table.add(table.context, Text(first, "c", middle, types).text, &chain<T, true, false, Op, S...>, signature);
}

template <class T, class Signed>
void add_width(const LaneTable& table, const char* both, const char* unsigned_only, const char* signed_only) {
  using V = typename T::Value;
  using I = typename Signed::Value;
  constexpr int bits = 8 * sizeof(V);
  using D = std::conditional_t<bits == 32, u64, u128>;
  using DI = std::conditional_t<bits == 32, i64, i128>;
  add_chain<T, T, T>(table, "add", "", both, [](V a, V b, bool carry) { return add_with_carry(a, b, carry); });
  add_chain<T, T, T>(table, "sub", "", both, [](V a, V b, bool borrow) { return subtract_with_borrow(a, b, borrow); });
  add_chain<T, T, T, T>(table, "mad", ".lo", both,
                        [](V a, V b, V c, bool carry) { return add_with_carry(static_cast<V>(a * b), c, carry); });
  add_chain<T, T, T, T>(table, "mad", ".hi", unsigned_only, [](V a, V b, V c, bool carry) {
    return add_with_carry(static_cast<V>((static_cast<D>(a) * b) >> bits), c, carry);
  });
  add_chain<T, Signed, Signed, T>(table, "mad", ".hi", signed_only, [](I a, I b, V c, bool carry) {
    return add_with_carry(static_cast<V>((static_cast<DI>(a) * b) >> bits), c, carry);
  });
}

}  // namespace

void add_carry_rows(const LaneTable& table) {
  add_width<U32, S32>(table, ".{u32|s32}", ".u32", ".s32");
  add_width<U64, S64>(table, ".{u64|s64}", ".u64", ".s64");
}

}  // namespace kw::KW_LANES
