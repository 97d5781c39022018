#define XXH_INLINE_ALL
#include "model/tokenizer/tokenizer.h"

#include <xxhash.h>

#include <cstring>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

Error bad(std::string message) { return Error{std::move(message), "", {}}; }

// A token's name in a message, cut to a line's length.
std::string shown(std::string_view token) {
  return "'" + replace_invalid_utf8(token.substr(0, 60)) + (token.size() > 60 ? "...'" : "'");
}

Result<void> check_added(const TokenizerSpec& spec) {
  if (spec.added.size() > max_added_tokens) return bad("there are too many added tokens");
  for (const AddedToken& token : spec.added) {
    if (token.content.empty() || token.content.size() > max_added_token_bytes || !is_valid_utf8(token.content)) {
      return bad("the added token " + shown(token.content) + " is empty, not UTF-8, or longer than " +
                 std::to_string(max_added_token_bytes) + " bytes");
    }
  }
  return {};
}

bool occurs_in_utf8(int byte) { return byte != 0xC0 && byte != 0xC1 && byte < 0xF5; }

}  // namespace

Result<Tokenizer> Tokenizer::make(TokenizerSpec spec) {
  if (spec.tokens.empty()) return bad("the vocabulary is empty");
  if (spec.tokens.size() > max_vocabulary) return bad("the vocabulary has more than a million tokens");
  if (spec.merges.size() > max_merges) return bad("there are too many merges");
  KW_TRY_VOID(check_added(spec));
  Tokenizer out;
  KW_TRY(out.pre_tokenizer_, PreTokenizer::compile(spec.pre_tokenizer));

  const std::size_t model_tokens = spec.tokens.size();
  out.bytes_.resize(model_tokens);
  out.words_.reserve(model_tokens);
  std::unordered_map<std::string_view, TokenId> id_of;
  id_of.reserve(model_tokens);
  for (std::size_t id = 0; id < model_tokens; ++id) {
    const std::string& token = spec.tokens[id];
    if (token.empty() || token.size() > max_token_bytes || !is_valid_utf8(token)) {
      return bad("token " + std::to_string(id) + " is empty, not UTF-8, or longer than " +
                 std::to_string(max_token_bytes) + " bytes");
    }
    if (!id_of.emplace(token, static_cast<TokenId>(id)).second)
      return bad("the token " + shown(token) + " occurs twice");
    auto bytes = from_byte_alphabet(token);
    out.bytes_[id] = bytes ? *bytes : token;
    if (bytes) out.words_.emplace(std::move(*bytes), static_cast<TokenId>(id));
  }

  out.byte_tokens_.fill(-1);
  for (int byte = 0; byte < 256; ++byte) {
    const auto token = out.words_.find(std::string(1, static_cast<char>(byte)));
    if (token != out.words_.end()) out.byte_tokens_[byte] = token->second;
    if (token == out.words_.end() && occurs_in_utf8(byte))
      out.missing_bytes_.push_back(static_cast<std::uint8_t>(byte));
  }

  out.merges_ = MergeTable(spec.merges.size());
  const auto known = [&](TokenId id) { return id >= 0 && static_cast<std::size_t>(id) < model_tokens; };
  for (const Merge& merge : spec.merges) {
    if (!known(merge.left) || !known(merge.right) || merge.rank < 0) return bad("a merge names an id that is no token");
    const std::string both = spec.tokens[merge.left] + spec.tokens[merge.right];
    const auto result = id_of.find(both);
    if (result == id_of.end()) {
      return bad("the merge of " + shown(spec.tokens[merge.left]) + " and " + shown(spec.tokens[merge.right]) +
                 " gives no token");
    }
    if (!out.merges_.insert(merge.left, merge.right, {merge.rank, result->second})) {
      return bad("the merge of " + shown(spec.tokens[merge.left]) + " and " + shown(spec.tokens[merge.right]) +
                 " occurs twice");
    }
  }

  // Added tokens either are in the vocabulary or continue its ids without a gap.
  std::size_t total = model_tokens + spec.added.size();
  std::vector<bool> used(total, false);
  std::size_t end = model_tokens;
  out.bytes_.resize(total);
  out.special_.resize(total, false);
  for (const AddedToken& token : spec.added) {
    const auto model = id_of.find(token.content);
    if (model != id_of.end() ? model->second != token.id
                             : token.id < 0 || static_cast<std::size_t>(token.id) < model_tokens) {
      return bad("the added token " + shown(token.content) + " has the id " + std::to_string(token.id) +
                 ", which is another token's");
    }
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= total) {
      return bad("the added token " + shown(token.content) + " has the id " + std::to_string(token.id) +
                 ", which leaves a gap in the ids");
    }
    if (used[id] || !out.added_.emplace(token.content, token.id).second) {
      return bad("the added token " + shown(token.content) + " occurs twice, or its id does");
    }
    used[id] = true;
    end = std::max(end, id + 1);
    out.bytes_[id] = token.content;
    out.special_[id] = token.special;
    if (token.normalized) {
      out.normalized_added_.add(token, spec.nfc ? to_nfc(token.content) : token.content);
    } else {
      out.raw_added_.add(token, token.content);
    }
  }
  for (std::size_t id = model_tokens; id < end; ++id) {
    if (!used[id]) return bad("no token has the id " + std::to_string(id));
  }
  out.bytes_.resize(end);
  out.special_.resize(end);
  id_of.clear();
  out.spec_ = std::move(spec);
  return out;
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  return Encoder(*this, 6).encode(text, special);
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= size()) {
      return bad(std::to_string(id) + " is not the id of a token; there are " + std::to_string(size()));
    }
    if (!(skip_special && special_[id])) bytes += bytes_[id];
  }
  return bytes;
}

const std::string& Tokenizer::bytes_of(TokenId id) const {
  KW_CHECK(id >= 0 && static_cast<std::size_t>(id) < size());
  return bytes_[id];
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && static_cast<std::size_t>(id) < size() && special_[id];
}

std::optional<TokenId> Tokenizer::find(std::string_view bytes) const {
  const std::string key(bytes);
  if (const auto token = added_.find(key); token != added_.end()) return token->second;
  if (const auto token = words_.find(key); token != words_.end()) return token->second;
  return std::nullopt;
}

Encoder::Encoder(const Tokenizer& tokenizer, int cache_bits)
    : tokenizer_(&tokenizer), cache_mask_((std::size_t{1} << cache_bits) - 1), cache_(cache_mask_ + 1) {}

Result<std::vector<TokenId>> Encoder::encode(std::string_view text, SpecialTokens special) {
  if (text.size() > max_text_bytes) return bad("the text is longer than a gibibyte");
  std::string repaired;
  if (!is_valid_utf8(text)) text = repaired = replace_invalid_utf8(text);
  const bool recognise = special == SpecialTokens::recognised;
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3);
  for (const TextPart& part : tokenizer_->raw_added_.split(text, recognise)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    const std::string normalized = tokenizer_->spec_.nfc ? to_nfc(part.text) : std::string();
    const std::string_view normal = tokenizer_->spec_.nfc ? std::string_view(normalized) : part.text;
    for (const TextPart& inner : tokenizer_->normalized_added_.split(normal, recognise)) {
      if (inner.id >= 0) {
        ids.push_back(inner.id);
      } else {
        KW_TRY_VOID(encode_text(inner.text, ids));
      }
    }
  }
  return ids;
}

Result<void> Encoder::encode_text(std::string_view text, std::vector<TokenId>& ids) {
  words_.clear();
  KW_TRY_VOID(tokenizer_->pre_tokenizer_.split(text, scratch_, words_));
  for (const std::string_view word : words_.words) encode_word(word, ids);
  return {};
}

void Encoder::encode_word(std::string_view word, std::vector<TokenId>& ids) {
  if (word.size() > CachedWord::max_bytes) {
    merge(word);
    ids.insert(ids.end(), symbols_.begin(), symbols_.end());
    return;
  }
  CachedWord& cached = cache_[XXH3_64bits(word.data(), word.size()) & cache_mask_];
  if (cached.bytes == word.size() && std::memcmp(cached.word, word.data(), word.size()) == 0) {
    ids.insert(ids.end(), cached.ids, cached.ids + cached.count);
    return;
  }
  merge(word);
  ids.insert(ids.end(), symbols_.begin(), symbols_.end());
  if (symbols_.size() > CachedWord::max_ids) return;
  std::memcpy(cached.word, word.data(), word.size());
  std::copy(symbols_.begin(), symbols_.end(), cached.ids);
  cached.bytes = static_cast<std::uint8_t>(word.size());
  cached.count = static_cast<std::uint8_t>(symbols_.size());
}

void Encoder::merge(std::string_view word) {
  symbols_.clear();
  if (tokenizer_->spec_.ignore_merges && word.size() <= max_token_bytes) {
    if (const auto token = tokenizer_->words_.find(std::string(word)); token != tokenizer_->words_.end()) {
      symbols_.push_back(token->second);
      return;
    }
  }
  for (const char c : word) {
    const TokenId token = tokenizer_->byte_tokens_[static_cast<unsigned char>(c)];
    if (token >= 0) symbols_.push_back(token);
  }
  merge_word(tokenizer_->merges_, symbols_);
}

}  // namespace kw
