#include "model/weights/safetensors.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "model/weights/float_formats.h"
#include "model/weights/safetensors_writer.h"
#include "model/weights/weight_folder.h"

namespace kw {
namespace {

const std::filesystem::path golden = std::filesystem::path(KW_SOURCE_ROOT) / "tests" / "weights";

TEST(Safetensors, ReadsEveryTypeThatPythonWrote) {
  const auto file = SafetensorsFile::open(golden / "types.safetensors");
  ASSERT_TRUE(file.ok()) << to_string(file.error());
  EXPECT_EQ(file->metadata(), pytorch_metadata);
  EXPECT_EQ(file->tensors().size(), 26u);
  ASSERT_NE(file->find("scalar"), nullptr);
  EXPECT_TRUE(file->find("scalar")->shape.empty());
  EXPECT_EQ(file->find("empty")->shape, (Shape{0, 4}));
  EXPECT_EQ(file->find("a.int16")->type, ElementType::i16);
  EXPECT_EQ(file->find("nothing"), nullptr);

  // Every floating-point type converts to what PyTorch's .float() gave.
  const auto floats = SafetensorsFile::open(golden / "types_float.safetensors");
  ASSERT_TRUE(floats.ok());
  EXPECT_EQ(floats->tensors().size(), 14u);
  for (const TensorView& expected : floats->tensors()) {
    const auto values = read_floats(*file->find(expected.name));
    ASSERT_TRUE(values.ok()) << expected.name;
    EXPECT_EQ(*values, *read_floats(expected)) << expected.name;
  }
  EXPECT_FALSE(read_floats(*file->find("a.int16")).ok());
}

TEST(Safetensors, WritesTheBytesThatPythonWrites) {
  TemporaryFolder folder;
  for (const char* name : {"types.safetensors", "types_float.safetensors", "nf4.safetensors"}) {
    const auto file = SafetensorsFile::open(golden / name);
    ASSERT_TRUE(file.ok());
    std::vector<OutgoingTensor> tensors;
    for (const TensorView& tensor : file->tensors()) tensors.insert(tensors.begin(), outgoing(tensor));
    ASSERT_TRUE(write_safetensors(folder.path() / name, std::move(tensors)).ok());
    EXPECT_EQ(*read_file(folder.path() / name), *read_file(golden / name)) << name;
  }
}

TEST(Safetensors, AFailedWriteLeavesTheOldFile) {
  TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const std::vector<float> values{1, 2, 3};
  ASSERT_TRUE(write_safetensors(path, {outgoing_floats("a", {3}, values, ElementType::bf16)}).ok());
  const std::string before = *read_file(path);
  EXPECT_FALSE(write_safetensors(path, {outgoing_floats("a", {4}, values, ElementType::f32)}).ok());
  EXPECT_FALSE(write_safetensors(path, {outgoing_floats("a", {3}, values, ElementType::i8)}).ok());
  EXPECT_FALSE(write_safetensors(path, {outgoing_floats("a", {3}, values, ElementType::f32),
                                        outgoing_floats("a", {3}, values, ElementType::f16)})
                   .ok());
  EXPECT_FALSE(write_safetensors(path, {outgoing_floats("\xff", {3}, values, ElementType::f32)}).ok());
  EXPECT_FALSE(write_safetensors(folder.path() / "no" / "x", {}).ok());
  EXPECT_EQ(*read_file(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, FoldersAreSplitOnRequestAndReplaceEarlierOnes) {
  TemporaryFolder folder;
  const std::vector<float> values(10, 1.5f);
  const auto tensors = [&] {
    return std::vector<OutgoingTensor>{outgoing_floats("a", {10}, values, ElementType::f32),
                                       outgoing_floats("b", {2, 5}, values, ElementType::f16),
                                       outgoing_floats("c", {10}, values, ElementType::f32)};
  };
  const auto count_files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  ASSERT_TRUE(write_weight_folder(folder.path(), tensors()).ok());
  EXPECT_EQ(count_files(), 1);
  ASSERT_TRUE(write_weight_folder(folder.path(), tensors(), 60).ok());
  EXPECT_EQ(count_files(), 3);  // two shards and their index
  auto weights = WeightFolder::open(folder.path());
  ASSERT_TRUE(weights.ok()) << to_string(weights.error());
  EXPECT_EQ(weights->shard_count(), 2u);
  EXPECT_EQ(weights->bytes(), 100u);
  EXPECT_EQ(*read_floats(*weights->find("b")), values);
  ASSERT_TRUE(write_weight_folder(folder.path(), tensors(), 1).ok());
  EXPECT_EQ(WeightFolder::open(folder.path())->shard_count(), 3u);
  EXPECT_EQ(count_files(), 4);
  ASSERT_TRUE(write_weight_folder(folder.path(), tensors(), 1000).ok());
  EXPECT_EQ(count_files(), 1);
}

TEST(Safetensors, TheCacheOfHuggingFaceIsReadThroughItsLinks) {
  TemporaryFolder cache;
  std::filesystem::create_directories(cache.path() / "blobs");
  std::filesystem::create_directories(cache.path() / "snapshots" / "main");
  std::filesystem::copy(golden / "types.safetensors", cache.path() / "blobs" / "abc");
  std::filesystem::create_symlink("../../blobs/abc", cache.path() / "snapshots" / "main" / "model.safetensors");
  EXPECT_TRUE(WeightFolder::open(cache.path() / "snapshots" / "main").ok());
}

TEST(FloatFormats, HalvesSurviveTheWayThere) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const bool f16_nan = (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
    EXPECT_TRUE(f16_nan || f16_of_float(float_of_f16(half)) == half) << bits;
    const bool bf16_nan = (bits & 0x7f80) == 0x7f80 && (bits & 0x7f) != 0;
    EXPECT_TRUE(bf16_nan || bf16_of_float(float_of_bf16(half)) == half) << bits;
  }
  EXPECT_TRUE(std::isnan(float_of_f16(0x7e00)));
  EXPECT_EQ(bf16_of_float(1.00390625f), 0x3f80);  // a tie goes to even
}

}  // namespace
}  // namespace kw
