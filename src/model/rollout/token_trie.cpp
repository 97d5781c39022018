#include "model/rollout/token_trie.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace kw {
namespace {

// Longer ones are of no use to an answer, and are never allowed.
constexpr std::size_t most_token_bytes = 1024;

}  // namespace

TokenTrie::TokenTrie(const Tokenizer& tokenizer) {
  for (std::size_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<std::int32_t>(i);
    const std::size_t bytes = tokenizer.bytes_of(token).size();
    if (bytes > 0 && bytes <= most_token_bytes && !tokenizer.is_special(token)) tokens_.push_back(token);
  }
  const auto bytes_of = [&](std::int32_t token) -> std::string_view { return tokenizer.bytes_of(token); };
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [&](std::int32_t a, std::int32_t b) { return bytes_of(a) < bytes_of(b); });
  std::vector<std::size_t> open;  // nodes of the bytes of the token before
  std::string_view before;
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back()) nodes_[open.back()].next = static_cast<std::uint32_t>(nodes_.size());
  };
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view bytes = bytes_of(tokens_[i]);
    const auto differ = std::mismatch(bytes.begin(), bytes.end(), before.begin(), before.end());
    close_to(static_cast<std::size_t>(differ.first - bytes.begin()));
    while (open.size() < bytes.size()) {
      Node node;
      node.byte = static_cast<std::uint8_t>(bytes[open.size()]);
      node.depth = static_cast<std::uint16_t>(open.size() + 1);
      node.first_token = node.end_token = static_cast<std::uint32_t>(i);
      open.push_back(nodes_.size());
      nodes_.push_back(node);
    }
    nodes_[open.back()].end_token = static_cast<std::uint32_t>(i + 1);
    most_bytes_ = std::max(most_bytes_, static_cast<std::uint16_t>(bytes.size()));
    before = bytes;
  }
  close_to(0);
}

}  // namespace kw
