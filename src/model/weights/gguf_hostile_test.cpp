// Crafted bad GGUF files: each is an error that says why.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "model/weights/gguf_model.h"
#include "model/weights/hostile_file.h"

namespace kw {
namespace {

struct BadFile {
  const char* name;
  std::string bytes;
  const char* expected;  // part of the message
};

constexpr std::uint32_t f32 = 0;
constexpr std::uint32_t q4_1 = 3;
constexpr std::uint64_t huge = 1ull << 63;

std::string one_tensor(std::initializer_list<std::uint64_t> sizes, std::uint32_t type, std::uint64_t offset = 0,
                       std::size_t data_bytes = 64) {
  return GgufBytes(1, 0).tensor("t", sizes, type, offset).data(data_bytes).bytes();
}

std::string alignment(std::uint32_t value) {
  return GgufBytes(1, 1).u32("general.alignment", value).tensor("t", {4}, f32, 0).data(64).bytes();
}

std::string nested_arrays(int depth) {
  GgufBytes bytes(0, 1);
  bytes.key("k", 9);
  for (int i = 0; i < depth; ++i) bytes.number<std::uint32_t>(9).number<std::uint64_t>(1);
  return bytes.data(64).bytes();
}

std::vector<BadFile> bad_files() {
  using U64 = std::uint64_t;
  using U32 = std::uint32_t;
  return {
      {"empty", "", "ends within"},
      {"magic only", "GGUF", "ends within"},
      {"other magic", "GGML" + std::string(60, '\0'), "start with"},
      {"version 1", GgufBytes(0, 0, 1).bytes(), "version"},
      {"version 4", GgufBytes(0, 0, 4).bytes(), "version"},
      {"big endian", GgufBytes(0, 0, 0x03000000).bytes(), "version"},
      {"2^63 tensors", GgufBytes(huge, 0).data(64).bytes(), "more tensors"},
      {"2^63 values", GgufBytes(0, huge).data(64).bytes(), "more metadata"},
      {"2^64 - 1 of both", GgufBytes(UINT64_MAX, UINT64_MAX).data(64).bytes(), "more metadata"},
      {"a value is missing", GgufBytes(0, 1).bytes(), "more metadata"},
      {"key length 2^63", GgufBytes(0, 1).number<U64>(huge).data(64).bytes(), "a key"},
      {"key length 65536", GgufBytes(0, 1).string(std::string(65536, 'k')).data(64).bytes(), "a key"},
      {"empty key", GgufBytes(0, 1).u32("", 1).data(64).bytes(), "empty"},
      {"key beyond the end", GgufBytes(0, 1).number<U64>(1000).data(64).bytes(), "longer than the file"},
      {"string length 2^63", GgufBytes(0, 1).key("k", 8).number<U64>(huge).data(64).bytes(), "a string"},
      {"string length 2^64 - 1", GgufBytes(0, 1).key("k", 8).number<U64>(UINT64_MAX).data(64).bytes(), "a string"},
      {"unknown value type", GgufBytes(0, 1).key("k", 13).data(64).bytes(), "unknown type 13"},
      {"value type 2^32 - 1", GgufBytes(0, 1).key("k", UINT32_MAX).data(64).bytes(), "unknown type"},
      {"truth value 2", GgufBytes(0, 1).key("k", 7).number<std::uint8_t>(2).data(64).bytes(), "truth value"},
      {"duplicate key", GgufBytes(0, 2).u32("k", 1).u32("k", 2).data(64).bytes(), "twice"},
      {"array of 2^63 bytes", GgufBytes(0, 1).key("k", 9).number<U32>(0).number<U64>(huge).data(64).bytes(), "array"},
      {"array of 2^61 u64", GgufBytes(0, 1).key("k", 9).number<U32>(10).number<U64>(1ull << 61).data(64).bytes(),
       "array"},
      {"array of 2^61 strings", GgufBytes(0, 1).key("k", 9).number<U32>(8).number<U64>(1ull << 61).data(64).bytes(),
       "array"},
      {"string in array of 2^63",
       GgufBytes(0, 1).key("k", 9).number<U32>(8).number<U64>(1).number<U64>(huge).data(64).bytes(), "a string"},
      {"array of unknown type", GgufBytes(0, 1).key("k", 9).number<U32>(99).number<U64>(1).data(64).bytes(),
       "unknown type"},
      {"array of arrays", nested_arrays(2), "array of arrays"},
      {"a thousand arrays deep", nested_arrays(1000), "array of arrays"},
      {"2^25 + 1 elements",
       GgufBytes(0, 1).key("k", 9).number<U32>(0).number<U64>((1u << 25) + 1).data((1u << 25) + 64).bytes(), "2^25"},
      {"alignment 0", alignment(0), "alignment"},
      {"alignment 24", alignment(24), "alignment"},
      {"alignment 2^31", alignment(1u << 31), "alignment"},
      {"alignment as a string", GgufBytes(0, 1).text("general.alignment", "32").data(64).bytes(), "alignment"},
      {"a tensor is missing", GgufBytes(1, 0).bytes(), "more tensors"},
      {"second tensor is missing", GgufBytes(2, 0).tensor("t", {4}, f32, 0).bytes(), "more tensors"},
      {"tensor name of 64 bytes", GgufBytes(1, 0).tensor(std::string(64, 't'), {4}, f32, 0).data(64).bytes(),
       "name of a tensor"},
      {"tensor name of 2^63 bytes", GgufBytes(1, 0).number<U64>(huge).data(64).bytes(), "name of a tensor"},
      {"duplicate tensor", GgufBytes(2, 0).tensor("t", {4}, f32, 0).tensor("t", {4}, f32, 32).data(64).bytes(),
       "twice"},
      {"no dimension", one_tensor({}, f32), "dimensions"},
      {"five dimensions", one_tensor({1, 1, 1, 1, 1}, f32), "dimensions"},
      {"2^32 - 1 dimensions", GgufBytes(1, 0).string("t").number<U32>(UINT32_MAX).data(64).bytes(), "dimensions"},
      {"dimension 0", one_tensor({4, 0}, f32), "dimension of 0"},
      {"dimension 2^63", one_tensor({huge}, f32), "dimension of 0"},
      {"dimension 2^60", one_tensor({1ull << 60}, f32), "beyond the end"},
      {"2^62 float32", one_tensor({1ull << 62}, f32), "2^64"},
      {"product 2^64", one_tensor({1ull << 32, 1ull << 32}, f32), "2^63"},
      {"product 2^120", one_tensor({1ull << 60, 1ull << 60}, f32), "2^63"},
      {"unknown tensor type", one_tensor({32}, 1000), "type 1000"},
      {"removed tensor type", one_tensor({32}, 4), "type 4"},
      {"unsupported tensor type", one_tensor({256}, 13, 0, 176), "Q5_K"},
      {"half a block", one_tensor({16}, q4_1), "whole blocks"},
      {"rows of half blocks", one_tensor({16, 2}, q4_1), "whole blocks"},
      {"offset not aligned", one_tensor({4}, f32, 4), "alignment"},
      {"offset beyond the end", one_tensor({4}, f32, 1 << 20), "beyond the end"},
      {"offset 2^64 - 32", one_tensor({16}, f32, UINT64_MAX - 31), "beyond the end"},
      {"data cut short", one_tensor({32}, f32, 0, 127), "beyond the end"},
      {"no data", GgufBytes(1, 0).tensor("t", {4}, f32, 0).bytes(), "ends before"},
      {"overlap", GgufBytes(2, 0).tensor("t", {16}, f32, 0).tensor("u", {16}, f32, 32).data(96).bytes(), "overlaps"},
      {"same place", GgufBytes(2, 0).tensor("t", {8}, f32, 0).tensor("u", {8}, f32, 0).data(32).bytes(), "overlaps"},
  };
}

TEST(GgufHostile, EveryBadFileIsAnErrorThatSaysWhy) {
  const auto files = bad_files();
  EXPECT_GE(files.size(), 50u);
  for (const BadFile& file : files) {
    const std::size_t before = allocated_bytes();
    const auto content = parse_gguf(bytes_of_text(file.bytes));
    EXPECT_LE(allocated_bytes() - before, allocation_limit(file.bytes.size())) << file.name;
    ASSERT_FALSE(content.ok()) << file.name;
    EXPECT_NE(content.error().message.find(file.expected), std::string::npos)
        << file.name << ": " << content.error().message;
    EXPECT_LT(content.error().message.size(), 1000u) << file.name;
  }
}

TEST(GgufHostile, EveryTruncationOfAGoodFileIsAnError) {
  const std::string good =
      GgufBytes(1, 1).text("general.architecture", "llama").tensor("t", {4, 2}, f32, 0).data(32).bytes();
  ASSERT_TRUE(parse_gguf(bytes_of_text(good)).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const std::string cut = good.substr(0, size);
    EXPECT_FALSE(parse_gguf(bytes_of_text(cut)).ok()) << size;
  }
}

// Well-formed files that describe no model.
TEST(GgufHostile, DescriptionsThatNoModelHas) {
  const auto describe = [](std::uint32_t layers, std::uint32_t heads, std::uint32_t kv_heads,
                           const std::string& architecture, const std::string& scaling) {
    const std::string bytes = GgufBytes(1, 9)
                                  .text("general.architecture", architecture)
                                  .u32("llama.block_count", layers)
                                  .u32("llama.embedding_length", 8)
                                  .u32("llama.attention.head_count", heads)
                                  .u32("llama.attention.head_count_kv", kv_heads)
                                  .u32("llama.feed_forward_length", 8)
                                  .u32("llama.context_length", 8)
                                  .text("llama.rope.scaling.type", scaling)
                                  .u32("tokenizer.ggml.eos_token_id", 3)
                                  .tensor("token_embd.weight", {8, 4}, f32, 0)
                                  .data(128)
                                  .bytes();
    const auto content = parse_gguf(bytes_of_text(bytes));
    EXPECT_TRUE(content.ok());
    return describe_gguf(*content).ok();
  };
  EXPECT_TRUE(describe(1, 2, 1, "llama", "none"));
  EXPECT_FALSE(describe(0, 2, 1, "llama", "none"));
  EXPECT_FALSE(describe(UINT32_MAX, 2, 1, "llama", "none"));
  EXPECT_FALSE(describe(1, 0, 1, "llama", "none"));
  EXPECT_FALSE(describe(1, 2, 0, "llama", "none"));
  EXPECT_FALSE(describe(1, 4, 3, "llama", "none"));
  EXPECT_FALSE(describe(1, 8, 1, "llama", "none"));  // heads of one element
  EXPECT_FALSE(describe(1, 2, 1, "mamba", "none"));
  EXPECT_FALSE(describe(1, 2, 1, "llama", "yarn"));
}

}  // namespace
}  // namespace kw
