#pragma once
// Byte-level BPE: text to token ids and back, with the ids that Hugging Face's tokenizers give for the same file.
// A Tokenizer never changes after it is made and may be shared by threads; an Encoder belongs to one thread and
// remembers words. Invalid UTF-8 is encoded as if each maximal ill-formed part were U+FFFD. Bytes that the vocabulary
// has no token for are left out, as Hugging Face does it; Tokenizer::missing_bytes names them. Not done: offsets,
// padding, truncation, pairs of texts, unknown tokens, dropout, byte fallback, a post-processor's template.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/merge_table.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

inline constexpr std::size_t max_text_bytes = 1u << 30;

// Text from a user must not be able to write control tokens; text that a template made has to.
enum class SpecialTokens { as_text, recognised };

class Tokenizer {
 public:
  static Result<Tokenizer> make(TokenizerSpec spec);

  // For one short text. Many texts are faster through an Encoder.
  Result<std::vector<TokenId>> encode(std::string_view text, SpecialTokens special = SpecialTokens::as_text) const;

  // Bytes, not always UTF-8: a character may lie in several tokens. An id that is no token is an error.
  Result<std::string> decode(std::span<const TokenId> ids, bool skip_special = false) const;

  std::size_t size() const { return bytes_.size(); }
  // The bytes that a token stands for; an added token's content.
  const std::string& bytes_of(TokenId id) const;
  bool is_special(TokenId id) const;
  // An added token by its content, or else a token by its bytes.
  std::optional<TokenId> find(std::string_view bytes) const;
  // Bytes that can occur in UTF-8 and have no token.
  const std::vector<std::uint8_t>& missing_bytes() const { return missing_bytes_; }
  const TokenizerSpec& spec() const { return spec_; }

 private:
  friend class Encoder;
  Tokenizer() = default;

  TokenizerSpec spec_;
  PreTokenizer pre_tokenizer_;
  MergeTable merges_;
  AddedTokenFinder raw_added_;         // looked for in the text as it is
  AddedTokenFinder normalized_added_;  // looked for after normalisation
  std::array<TokenId, 256> byte_tokens_{};
  std::vector<std::string> bytes_;
  std::vector<bool> special_;
  std::unordered_map<std::string, TokenId> words_;  // byte strings of the model's tokens
  std::unordered_map<std::string, TokenId> added_;
  std::vector<std::uint8_t> missing_bytes_;
};

class Encoder {
 public:
  // The tokenizer has to outlive the encoder. 2^cache_bits words of up to 24 bytes are remembered, 64 bytes each.
  explicit Encoder(const Tokenizer& tokenizer, int cache_bits = 15);

  Result<std::vector<TokenId>> encode(std::string_view text, SpecialTokens special = SpecialTokens::as_text);

 private:
  struct CachedWord {
    static constexpr std::size_t max_bytes = 24;
    static constexpr std::size_t max_ids = 9;
    char word[max_bytes];
    TokenId ids[max_ids];
    std::uint8_t bytes = 0;  // 0: nothing here yet
    std::uint8_t count = 0;
  };

  Result<void> encode_text(std::string_view text, std::vector<TokenId>& ids);
  void encode_word(std::string_view word, std::vector<TokenId>& ids);
  void merge(std::string_view word);

  const Tokenizer* tokenizer_;
  RegexScratch scratch_;
  Words words_;
  std::vector<TokenId> symbols_;
  std::size_t cache_mask_;
  std::vector<CachedWord> cache_;
};

}  // namespace kw
