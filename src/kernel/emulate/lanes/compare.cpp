// setp and set of whole numbers, f32 and f64; testp.
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

template <class Op>
struct Flushing {
  static constexpr const char* name = Op::name;
  bool operator()(float a, float b) const { return Op{}(flushed(a), flushed(b)); }
};

template <class T, class Op>
void add_comparison(const LaneTable& table, const char* ftz) {
  Combinations::for_each([&]<class Combine>(Combine) {
    LaneSignature signature{PtxType::pred, {T::type, T::type, Combine::combines ? PtxType::pred : PtxType::none}};
    const Text rest(".", Op::name, Combine::name, ftz);
    table.add(table.context, Text("setp", rest.text, ".", type_name<T>).text, &set_predicate<Op, T, Combine>,
              signature);
    signature.destination = PtxType::u32;
    table.add(table.context, Text("set", rest.text, ".{u32|s32}.", type_name<T>).text,
              &set_number<Op, T, Combine, 0xffffffffu>, signature);
    signature.destination = PtxType::f32;
    table.add(table.context, Text("set", rest.text, ".f32.", type_name<T>).text,
              &set_number<Op, T, Combine, 0x3f800000u>, signature);
  });
}

template <class T, class Comparisons>
void add_type(const LaneTable& table) {
  Comparisons::for_each([&]<class Op>(Op) { add_comparison<T, Op>(table, ""); });
}

template <class Op, class T>
[[gnu::flatten]] void test(const LaneArguments& arguments) {
  write_predicate(arguments.predicate_out, lanes_where<Op, T>(arguments), arguments.active);
}
template <class T, u64 exponent, u64 mantissa>
void add_tests(const LaneTable& table) {
  auto row = [&]<class Op>(const char* name, Op) {
    table.add(table.context, Text("testp.", name, ".", type_name<T>).text,
              &test<Op, std::conditional_t<sizeof(typename T::Slot) == 4, U32, U64>>,
              LaneSignature{PtxType::pred, {T::type}});
  };
  row("finite", [](auto x) { return (x & exponent) != exponent; });
  row("infinite", [](auto x) { return (x & (exponent | mantissa)) == exponent; });
  row("number", [](auto x) { return (x & (exponent | mantissa)) <= exponent; });
  row("notanumber", [](auto x) { return (x & (exponent | mantissa)) > exponent; });
  row("normal", [](auto x) {
    return (x & exponent) != exponent && ((x & exponent) != 0 || (x & mantissa) == 0);
  });  // zero counts as normal
  row("subnormal", [](auto x) { return (x & exponent) == 0 && (x & mantissa) != 0; });
}

}  // namespace

void add_compare_rows(const LaneTable& table) {
  add_type<B16, BitComparisons>(table);
  add_type<B32, BitComparisons>(table);
  add_type<B64, BitComparisons>(table);
  add_type<U16, UnsignedComparisons>(table);
  add_type<U32, UnsignedComparisons>(table);
  add_type<U64, UnsignedComparisons>(table);
  add_type<S16, SignedComparisons>(table);
  add_type<S32, SignedComparisons>(table);
  add_type<S64, SignedComparisons>(table);
  add_type<F32, FloatComparisons>(table);
  add_type<F64, FloatComparisons>(table);
  FloatComparisons::for_each([&]<class Op>(Op) { add_comparison<F32, Flushing<Op>>(table, ".ftz"); });
  add_tests<F32, 0x7f800000u, 0x007fffffu>(table);
  add_tests<F64, 0x7ff0000000000000u, 0x000fffffffffffffu>(table);
}

}  // namespace kw::KW_LANES
