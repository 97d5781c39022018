// cvt that packs or unpacks: pairs of f16, bf16 and 8-bit floats, tf32, cvt.pack of whole numbers.
#include "kernel/emulate/lanes/comparison.h"

namespace kw::KW_LANES {
namespace {

// cvt.rn.f16x2.f32 d, a, b: a becomes the upper half.
template <SmallFormat format, int width, Rounding mode, bool rectified, bool satfinite>
struct PackPair {
  u32 operator()(float upper, float lower) const {
    if (rectified) upper = relu(upper), lower = relu(lower);
    return (encoded<format, mode, satfinite>(upper) << width) | encoded<format, mode, satfinite>(lower);
  }
};
template <class D, Rounding mode>
void add_pair(const LaneTable& table, const char* head) {
  using Bits = Lane<u32, u32, D::type>;
  auto row = [&](const char* clamp, auto function) {
    add_row<Bits, F32, F32>(table, Text(head, clamp, ".", type_name<D>, ".f32").text, function);
  };
  row("", PackPair<D::format, 16, mode, false, false>{});
  row(".relu", PackPair<D::format, 16, mode, true, false>{});
  row(".satfinite", PackPair<D::format, 16, mode, false, true>{});
  row(".relu.satfinite", PackPair<D::format, 16, mode, true, true>{});
}

// An 8-bit float as f16 bits. e5m2 is the upper byte of an f16; e4m3 has one more mantissa bit, four more of exponent
// bias to make up.
u32 half_of_e5m2(u32 byte) {
  const u32 half = byte << 8;
  return (half & 0x7fffu) > 0x7c00u ? nan16 : half;
}
u32 half_of_e4m3(u32 byte) {
  const float magnitude = bits_as<float>((byte & 0x7fu) << 20) * 0x1p120f;
  return (byte & 0x7fu) == 0x7fu ? nan16 : encoded<format_f16, Rounding::nearest>(magnitude) | ((byte & 0x80u) << 8);
}
template <bool rectified>
u32 rectify_half(u32 half) {
  return rectified && (half & 0x8000u) != 0 ? 0 : half;
}

template <SmallFormat format, bool rectified>
void add_eight_bit(const LaneTable& table, const char* name) {
  const char* relu_name = rectified ? ".relu" : "";
  add_row<B16, F32, F32>(table, Text("cvt.rn.satfinite", relu_name, ".", name, ".f32").text,
                         PackPair<format, 8, Rounding::nearest, rectified, true>{});
  using Pair = Lane<u32, u32, PtxType::f16x2>;
  add_row<B16, Pair>(table, Text("cvt.rn.satfinite", relu_name, ".", name, ".f16x2").text, [](u32 pair) {
    return PackPair<format, 8, Rounding::nearest, rectified, true>{}(half_value(pair >> 16),
                                                                     half_value(pair & 0xffffu));
  });
  add_row<Pair, B16>(table, Text("cvt.rn", relu_name, ".f16x2.", name).text, [](u16 bytes) {
    auto half = [](u32 byte) {
      return rectify_half<rectified>(format.infinity != 0 ? half_of_e5m2(byte) : half_of_e4m3(byte));
    };
    return (half(bytes >> 8) << 16) | half(bytes & 0xffu);
  });
}

// tf32: a float with 10 bits of mantissa, the other 13 zero. .rna is older than the rest: it cuts NaN off like a
// number.
template <Rounding mode, bool rectified, bool satfinite>
struct ToTf32 {
  u32 operator()(float x) const {
    if (rectified) x = relu(x);
    const u32 rounded = encoded<format_tf32, mode, satfinite>(x) << 13;
    if constexpr (mode == Rounding::away) {
      const u32 cut = bits_as<u32>(x) & 0xffffe000u;
      return is_nan(x) ? cut - (satfinite ? 0x2000u : 0u) : rounded;
    }
    return rounded;
  }
};
void add_tf32(const LaneTable& table) {
  auto row = [&](const char* form, auto function) {
    add_row<Lane<u32, u32, PtxType::b32>, F32>(table, form, function);
  };
  row("cvt.rna.tf32.f32", ToTf32<Rounding::away, false, false>{});
  row("cvt.rna.satfinite.tf32.f32", ToTf32<Rounding::away, false, true>{});
  row("cvt.rn.tf32.f32", ToTf32<Rounding::nearest, false, false>{});
  row("cvt.rn.relu.tf32.f32", ToTf32<Rounding::nearest, true, false>{});
  row("cvt.rn.satfinite.tf32.f32", ToTf32<Rounding::nearest, false, true>{});
  row("cvt.rn.relu.satfinite.tf32.f32", ToTf32<Rounding::nearest, true, true>{});
  row("cvt.rz.tf32.f32", ToTf32<Rounding::zero, false, false>{});
  row("cvt.rz.relu.tf32.f32", ToTf32<Rounding::zero, true, false>{});
  row("cvt.rz.satfinite.tf32.f32", ToTf32<Rounding::zero, false, true>{});
  row("cvt.rz.relu.satfinite.tf32.f32", ToTf32<Rounding::zero, true, true>{});
}

template <int bits, bool is_signed>
u32 clamped(i32 value) {
  constexpr i32 highest = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  constexpr i32 lowest = is_signed ? -highest - 1 : 0;
  return static_cast<u32>(value > highest ? highest : value < lowest ? lowest : value) & ((1u << bits) - 1);
}
// cvt.pack.sat d, a, b {, c}: a above b; with c, the result is c moved up by both.
template <int bits, bool is_signed>
void add_pack(const LaneTable& table, const char* type) {
  auto pair = [](i32 a, i32 b) { return (clamped<bits, is_signed>(a) << bits) | clamped<bits, is_signed>(b); };
  if constexpr (bits == 16) {
    add_row<B32, S32, S32>(table, Text("cvt.pack.sat.", type, ".s32").text, pair);
  } else {
    add_row<B32, S32, S32, B32>(table, Text("cvt.pack.sat.", type, ".s32.b32").text, [](i32 a, i32 b, u32 c) {
      return (c << (2 * bits)) | (clamped<bits, is_signed>(a) << bits) | clamped<bits, is_signed>(b);
    });
  }
}

}  // namespace

void add_convert_packed_rows(const LaneTable& table) {
  add_pair<F16x2, Rounding::nearest>(table, "cvt.rn");
  add_pair<F16x2, Rounding::zero>(table, "cvt.rz");
  add_pair<BF16x2, Rounding::nearest>(table, "cvt.rn");
  add_pair<BF16x2, Rounding::zero>(table, "cvt.rz");
  add_eight_bit<format_e4m3, false>(table, "e4m3x2");
  add_eight_bit<format_e4m3, true>(table, "e4m3x2");
  add_eight_bit<format_e5m2, false>(table, "e5m2x2");
  add_eight_bit<format_e5m2, true>(table, "e5m2x2");
  add_tf32(table);
  add_pack<16, false>(table, "u16");
  add_pack<16, true>(table, "s16");
  add_pack<8, false>(table, "u8");
  add_pack<8, true>(table, "s8");
  add_pack<4, false>(table, "u4");
  add_pack<4, true>(table, "s4");
  add_pack<2, false>(table, "u2");
  add_pack<2, true>(table, "s2");
}

}  // namespace kw::KW_LANES
