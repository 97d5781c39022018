#pragma once
// Finding added tokens in text: from left to right, the longest that starts at a place.

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

// A stretch of text between added tokens (id < 0), or an added token with the white space that it takes along.
struct TextPart {
  std::string_view text;
  TokenId id = -1;
};

class AddedTokenFinder {
 public:
  // `content` is what to look for: the token's own, or its normalised form.
  void add(const AddedToken& token, std::string_view content);
  bool empty() const { return tokens_.empty(); }

  // With `special` false, special tokens stay text.
  std::vector<TextPart> split(std::string_view text, bool special) const;

 private:
  struct Node {
    int token = -1;
  };
  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // of node << 8 | byte
  std::array<bool, 256> first_{};
};

}  // namespace kw
