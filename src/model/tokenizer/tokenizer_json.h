#pragma once
// Hugging Face's tokenizer.json, as far as byte-level BPE needs it. What is not supported is refused by name, never
// ignored; padding, truncation and the post-processor are no part of encode() and are only looked at.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

inline constexpr std::size_t max_tokenizer_json_bytes = 32u << 20;

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text);
Result<Tokenizer> load_tokenizer_json(const std::filesystem::path& path);

// Text that parse_tokenizer_json and Hugging Face's tokenizers read back to the same ids.
std::string to_tokenizer_json(const TokenizerSpec& spec);

}  // namespace kw
