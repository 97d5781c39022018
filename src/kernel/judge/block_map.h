#pragma once
// Which blocks of a launch write an address. Learned from a few blocks: most kernels give neighbouring blocks places
// that are the same distance apart. It is a guess, to know which block to run; what the block then writes is seen.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/random.h"
#include "kernel/emulate/block_footprint.h"

namespace kw {

class BlockMap {
 public:
  // The footprints of some blocks, without running them in full; nothing when they cannot be had.
  using Skim = std::function<std::optional<std::map<std::uint64_t, BlockFootprint>>(const std::vector<std::uint64_t>&)>;

  // `arrays`: memory that may be written, each looked at by itself.
  BlockMap(std::array<std::uint32_t, 3> grid, std::vector<AddressRange> arrays)
      : grid_(grid), arrays_(std::move(arrays)) {}

  void learn(const Skim& skim, Random& random);
  // Looks at every block, where what was learned does not hold. False when that is too much.
  bool learn_everything(const Skim& skim, double instructions_allowed);

  enum class Knowledge { never_written, known, irregular };
  // What is known of the array that holds the address.
  Knowledge about(std::uint64_t address) const;
  struct Writers {
    std::vector<std::uint64_t> blocks;      // rising; empty: unknown, or nobody
    std::uint64_t end = ~std::uint64_t{0};  // up to here they are the same, at least
  };
  Writers writers(std::uint64_t address, std::size_t most) const;
  // Warp instructions of a block that was only skimmed, on average.
  double skimmed_instructions() const { return skimmed_instructions_; }
  std::uint64_t blocks() const { return std::uint64_t{grid_[0]} * grid_[1] * grid_[2]; }

 private:
  struct Pattern {                        // of one array
    std::vector<AddressRange> stored;     // by the base block
    std::array<std::int64_t, 3> shift{};  // from a block to the next in each dimension
    bool known = false;
    bool written = false;  // by any block that was looked at
  };
  struct Stored {
    AddressRange range;
    std::uint64_t block = 0;
  };
  std::uint64_t number_of(const std::array<std::uint64_t, 3>& at) const {
    return (at[2] * grid_[1] + at[1]) * grid_[0] + at[0];
  }
  std::vector<AddressRange> within(const BlockFootprint& footprint, const AddressRange& array) const;
  void search(const Pattern& pattern, std::uint64_t address, std::size_t most, Writers& writers) const;
  std::optional<std::uint64_t> next_begin(const Pattern& pattern, std::uint64_t address) const;

  std::array<std::uint32_t, 3> grid_;
  std::vector<AddressRange> arrays_;
  std::array<std::uint64_t, 3> base_{};
  std::vector<Pattern> patterns_;   // by array
  std::vector<Stored> everything_;  // by address, when every block was looked at
  std::uint64_t longest_ = 0;       // of its ranges
  bool all_ = false;
  double skimmed_instructions_ = 0;
};

}  // namespace kw
