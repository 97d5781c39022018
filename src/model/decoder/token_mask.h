#pragma once
// Which tokens may come next, a bit each. The decoder samples among them and the trainer scores among them, through the
// same function, so that a log-probability of a constrained answer is the same number in both.

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace kw {

class TokenMask {
 public:
  TokenMask() = default;
  explicit TokenMask(std::int64_t tokens) : words_(static_cast<std::size_t>((tokens + 63) / 64), 0) {}

  void allow(std::int32_t token) { word(token) |= bit(token); }
  void ban(std::int32_t token) { word(token) &= ~bit(token); }
  // Tokens that it has no bit for are banned.
  bool allows(std::int32_t token) const {
    const auto at = static_cast<std::size_t>(token / 64);
    return token >= 0 && at < words_.size() && (words_[at] & bit(token)) != 0;
  }
  std::int64_t count() const {
    std::int64_t allowed = 0;
    for (const std::uint64_t word : words_) allowed += std::popcount(word);
    return allowed;
  }

  // Banned tokens get minus infinity. One allowed token alone then has log-probability 0, and no gradient.
  void apply(float* logits, std::int64_t usable) const {
    constexpr float banned = -std::numeric_limits<float>::infinity();
    for (std::int64_t first = 0; first < usable; first += 64) {
      const auto at = static_cast<std::size_t>(first / 64);
      const std::uint64_t word = at < words_.size() ? words_[at] : 0;
      if (word == ~std::uint64_t{0}) continue;
      const std::int64_t end = first + 64 < usable ? first + 64 : usable;
      for (std::int64_t i = first; i < end; ++i)
        if ((word >> (i - first) & 1) == 0) logits[i] = banned;
    }
  }

  const std::vector<std::uint64_t>& words() const { return words_; }
  bool operator==(const TokenMask&) const = default;

 private:
  static std::uint64_t bit(std::int32_t token) { return std::uint64_t{1} << (token % 64); }
  std::uint64_t& word(std::int32_t token) { return words_.at(static_cast<std::size_t>(token / 64)); }

  std::vector<std::uint64_t> words_;
};

}  // namespace kw
