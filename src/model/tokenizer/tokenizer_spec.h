#pragma once
// A tokenizer as data: what tokenizer.json, a GGUF file, a tiktoken file and our own training all come down to.

#include <cstdint>
#include <string>
#include <vector>

namespace kw {

using TokenId = std::int32_t;

inline constexpr std::size_t max_vocabulary = 1u << 20;
inline constexpr std::size_t max_merges = 8u << 20;  // a tiktoken file implies several for each token
inline constexpr std::size_t max_token_bytes = 4096;
inline constexpr std::size_t max_added_tokens = 1u << 16;
inline constexpr std::size_t max_added_token_bytes = 512;
inline constexpr std::size_t max_pre_tokenizer_steps = 16;

// What becomes of the pieces that a pattern matches; the names are those of tokenizer.json.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

struct PreTokenizerStep {
  enum class Kind { split, digits, byte_level };
  Kind kind = Kind::split;
  // split
  std::string pattern = {};
  bool literal = false;  // the pattern is text, not a regular expression
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
  // digits
  bool individual_digits = false;
  // byte_level; always the last step
  bool add_prefix_space = false;
  bool use_regex = true;  // GPT-2's

  friend bool operator==(const PreTokenizerStep&, const PreTokenizerStep&) = default;
};

struct AddedToken {
  TokenId id = 0;
  std::string content = {};
  bool special = true;
  bool normalized = false;  // looked for in the normalised text instead of the original
  bool lstrip = false;      // takes the white space before it along
  bool rstrip = false;      // and after it

  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

struct Merge {
  TokenId left = 0;
  TokenId right = 0;
  std::int32_t rank = 0;  // lower goes first

  friend bool operator==(const Merge&, const Merge&) = default;
};

struct TokenizerSpec {
  bool nfc = false;
  std::vector<PreTokenizerStep> pre_tokenizer;
  // In the byte alphabet (byte_alphabet.h); the id is the index. Tokens that are also added ones are plain text here.
  std::vector<std::string> tokens;
  std::vector<Merge> merges;
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges make of it
  std::vector<AddedToken> added;
};

// GPT-2's pattern, and Qwen2's (digits one by one).
inline constexpr const char* gpt2_pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr const char* qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

inline std::vector<PreTokenizerStep> gpt2_steps() { return {{.kind = PreTokenizerStep::Kind::byte_level}}; }
inline std::vector<PreTokenizerStep> smollm_steps() {
  return {{.kind = PreTokenizerStep::Kind::digits, .individual_digits = true},
          {.kind = PreTokenizerStep::Kind::byte_level}};
}
inline std::vector<PreTokenizerStep> pattern_steps(std::string pattern) {
  return {{.kind = PreTokenizerStep::Kind::split, .pattern = std::move(pattern)},
          {.kind = PreTokenizerStep::Kind::byte_level, .use_regex = false}};
}

}  // namespace kw
