#include "kernel/emulate/block_order.h"

#include <bit>

namespace kw {

BlockOrder::BlockOrder(std::uint64_t count, std::uint64_t seed, const std::vector<std::uint64_t>& only)
    : size_(count), seed_(seed) {
  if (!only.empty()) {
    for (std::uint64_t block : only)
      if (block < count) only_.push_back(block);
    size_ = only_.size();
    seed_ = 0;
  }
  half_bits_ = (std::bit_width(size_ > 0 ? size_ - 1 : 0) + 1) / 2;
}

// A Feistel network of four rounds on the smallest even number of bits that holds all positions; what falls outside is
// sent through it again ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
std::uint64_t BlockOrder::operator[](std::uint64_t position) const {
  if (!only_.empty()) return only_[position];
  if (seed_ == 0 || size_ < 2) return position;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits_, right = value & mask;
    for (std::uint64_t round = 1; round <= 4; ++round) {
      std::uint64_t mixed = (right + round) * 0x9e3779b97f4a7c15u + seed_ * 0xbf58476d1ce4e5b9u;
      mixed = (mixed ^ (mixed >> 29)) * 0x94d049bb133111ebu;
      std::uint64_t next = left ^ ((mixed >> 32) & mask);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return value;
}

}  // namespace kw
