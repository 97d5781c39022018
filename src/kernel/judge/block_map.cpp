#include "kernel/judge/block_map.h"

#include <algorithm>
#include <limits>

namespace kw {
namespace {

constexpr std::size_t most_ranges = 4'000'000;   // of all blocks
constexpr std::uint64_t most_tries = 2'000'000;  // of blocks, in a search
constexpr std::size_t skimmed_at_once = 256;
constexpr std::uint64_t most_next_tries = 256;  // of pieces, to find where the next one begins

// The end of the range that holds the address; 0: none does.
std::uint64_t end_around(const std::vector<AddressRange>& ranges, std::int64_t address) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](std::int64_t wanted, const auto& range) { return wanted < static_cast<std::int64_t>(range.begin); });
  if (after == ranges.begin()) return 0;
  const std::uint64_t end = std::prev(after)->end;
  return address < static_cast<std::int64_t>(end) ? end : 0;
}

// How far the second begins behind the first. A block at an edge begins as others do and only ends earlier.
std::optional<std::int64_t> distance(const std::vector<AddressRange>& first, const std::vector<AddressRange>& second) {
  if (first.empty() || second.empty()) return std::nullopt;
  return static_cast<std::int64_t>(second[0].begin - first[0].begin);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b == a || (a < 0) == (b < 0) ? quotient : quotient - 1;
}

}  // namespace

std::vector<AddressRange> BlockMap::within(const BlockFootprint& footprint, const AddressRange& array) const {
  std::vector<AddressRange> inside;
  for (const AddressRange& range : footprint.stored)
    if (range.begin >= array.begin && range.end <= array.end) inside.push_back(range);
  return inside;
}

void BlockMap::learn(const Skim& skim, Random& random) {
  patterns_.assign(arrays_.size(), {});
  // In the middle half, because blocks at an edge may have less to do.
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t quarter = grid_[d] / 4;
    base_[d] =
        static_cast<std::uint64_t>(random.integer(quarter, std::max<std::int64_t>(quarter, grid_[d] - 1 - quarter)));
  }
  std::vector<std::uint64_t> wanted{number_of(base_)};
  std::array<std::uint64_t, 3> beside{};
  std::array<std::int64_t, 3> step{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (grid_[d] < 2) continue;
    auto next = base_;
    step[d] = base_[d] + 1 < grid_[d] ? 1 : -1;
    next[d] = static_cast<std::uint64_t>(static_cast<std::int64_t>(next[d]) + step[d]);
    beside[d] = number_of(next);
    wanted.push_back(beside[d]);
  }
  std::array<std::array<std::uint64_t, 3>, 3> far{};
  for (auto& block : far) {
    for (std::size_t d = 0; d < 3; ++d)
      block[d] = static_cast<std::uint64_t>(random.integer(0, static_cast<std::int64_t>(grid_[d]) - 1));
    wanted.push_back(number_of(block));
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  const auto seen = skim(wanted);
  if (!seen) {
    // A block that cannot be looked at may write anywhere.
    for (Pattern& pattern : patterns_) pattern.written = true;
    return;
  }
  for (const auto& [number, footprint] : *seen)
    skimmed_instructions_ += static_cast<double>(footprint.warp_instructions) / static_cast<double>(wanted.size());
  const auto of = [&](std::uint64_t number, const AddressRange& array) {
    const auto found = seen->find(number);
    return found == seen->end() ? std::vector<AddressRange>() : within(found->second, array);
  };
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    Pattern& pattern = patterns_[a];
    for (const auto& [number, footprint] : *seen) pattern.written |= !within(footprint, arrays_[a]).empty();
    pattern.stored = of(number_of(base_), arrays_[a]);
    pattern.known = !pattern.stored.empty();
    for (std::size_t d = 0; d < 3 && pattern.known; ++d) {
      if (grid_[d] < 2) continue;
      const auto moved = distance(pattern.stored, of(beside[d], arrays_[a]));
      pattern.known = moved.has_value();
      if (moved) pattern.shift[d] = *moved * step[d];
    }
    if (!pattern.known) continue;
    // Blocks far away begin where they should, if they have anything to do. Together they show a whole block's places.
    const std::uint64_t begin = pattern.stored[0].begin;
    for (const auto& block : far) {
      const auto there = of(number_of(block), arrays_[a]);
      if (there.empty()) continue;
      std::int64_t moved = 0;
      for (std::size_t d = 0; d < 3; ++d)
        moved += pattern.shift[d] * (static_cast<std::int64_t>(block[d]) - static_cast<std::int64_t>(base_[d]));
      pattern.known = pattern.known && there[0].begin == begin + static_cast<std::uint64_t>(moved);
      for (const AddressRange& range : there)
        pattern.stored.push_back(
            {range.begin - static_cast<std::uint64_t>(moved), range.end - static_cast<std::uint64_t>(moved)});
    }
    join_ranges(pattern.stored);
  }
}

bool BlockMap::learn_everything(const Skim& skim, double instructions_allowed) {
  if (all_) return true;
  if (skimmed_instructions_ * static_cast<double>(blocks()) > instructions_allowed) return false;
  everything_.clear();
  for (std::uint64_t first = 0; first < blocks(); first += skimmed_at_once) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = first; i < std::min(blocks(), first + skimmed_at_once); ++i) numbers.push_back(i);
    const auto seen = skim(numbers);
    if (!seen) return false;
    for (const auto& [number, footprint] : *seen)
      for (const AddressRange& range : footprint.stored) everything_.push_back({range, number});
    if (everything_.size() > most_ranges) return false;
  }
  std::sort(everything_.begin(), everything_.end(), [](const Stored& a, const Stored& b) {
    return std::pair(a.range.begin, a.block) < std::pair(b.range.begin, b.block);
  });
  for (const Stored& stored : everything_) longest_ = std::max(longest_, stored.range.end - stored.range.begin);
  all_ = true;
  return true;
}

BlockMap::Knowledge BlockMap::about(std::uint64_t address) const {
  if (all_) return Knowledge::known;
  for (std::size_t a = 0; a < patterns_.size(); ++a) {
    if (address < arrays_[a].begin || address >= arrays_[a].end) continue;
    return patterns_[a].known     ? Knowledge::known
           : patterns_[a].written ? Knowledge::irregular
                                  : Knowledge::never_written;
  }
  return Knowledge::irregular;
}

BlockMap::Writers BlockMap::writers(std::uint64_t address, std::size_t most) const {
  Writers writers;
  std::vector<std::uint64_t>& found = writers.blocks;
  if (all_) {
    const std::uint64_t low = address >= longest_ ? address - longest_ : 0;
    auto each =
        std::lower_bound(everything_.begin(), everything_.end(), low,
                         [](const Stored& stored, std::uint64_t wanted) { return stored.range.begin < wanted; });
    for (; each != everything_.end() && each->range.begin <= address && found.size() < most; ++each)
      if (address < each->range.end) {
        found.push_back(each->block);
        writers.end = std::min(writers.end, each->range.end);
      }
    const auto next =
        std::upper_bound(everything_.begin(), everything_.end(), address,
                         [](std::uint64_t place, const Stored& stored) { return place < stored.range.begin; });
    if (next != everything_.end()) writers.end = std::min(writers.end, next->range.begin);
  } else {
    for (std::size_t a = 0; a < arrays_.size(); ++a)
      if (address >= arrays_[a].begin && address < arrays_[a].end && patterns_[a].known) {
        search(patterns_[a], address, most, writers);
        const auto next = next_begin(patterns_[a], address);
        if (next || found.empty()) writers.end = std::min(writers.end, next.value_or(address + 1));
      }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return writers;
}

// Where the next piece of any block begins behind the address; nothing, where that is long to find.
std::optional<std::uint64_t> BlockMap::next_begin(const Pattern& pattern, std::uint64_t address) const {
  std::size_t inner = 0;
  for (std::size_t d = 0; d < 3; ++d)
    if (pattern.shift[d] != 0 && (pattern.shift[inner] == 0 || grid_[d] > grid_[inner])) inner = d;
  const auto offset = [&](std::size_t d, std::int64_t at) {
    return pattern.shift[d] * (at - static_cast<std::int64_t>(base_[d]));
  };
  // Outside of all that any block stores.
  std::int64_t lowest = static_cast<std::int64_t>(pattern.stored.front().begin);
  std::int64_t highest = static_cast<std::int64_t>(pattern.stored.back().end);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t first = offset(d, 0), last = offset(d, static_cast<std::int64_t>(grid_[d]) - 1);
    lowest += std::min(first, last);
    highest += std::max(first, last);
  }
  const auto place = static_cast<std::int64_t>(address);
  if (place >= highest) return ~std::uint64_t{0};
  if (place < lowest) return static_cast<std::uint64_t>(lowest);

  const std::size_t first = inner == 0 ? 1 : 0, second = inner == 2 ? 1 : 2;
  const auto others = [&](std::size_t d) { return pattern.shift[d] == 0 ? std::uint64_t{1} : grid_[d]; };
  if (others(first) * others(second) * pattern.stored.size() > most_next_tries) return std::nullopt;
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  const std::int64_t shift = pattern.shift[inner], blocks = grid_[inner];
  for (std::uint64_t j = 0; j < others(second); ++j)
    for (std::uint64_t i = 0; i < others(first); ++i)
      for (const AddressRange& piece : pattern.stored) {
        const std::int64_t begin = static_cast<std::int64_t>(piece.begin) +
                                   offset(first, static_cast<std::int64_t>(i)) +
                                   offset(second, static_cast<std::int64_t>(j));
        if (shift == 0) {
          if (begin > place) next = std::min(next, begin);
          continue;
        }
        // The nearest of begin + shift * (k - base) that lies behind the place.
        const std::int64_t step = floor_divide(place - begin, shift) + static_cast<std::int64_t>(base_[inner]);
        for (std::int64_t k = std::max<std::int64_t>(0, step - 1); k <= std::min(blocks - 1, step + 1); ++k)
          if (begin + offset(inner, k) > place) next = std::min(next, begin + offset(inner, k));
        for (const std::int64_t k : {std::int64_t{0}, blocks - 1})
          if (begin + offset(inner, k) > place) next = std::min(next, begin + offset(inner, k));
      }
  return next == std::numeric_limits<std::int64_t>::max() ? ~std::uint64_t{0} : static_cast<std::uint64_t>(next);
}

// All dimensions but one are tried; in that one, the blocks whose places reach around the address.
void BlockMap::search(const Pattern& pattern, std::uint64_t address, std::size_t most, Writers& writers) const {
  std::size_t inner = 0;
  for (std::size_t d = 0; d < 3; ++d)
    if (pattern.shift[d] != 0 && (pattern.shift[inner] == 0 || grid_[d] > grid_[inner])) inner = d;
  const auto low = static_cast<std::int64_t>(pattern.stored.front().begin);
  const auto high = static_cast<std::int64_t>(pattern.stored.back().end);
  const std::size_t first = inner == 0 ? 1 : 0, second = inner == 2 ? 1 : 2;
  std::uint64_t tries = 0;
  std::array<std::uint64_t, 3> at{};
  const auto moved_by = [&](std::size_t d) {
    return pattern.shift[d] * (static_cast<std::int64_t>(at[d]) - static_cast<std::int64_t>(base_[d]));
  };
  for (at[second] = 0; at[second] < grid_[second]; ++at[second]) {
    for (at[first] = 0; at[first] < grid_[first]; ++at[first]) {
      const std::int64_t left = static_cast<std::int64_t>(address) - moved_by(first) - moved_by(second);
      std::int64_t begin = 0, end = grid_[inner];
      if (const std::int64_t shift = pattern.shift[inner]; shift != 0) {
        // low + shift * k <= left < high + shift * k, for k counted from the base block.
        const auto base = static_cast<std::int64_t>(base_[inner]);
        const std::int64_t a = floor_divide(left - low, shift), b = floor_divide(left - high, shift);
        begin = std::max<std::int64_t>(0, std::min(a, b) - 1 + base);
        end = std::min<std::int64_t>(grid_[inner], std::max(a, b) + 2 + base);
      }
      for (std::int64_t k = begin; k < end; ++k) {
        if (++tries > most_tries || writers.blocks.size() >= most) return;
        at[inner] = static_cast<std::uint64_t>(k);
        const std::int64_t place = left - moved_by(inner);
        const std::uint64_t piece_end = end_around(pattern.stored, place);
        if (piece_end == 0) continue;
        writers.blocks.push_back(number_of(at));
        writers.end = std::min(writers.end, address + (piece_end - static_cast<std::uint64_t>(place)));
      }
      ++tries;
    }
  }
}

}  // namespace kw
