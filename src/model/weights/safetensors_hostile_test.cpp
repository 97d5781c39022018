// Crafted bad safetensors files: each is an error that says why, and costs no more memory than the file's size class.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "model/weights/hostile_file.h"
#include "model/weights/safetensors.h"
#include "model/weights/weight_folder.h"

namespace kw {
namespace {

struct BadFile {
  const char* name;
  std::string bytes;
  const char* expected;  // part of the message
};

const std::string good_header = R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

std::string two(const std::string& first, const std::string& second) {
  const std::string start = R"(":{"dtype":"U8","shape":[4],"data_offsets":)";
  return R"({"a)" + start + first + R"(},"b)" + start + second + "}}";
}

std::string repeated(const std::string& part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

std::vector<BadFile> bad_files() {
  const auto header = [](const char* name, const std::string& text, std::size_t data, const char* expected) {
    return BadFile{name, safetensors_bytes(text, data), expected};
  };
  return {
      {"empty", "", "shorter"},
      {"seven bytes", "1234567", "shorter"},
      {"header length only", little_endian<std::uint64_t>(10), "longer than the file"},
      {"header length 2^64 - 1", little_endian<std::uint64_t>(UINT64_MAX) + "{}", "100 MB"},
      {"header length 2^63", little_endian<std::uint64_t>(1ull << 63) + "{}", "100 MB"},
      {"header length 100 MB + 1", little_endian<std::uint64_t>(100'000'001) + "{}", "100 MB"},
      {"header one byte too long", little_endian<std::uint64_t>(3) + "{}", "longer than the file"},
      {"header of zero bytes", little_endian<std::uint64_t>(0) + "data", "start with"},
      header("a list", "[]", 0, "start with"),
      header("leading space", " " + good_header, 16, "start with"),
      header("not closed", R"({"a":{)", 0, "JSON"),
      header("text after the object", good_header + "x", 16, "JSON"),
      header("bytes that are no UTF-8", "{\"\xff\xfe\":{}}", 0, "JSON"),
      header("nesting bomb", R"({"a":)" + repeated("[", 100000), 0, "nested"),
      header("object bomb", repeated(R"({"a":)", 100000), 0, "nested"),
      header("value bomb", R"({"a":[)" + repeated("0,", 1000000) + "0]}", 0, "more than"),
      header("duplicate tensor", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{}})", 1, "twice"),
      header("duplicate field", R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", 1, "twice"),
      header("entry is a number", R"({"a":1})", 0, "object"),
      header("no dtype", R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, "lacks"),
      header("no shape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, "lacks"),
      header("no offsets", R"({"a":{"dtype":"U8","shape":[1]}})", 1, "lacks"),
      header("unknown field", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "unknown field"),
      header("unknown dtype", entry(R"("F99")", "[1]", "[0,4]"), 4, "unknown dtype"),
      header("lower-case dtype", entry(R"("f32")", "[1]", "[0,4]"), 4, "unknown dtype"),
      header("dtype is a number", entry("32", "[1]", "[0,4]"), 4, "not a string"),
      header("shape is a number", entry(R"("U8")", "4", "[0,4]"), 4, "not a list"),
      header("negative size", entry(R"("U8")", "[-4]", "[0,4]"), 4, "shape"),
      header("two negative sizes", entry(R"("U8")", "[-2,-2]", "[0,4]"), 4, "shape"),
      header("size with a fraction", entry(R"("U8")", "[4.0]", "[0,4]"), 4, "shape"),
      header("size as a string", entry(R"("U8")", R"(["4"])", "[0,4]"), 4, "shape"),
      header("size 2^63", entry(R"("U8")", "[9223372036854775808]", "[0,4]"), 4, "shape"),
      header("size 1e30", entry(R"("U8")", "[1e30]", "[0,4]"), 4, "shape"),
      header("product overflows to 0", entry(R"("U8")", "[4294967296,4294967296]", "[0,0]"), 0, "2^63"),
      header("product overflows beside 0", entry(R"("U8")", "[0,4294967296,4294967296]", "[0,0]"), 0, "2^63"),
      header("bytes overflow", entry(R"("F64")", "[2305843009213693952]", "[0,0]"), 0, "2^63"),
      header("seventeen dimensions", entry(R"("U8")", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "dimensions"),
      header("one offset", entry(R"("U8")", "[4]", "[4]"), 4, "two numbers"),
      header("three offsets", entry(R"("U8")", "[4]", "[0,4,8]"), 4, "two numbers"),
      header("negative offset", entry(R"("U8")", "[4]", "[-4,0]"), 4, "data_offsets"),
      header("offset 2^64 - 1", entry(R"("U8")", "[1]", "[18446744073709551614,18446744073709551615]"), 4,
             "data_offsets"),
      header("end before begin", entry(R"("U8")", "[4]", "[4,0]"), 4, "before it begins"),
      header("beyond the end", entry(R"("U8")", "[8]", "[0,8]"), 4, "beyond the end"),
      header("shape smaller than bytes", entry(R"("F32")", "[1]", "[0,8]"), 8, "bytes, but"),
      header("shape larger than bytes", entry(R"("F32")", "[3]", "[0,8]"), 8, "bytes, but"),
      header("truncated data", good_header, 15, "beyond the end"),
      header("data left over", good_header, 17, "belong to no tensor"),
      header("only data", "{}", 8, "belong to no tensor"),
      header("overlap", two("[0,4]", "[2,6]"), 6, "overlaps"),
      header("same place", two("[0,4]", "[0,4]"), 4, "overlaps"),
      header("hole", two("[0,4]", "[5,9]"), 9, "hole"),
      header("hole at the start", entry(R"("U8")", "[4]", "[1,5]"), 5, "hole"),
      header("metadata is a list", R"({"__metadata__":[]})", 0, "__metadata__"),
      header("metadata holds a number", R"({"__metadata__":{"a":1}})", 0, "__metadata__"),
      header("metadata holds an object", R"({"__metadata__":{"a":{}}})", 0, "__metadata__"),
  };
}

TEST(SafetensorsHostile, EveryBadFileIsAnErrorThatSaysWhy) {
  const auto files = bad_files();
  EXPECT_GE(files.size(), 50u);
  for (const BadFile& file : files) {
    const std::size_t before = allocated_bytes();
    const auto content = parse_safetensors(bytes_of_text(file.bytes));
    EXPECT_LE(allocated_bytes() - before, allocation_limit(file.bytes.size())) << file.name;
    ASSERT_FALSE(content.ok()) << file.name;
    EXPECT_NE(content.error().message.find(file.expected), std::string::npos)
        << file.name << ": " << content.error().message;
    EXPECT_LT(content.error().message.size(), 1000u) << file.name;
  }
}

TEST(SafetensorsHostile, EveryTruncationOfAGoodFileIsAnError) {
  const std::string good = safetensors_bytes(good_header, 16);
  ASSERT_TRUE(parse_safetensors(bytes_of_text(good)).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string cut = good.substr(0, size);
    EXPECT_FALSE(parse_safetensors(bytes_of_text(cut)).ok()) << size;
  }
}

class ShardsHostile : public ::testing::Test {
 protected:
  Result<WeightFolder> open_with_index(const std::string& index) {
    EXPECT_TRUE(write_file_atomic(folder_.path() / "model.safetensors.index.json", index).ok());
    return WeightFolder::open(folder_.path());
  }
  void write(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file_atomic(folder_.path() / name, bytes).ok());
  }
  TemporaryFolder folder_;
};

TEST_F(ShardsHostile, NamesThatLeaveTheFolder) {
  for (const char* name :
       {"../other.safetensors", "/etc/passwd", "sub/a.safetensors", "..", ".", "", ".hidden.safetensors",
        "a.safetensors\\u0000", "model.safetensors.index.json", "a b.safetensors", "a.bin"}) {
    const auto weights = open_with_index(std::string(R"({"weight_map":{"a":")") + name + "\"}}");
    ASSERT_FALSE(weights.ok()) << name;
    EXPECT_NE(weights.error().message.find("plain name"), std::string::npos) << name;
  }
}

TEST_F(ShardsHostile, BadIndexes) {
  for (const char* index : {"", "[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})", R"({"weight_map":{"a":1}})",
                            R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})"}) {
    EXPECT_FALSE(open_with_index(index).ok()) << index;
  }
}

TEST_F(ShardsHostile, LinksCyclesAndMissingShards) {
  const std::string index = R"({"weight_map":{"a":"x.safetensors"}})";
  EXPECT_FALSE(open_with_index(index).ok());  // no such file
  TemporaryFolder outside;
  ASSERT_TRUE(write_file_atomic(outside.path() / "x.safetensors", safetensors_bytes(good_header, 16)).ok());
  std::filesystem::create_symlink(outside.path() / "x.safetensors", folder_.path() / "x.safetensors");
  const auto escaped = open_with_index(index);
  ASSERT_FALSE(escaped.ok());
  EXPECT_NE(escaped.error().message.find("symbolic link"), std::string::npos);
  std::filesystem::remove(folder_.path() / "x.safetensors");
  std::filesystem::create_symlink("y.safetensors", folder_.path() / "x.safetensors");
  std::filesystem::create_symlink("x.safetensors", folder_.path() / "y.safetensors");
  EXPECT_FALSE(open_with_index(index).ok());  // a cycle of links
  std::filesystem::remove(folder_.path() / "x.safetensors");
  std::filesystem::create_directory(folder_.path() / "x.safetensors");
  EXPECT_FALSE(open_with_index(index).ok());  // a folder
}

TEST_F(ShardsHostile, ShardsThatDisagreeWithTheIndex) {
  write("x.safetensors", safetensors_bytes(good_header, 16));
  write("y.safetensors", safetensors_bytes(good_header, 16));
  EXPECT_TRUE(open_with_index(R"({"weight_map":{"a":"x.safetensors"}})").ok());
  EXPECT_FALSE(open_with_index(R"({"weight_map":{"b":"x.safetensors"}})").ok());                      // a is extra
  EXPECT_FALSE(open_with_index(R"({"weight_map":{"a":"x.safetensors","b":"x.safetensors"}})").ok());  // b is missing
  EXPECT_FALSE(open_with_index(R"({"weight_map":{"a":"x.safetensors","b":"y.safetensors"}})").ok());  // a twice
}

}  // namespace
}  // namespace kw
