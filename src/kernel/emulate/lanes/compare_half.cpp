// setp and set of f16, bf16 and their packed pairs. Of a pair, setp's two predicates are the low and the high
// comparison.
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

template <class T>
struct Upper : T {
  static float read(u32 slot) { return T::read(slot >> 16); }
};
template <class T>
struct Lower16 : T {
  static float read(u32 slot) { return T::read(slot & 0xffffu); }
};

template <class T, class Op>
struct FlushingHalf {
  static constexpr const char* name = Op::name;
  bool operator()(float a, float b) const { return Op{}(flushed_as<T>(a), flushed_as<T>(b)); }
};

template <class Op, class T, class Combine>
void set_predicates_of_pair(const LaneArguments& arguments) {
  const u32 low = Combine{}(compared_lanes<Op, Lower16<T>>(arguments), arguments.predicate_in);
  const u32 high = Combine{}(compared_lanes<Op, Upper<T>>(arguments), arguments.predicate_in);
  write_predicate(arguments.predicate_out, low, arguments.active);
  if (arguments.predicate_out_other != nullptr) write_predicate(arguments.predicate_out_other, high, arguments.active);
}

template <class Op, class T, class Combine, u32 yes>
[[gnu::flatten]] void set_pair(const LaneArguments& arguments) {
  const u32 low = Combine{}(compared_lanes<Op, Lower16<T>>(arguments), arguments.predicate_in);
  const u32 high = Combine{}(compared_lanes<Op, Upper<T>>(arguments), arguments.predicate_in);
  Output<B32> output(arguments);
  KW_EACH_LANE
  for (int i = 0; i < 32; ++i) {
    const u32 bit = lane_bits<u32>.bit[i];
    output.slots[i] = ((low & bit) != 0 ? yes : 0u) | ((high & bit) != 0 ? yes << 16 : 0u);
  }
  output.finish();
}

template <class T, class Pair, class Op, u32 one>
void add_comparison(const LaneTable& table, const char* ftz) {
  Combinations::for_each([&]<class Combine>(Combine) {
    const PtxType predicate = Combine::combines ? PtxType::pred : PtxType::none;
    const Text rest(".", Op::name, Combine::name, ftz);
    auto row = [&](const char* op, const char* types, const char* source, LaneOperation run, PtxType destination,
                   PtxType type) {
      table.add(table.context, Text(op, rest.text, types, source).text, run,
                LaneSignature{destination, {type, type, predicate}});
    };
    const char *name = type_name<T>, *pair = type_name<Pair>;
    row("setp", ".", name, &set_predicate<Op, T, Combine>, PtxType::pred, T::type);
    row("set", ".{u32|s32}.", name, &set_number<Op, T, Combine, 0xffffffffu>, PtxType::u32, T::type);
    row("set", ".{u16|s16}.", name, &set_number<Op, T, Combine, 0xffffu>, PtxType::u16, T::type);
    row("set", Text(".", name, ".").text, name, &set_number<Op, T, Combine, one>, T::type, T::type);
    row("setp", ".", pair, &set_predicates_of_pair<Op, T, Combine>, PtxType::pred, Pair::type);
    row("set", ".{u32|s32}.", pair, &set_pair<Op, T, Combine, 0xffffu>, PtxType::u32, Pair::type);
    row("set", Text(".", pair, ".").text, pair, &set_pair<Op, T, Combine, one>, Pair::type, Pair::type);
  });
}

}  // namespace

void add_compare_half_rows(const LaneTable& table) {
  FloatComparisons::for_each([&]<class Op>(Op) {
    add_comparison<F16, F16x2, Op, 0x3c00u>(table, "");
    add_comparison<F16, F16x2, FlushingHalf<F16, Op>, 0x3c00u>(table, ".ftz");
    add_comparison<BF16, BF16x2, Op, 0x3f80u>(table, "");
  });
}

}  // namespace kw::KW_LANES
