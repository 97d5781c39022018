#include "kernel/judge/error_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/random.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

OutputTensor truth_of(const std::vector<double>& values) {
  return {"y", Dtype::float64, {static_cast<std::int64_t>(values.size())}, bytes_of_values(values)};
}

OutputTensor floats(const std::vector<float>& values) {
  return {"y", Dtype::float32, {static_cast<std::int64_t>(values.size())}, bytes_of_values(values)};
}

TEST(ErrorBound, CoarseInputsKeepTenBitsOfAFloat) {
  const InputTensor input{
      "x", Dtype::float32, {3}, bytes_of_values<float>({1.0f, 1.0f + 0x1p-11f + 0x1p-12f, -3.14159265f})};
  const auto coarse = coarse_inputs({input});
  EXPECT_EQ(element_at(Dtype::float32, coarse[0].bytes, 0), 1.0);
  EXPECT_EQ(element_at(Dtype::float32, coarse[0].bytes, 1), 1.0 + 0x1p-10);
  EXPECT_NEAR(element_at(Dtype::float32, coarse[0].bytes, 2), -3.14159265, 0x1p-10);
  EXPECT_NE(element_at(Dtype::float32, coarse[0].bytes, 2), static_cast<double>(-3.14159265f));
}

TEST(ErrorBound, CoarseInputsLeaveWholeNumbersAlone) {
  const InputTensor input{"i", Dtype::int32, {2}, bytes_of_values<std::int32_t>({123456789, -7})};
  EXPECT_EQ(coarse_inputs({input})[0].bytes, input.bytes);
}

// On a GPU PyTorch's process rounds inputs itself.
TEST(ErrorBound, CoarseInputsAreTheReferencesOwn) {
  Random random(11);
  for (const char* dtype : {"float32", "float64", "float16", "bfloat16", "int32"}) {
    const auto task = parse_task(fmt::format("name: copying\nfamily: f\npytorch: |\n  def reference(x):\n"
                                             "      return x.clone()\ninputs:\n  x: {{dtype: {0}, shape: [n]}}\n"
                                             "outputs:\n  y: {{dtype: {0}, shape: [n]}}\nsizes:\n"
                                             "  small: [{{n: 7}}]\n  train: [{{n: 99}}]\n",
                                             dtype),
                                 "copying.yaml");
    ASSERT_TRUE(task.ok()) << to_string(task.error());
    const std::int64_t count = 4096;
    // Every pattern of bits may come: infinities, subnormals, but no NaN, of which there are many.
    InputTensor input{"x", *dtype_from_name(dtype), {count}, {}};
    while (input.bytes.size() < count * bytes_of(input.dtype)) {
      std::uint64_t word = static_cast<std::uint64_t>(random.integer(0, INT64_MAX));
      word ^= word << 1;
      const std::string one(reinterpret_cast<const char*>(&word), bytes_of(input.dtype));
      if (!std::isnan(element_at(input.dtype, one, 0))) input.bytes += one;
    }
    InputTensor there = input;
    there.coarse = true;
    const auto reference = make_reference(*task);
    ASSERT_TRUE(reference.ok()) << to_string(reference.error());
    const auto ran = (*reference)->run({there}, {{"n", count}}, Precision::task_dtype);
    ASSERT_TRUE(ran.ok()) << to_string(ran.error());
    EXPECT_TRUE(ran->at(0).bytes == coarse_inputs({input})[0].bytes) << dtype;
  }
}

// Dot products of random vectors: a serial sum in float, the slowest honest way, is right; inputs rounded to half are
// not.
TEST(ErrorBound, HonestFloatPassesAndHalfDoesNot) {
  constexpr int length = 4096, rows = 64;
  Random random(3);
  std::vector<double> truth, coarse;
  std::vector<float> serial, pairwise;
  for (int row = 0; row < rows; ++row) {
    double exact = 0, rounded = 0;
    float sum = 0, parts[64] = {};
    for (int i = 0; i < length; ++i) {
      const auto a = static_cast<float>(random.normal()), b = static_cast<float>(random.normal());
      exact += static_cast<double>(a) * static_cast<double>(b);
      rounded += static_cast<double>(float_from_float16(float16_bits(a))) *
                 static_cast<double>(float_from_float16(float16_bits(b)));
      sum += a * b;
      parts[i % 64] += a * b;
    }
    float joined = 0;
    for (const float part : parts) joined += part;
    truth.push_back(exact);
    coarse.push_back(rounded);
    serial.push_back(sum);
    pairwise.push_back(joined);
  }
  const OutputTensor right = truth_of(truth);
  const ErrorBound bound = derive_bound({{right, floats(pairwise), truth_of(coarse)}});
  EXPECT_TRUE(compare(right, Dtype::float32, bytes_of_values(serial), bound).ok);
  std::vector<float> from_half(coarse.begin(), coarse.end());
  EXPECT_FALSE(compare(right, Dtype::float32, bytes_of_values(from_half), bound).ok);
}

TEST(ErrorBound, WholeNumbersAreExact) {
  const OutputTensor right{"y", Dtype::int32, {3}, bytes_of_values<std::int32_t>({1, 2, 3})};
  const ErrorBound bound = derive_bound({{right, right, right}});
  EXPECT_TRUE(compare(right, Dtype::int32, bytes_of_values<std::int32_t>({1, 2, 3}), bound).ok);
  const Comparison off = compare(right, Dtype::int32, bytes_of_values<std::int32_t>({1, 2, 4}), bound);
  EXPECT_FALSE(off.ok);
  EXPECT_EQ(off.first_wrong, 2);
  EXPECT_EQ(off.wrong, 1);
}

TEST(Compare, NotANumberIsWrongUnlessTheTruthIsOne) {
  const double nan = std::nan("");
  const OutputTensor right = truth_of({1, nan});
  const ErrorBound bound{1e-3, 1e-3};
  EXPECT_TRUE(compare(right, Dtype::float32, bytes_of_values<float>({1, std::nanf("")}), bound).ok);
  const Comparison wrong =
      compare(right, Dtype::float32, bytes_of_values<float>({std::nanf(""), std::nanf("")}), bound);
  EXPECT_FALSE(wrong.ok);
  EXPECT_TRUE(wrong.not_finite);
  EXPECT_FALSE(compare(right, Dtype::float32, bytes_of_values<float>({1, 1}), bound).ok);
}

TEST(Compare, OverflowOfTheDtypeIsInfinity) {
  const OutputTensor right = truth_of({1e6, -1e6});
  const ErrorBound bound{1e-3, 1e-3};
  const std::string both = bytes_of_values<std::uint16_t>({0x7C00, 0xFC00});
  EXPECT_TRUE(compare(right, Dtype::float16, both, bound).ok);
  const std::string wrong_sign = bytes_of_values<std::uint16_t>({0xFC00, 0xFC00});
  EXPECT_FALSE(compare(right, Dtype::float16, wrong_sign, bound).ok);
}

TEST(Compare, AllZeroIsNamed) {
  const Comparison zero = compare(truth_of({1, 2}), Dtype::float32, bytes_of_values<float>({0, 0}), {1e-3, 1e-3});
  EXPECT_FALSE(zero.ok);
  EXPECT_TRUE(zero.all_zero);
}

// A sum that happens to be close to zero must not need more precision than sums usually do.
TEST(ErrorBound, IsTakenFromSeveralDrawsOfAnOutputOfOneElement) {
  const auto draw = [](double truth) {
    return BoundDraw{truth_of({truth}), floats({static_cast<float>(truth)}), truth_of({truth * (1 + 0x1p-12)})};
  };
  const ErrorBound alone = derive_bound({draw(1e-4)});
  const ErrorBound among = derive_bound({draw(1e-4), draw(30), draw(-25)});
  EXPECT_LT(alone.allowed_for(1e-4), 1e-6);
  EXPECT_GT(among.allowed_for(1e-4), 1e-4);
  EXPECT_LT(among.allowed_for(1e-4), 1e-2);
}

TEST(ErrorBound, NudgedInputsDifferInTheirLastBitsAndZerosStay) {
  const InputTensor input{"x", Dtype::float32, {3}, bytes_of_values<float>({1.5f, 0.0f, -3.0f})};
  const auto up = nudged_inputs({input}, {7, 1}), down = nudged_inputs({input}, {7, -1});
  for (std::int64_t i : {0, 2}) {
    const double before = element_at(Dtype::float32, input.bytes, i);
    const double a = element_at(up[0].dtype, up[0].bytes, i), b = element_at(down[0].dtype, down[0].bytes, i);
    EXPECT_NE(a, before);
    EXPECT_NEAR(a, before, std::abs(before) * 0x1p-21);
    EXPECT_GT(std::abs(a - before), std::abs(before) * 0x1p-23);
    EXPECT_NEAR(a + b, 2 * before, 1e-12);
  }
  EXPECT_EQ(element_at(up[0].dtype, up[0].bytes, 1), 0.0);
}

TEST(ErrorBound, AnElementAtTheEdgeOfARoundingMayBeOnEitherSide) {
  ErrorBound bound{1e-5, 1e-5};
  const OutputTensor truth = truth_of({1, 2, 3});
  add_unstable(truth, truth_of({1, 3, 3 + 1e-9}), bound);
  ASSERT_EQ(bound.unstable.size(), 1u);
  EXPECT_TRUE(compare(truth, Dtype::float32, floats({1, 3, 3}).bytes, bound).ok);
  EXPECT_FALSE(compare(truth, Dtype::float32, floats({1, 9, 3}).bytes, bound).ok);
  EXPECT_FALSE(compare(truth, Dtype::float32, floats({1, 3, 4}).bytes, bound).ok);
}

TEST(ErrorBound, AnIndexThatANearTieDecidesIsNotCompared) {
  ErrorBound bound;
  const OutputTensor truth{"i", Dtype::int32, {3}, bytes_of_values<std::int32_t>({4, 7, 9})};
  const OutputTensor nudged{"i", Dtype::int32, {3}, bytes_of_values<std::int32_t>({4, 100, 9})};
  add_unstable(truth, nudged, bound);
  EXPECT_TRUE(compare(truth, Dtype::int32, bytes_of_values<std::int32_t>({4, 55, 9}), bound).ok);
  EXPECT_FALSE(compare(truth, Dtype::int32, bytes_of_values<std::int32_t>({5, 7, 9}), bound).ok);
  add_unstable(truth, truth, bound);  // what another nudge does not move stays known
  EXPECT_EQ(bound.unstable.size(), 1u);
}

}  // namespace
}  // namespace kw
