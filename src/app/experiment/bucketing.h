#pragma once
// Which arm a user falls into: GrowthBook's hashing, so that a split can be checked with, or moved to, any of its SDKs.
// Specification: docs.growthbook.io/lib/build-your-own, version 0.8.0; its published cases are in bucketing_test.cpp.
//
// A text is hashed as its UTF-8 bytes. GrowthBook's JavaScript SDK hashes UTF-16 units, so the two agree for ASCII.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw {

// Fowler, Noll and Vo's hash, variant 1a, 32 bits.
std::uint32_t fnv1a_32(std::string_view bytes);

inline constexpr int newest_hash_version = 2;

// In [0, 1). Version 2 hashes twice and has 10,000 values; version 1 has 1,000 and splits parallel experiments alike.
// Nothing for a version that is not known.
std::optional<double> bucket_of(std::string_view seed, std::string_view value, int version);

struct BucketRange {
  double begin = 0;  // included
  double end = 0;    // not included

  friend bool operator==(const BucketRange&, const BucketRange&) = default;
};

std::vector<double> equal_weights(int arms);

// The part of [0, 1) that belongs to each arm. The weights divide it; coverage takes the first part of each piece, so a
// larger coverage adds users and moves none from one arm to another. As GrowthBook has it, a coverage outside [0, 1] is
// clamped, and weights that do not fit (their number, or a sum outside 0.99 to 1.01) count as equal.
std::vector<BucketRange> bucket_ranges(int arms, double coverage, const std::vector<double>& weights = {});

// The first range that holds the bucket; nothing: the user takes no part.
std::optional<std::size_t> arm_of_bucket(double bucket, const std::vector<BucketRange>& ranges);

}  // namespace kw
