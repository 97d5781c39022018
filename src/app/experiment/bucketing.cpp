#include "app/experiment/bucketing.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace kw {

std::uint32_t fnv1a_32(std::string_view bytes) {
  std::uint32_t hash = 0x811c9dc5u;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x01000193u;
  return hash;
}

std::optional<double> bucket_of(std::string_view seed, std::string_view value, int version) {
  if (version == 2) {
    const std::uint32_t once = fnv1a_32(std::string(seed).append(value));
    return (fnv1a_32(std::to_string(once)) % 10000) / 10000.0;
  }
  if (version == 1) return (fnv1a_32(std::string(value).append(seed)) % 1000) / 1000.0;
  return {};
}

std::vector<double> equal_weights(int arms) {
  if (arms <= 0) return {};
  return std::vector<double>(static_cast<std::size_t>(arms), 1.0 / arms);
}

std::vector<BucketRange> bucket_ranges(int arms, double coverage, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const bool fits = weights.size() == static_cast<std::size_t>(std::max(arms, 0)) && sum >= 0.99 && sum <= 1.01;
  const double share = std::clamp(coverage, 0.0, 1.0);
  std::vector<BucketRange> ranges;
  double begin = 0;
  for (const double weight : fits ? weights : equal_weights(arms)) {
    ranges.push_back({begin, begin + share * weight});
    begin += weight;
  }
  return ranges;
}

std::optional<std::size_t> arm_of_bucket(double bucket, const std::vector<BucketRange>& ranges) {
  for (std::size_t arm = 0; arm < ranges.size(); ++arm)
    if (bucket >= ranges[arm].begin && bucket < ranges[arm].end) return arm;
  return {};
}

}  // namespace kw
