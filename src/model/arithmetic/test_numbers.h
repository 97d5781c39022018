#pragma once
// Numbers for the tests of the arithmetic, and comparisons to the bit.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "model/arithmetic/kernels.h"

namespace kw {

inline std::vector<float> test_numbers(std::int64_t count, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// The first difference in bits, as text; empty when there is none.
inline std::string first_difference(const std::vector<float>& got, const std::vector<float>& wanted) {
  if (got.size() != wanted.size()) return "sizes differ";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(wanted[i])) {
      return "element " + std::to_string(i) + ": " + std::to_string(got[i]) + ", not " + std::to_string(wanted[i]);
    }
  }
  return "";
}

// what(): a vector of floats, computed with each vector unit of this machine in turn; all must equal the first, the
// portable one.
template <class What>
void expect_equal_on_all_units(const What& what, const std::string& about) {
  force_kernels(available_kernels().front());
  const std::vector<float> wanted = what();
  for (const Kernels* unit : available_kernels().subspan(1)) {
    force_kernels(unit);
    EXPECT_EQ(first_difference(what(), wanted), "") << unit->name << ", " << about;
  }
  force_kernels(nullptr);
}

}  // namespace kw
