#pragma once
// In which order the blocks of a launch run. Not stored: a grid may have two thousand million blocks.

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace kw {

class BlockOrder {
 public:
  // seed 0: ascending; otherwise a permutation. `only`: just these, in the order given; those beyond `count` are left
  // out.
  BlockOrder(std::uint64_t count, std::uint64_t seed, const std::vector<std::uint64_t>& only = {});

  std::uint64_t size() const { return size_; }
  std::uint64_t operator[](std::uint64_t position) const;  // the number of the block that runs then

 private:
  std::uint64_t size_ = 0;
  std::uint64_t seed_ = 0;
  int half_bits_ = 0;
  std::vector<std::uint64_t> only_;
};

// Hands the blocks out, each once, to one or more workers. Which worker gets a block depends on how fast they are; what
// comes out does not.
class BlockQueue {
 public:
  explicit BlockQueue(const BlockOrder& order) : order_(order) {}
  bool empty() const { return next_.load(std::memory_order_relaxed) >= order_.size(); }
  std::optional<std::uint64_t> take() {
    std::uint64_t position = next_.fetch_add(1, std::memory_order_relaxed);
    if (position >= order_.size()) return std::nullopt;
    return order_[position];
  }
  std::uint64_t size() const { return order_.size(); }
  // Several at once, that follow each other: neighbours touch the same memory. Empty when there are no more.
  std::vector<std::uint64_t> take_run(std::uint64_t count) {
    std::vector<std::uint64_t> taken;
    const std::uint64_t first = next_.fetch_add(count, std::memory_order_relaxed);
    for (std::uint64_t i = first; i < order_.size() && i < first + count; ++i) taken.push_back(order_[i]);
    return taken;
  }

 private:
  const BlockOrder& order_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace kw
