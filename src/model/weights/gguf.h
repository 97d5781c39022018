#pragma once
// Reading GGUF versions 2 and 3: metadata, the table of tensors, their bytes. The file is mapped; strings, arrays and
// tensors are views into it. Every length is checked against what is left of the file before anything is allocated.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/weights/gguf_blocks.h"
#include "model/weights/mapped_file.h"
#include "model/weights/tensor.h"

namespace kw {

inline constexpr std::size_t max_gguf_key_bytes = 65535;
inline constexpr std::size_t max_gguf_tensor_name_bytes = 63;       // GGML_MAX_NAME with its end mark
inline constexpr std::uint64_t max_gguf_array_elements = 1u << 25;  // of all arrays of a file together
inline constexpr std::uint32_t max_gguf_dimensions = 4;
inline constexpr std::uint32_t max_gguf_alignment = 1u << 16;

// An array keeps the kind of its elements: all whole numbers that are not negative are unsigned, and so on. Arrays of
// arrays are refused; llama.cpp does so too and no model has them.
using GgufValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, std::vector<std::uint64_t>,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<bool>, std::vector<std::string_view>>;

struct GgufTensor {
  std::string_view name;
  BlockFormat format = BlockFormat::f32;
  Shape shape;  // slowest dimension first, the reverse of the file's order
  std::span<const std::byte> bytes;
};

struct GgufContent {
  std::uint32_t version = 0;
  std::map<std::string_view, GgufValue> metadata;
  std::vector<GgufTensor> tensors;  // in the order of the table

  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;
};

// The views point into `file`.
Result<GgufContent> parse_gguf(std::span<const std::byte> file);

class GgufFile {
 public:
  static Result<GgufFile> open(const std::filesystem::path& path);
  const GgufContent& content() const { return content_; }

 private:
  GgufFile(MappedFile file, GgufContent content) : file_(std::move(file)), content_(std::move(content)) {}
  MappedFile file_;
  GgufContent content_;
};

}  // namespace kw
