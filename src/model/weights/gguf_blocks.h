#pragma once
// ggml's block formats as float32. The arithmetic is that of the Python package gguf (gguf/quants.py), operation by
// operation, so values are equal bit for bit. A row is a whole number of blocks.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace kw {

enum class BlockFormat { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k, q6_k };

struct BlockLayout {
  std::int64_t elements = 1;  // in a block
  std::int64_t bytes = 4;     // of a block
};

BlockLayout block_layout(BlockFormat format);
std::optional<BlockFormat> block_format_from_number(std::uint32_t ggml_type);
std::string ggml_type_name(std::uint32_t ggml_type);  // "Q5_K", also of formats that cannot be read; "42" when unknown

// `out` has one float for each element of the blocks.
void dequantise_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<float> out);

}  // namespace kw
