#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/source/interpreter_test_support.h"

namespace kw {
namespace {

using ::testing::HasSubstr;

TEST(Traits, ConstantsThatAreTypes) {
  EXPECT_EQ(value_of("int", "std::integral_constant<int, 7>::value"), value_of("int", "7"));
  EXPECT_EQ(value_of("int", "std::bool_constant<(3 > 2)>{}.value"), value_of("int", "1"));
  EXPECT_EQ(value_of("int", "four.value + 1", "std::integral_constant<int, 4> four;"), value_of("int", "5"));
  EXPECT_EQ(value_of("int", "std::false_type::value"), value_of("int", "0"));
  EXPECT_EQ(value_of("unsigned char", "std::integral_constant<unsigned char, 300>::value"),
            value_of("unsigned char", "44"));
  EXPECT_EQ(value_of("int", "sizeof(std::true_type)"), value_of("int", "1"));
  EXPECT_EQ(value_of("int", "std::integral_constant<int, 9>{}"), value_of("int", "9"));  // converts
}

TEST(Traits, AConstantChoosesAnInstance) {
  const std::string text =
      "template <int N> __global__ void t(float* y) {}\n"
      "template <class F> __global__ void u(float* y, F f) {}\n"
      "template <class L> void with(L&& start, int n) {\n"
      "  switch (n) { case 129: return start(std::integral_constant<int, 64>{}); default: return; }\n}\n" +
      row_signature +
      " {\n with([&](auto size) { constexpr int n = size.value; t<n><<<size.value, n>>>(y); t<size><<<1, 1>>>(y); }, "
      "cols);\n"
      " u<<<1, 1>>>(y, std::bool_constant<true>{});\n}\n";
  const auto plan = plan_text(text);
  ASSERT_TRUE(plan.ok()) << to_string(plan.error());
  ASSERT_EQ(plan->launches().size(), 3u);
  EXPECT_EQ(plan->launches()[0]->kernel, "t<64>");
  EXPECT_EQ(plan->launches()[0]->grid.x, 64u);
  EXPECT_EQ(plan->launches()[1]->kernel, "t<64>");
  EXPECT_EQ(plan->launches()[2]->kernel, "u<std::integral_constant<bool, true>>");
  EXPECT_EQ(std::get<std::string>(plan->launches()[2]->arguments[1].value).size(), 1u);
}

TEST(Traits, AConditionChoosesAnOverload) {
  const std::string overloads =
      "template <class T> std::enable_if_t<std::is_same<T, float>::value, int> kind(T*) { return 1; }\n"
      "template <class T> typename std::enable_if<std::is_integral<T>::value, int>::type kind(T*) { return 2; }\n"
      "template <class T, std::enable_if_t<std::is_pointer_v<T>, int> = 0> int pointed(T) { return 3; }\n"
      "template <class T, std::enable_if_t<!std::is_pointer_v<T>, int> = 0> int pointed(T) { return 4; }\n";
  const auto kind = [&](const std::string& call, const std::string& before) {
    return value_of("int", call, before, overloads);
  };
  EXPECT_EQ(kind("kind(&a)", "float a = 0;"), value_of("int", "1"));
  EXPECT_EQ(kind("kind(&a)", "long a = 0;"), value_of("int", "2"));
  EXPECT_EQ(kind("pointed(&a)", "long a = 0;"), value_of("int", "3"));
  EXPECT_EQ(kind("pointed(a)", "long a = 0;"), value_of("int", "4"));
  EXPECT_THAT(kind("kind(&a)", "double a = 0;"), HasSubstr("enable_if"));
  EXPECT_EQ(value_of("int", "sizeof(typename std::conditional<(1 > 2), float, double>::type)"), value_of("int", "8"));
}

TEST(Traits, QuestionsAboutTypes) {
  EXPECT_EQ(value_of("int", "std::is_floating_point_v<double> + std::is_integral<bool>::value"), value_of("int", "2"));
  EXPECT_EQ(value_of("int", "std::is_pointer<float*>::value + std::is_pointer_v<float>"), value_of("int", "1"));
  EXPECT_THAT(refusal("int a = std::is_enum<int>::value;"), HasSubstr("a.cu:3"));
}

// C's way to name a struct and an enum.
TEST(Traits, ATypedefNamesTheRecordThatItDefines) {
  const std::string records =
      "typedef struct Shape_ { int rows; int cols; } Shape, *ShapePointer;\n"
      "typedef struct { int count; } Only; typedef enum { LOW = 3, HIGH } LEVEL; typedef enum Side_ { LEFT = 5 } "
      "Side;\n"
      "extern \"C\" { typedef struct Point { float x; } Point; }\n";
  EXPECT_EQ(value_of("int", "s.rows * 10 + t.cols", "Shape s; s.rows = 4; struct Shape_ t = s; t.cols = 2;", records),
            value_of("int", "42"));
  EXPECT_EQ(value_of("int", "p->cols", "Shape s; s.cols = 7; ShapePointer p = &s;", records), value_of("int", "7"));
  EXPECT_EQ(
      value_of("int", "o.count + HIGH + level + side", "Only o{1}; LEVEL level = LOW; Side side = LEFT;", records),
      value_of("int", "13"));
  EXPECT_EQ(value_of("int", "sizeof(Shape) + sizeof(Point)", "", records), value_of("int", "12"));
}

TEST(Traits, AUsedNameIsFoundFromWhereItIsUsed) {
  const std::string names =
      "namespace a { namespace kinds { enum class Kind { one = 1, two = 2 }; }\n"
      "namespace inner { using kinds::Kind; inline int number(Kind kind) { return static_cast<int>(kind) * 10; } } }\n";
  EXPECT_EQ(value_of("int", "a::inner::number(a::kinds::Kind::two)", "", names), value_of("int", "20"));
}

TEST(Traits, AStructUsesItsOwnConstants) {
  const std::string pack =
      "template <class T> struct alignas(16) Pack { static constexpr const size_t size = 16 / sizeof(T); T a[size]; "
      "};\n"
      "typedef Pack<float> p32; using p8 = Pack<char>;\n";
  EXPECT_EQ(value_of("int", "p32::size * 100 + p8::size", "", pack), value_of("int", "416"));
  EXPECT_EQ(value_of("int", "sizeof(p8)", "", pack), value_of("int", "16"));
}

}  // namespace
}  // namespace kw
