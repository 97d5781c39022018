// Moments of 8 bits: the kernel in the emulator and its twin against the CPU's, bit for bit.

#include <gtest/gtest.h>

#include "base/random.h"
#include "model/decoder/trainable_part.h"
#include "model/gpu/torch/eight_bit.h"
#include "model/gpu/torch/test_emulated_kernels.h"

namespace kw {
namespace {

using at::Tensor;

template <class T>
std::vector<T> copied(const Tensor& tensor) {
  return {tensor.data_ptr<T>(), tensor.data_ptr<T>() + tensor.numel()};
}
template <class T>
std::vector<T> copied(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Pieces that end within blocks of 256, lie elsewhere on the device and in another order, with room between them.
const std::vector<EightBitMoments::Piece> pieces{{0, 1024, 300}, {300, 0, 513}, {813, 576, 7}, {820, 640, 200}};
constexpr std::size_t count = 1020, device_count = 1024 + 320;

TEST(EightBitMoments, MoveAsTheCpusToTheLastBit) {
  ThreadTeam team(1);
  for (const bool emulated : {true, false}) {
    const Operations operations(emulated ? std::make_shared<EmulatedLauncher>() : nullptr);
    Random random(5);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random.normal());
    const auto to_device = [&](std::span<const float> from) {
      Tensor flat = at::zeros({static_cast<std::int64_t>(device_count)}, at::kFloat);
      for (const auto& piece : pieces)
        std::copy_n(from.data() + piece.host, piece.count, flat.data_ptr<float>() + piece.device);
      return flat;
    };
    EightBitMoments found(pieces, at::kCPU);
    Tensor found_values = to_device(values);
    Tensor copy = at::zeros({static_cast<std::int64_t>(device_count)}, at::kBFloat16);
    TrainablePart wanted("part", values, {{0, static_cast<std::int64_t>(count)}}, true);
    for (int step = 1; step <= 4; ++step) {
      // Of many sizes, some zero: codes of all kinds.
      for (std::size_t i = 0; i < count; ++i)
        wanted.gradient()[i] =
            i % 7 == 0 ? 0.0f : static_cast<float>(random.normal() * std::pow(10.0, -static_cast<double>(i % 5) * 2));
      Tensor gradient = to_device(wanted.gradient());
      const AdamWNumbers numbers{1e-2, 0.9, 0.95, 1e-8, 0.1, 0.37, step};
      found.move(operations, numbers, found_values, gradient, copy);
      AdamWStep plain;
      plain.learning_rate = 1e-2f;
      plain.epsilon = 1e-8f;
      plain.weight_decay = 0.1f;
      plain.gradient_scale = 0.37f;
      wanted.move(team, plain);
      EXPECT_EQ(copied<float>(found_values), copied<float>(to_device(values))) << "step " << step;
      EXPECT_EQ(gradient.abs().max().item<float>(), 0);
      EXPECT_TRUE(at::equal(copy, found_values.to(at::kBFloat16)));
      const auto arrays = wanted.arrays();
      ASSERT_EQ(arrays.size(), 6u);
      EXPECT_EQ(copied<std::uint8_t>(found.first_codes), copied<std::uint8_t>(arrays[2].bytes));
      EXPECT_EQ(copied<float>(found.first_largest), copied<float>(arrays[3].bytes));
      EXPECT_EQ(copied<std::uint8_t>(found.second_codes), copied<std::uint8_t>(arrays[4].bytes));
      EXPECT_EQ(copied<float>(found.second_largest), copied<float>(arrays[5].bytes));
    }
  }
}

}  // namespace
}  // namespace kw
