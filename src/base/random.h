#pragma once
// Reproducible random numbers: the same seed gives the same numbers on every machine and compiler, so nothing here uses
// the standard library's distributions, whose results are not specified.

#include <cstdint>

namespace kw {

// Counter-based: number i of stream s depends on (seed, s, i) alone, so parts can be made in any order or in parallel.
// The mixing function is SplitMix64's (Steele, Lea and Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);
  // No chance at all: uniform() is just below a half, so what is likely happens, and integer() is the lowest. For
  // choices that are random by habit only.
  static Random steady();

  std::uint64_t next();
  // Uniform in [0, 1), 53 bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform in [low, high], both included, without bias.
  std::int64_t integer(std::int64_t low, std::int64_t high);
  // Standard normal, by Box and Muller.
  double normal();

 private:
  std::uint64_t key_;
  std::uint64_t counter_ = 0;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
  bool steady_ = false;
};

}  // namespace kw
