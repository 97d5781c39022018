#include "model/tokenizer/bpe_training.h"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "model/tokenizer/byte_alphabet.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

struct CountedWord {
  std::vector<TokenId> symbols;
  std::int64_t count = 0;
};

using Pair = std::uint64_t;
Pair pair_of(TokenId left, TokenId right) {
  return static_cast<Pair>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

struct PairState {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;  // where it may occur; ascending, with leftovers
};

struct Candidate {
  std::int64_t count;
  Pair pair;
  bool operator<(const Candidate& other) const {  // the queue's top: most frequent, then lowest ids
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

Result<std::map<std::string, std::int64_t>> count_words(const std::vector<std::string_view>& texts,
                                                        const BpeTrainingOptions& options) {
  KW_TRY(const PreTokenizer pre_tokenizer, PreTokenizer::compile(options.pre_tokenizer));
  RegexScratch scratch;
  Words words;
  std::unordered_map<std::string, std::int64_t> counts;
  for (const std::string_view text : texts) {
    std::string own = is_valid_utf8(text) ? std::string(text) : replace_invalid_utf8(text);
    if (options.nfc) own = to_nfc(own);
    words.clear();
    KW_TRY_VOID(pre_tokenizer.split(own, scratch, words));
    for (const std::string_view word : words.words) ++counts[std::string(word)];
  }
  return std::map<std::string, std::int64_t>(counts.begin(), counts.end());
}

class Trainer {
 public:
  Trainer(TokenizerSpec& spec, std::vector<CountedWord> words) : spec_(spec), words_(std::move(words)) {
    for (std::size_t id = 0; id < spec_.tokens.size(); ++id) ids_.emplace(spec_.tokens[id], static_cast<TokenId>(id));
    for (std::uint32_t w = 0; w < words_.size(); ++w) {
      const auto& symbols = words_[w].symbols;
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
        change(pair_of(symbols[i], symbols[i + 1]), words_[w].count, w);
    }
    for (const auto& [pair, state] : pairs_) queue_.push({state.count, pair});
    touched_.clear();
  }

  void run(std::size_t vocabulary, std::int64_t min_frequency) {
    while (spec_.tokens.size() < vocabulary && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      PairState& state = pairs_[best.pair];
      if (state.count != best.count) {  // counted down since it was queued
        if (state.count > 0) queue_.push({state.count, best.pair});
        continue;
      }
      if (best.count < std::max<std::int64_t>(min_frequency, 1)) break;
      merge(best.pair);
    }
  }

 private:
  void change(Pair pair, std::int64_t by, std::uint32_t word) {
    PairState& state = pairs_[pair];
    state.count += by;
    if (by <= 0) return;
    if (state.words.empty() || state.words.back() != word) state.words.push_back(word);
    touched_.insert(pair);
  }

  void merge(Pair pair) {
    const auto left = static_cast<TokenId>(pair >> 32), right = static_cast<TokenId>(pair & 0xFFFFFFFFu);
    const std::string token = spec_.tokens[left] + spec_.tokens[right];
    const auto [entry, fresh] = ids_.try_emplace(token, static_cast<TokenId>(spec_.tokens.size()));
    if (fresh) spec_.tokens.push_back(token);
    const TokenId merged = entry->second;
    spec_.merges.push_back({left, right, static_cast<std::int32_t>(spec_.merges.size())});
    const std::vector<std::uint32_t> where = std::move(pairs_[pair].words);
    touched_.clear();
    for (const std::uint32_t w : where) merge_in(w, left, right, merged);
    pairs_[pair] = {};
    touched_.erase(pair);
    for (const Pair other : touched_) {
      if (const auto count = pairs_[other].count; count > 0) queue_.push({count, other});
    }
  }

  void merge_in(std::uint32_t w, TokenId left, TokenId right, TokenId merged) {
    auto& symbols = words_[w].symbols;
    const std::int64_t count = words_[w].count;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] != left || symbols[i + 1] != right) continue;
      if (i > 0) {
        change(pair_of(symbols[i - 1], left), -count, w);
        change(pair_of(symbols[i - 1], merged), count, w);
      }
      if (i + 2 < symbols.size()) {
        change(pair_of(right, symbols[i + 2]), -count, w);
        change(pair_of(merged, symbols[i + 2]), count, w);
      }
      symbols[i] = merged;
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  TokenizerSpec& spec_;
  std::vector<CountedWord> words_;
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_map<Pair, PairState> pairs_;
  std::unordered_set<Pair> touched_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

Result<TokenizerSpec> train_bpe(const std::vector<std::string_view>& texts, const BpeTrainingOptions& options) {
  if (options.vocabulary < 256 + options.special.size() || options.vocabulary > max_vocabulary) {
    return Error{
        "a vocabulary of " + std::to_string(options.vocabulary) + " cannot hold the special tokens and 256 bytes",
        "",
        {}};
  }
  KW_TRY(const auto counts, count_words(texts, options));
  TokenizerSpec spec;
  spec.nfc = options.nfc;
  spec.pre_tokenizer = options.pre_tokenizer;
  for (const std::string& content : options.special) {
    spec.added.push_back({.id = static_cast<TokenId>(spec.tokens.size()), .content = content});
    spec.tokens.push_back(content);
  }
  std::vector<std::pair<std::string, unsigned char>>
      alphabet;  // sorted by character, which is the order of its UTF-8 too
  alphabet.reserve(256);
  for (int byte = 0; byte < 256; ++byte) {
    alphabet.emplace_back(to_byte_alphabet(std::string(1, static_cast<char>(byte))), static_cast<unsigned char>(byte));
  }
  std::sort(alphabet.begin(), alphabet.end());
  std::array<TokenId, 256> id_of{};
  for (const auto& [character, byte] : alphabet) {
    id_of[byte] = static_cast<TokenId>(spec.tokens.size());
    spec.tokens.push_back(character);
  }
  std::vector<CountedWord> words;
  for (const auto& [bytes, count] : counts) {
    CountedWord& word = words.emplace_back();
    word.count = count;
    for (const char c : bytes) word.symbols.push_back(id_of[static_cast<unsigned char>(c)]);
  }
  Trainer(spec, std::move(words)).run(options.vocabulary, options.min_frequency);
  return spec;
}

}  // namespace kw
