#include "kernel/emulate/ptx_parser_names.h"

#include <algorithm>
#include <iterator>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"

namespace kw {
namespace {

std::uint64_t process_seed() {
  static const std::uint64_t seed = [] {
    std::random_device device;
    return static_cast<std::uint64_t>(device()) << 32 | device();
  }();
  return seed;
}

}  // namespace

std::uint64_t seeded_hash(std::string_view text, std::uint64_t salt) {
  return XXH3_64bits_withSeed(text.data(), text.size(), process_seed() + salt * 0x9E3779B97F4A7C15u);
}

void PtxScopedNames::open_scope() { scope_starts_.push_back(declared_.size()); }

void PtxScopedNames::close_scope() {
  KW_CHECK(!scope_starts_.empty());
  while (declared_.size() > scope_starts_.back()) {
    const Declared& last = declared_.back();
    slots_[last.slot].top = last.hidden;
    declared_.pop_back();
  }
  scope_starts_.pop_back();
}

std::uint32_t PtxScopedNames::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].declared != 0 && (slots_[at].hash != hash || slots_[at].text != text)) at = (at + 1) & mask;
  return static_cast<std::uint32_t>(at);
}

void PtxScopedNames::grow() {
  std::vector<Slot> old(slots_.empty() ? 32 : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.declared == 0) continue;
    const std::uint32_t at = slot_of(slot.text, slot.hash);
    slots_[at] = slot;
    // Every declaration of the name, visible or hidden, must know its new place.
    for (int i = slot.top; i >= 0; i = declared_[static_cast<std::size_t>(i)].hidden) {
      declared_[static_cast<std::size_t>(i)].slot = at;
    }
  }
}

bool PtxScopedNames::declare(std::string_view text, PtxName name) {
  if (used_ * 2 >= slots_.size()) grow();
  const std::uint64_t hash = seeded_hash(text);
  const std::uint32_t at = slot_of(text, hash);
  Slot& slot = slots_[at];
  const std::size_t innermost = scope_starts_.empty() ? 0 : scope_starts_.back();
  if (slot.top >= 0 && static_cast<std::size_t>(slot.top) >= innermost) return false;
  if (slot.declared == 0) {
    slot.text = text;
    slot.hash = hash;
    ++used_;
  }
  ++slot.declared;
  name.depth = depth();
  declared_.push_back({name, at, slot.top});
  slot.top = static_cast<int>(declared_.size() - 1);
  return true;
}

const PtxName* PtxScopedNames::find(std::string_view text) const {
  if (declared_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(text, seeded_hash(text))];
  return slot.top < 0 ? nullptr : &declared_[static_cast<std::size_t>(slot.top)].name;
}

std::uint32_t PtxScopedNames::times_declared(std::string_view text) const {
  return slots_.empty() ? 0 : slots_[slot_of(text, seeded_hash(text))].declared;
}

void PtxLabels::open_scope() {
  scope_parents_.push_back(scope_);
  scope_ = static_cast<int>(scope_parents_.size() - 1);
}

bool PtxLabels::set(std::string_view text, int instruction) {
  highest_ = std::max(highest_, instruction);
  return labels_.emplace(Key{text, scope_}, instruction).second;
}

std::optional<int> PtxLabels::find(std::string_view text, int scope) const {
  for (; scope >= 0; scope = scope_parents_[static_cast<std::size_t>(scope)]) {
    if (const auto found = labels_.find(Key{text, scope}); found != labels_.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<PtxRangeRegister> find_in_ranges(const PtxScopedNames& ranges, std::string_view text) {
  constexpr std::size_t longest_number = 7;
  std::size_t split = text.size();
  while (split > 1 && text.size() - split < longest_number && text[split - 1] >= '0' && text[split - 1] <= '9') --split;
  for (; split < text.size(); ++split) {
    if (text[split] == '0' && split + 1 < text.size()) continue;
    const PtxName* range = ranges.find(text.substr(0, split));
    if (!range) continue;
    std::uint32_t number = 0;
    for (char c : text.substr(split)) number = number * 10 + static_cast<std::uint32_t>(c - '0');
    if (number < range->count) return PtxRangeRegister{range->index + static_cast<int>(number), range->depth};
  }
  return std::nullopt;
}

bool is_special_register(std::string_view text) {
  // Sorted, for the binary search.
  static constexpr std::string_view names[] = {"%aggr_smem_size",
                                               "%clock",
                                               "%clock64",
                                               "%clock_hi",
                                               "%cluster_ctaid",
                                               "%cluster_ctarank",
                                               "%cluster_nctaid",
                                               "%cluster_nctarank",
                                               "%clusterid",
                                               "%ctaid",
                                               "%current_graph_exec",
                                               "%dynamic_smem_size",
                                               "%globaltimer",
                                               "%globaltimer_hi",
                                               "%globaltimer_lo",
                                               "%gridid",
                                               "%is_explicit_cluster",
                                               "%laneid",
                                               "%lanemask_eq",
                                               "%lanemask_ge",
                                               "%lanemask_gt",
                                               "%lanemask_le",
                                               "%lanemask_lt",
                                               "%nclusterid",
                                               "%nctaid",
                                               "%nsmid",
                                               "%ntid",
                                               "%nwarpid",
                                               "%smid",
                                               "%tid",
                                               "%total_smem_size",
                                               "%warpid"};
  if (std::binary_search(std::begin(names), std::end(names), text)) return true;
  const auto numbered = [&](std::string_view prefix) {
    if (!text.starts_with(prefix) || text.size() == prefix.size() || text.size() > prefix.size() + 2) return false;
    return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(prefix.size()), text.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  return numbered("%envreg") || numbered("%pm") || text.starts_with("%reserved_smem_offset_") ||
         (text.starts_with("%pm") && text.ends_with("_64") && text.size() == 7);
}

}  // namespace kw
