#include "model/rollout/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/vector_versions.h"
#include "model/arithmetic/rows.h"

namespace kw {
namespace sampling {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t block = 256;

// The largest of each block of `block` numbers; NaN counts as the smallest.
KW_VECTOR_VERSIONS void find_largest(const float* x, std::int64_t count, float* largest) {
  for (std::int64_t start = 0; start < count; start += block) {
    float lane[lanes];
    for (float& value : lane) value = -std::numeric_limits<float>::infinity();
    const std::int64_t end = std::min(start + block, count);
    std::int64_t i = start;
    for (; i + lanes <= end; i += lanes) {
      for (std::int64_t l = 0; l < lanes; ++l) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    }
    for (; i < end; ++i) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    for (std::int64_t l = 1; l < lanes; ++l) lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    *largest++ = lane[0];
  }
}

// exp for arguments up to 0; below -87 it is 0. Relative error 2e-7, which a draw cannot see.
inline float exp_of(float x) {
  const bool tiny = !(x > -87.0f);
  x = tiny ? -87.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: the rounded number is in the low bits
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const std::int32_t power = (std::bit_cast<std::int32_t>(shifted) - 0x4B400000 + 127) << 23;
  const float result = p * std::bit_cast<float>(power);
  return tiny ? 0.0f : result;
}

// weights = exp((x - largest) * inverse_temperature), and their sum block by block.
KW_VECTOR_VERSIONS void weigh(const float* x, std::int64_t count, float largest, float inverse_temperature,
                              float* weights, double* sums) {
  for (std::int64_t start = 0; start < count; start += block) {
    float lane[lanes] = {};
    const std::int64_t end = std::min(start + block, count);
    std::int64_t i = start;
    for (; i + lanes <= end; i += lanes) {
      for (std::int64_t l = 0; l < lanes; ++l) {
        const float weight = exp_of((x[i + l] - largest) * inverse_temperature);
        weights[i + l] = weight;
        lane[l] += weight;
      }
    }
    for (; i < end; ++i) {
      weights[i] = exp_of((x[i] - largest) * inverse_temperature);
      lane[0] += weights[i];
    }
    double sum = 0;
    for (const float value : lane) sum += static_cast<double>(value);
    *sums++ = sum;
  }
}

}  // namespace sampling

namespace {

using Candidate = SamplerScratch::Candidate;

bool likelier(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
}

double uniform_of(const SamplingRule& rule, std::int64_t answer_index) {
  return Random(rule.seed, static_cast<std::uint64_t>(answer_index)).uniform();
}

// By the whole distribution: first the block, then the token in it.
std::int32_t draw_from_all(std::int64_t usable, double uniform, const SamplerScratch& scratch) {
  double total = 0;
  for (const double sum : scratch.block_sums) total += sum;
  double left = uniform * total;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < scratch.block_sums.size(); ++i) {
    if (scratch.block_sums[i] > 0) chosen = i;  // rounding must not lead into a block without any weight
    if (left < scratch.block_sums[i]) break;
    left -= scratch.block_sums[i];
  }
  const std::int64_t start = static_cast<std::int64_t>(chosen) * sampling::block;
  std::int64_t token = start;
  for (std::int64_t i = start; i < std::min(start + sampling::block, usable); ++i) {
    const float weight = scratch.weights[static_cast<std::size_t>(i)];
    if (weight > 0) token = i;
    if (left < static_cast<double>(weight)) break;
    left -= static_cast<double>(weight);
  }
  return static_cast<std::int32_t>(token);
}

std::int32_t draw_from_candidates(const std::vector<Candidate>& candidates, double uniform) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += static_cast<double>(candidate.weight);
  double left = uniform * total;
  for (const Candidate& candidate : candidates) {
    if (left < static_cast<double>(candidate.weight)) return candidate.token;
    left -= static_cast<double>(candidate.weight);
  }
  return candidates.front().token;
}

// The k likeliest, in that order, weight = logit. The k-th largest of the blocks' largest is a bound from below for the
// k-th largest number: only what reaches it is looked at closely.
void select_top_k(const float* logits, std::int64_t usable, std::int32_t k, SamplerScratch& scratch) {
  float bound = -std::numeric_limits<float>::infinity();
  auto& largest = scratch.block_largest;
  if (static_cast<std::size_t>(k) <= largest.size()) {
    std::nth_element(largest.begin(), largest.begin() + (k - 1), largest.end(), std::greater<>());
    bound = largest[static_cast<std::size_t>(k - 1)];
  }
  auto& candidates = scratch.candidates;
  candidates.clear();
  for (std::int64_t i = 0; i < usable; ++i) {
    if (logits[i] >= bound) candidates.push_back({static_cast<std::int32_t>(i), logits[i]});
  }
  const auto kept = std::min(static_cast<std::size_t>(k), candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(kept), candidates.end(),
                    likelier);
  candidates.resize(kept);
}

// Candidates are sorted: the shortest beginning with at least `share` of their weight.
void cut_to_share(std::vector<Candidate>& candidates, double share) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += static_cast<double>(candidate.weight);
  double mass = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    mass += static_cast<double>(candidates[i].weight);
    if (mass >= share * total) return candidates.resize(i + 1);
  }
}

// The same from the whole vocabulary, without sorting it. Weights are counted in buckets by their leading bits (the
// exponent and three more); only the bucket in which the share is reached is sorted.
void select_top_p(std::int64_t usable, double share, SamplerScratch& scratch) {
  constexpr int shift = 20;
  constexpr std::size_t buckets = (0x3F800000u >> shift) + 1;  // weights are at most 1
  const auto bucket_of = [](float weight) {
    return std::min<std::size_t>(std::bit_cast<std::uint32_t>(weight) >> shift, buckets - 1);
  };
  double total = 0;
  for (const double sum : scratch.block_sums) total += sum;
  // All weights below it together are less than what may be left out.
  const auto least = static_cast<float>((1 - share) * total / static_cast<double>(usable) * 0.999);
  auto& candidates = scratch.candidates;
  candidates.clear();
  scratch.masses.assign(buckets, 0);
  for (std::int64_t i = 0; i < usable; ++i) {
    const float weight = scratch.weights[static_cast<std::size_t>(i)];
    if (weight < least || weight == 0) continue;
    candidates.push_back({static_cast<std::int32_t>(i), weight});
    scratch.masses[bucket_of(weight)] += static_cast<double>(weight);
  }
  double mass = 0;
  std::size_t border = buckets - 1;
  while (border > 0 && mass + scratch.masses[border] < share * total) mass += scratch.masses[border--];

  auto& sorted = scratch.border;
  sorted.clear();
  for (const Candidate& candidate : candidates) {
    if (bucket_of(candidate.weight) == border) sorted.push_back(candidate);
  }
  std::sort(sorted.begin(), sorted.end(), likelier);
  std::size_t kept = 0;
  while (kept < sorted.size() && mass < share * total) mass += static_cast<double>(sorted[kept++].weight);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const std::size_t bucket = bucket_of(candidate.weight);
    if (bucket != border) return bucket < border;
    return kept == 0 || likelier(sorted[kept - 1], candidate);
  });
}

}  // namespace

SampledToken sample_token(const float* logits, std::int64_t usable, const SamplingRule& rule, std::int64_t answer_index,
                          SamplerScratch& scratch) {
  const auto blocks = static_cast<std::size_t>((usable + sampling::block - 1) / sampling::block);
  scratch.block_largest.resize(blocks);
  sampling::find_largest(logits, usable, scratch.block_largest.data());
  const auto best = std::max_element(scratch.block_largest.begin(), scratch.block_largest.end());
  const float largest = *best;
  SampledToken sampled;
  if (!std::isfinite(largest)) return sampled;

  const bool greedy = rule.temperature == 0;
  const float inverse_temperature = greedy ? 1.0f : 1.0f / rule.temperature;
  const bool few = rule.top_k > 0 && rule.top_k < usable;
  if (greedy) {
    const float* first = logits + (best - scratch.block_largest.begin()) * sampling::block;
    sampled.token = static_cast<std::int32_t>(std::find(first, logits + usable, largest) - logits);
  } else if (few) {
    select_top_k(logits, usable, rule.top_k, scratch);
    for (Candidate& candidate : scratch.candidates) {
      candidate.weight = sampling::exp_of((candidate.weight - largest) * inverse_temperature);
    }
    if (rule.top_p < 1) cut_to_share(scratch.candidates, static_cast<double>(rule.top_p));
    sampled.token = draw_from_candidates(scratch.candidates, uniform_of(rule, answer_index));
  } else {
    scratch.weights.resize(static_cast<std::size_t>(usable));
    scratch.block_sums.resize(blocks);
    sampling::weigh(logits, usable, largest, inverse_temperature, scratch.weights.data(), scratch.block_sums.data());
    if (rule.top_p < 1) {
      select_top_p(usable, static_cast<double>(rule.top_p), scratch);
      sampled.token = draw_from_candidates(scratch.candidates, uniform_of(rule, answer_index));
    } else {
      sampled.token = draw_from_all(usable, uniform_of(rule, answer_index), scratch);
    }
  }
  sampled.log_prob = score_token(logits, usable, inverse_temperature, sampled.token).log_prob;
  if (!std::isfinite(sampled.log_prob)) sampled.token = -1;
  return sampled;
}

}  // namespace kw
