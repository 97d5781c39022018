#include "model/tokenizer/vocabulary_sources.h"

#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "model/tokenizer/byte_alphabet.h"

namespace kw {
namespace {

constexpr std::size_t max_tiktoken_bytes = 32u << 20;
constexpr std::size_t max_tiktoken_token = 256;  // each of its splits is looked up, so the time grows with the square

std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto values = [] {
    std::array<int, 256> out{};
    out.fill(-1);
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (std::size_t i = 0; i < digits.size(); ++i) out[static_cast<unsigned char>(digits[i])] = static_cast<int>(i);
    return out;
  }();
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < text.size() - padding; ++i) {
    const int value = values[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<unsigned>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

Error at_line(std::size_t line, std::string message) {
  return Error{std::move(message), "", {"", static_cast<int>(line), 0}};
}

}  // namespace

Result<TokenizerSpec> spec_from_gguf(const VocabularyArrays& vocabulary) {
  if (vocabulary.model != "gpt2") {
    return Error{"the GGUF tokenizer model '" + vocabulary.model + "' is not supported (gpt2 is)", "", {}};
  }
  TokenizerSpec spec;
  if (vocabulary.pre == "smollm") {
    spec.pre_tokenizer = smollm_steps();
  } else if (vocabulary.pre == "qwen2") {
    spec.pre_tokenizer = pattern_steps(qwen2_pattern);
    spec.nfc = true;
  } else if (vocabulary.pre == "gpt-2" || vocabulary.pre == "gpt2") {
    spec.pre_tokenizer = gpt2_steps();
  } else {
    return Error{"the GGUF pre-tokenizer '" + vocabulary.pre + "' is not known (smollm, qwen2 and gpt-2 are)", "", {}};
  }
  const std::size_t count = vocabulary.tokens.size();
  if (count > max_vocabulary) return Error{"the vocabulary has more than a million tokens", "", {}};
  if (!vocabulary.types.empty() && vocabulary.types.size() != count) {
    return Error{
        "there are " + std::to_string(count) + " tokens and " + std::to_string(vocabulary.types.size()) + " types",
        "",
        {}};
  }
  spec.tokens = vocabulary.tokens;
  std::unordered_map<std::string_view, TokenId> ids;
  ids.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    ids.emplace(spec.tokens[id], static_cast<TokenId>(id));
    const int type = vocabulary.types.empty() ? 1 : vocabulary.types[id];
    if (type < 1 || type > 6)
      return Error{"token " + std::to_string(id) + " has the unknown type " + std::to_string(type), "", {}};
    if (type == 3 || type == 4) {
      spec.added.push_back({.id = static_cast<TokenId>(id), .content = spec.tokens[id], .special = type == 3});
    }
  }
  if (vocabulary.merges.size() > max_merges) return Error{"there are too many merges", "", {}};
  for (const std::string& merge : vocabulary.merges) {
    const std::string_view both = merge;
    const std::size_t space = both.find(' ');
    const auto left = ids.find(both.substr(0, space));
    const auto right = space == std::string_view::npos ? ids.end() : ids.find(both.substr(space + 1));
    if (left == ids.end() || right == ids.end()) {
      return Error{"merge " + std::to_string(spec.merges.size()) + " is not two tokens with a space between", "", {}};
    }
    spec.merges.push_back({left->second, right->second, static_cast<std::int32_t>(spec.merges.size())});
  }
  return spec;
}

Result<TokenizerSpec> spec_from_tiktoken(std::string_view file, std::string_view pattern, bool nfc,
                                         const std::vector<std::string>& special) {
  if (file.size() > max_tiktoken_bytes) return Error{"a tiktoken file of more than 32 MiB is not read", "", {}};
  TokenizerSpec spec;
  spec.nfc = nfc;
  spec.pre_tokenizer = pattern_steps(std::string(pattern));
  spec.ignore_merges = true;
  std::vector<std::string> tokens;
  std::unordered_map<std::string_view, TokenId> ids;
  std::size_t line_number = 0;
  while (!file.empty()) {
    const std::size_t end = file.find('\n');
    std::string_view line = file.substr(0, end);
    file.remove_prefix(end == std::string_view::npos ? file.size() : end + 1);
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return at_line(line_number, "a line is not base64, a space and a rank");
    auto token = from_base64(line.substr(0, space));
    if (!token || token->empty() || token->size() > max_tiktoken_token) {
      return at_line(line_number, "the token is not base64 of 1 to 256 bytes");
    }
    std::size_t rank = 0;
    const char* last = line.data() + line.size();
    const auto [stop, failure] = std::from_chars(line.data() + space + 1, last, rank);
    if (failure != std::errc() || stop != last || rank != tokens.size()) {
      return at_line(line_number, "the rank is not " + std::to_string(tokens.size()) + ", the next one");
    }
    if (tokens.size() >= max_vocabulary) return at_line(line_number, "the vocabulary has more than a million tokens");
    tokens.push_back(std::move(*token));
  }
  ids.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (!ids.emplace(tokens[id], static_cast<TokenId>(id)).second)
      return Error{"token " + std::to_string(id) + " occurs twice", "", {}};
    spec.tokens.push_back(to_byte_alphabet(tokens[id]));
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(token.substr(cut));
      if (right == ids.end()) continue;
      if (spec.merges.size() >= max_merges) return Error{"there are too many merges", "", {}};
      spec.merges.push_back({left->second, right->second, static_cast<std::int32_t>(id)});
    }
  }
  for (const std::string& content : special) {
    spec.added.push_back({.id = static_cast<TokenId>(spec.tokens.size() + spec.added.size()), .content = content});
  }
  return spec;
}

}  // namespace kw
