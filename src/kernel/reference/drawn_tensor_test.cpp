// Tensors that the reference's process draws itself must have the bytes that draw() makes, on the CPU and on a GPU.
#include <gtest/gtest.h>

#include "kernel/reference/reference.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

using Kind = DrawRecipe::Kind;

struct Sample {
  Kind kind = Kind::words;
  Dtype dtype = Dtype::float32;
  bool has_range = false;
  std::uint64_t line_elements = 0, parts = 1, steady_parts = 0;
};

constexpr std::int64_t some = 5003, more_than_at_a_time = (std::int64_t{1} << 24) + some;

Task copying(Dtype dtype) {
  const auto task = parse_task(
      "name: copying\nfamily: f\npytorch: |\n  def reference(x):\n      return x.clone()\ninputs:\n  x: {dtype: " +
          std::string(name_of(dtype)) + ", shape: [n]}\noutputs:\n  y: {dtype: " + std::string(name_of(dtype)) +
          ", shape: [n]}\nsizes:\n  small: [{n: 7}]\n  train: [{n: 99}]\n",
      "copying.yaml");
  EXPECT_TRUE(task.ok()) << to_string(task.error());
  return *task;
}

InputTensor to_draw(const Sample& sample, std::uint64_t key, std::int64_t elements) {
  InputTensor input{"x", sample.dtype, {elements}, {}};
  const std::size_t width = bytes_of(sample.dtype);
  input.recipe =
      DrawRecipe{sample.kind,        width, 256, key, sample.has_range, 0.25, 0.75, sample.line_elements, sample.parts,
                 sample.steady_parts};
  for (int i = 0; i < 256; ++i) {
    const double value = i == 5 ? 0 : 0.25 + i / 512.0;
    const auto single = static_cast<float>(value);
    const std::uint64_t word = 0x0123456789abcdefull * static_cast<std::uint64_t>(i + 1);
    const void* from = sample.kind == Kind::floats    ? static_cast<const void*>(&single)
                       : sample.kind == Kind::doubles ? static_cast<const void*>(&value)
                                                      : &word;
    input.bytes.append(static_cast<const char*>(from), width);
  }
  return input;
}

void expect_the_same_bytes(Device device, std::int64_t elements) {
  std::uint64_t key = 0xfedcba9876543210u;
  for (const Sample& sample :
       {Sample{Kind::words, Dtype::uint8}, Sample{Kind::words, Dtype::float16, false, 1000, 4, 5},
        Sample{Kind::words, Dtype::int32, false, 7, 8, 0xff}, Sample{Kind::words, Dtype::int64},
        Sample{Kind::floats, Dtype::float32}, Sample{Kind::floats, Dtype::float32, true},
        Sample{Kind::floats, Dtype::float32, true, 33, 64, (std::uint64_t{1} << 63) | 2},
        Sample{Kind::doubles, Dtype::float64, true, 4097, 2, 1}}) {
    const InputTensor input = to_draw(sample, ++key, elements);
    const auto reference = make_reference(copying(sample.dtype));
    ASSERT_TRUE(reference.ok()) << to_string(reference.error());
    const auto ran = (*reference)->run({input}, {{"n", elements}}, Precision::task_dtype, device);
    ASSERT_TRUE(ran.ok()) << to_string(ran.error());
    std::string expected(bytes_of(sample.dtype) * elements, '\0');
    draw(*input.recipe, input.bytes, expected);
    EXPECT_TRUE(ran->at(0).bytes == expected) << name_of(sample.dtype) << ", lines of " << sample.line_elements;
  }
}

TEST(DrawnTensors, HaveTheSameBytes) { expect_the_same_bytes(Device::cpu, some); }

TEST(DrawnTensorsSlow, HaveTheSameBytesInPieces) { expect_the_same_bytes(Device::cpu, more_than_at_a_time); }

TEST(DrawnTensorsGpu, HaveTheSameBytes) {
  const auto name = gpu_available();
  if (!name.ok()) GTEST_SKIP() << to_string(name.error());
  expect_the_same_bytes(Device::gpu, more_than_at_a_time);
}

TEST(DrawnTensors, NeedATableThatFits) {
  InputTensor input = to_draw({Kind::floats, Dtype::float32}, 1, some);
  const auto reference = make_reference(copying(Dtype::float32));
  ASSERT_TRUE(reference.ok()) << to_string(reference.error());
  input.bytes.pop_back();
  input.bytes.resize(input.bytes.size() - 3);
  const auto ran = (*reference)->run({input}, {{"n", some}}, Precision::truth, Device::cpu);
  ASSERT_FALSE(ran.ok());
  EXPECT_NE(ran.error().message.find("recipe"), std::string::npos) << ran.error().message;
}

}  // namespace
}  // namespace kw
