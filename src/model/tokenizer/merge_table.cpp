#include "model/tokenizer/merge_table.h"

#include <bit>
#include <limits>
#include <queue>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::size_t scanned_symbols = 48;  // beyond this the heap is faster
constexpr std::int32_t no_merge = std::numeric_limits<std::int32_t>::max();

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(std::size_t expected) {
  const std::size_t size = std::bit_ceil(2 * expected + 2);
  shift_ = 64 - std::countr_zero(size);
  slots_.resize(size);
}

bool MergeTable::insert(TokenId left, TokenId right, Entry entry) {
  const std::uint64_t pair = pair_of(left, right);
  KW_CHECK(pair != empty);
  std::size_t slot = slot_of(pair);
  for (std::size_t probes = 0; slots_[slot].pair != empty; ++probes) {
    if (slots_[slot].pair == pair) return false;
    KW_CHECK(probes < slots_.size());
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = {pair, entry};
  return true;
}

const MergeTable::Entry* MergeTable::find(TokenId left, TokenId right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t slot = slot_of(pair); slots_[slot].pair != empty; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].pair == pair) return &slots_[slot].entry;
  }
  return nullptr;
}

void merge_word(const MergeTable& table, std::vector<TokenId>& symbols) {
  if (symbols.size() <= scanned_symbols) {
    merge_word_scanning(table, symbols);
  } else {
    merge_word_with_heap(table, symbols);
  }
}

void merge_word_scanning(const MergeTable& table, std::vector<TokenId>& symbols) {
  if (symbols.size() < 2) return;
  std::vector<MergeTable::Entry> merges(symbols.size() - 1);  // of each symbol with the next
  const auto look_up = [&](std::size_t i) {
    const auto* entry = table.find(symbols[i], symbols[i + 1]);
    merges[i] = entry != nullptr ? *entry : MergeTable::Entry{no_merge, 0};
  };
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) look_up(i);
  while (!merges.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < merges.size(); ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == no_merge) break;
    symbols[best] = merges[best].result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best));
    if (best < merges.size()) look_up(best);
    if (best > 0) look_up(best - 1);
  }
}

void merge_word_with_heap(const MergeTable& table, std::vector<TokenId>& symbols) {
  struct Candidate {
    std::int32_t rank;
    std::size_t at;
    TokenId left, right, result;
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  constexpr TokenId merged_away = -1;
  const std::size_t none = symbols.size();
  std::vector<std::size_t> next(symbols.size()), previous(symbols.size());
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::size_t at) {
    if (at == none || next[at] == none) return;
    const TokenId left = symbols[at], right = symbols[next[at]];
    if (const auto* entry = table.find(left, right)) queue.push({entry->rank, at, left, right, entry->result});
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    next[i] = i + 1;
    previous[i] = i == 0 ? none : i - 1;
  }
  for (std::size_t i = 0; i < symbols.size(); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const std::size_t after = next[best.at];
    if (symbols[best.at] != best.left || after == none || symbols[after] != best.right) continue;
    symbols[best.at] = best.result;
    symbols[after] = merged_away;
    next[best.at] = next[after];
    if (next[after] != none) previous[next[after]] = best.at;
    consider(best.at);
    consider(previous[best.at]);
  }
  std::erase(symbols, merged_away);
}

}  // namespace kw
