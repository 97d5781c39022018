#pragma once
// Vocabularies that are not tokenizer.json: the arrays of a GGUF file, and tiktoken's list of ranks.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

// The metadata tokenizer.ggml.* of a GGUF file.
struct VocabularyArrays {
  std::string model = "gpt2";       // tokenizer.ggml.model
  std::string pre;                  // tokenizer.ggml.pre
  std::vector<std::string> tokens;  // in the byte alphabet
  std::vector<int> types;           // 1 normal, 3 control, 4 user defined, 5 unused; empty: all are normal
  std::vector<std::string> merges;  // "left right"
};

Result<TokenizerSpec> spec_from_gguf(const VocabularyArrays& vocabulary);

// Lines of base64, a space, and the rank that is also the id. The merges are all pairs of tokens that join to a token,
// with its rank. `special` get the ids after the last rank.
Result<TokenizerSpec> spec_from_tiktoken(std::string_view file, std::string_view pattern, bool nfc,
                                         const std::vector<std::string>& special);

}  // namespace kw
