#include "model/weights/nf4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "model/weights/safetensors.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights";

// The formula of scripts/weights_golden.py.
std::vector<float> golden_values() {
  std::vector<float> values(64 * 300);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const double fraction = static_cast<double>((i * 2654435761u) % (1ull << 32)) / 4294967296.0 - 0.5;
    values[i] = static_cast<float>(fraction * static_cast<double>(1 + i / 64 % 7) * 0.02);
  }
  return values;
}

TEST(Nf4, ReadsAndDequantisesWhatBitsandbytesWrote) {
  const auto file = SafetensorsFile::open(golden / "nf4.safetensors");
  ASSERT_TRUE(file.ok());
  const auto tensor = read_nf4([&](std::string_view name) { return file->find(name); }, "w");
  ASSERT_TRUE(tensor.ok()) << to_string(tensor.error());
  EXPECT_EQ(tensor->shape, (Shape{300, 64}));
  EXPECT_EQ(tensor->nested_absmax.size(), 2u);
  EXPECT_EQ(tensor->nested_map, dynamic_map());
  std::vector<float> values(64 * 300);
  dequantise_nf4(*tensor, values);
  const auto expected = *read_floats(*file->find("expected"));
  EXPECT_EQ(std::vector<float>(values.end() - static_cast<std::ptrdiff_t>(expected.size()), values.end()), expected);
}

TEST(Nf4, QuantisesToTheSameNibbles) {
  const auto file = SafetensorsFile::open(golden / "nf4.safetensors");
  ASSERT_TRUE(file.ok());
  const auto theirs = *read_nf4([&](std::string_view name) { return file->find(name); }, "w");
  const Nf4Tensor ours = quantise_nf4(golden_values(), {300, 64}, ElementType::f32);
  EXPECT_EQ(ours.packed, theirs.packed);
  EXPECT_EQ(ours.nested_offset, theirs.nested_offset);
  EXPECT_EQ(ours.nested_absmax, theirs.nested_absmax);
  // bitsandbytes' CPU library is not always at the nearest value; where it is elsewhere, it is at the neighbour.
  std::size_t different = 0;
  for (std::size_t i = 0; i < ours.absmax.size(); ++i) {
    different += ours.absmax[i] != theirs.absmax[i];
    EXPECT_LE(std::abs(ours.absmax[i] - theirs.absmax[i]), 1);
  }
  EXPECT_LE(different, 2u);
}

TEST(Nf4, WrittenAndReadAgain) {
  TemporaryFolder folder;
  const std::vector<float> values = golden_values();
  const auto path = folder.path() / "w.safetensors";
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{65}, std::size_t{16384 + 64}}) {
    const Nf4Tensor tensor =
        quantise_nf4(std::span(values).first(count), {static_cast<std::int64_t>(count)}, ElementType::bf16);
    ASSERT_TRUE(write_safetensors(path, outgoing_nf4("w", tensor)).ok());
    const auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok());
    const auto again = read_nf4([&](std::string_view name) { return file->find(name); }, "w");
    ASSERT_TRUE(again.ok()) << to_string(again.error());
    EXPECT_EQ(*again, tensor);
    std::vector<float> out(count);
    dequantise_nf4(*again, out);
    for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(out[i], values[i], 0.02) << i;
  }
}

TEST(Nf4, ZerosStayZerosAndTheMapIsSymmetric) {
  std::vector<float> values(192, 0.0f);
  values[100] = 3;
  const Nf4Tensor tensor = quantise_nf4(values, {192}, ElementType::f32);
  std::vector<float> out(192, 9.0f);
  dequantise_nf4(tensor, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[191], 0);
  const auto& map = dynamic_map();
  EXPECT_TRUE(std::ranges::is_sorted(map));
  for (std::size_t i = 0; i < 127; ++i) EXPECT_EQ(map[i], -map[254 - i]);
  // The formula behind the table, to within the rounding of PyTorch's linspace.
  for (int power = 0, place = 128; power < 7; ++power) {
    for (int part = 0; part < 1 << power; ++part, ++place) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / (1 << power);
      EXPECT_NEAR(map[static_cast<std::size_t>(place)] / (middle * std::pow(10, power - 6)), 1, 1e-6);
    }
  }
}

TEST(Nf4, PartsThatDoNotFitAreRefused) {
  const Nf4Tensor tensor = quantise_nf4(golden_values(), {300, 64}, ElementType::f32);
  for (const char* missing :
       {"w", "w.absmax", "w.nested_absmax", "w.quant_map", "w.nested_quant_map", "w.quant_state.bitsandbytes__nf4"}) {
    TemporaryFolder folder;
    auto parts = outgoing_nf4("w", tensor);
    std::erase_if(parts, [&](const OutgoingTensor& part) { return part.name == missing; });
    ASSERT_TRUE(write_safetensors(folder.path() / "w", std::move(parts)).ok());
    const auto file = SafetensorsFile::open(folder.path() / "w");
    EXPECT_FALSE(read_nf4([&](std::string_view name) { return file->find(name); }, "w").ok()) << missing;
  }
  for (const char* state :
       {"", "{}", R"({"quant_type": "fp4"})", "[[[",
        R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [4611686018427387904, 2],
                                "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.1})",
        R"({"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [4611686018427387904],
                                "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.1})"}) {
    const std::string text = state;
    const TensorView view{"w.quant_state.bitsandbytes__nf4", ElementType::u8, {}, std::as_bytes(std::span(text))};
    const TensorView empty{"w", ElementType::u8, {0}, {}};
    EXPECT_FALSE(read_nf4([&](std::string_view name) { return name == view.name ? &view : &empty; }, "w").ok())
        << state;
  }
}

}  // namespace
}  // namespace kw
