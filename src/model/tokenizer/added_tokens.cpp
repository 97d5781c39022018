#include "model/tokenizer/added_tokens.h"

#include <algorithm>

#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

std::size_t white_space_after(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (!is_white_space(next_character(text, next))) break;
    at = next;
  }
  return at;
}

std::size_t white_space_before(std::string_view text, std::size_t at, std::size_t floor) {
  while (at > floor) {
    std::size_t begin = at - 1;
    while (begin > floor && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    std::size_t end = begin;
    if (!is_white_space(next_character(text, end))) break;
    at = begin;
  }
  return at;
}

}  // namespace

void AddedTokenFinder::add(const AddedToken& token, std::string_view content) {
  if (content.empty()) return;
  std::uint32_t node = 0;
  for (const char c : content) {
    const std::uint64_t key = std::uint64_t{node} << 8 | static_cast<unsigned char>(c);
    const auto [child, fresh] = children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.emplace_back();
    node = child->second;
  }
  first_[static_cast<unsigned char>(content.front())] = true;
  nodes_[node].token = static_cast<int>(tokens_.size());
  tokens_.push_back(token);
}

std::vector<TextPart> AddedTokenFinder::split(std::string_view text, bool special) const {
  std::vector<TextPart> parts;
  std::size_t done = 0;
  for (std::size_t at = 0; !tokens_.empty() && at < text.size();) {
    if (!first_[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    int longest = -1;
    std::size_t longest_end = at;
    std::uint32_t node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      const auto child = children_.find(std::uint64_t{node} << 8 | static_cast<unsigned char>(text[i]));
      if (child == children_.end()) break;
      node = child->second;
      if (nodes_[node].token >= 0) {
        longest = nodes_[node].token;
        longest_end = i + 1;
      }
    }
    if (longest < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(longest)];
    std::size_t begin = at, end = longest_end;
    at = longest_end;
    if (token.special && !special) continue;
    if (token.lstrip) begin = white_space_before(text, begin, done);
    if (token.rstrip) end = white_space_after(text, end);
    if (begin > done) parts.push_back({text.substr(done, begin - done)});
    parts.push_back({text.substr(begin, end - begin), token.id});
    done = at = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done)});
  return parts;
}

}  // namespace kw
