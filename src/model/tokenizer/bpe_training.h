#pragma once
// Training a byte-level vocabulary on a corpus: the most frequent pair of neighbours becomes a token, until there are
// enough. The same corpus and options give the same vocabulary, and it is the one that Hugging Face's BpeTrainer finds:
// special tokens first, then the 256 bytes in the order of their characters, then the merges; of equally frequent pairs
// the one with the lower ids.

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

struct BpeTrainingOptions {
  std::size_t vocabulary = 2048;          // tokens in all, special ones and bytes included
  std::int64_t min_frequency = 2;         // of a pair, to be merged
  std::vector<std::string> special = {};  // get the ids from 0
  std::vector<PreTokenizerStep> pre_tokenizer = gpt2_steps();
  bool nfc = false;
};

// Fewer tokens come back where the corpus has no more frequent pairs. Special tokens in the texts are not looked for.
Result<TokenizerSpec> train_bpe(const std::vector<std::string_view>& texts, const BpeTrainingOptions& options);

}  // namespace kw
