#include "base/random.h"

#include <cmath>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed + golden) + stream * golden)) {}

Random Random::steady() {
  Random random(0);
  random.steady_ = true;
  return random;
}

std::uint64_t Random::next() { return mix(key_ + ++counter_ * golden); }

double Random::uniform() { return steady_ ? 0x1.fp-2 : static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  KW_CHECK(low <= high);
  if (steady_) return low;
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (span == 0) return static_cast<std::int64_t>(next());  // the whole range
  // Numbers from the incomplete last multiple of span would favour small results: draw again.
  const std::uint64_t excess = (0 - span) % span;
  std::uint64_t drawn = next();
  while (drawn < excess) drawn = next();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + drawn % span);
}

double Random::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  const double angle = 2 * M_PI * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

}  // namespace kw
