// cvt to floating point: from whole numbers, between formats, and to whole numbers kept in their format (rni, rzi, rmi,
// rpi).
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

template <Rounding m>
struct Mode {
  static constexpr Rounding mode = m;
  static constexpr const char* name = m == Rounding::nearest ? ".rn"
                                      : m == Rounding::zero  ? ".rz"
                                      : m == Rounding::down  ? ".rm"
                                                             : ".rp";
};
using Modes = List<Mode<Rounding::nearest>, Mode<Rounding::zero>, Mode<Rounding::down>, Mode<Rounding::up>>;

// A destination lane that takes a float (rounded to odd, if it was rounded at all) or a double, and rounds it as asked.
template <class D, Rounding mode>
typename D::Slot rounded(double x) {
  if constexpr (std::is_same_v<D, F64>) {
    return bits_as<u64>(x);
  } else if constexpr (std::is_same_v<D, F32>) {
    return bits_as<u32>(narrowed<mode>(x));
  } else {
    // NaN keeps its sign and what fits of its payload, made quiet (the conversion to float has done that).
    constexpr int dropped = 23 - D::format.mantissa_bits;
    const u32 nan = bits_as<u32>(static_cast<float>(x));
    const u32 kept = ((nan & 0x7fffffffu) >> dropped) & D::format.nan;
    return is_nan(x) ? kept | ((nan >> 16) & 0x8000u) : encoded<D::format, mode>(narrowed_to_odd(x));
  }
}
template <class D, Rounding mode>
typename D::Slot rounded(float x) {
  if constexpr (std::is_same_v<D, F64>) {
    return bits_as<u64>(static_cast<double>(x));
  } else if constexpr (std::is_same_v<D, F32>) {
    return bits_as<u32>(x);
  } else {
    return encoded<D::format, mode>(x);
  }
}

template <class D>
struct AsBits : D {
  using Value = typename D::Slot;
  static Value write(Value bits) { return bits; }
};

// Whole numbers: exact in double up to 53 bits. 64-bit ones keep a sticky bit where the destination has at least two
// bits less.
template <class D, Rounding mode, class V>
typename D::Slot from_integer(V value) {
  if constexpr (sizeof(V) < 8) {
    return rounded<D, mode>(static_cast<double>(value));
  } else {
    const bool negative = std::is_signed_v<V> && static_cast<i64>(value) < 0;
    const u64 magnitude = negative ? -static_cast<u64>(value) : static_cast<u64>(value);
    const u64 sticky =
        magnitude < (u64{1} << 53) ? magnitude : (magnitude & ~u64{0xfff}) | ((magnitude & 0xfff) != 0 ? 0x1000u : 0u);
    const double exact = static_cast<double>(sticky);
    return rounded<D, mode>(negative ? -exact : exact);
  }
}
// To f32 and f64 there is an instruction, whose rounding is MXCSR's.
template <class D, class S>
struct Direct {
  typename D::Value operator()(typename S::Value value) const { return static_cast<typename D::Value>(value); }
};
template <class D, class S, Rounding mode>
struct FromInteger {
  typename D::Slot operator()(typename S::Value value) const { return from_integer<D, mode>(value); }
};
// For u64 there is none before AVX-512, and what compilers do instead is made for rounding to nearest alone (clang
// gives -0 for 0 when rounding down). So: to nearest, and one step back where that went the wrong way.
template <Rounding mode>
struct DoubleFromU64 {
  u64 operator()(u64 value) const {
    constexpr double beyond = 18446744073709551616.0;  // 2^64
    const double nearest = static_cast<double>(value);
    const bool overflown = nearest >= beyond;
    const u64 back = overflown ? 0 : static_cast<u64>(nearest);
    const bool above = overflown || back > value, below = !overflown && back < value;
    return bits_as<u64>(nearest) + (mode == Rounding::up && below ? 1 : 0) - (mode != Rounding::up && above ? 1 : 0);
  }
};

template <class D, class S, class M>
void add_from_integer(const LaneTable& table) {
  if constexpr (std::is_same_v<D, BF16> && sizeof(typename S::Value) == 1) return;  // PTX has no such form
  const Text form("cvt", M::name, ".", type_name<D>, ".", type_name<S>);
  if constexpr (std::is_same_v<D, F64> || std::is_same_v<D, F32>) {
    constexpr LaneOperation nearest = &map<D, Direct<D, S>, S>;
    const LaneSignature signature{D::type, {S::type}};
    if constexpr (M::mode == Rounding::nearest || sizeof(typename S::Value) < sizeof(typename D::Value)) {
      table.add(table.context, form.text, nearest, signature);
    } else if constexpr (std::is_same_v<typename S::Value, u64> && std::is_same_v<D, F64>) {
      add_row<AsBits<D>, S>(table, form.text, DoubleFromU64<M::mode>{});
    } else if constexpr (std::is_same_v<typename S::Value, i64>) {
      table.add(table.context, form.text, &in_rounding_mode<nearest, M::mode>, signature);
    } else {
      add_row<AsBits<D>, S>(table, form.text, FromInteger<D, S, M::mode>{});
    }
  } else {
    add_row<AsBits<D>, S>(table, form.text, FromInteger<D, S, M::mode>{});
  }
}

template <class D, class S, Rounding mode, bool ftz, bool sat, bool rectified, bool satfinite>
struct Convert {
  typename D::Slot operator()(typename S::Value x) const {
    // To f16 the hardware ignores .ftz.
    if constexpr (ftz && std::is_same_v<S, F32> && !std::is_same_v<D, F16>) x = flushed(x);
    // Without .ftz, f32 -> f32 and bf16 -> f32 only move bits.
    if constexpr (sizeof(x) == 4 && (ftz || (std::is_same_v<D, F32> && std::is_same_v<S, F16>))) x = canonical(x);
    if constexpr (sat) x = saturated(x);
    if constexpr (rectified) x = relu(x);
    if constexpr (satfinite) {
      return encoded<D::format, mode, true>(x);
    } else {
      const auto result = rounded<D, mode>(x);
      if constexpr (ftz && std::is_same_v<D, F32>) return bits_as<u32>(flushed(bits_as<float>(result)));
      return result;
    }
  }
};

template <class D, class S, class M, bool ftz>
void add_conversion(const LaneTable& table, const char* rounding) {
  const Text head("cvt", rounding, ftz ? ".ftz" : ""), types(".", type_name<D>, ".", type_name<S>);
  constexpr Rounding mode = M::mode;
  add_row<AsBits<D>, S>(table, Text(head.text, types.text).text, Convert<D, S, mode, ftz, false, false, false>{});
  if constexpr (!std::is_same_v<D, BF16> && !std::is_same_v<S, BF16>) {
    add_row<AsBits<D>, S>(table, Text(head.text, ".sat", types.text).text,
                          Convert<D, S, mode, ftz, true, false, false>{});
  }
}

template <class D, class S>
void add_narrowing(const LaneTable& table) {
  Modes::for_each([&]<class M>(M) {
    add_conversion<D, S, M, false>(table, M::name);
    if constexpr (std::is_same_v<S, F32> || std::is_same_v<D, F32>) add_conversion<D, S, M, true>(table, M::name);
  });
}
template <class D, class S>
void add_exact(const LaneTable& table) {
  add_conversion<D, S, Mode<Rounding::nearest>, false>(table, "");
  if constexpr (std::is_same_v<S, F32> || std::is_same_v<D, F32>)
    add_conversion<D, S, Mode<Rounding::nearest>, true>(table, "");
}

// f16 and bf16 of f32 also clamp below zero and at the largest finite number.
template <class D>
void add_clamping(const LaneTable& table) {
  List<Mode<Rounding::nearest>, Mode<Rounding::zero>>::for_each([&]<class M>(M) {
    auto row = [&](const char* clamp, auto function) {
      add_row<AsBits<D>, F32>(table, Text("cvt", M::name, clamp, ".", type_name<D>, ".f32").text, function);
    };
    row(".relu", Convert<D, F32, M::mode, false, false, true, false>{});
    row(".satfinite", Convert<D, F32, M::mode, false, false, false, true>{});
    row(".relu.satfinite", Convert<D, F32, M::mode, false, false, true, true>{});
  });
}

template <class T, class Round, bool ftz, bool sat>
struct Whole {
  typename T::Value operator()(typename T::Value x) const {
    if constexpr (ftz) x = flushed(x);
    typename T::Value result = Round{}(x);
    if constexpr (sizeof(x) == 4) {
      result = canonical(result);
    } else {
      result = is_nan(x) ? bits_as<double>(bits_as<u64>(x) | 0x0008000000000000u) : result;
    }
    return sat ? saturated(result) : result;
  }
};
template <class T>
void add_whole_numbers(const LaneTable& table) {
  List<ToNearest, ToZero, Down, Up>::for_each([&]<class Round>(Round) {
    auto row = [&](const char* rest, auto function) {
      add_row<T, T>(table, Text("cvt", Round::name, rest, ".", type_name<T>, ".", type_name<T>).text, function);
    };
    row("", Whole<T, Round, false, false>{});
    if constexpr (!std::is_same_v<T, BF16>) row(".sat", Whole<T, Round, false, true>{});
    if constexpr (std::is_same_v<T, F32>) {
      row(".ftz", Whole<T, Round, true, false>{});
      row(".ftz.sat", Whole<T, Round, true, true>{});
    }
  });
}

}  // namespace

void add_convert_float_rows(const LaneTable& table) {
  List<U8, S8, U16, S16, U32, S32, U64, S64>::for_each([&]<class S>(S) {
    Modes::for_each([&]<class M>(M) {
      List<F16, BF16, F32, F64>::for_each([&]<class D>(D) { add_from_integer<D, S, M>(table); });
    });
  });
  add_narrowing<F32, F64>(table);
  add_narrowing<F16, F64>(table);
  add_narrowing<BF16, F64>(table);
  add_narrowing<F16, F32>(table);
  add_narrowing<BF16, F32>(table);
  add_narrowing<F16, BF16>(table);
  add_narrowing<BF16, F16>(table);
  add_clamping<F16>(table);
  add_clamping<BF16>(table);
  add_exact<F32, F32>(table);
  add_exact<F64, F64>(table);
  add_exact<F32, F16>(table);
  add_exact<F32, BF16>(table);
  add_exact<F64, F32>(table);
  add_exact<F64, F16>(table);
  add_exact<F64, BF16>(table);
  add_exact<F16, F16>(table);
  add_exact<BF16, BF16>(table);
  add_whole_numbers<F32>(table);
  add_whole_numbers<F64>(table);
  add_whole_numbers<F16>(table);
  add_whole_numbers<BF16>(table);
}

}  // namespace kw::KW_LANES
