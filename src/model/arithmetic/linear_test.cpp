#include "model/arithmetic/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "model/arithmetic/test_numbers.h"
#include "model/weights/float_formats.h"

namespace kw {
namespace {

constexpr BlockFormat formats[] = {BlockFormat::f32,  BlockFormat::f16,  BlockFormat::bf16, BlockFormat::q8_0,
                                   BlockFormat::q4_0, BlockFormat::q4_1, BlockFormat::q4_k, BlockFormat::q6_k};

// Random blocks: any bits are quants; halves are made finite.
std::vector<std::byte> random_blocks(BlockFormat format, std::int64_t elements, unsigned seed) {
  const BlockLayout layout = block_layout(format);
  std::vector<std::byte> blocks(elements / layout.elements * layout.bytes);
  std::mt19937 random(seed);
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random() & 255);
  std::normal_distribution<float> normal;
  const auto put_half = [&](std::size_t at) {
    const std::uint16_t half = f16_of_float(normal(random) * 0.1f);
    std::memcpy(blocks.data() + at, &half, 2);
  };
  for (std::size_t at = 0; at < blocks.size(); at += layout.bytes) {
    const float value = normal(random);
    switch (format) {
      case BlockFormat::f32:
        std::memcpy(blocks.data() + at, &value, 4);
        break;
      case BlockFormat::bf16: {
        const std::uint16_t bits = bf16_of_float(value);
        std::memcpy(blocks.data() + at, &bits, 2);
        break;
      }
      case BlockFormat::q6_k:
        put_half(at + 208);
        break;
      case BlockFormat::q4_1:
      case BlockFormat::q4_k:
        put_half(at);
        put_half(at + 2);
        break;
      default:
        put_half(at);
    }
  }
  return blocks;
}

TEST(Linear, IsOneChainThenBiasThenTheOldValue) {
  ThreadTeam team(2);
  const std::int64_t rows = 5, in = 37, out = 83;
  const auto x = test_numbers(rows * in, 1), w = test_numbers(out * in, 2), bias = test_numbers(out, 3),
             old = test_numbers(rows * out, 4);
  std::vector<float> y = old;
  linear(team, {x.data(), in, y.data(), out, rows}, PackedWeight::from_floats(w, out, in), bias.data(), true);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < out; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < in; ++k) sum = std::fma(x[i * in + k], w[j * in + k], sum);
      EXPECT_EQ(y[i * out + j], old[i * out + j] + (sum + bias[j]));
    }
  }
  std::vector<float> unpacked = old;
  linear(team, {x.data(), in, unpacked.data(), out, rows}, w.data(), out, in, bias.data(), true);
  EXPECT_EQ(first_difference(unpacked, y), "");
}

TEST(Linear, PackedRowsAreTheRowsOfTheFile) {
  const std::int64_t out = 83, in = 512;
  std::vector<std::int64_t> order(out);
  std::iota(order.rbegin(), order.rend(), 0);
  for (const BlockFormat format : formats) {
    const auto blocks = random_blocks(format, out * in, 5);
    std::vector<float> values(out * in), row(in);
    dequantise_blocks(format, blocks, values);
    const PackedWeight plain = PackedWeight::from_blocks(format, blocks, out, in);
    const PackedWeight reversed = PackedWeight::from_blocks(format, blocks, out, in, order);
    for (std::int64_t i = 0; i < out; ++i) {
      const std::vector<float> wanted(values.begin() + i * in, values.begin() + (i + 1) * in);
      plain.read_row(i, row);
      EXPECT_EQ(first_difference(row, wanted), "") << static_cast<int>(format);
      reversed.read_row(out - 1 - i, row);
      EXPECT_EQ(first_difference(row, wanted), "") << static_cast<int>(format);
    }
  }
}

TEST(Linear, QuantisedIsTheProductWithTheFloats) {
  ThreadTeam team(2);
  const std::int64_t rows = 7, out = 147, in = 512;
  const auto x = test_numbers(rows * in, 6);
  for (const BlockFormat format : formats) {
    const auto blocks = random_blocks(format, out * in, 7);
    std::vector<float> values(out * in);
    dequantise_blocks(format, blocks, values);
    std::vector<float> wanted(rows * out), got(rows * out);
    linear(team, {x.data(), in, wanted.data(), out, rows}, values.data(), out, in, nullptr);
    linear(team, {x.data(), in, got.data(), out, rows}, PackedWeight::from_blocks(format, blocks, out, in), nullptr);
    EXPECT_EQ(first_difference(got, wanted), "") << static_cast<int>(format);
  }
}

TEST(Linear, UnitsAgreeForOddSizesAndStrides) {
  ThreadTeam team(2);
  for (const std::int64_t out : {1, 15, 16, 17, 31, 33, 63, 64, 65, 130}) {
    for (const std::int64_t in : {1, 31, 96, 129, 257}) {
      const auto w = test_numbers(out * in, 8), bias = test_numbers(out, 9);
      const PackedWeight packed = PackedWeight::from_floats(w, out, in);
      for (const std::int64_t rows : {1, 2, 5, 6, 7, 13, 17}) {
        const std::int64_t x_stride = in + 3, y_stride = out + 5;
        const auto x = test_numbers(rows * x_stride, 10);
        const auto about = std::to_string(rows) + " x " + std::to_string(in) + " -> " + std::to_string(out);
        expect_equal_on_all_units(
            [&] {
              std::vector<float> y = test_numbers(rows * y_stride, 11);
              linear(team, {x.data(), x_stride, y.data(), y_stride, rows}, packed, bias.data(), rows % 2 == 0);
              linear(team, {x.data(), x_stride, y.data(), y_stride, rows}, w.data(), out, in, nullptr, true);
              return y;
            },
            about);
      }
    }
  }
}

TEST(Linear, UnitsAgreeForEveryRowCount) {
  ThreadTeam team(2);
  const std::int64_t in = 192, out = 80;
  const auto w = test_numbers(out * in, 12);
  const PackedWeight packed = PackedWeight::from_floats(w, out, in);
  const auto x = test_numbers(70 * in, 13);
  std::vector<float> whole(70 * out);
  linear(team, {x.data(), in, whole.data(), out, 70}, packed, nullptr);
  for (std::int64_t rows = 1; rows <= 70; ++rows) {
    const std::vector<float> wanted(whole.begin(), whole.begin() + rows * out);
    for (const Kernels* unit : available_kernels()) {
      if (unit == available_kernels().front() && rows % 23 != 0) continue;  // it is slow
      force_kernels(unit);
      std::vector<float> y(rows * out);
      linear(team, {x.data(), in, y.data(), out, rows}, packed, nullptr);
      EXPECT_EQ(first_difference(y, wanted), "") << unit->name << " " << rows;
    }
  }
  force_kernels(nullptr);
}

TEST(Linear, UnitsAgreeForQuantisedBlocks) {
  ThreadTeam team(2);
  for (const BlockFormat format : formats) {
    for (const std::int64_t out : {17, 64, 100}) {
      const std::int64_t in = 512;
      const PackedWeight packed = PackedWeight::from_blocks(format, random_blocks(format, out * in, 14), out, in);
      for (const std::int64_t rows : {1, 2, 3, 9, 20, 31}) {  // in registers, then from a buffer
        const auto x = test_numbers(rows * in, 15);
        expect_equal_on_all_units(
            [&] {
              std::vector<float> y(rows * out);
              linear(team, {x.data(), in, y.data(), out, rows}, packed, nullptr);
              return y;
            },
            "format " + std::to_string(static_cast<int>(format)) + ", rows " + std::to_string(rows));
      }
    }
  }
}

TEST(Linear, GradientsAreTheTransposedProducts) {
  ThreadTeam team(2);
  const std::int64_t rows = 41, out = 35, in = 70;
  const auto dy = test_numbers(rows * out, 16), w = test_numbers(out * in, 17), x = test_numbers(rows * in, 18);
  const auto old_dx = test_numbers(rows * in, 19), old_dw = test_numbers(out * in, 20), old_db = test_numbers(out, 21);
  auto dx = old_dx, dw = old_dw, db = old_db;
  linear_input_gradient(team, rows, dy.data(), w.data(), out, in, dx.data(), true);
  linear_weight_gradient(team, rows, dy.data(), x.data(), out, in, dw.data(), db.data());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < in; ++k) {
      double sum = old_dx[i * in + k];
      for (std::int64_t j = 0; j < out; ++j) sum += static_cast<double>(dy[i * out + j]) * w[j * in + k];
      EXPECT_NEAR(dx[i * in + k], sum, 1e-4);
    }
  }
  for (std::int64_t j = 0; j < out; ++j) {
    double column = old_db[j];
    for (std::int64_t i = 0; i < rows; ++i) column += dy[i * out + j];
    EXPECT_NEAR(db[j], column, 1e-4);
    for (std::int64_t k = 0; k < in; ++k) {
      double sum = old_dw[j * in + k];
      for (std::int64_t i = 0; i < rows; ++i) sum += static_cast<double>(dy[i * out + j]) * x[i * in + k];
      EXPECT_NEAR(dw[j * in + k], sum, 1e-4);
    }
  }
}

TEST(Linear, InputGradientOfAPackedWeightIsThatOfItsFloats) {
  ThreadTeam team(2);
  for (const BlockFormat format : formats) {
    for (const std::int64_t out : {1, 70, 320}) {
      // Whole blocks, and for plain numbers any width.
      const std::int64_t in = format == BlockFormat::f32 ? 83 : format <= BlockFormat::bf16 ? 33 : 256;
      const auto blocks = random_blocks(format, out * in, 27);
      std::vector<float> values(out * in);
      dequantise_blocks(format, blocks, values);
      const PackedWeight packed = PackedWeight::from_blocks(format, blocks, out, in);
      for (const std::int64_t rows : {1, 9}) {
        const auto dy = test_numbers(rows * out, 28);
        std::vector<float> wanted = test_numbers(rows * in, 29);
        const std::vector<float> old = wanted;
        linear_input_gradient(team, rows, dy.data(), values.data(), out, in, wanted.data(), true);
        for (const Kernels* unit : available_kernels()) {
          force_kernels(unit);
          std::vector<float> dx = old;
          linear_input_gradient(team, rows, dy.data(), packed, dx.data(), true);
          EXPECT_EQ(first_difference(dx, wanted), "") << unit->name << ", " << static_cast<int>(format);
        }
        force_kernels(nullptr);
      }
    }
  }
}

TEST(Linear, UnitsAndTeamsAgreeOnGradients) {
  for (const std::int64_t rows : {1, 7, 64, 150}) {
    for (const std::int64_t out : {1, 16, 35, 129}) {
      for (const std::int64_t in : {1, 17, 64, 100}) {
        const auto dy = test_numbers(rows * out, 22), w = test_numbers(out * in, 23), x = test_numbers(rows * in, 24);
        int threads = 0;
        expect_equal_on_all_units(
            [&] {
              ThreadTeam team(1 + threads++ % 3);
              std::vector<float> all(rows * in), dw = test_numbers(out * in, 25), db = test_numbers(out, 26);
              linear_input_gradient(team, rows, dy.data(), w.data(), out, in, all.data(), false);
              linear_weight_gradient(team, rows, dy.data(), x.data(), out, in, dw.data(), db.data());
              all.insert(all.end(), dw.begin(), dw.end());
              all.insert(all.end(), db.begin(), db.end());
              return all;
            },
            std::to_string(rows) + " " + std::to_string(out) + " " + std::to_string(in));
      }
    }
  }
}

}  // namespace
}  // namespace kw
