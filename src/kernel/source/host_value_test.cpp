#include "kernel/source/host_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw {
namespace {

TEST(HostValue, SixteenBitFloatsSurviveTheRoundTrip) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double half = half_value(pattern), bfloat = bfloat16_value(pattern);
    EXPECT_TRUE(std::isnan(half) || half_bits(half) == pattern) << bits;
    EXPECT_TRUE(std::isnan(bfloat) || bfloat16_bits(bfloat) == pattern) << bits;
  }
}

TEST(HostValue, RoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7BFF; ++bits) {  // between each pair of neighbours
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const double middle = (half_value(low) + half_value(high)) / 2;
    EXPECT_EQ(half_bits(middle), bits % 2 == 0 ? low : high);
    EXPECT_EQ(half_bits(std::nextafter(middle, 0.0)), low);
    EXPECT_EQ(half_bits(std::nextafter(middle, 1e9)), high);
  }
  EXPECT_EQ(half_bits(65519.9), 0x7BFF);
  EXPECT_EQ(half_bits(65520.0), 0x7C00);  // infinity
  EXPECT_EQ(half_bits(-1e300), 0xFC00);
  EXPECT_EQ(half_bits(NAN), 0x7FFF);
  EXPECT_EQ(bfloat16_bits(3.4e38), 0x7F80);
  EXPECT_EQ(bfloat16_bits(-0.0), 0x8000);
}

TEST(HostValue, IntegersAreReducedToTheirType) {
  const TypeTable types;
  EXPECT_EQ(make_integer(types.basic(TypeKind::schar), 200).integer(), -56);
  EXPECT_EQ(make_integer(types.basic(TypeKind::uchar), -1).integer(), 255);
  EXPECT_EQ(make_integer(types.basic(TypeKind::uint), -1).integer(), 4294967295);
  EXPECT_EQ(make_integer(types.basic(TypeKind::bool_), 256).integer(), 1);
  EXPECT_EQ(make_integer(types.basic(TypeKind::ulonglong), -1).integer(), -1);
}

TEST(HostValue, LaysOutStructsLikeTheCompiler) {
  TypeTable types;
  struct Mixed {
    char c;
    double d;
    short s;
    const float* p;
  };
  StructType mixed;
  mixed.name = "Mixed";
  for (const HostType* type :
       {types.basic(TypeKind::char_), types.basic(TypeKind::double_), types.basic(TypeKind::short_),
        types.pointer_to(types.with_const(types.basic(TypeKind::float_)))}) {
    mixed.fields.push_back({"f", type, 0, nullptr});
  }
  const HostType* type = types.make_struct(mixed, 0);
  EXPECT_EQ(type->bytes, sizeof(Mixed));
  EXPECT_EQ(type->alignment, alignof(Mixed));
  HostValue value{type, HostValue::Aggregate{make_integer(types.basic(TypeKind::char_), 'x'),
                                             make_real(types.basic(TypeKind::double_), 1.5),
                                             make_integer(types.basic(TypeKind::short_), -2),
                                             HostValue{type->structure->fields[3].type, DevicePointer{3, 40}}}};
  std::string bytes;
  std::vector<EmbeddedPointer> pointers;
  ASSERT_TRUE(append_bytes(value, bytes, pointers));
  ASSERT_EQ(bytes.size(), sizeof(Mixed));
  EXPECT_EQ(bytes[0], 'x');
  EXPECT_EQ(static_cast<unsigned char>(bytes[offsetof(Mixed, s)]), 0xFE);
  ASSERT_EQ(pointers.size(), 1u);
  EXPECT_EQ(pointers[0].offset_bytes, offsetof(Mixed, p));
  EXPECT_EQ(pointers[0].pointer, (DevicePointer{3, 40}));
}

TEST(HostValue, AssignmentKeepsCellsWhereTheyAre) {
  const TypeTable types;
  const HostValue one = make_integer(types.int_type(), 1), two = make_integer(types.int_type(), 2);
  HostValue target{types.dim3_type(), HostValue::Aggregate{one, one, one}};
  const HostValue* cell = &target.parts()[1];
  assign(target, HostValue{types.dim3_type(), HostValue::Aggregate{two, two, two}});
  EXPECT_EQ(&target.parts()[1], cell);
  EXPECT_EQ(cell->integer(), 2);
  end_life(target);
  EXPECT_EQ(&target.parts()[1], cell);
  EXPECT_FALSE(cell->is_set());
}

}  // namespace
}  // namespace kw
