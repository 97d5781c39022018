#include "model/gpu/gradient_buckets.h"

#include <algorithm>

namespace kw {
namespace {

constexpr std::int64_t alignment = 64;  // elements

std::int64_t aligned(std::int64_t count) { return (count + alignment - 1) / alignment * alignment; }

// Equal shares, and for the last rank what cannot be shared.
void share_evenly(std::int64_t begin, std::int64_t end, int ranks, std::vector<GradientTransfer>& into) {
  const std::int64_t each = ranks == 1 ? end - begin : (end - begin) / ranks / alignment * alignment;
  if (each > 0) into.push_back({begin, each, -1});
  if (const std::int64_t shared = begin + each * ranks; shared < end) into.push_back({shared, end - shared, ranks - 1});
}

// Neighbours that are sent together.
std::vector<GradientStretch> joined(const std::vector<GradientStretch>& stretches, std::int64_t bucket_size) {
  std::vector<GradientStretch> buckets;
  for (const GradientStretch& next : stretches) {
    if (next.begin == next.end) continue;
    if (!buckets.empty()) {
      GradientStretch& last = buckets.back();
      const bool touches = next.end == last.begin || next.begin == last.end;
      if (touches && last.may_join && next.may_join && last.end - last.begin + next.end - next.begin <= bucket_size) {
        last.begin = std::min(last.begin, next.begin);
        last.end = std::max(last.end, next.end);
        last.ready = std::max(last.ready, next.ready);
        last.matrices.insert(last.matrices.end(), next.matrices.begin(), next.matrices.end());
        continue;
      }
    }
    buckets.push_back(next);
  }
  return buckets;
}

}  // namespace

PartBuckets plan_buckets(const std::vector<GradientStretch>& stretches, std::int64_t bucket_size, int rank, int ranks) {
  PartBuckets plan;
  std::vector<std::int64_t> matrices_of(static_cast<std::size_t>(ranks));  // elements
  for (const GradientStretch& stretch : joined(stretches, bucket_size)) {
    GradientBucket& bucket = plan.buckets.emplace_back();
    bucket.ready = stretch.ready;
    if (stretch.matrices.empty()) share_evenly(stretch.begin, stretch.end, ranks, bucket.transfers);
    for (const auto& [begin, end] : stretch.matrices) {
      const auto least = std::ranges::min_element(matrices_of);
      *least += end - begin;
      bucket.transfers.push_back({begin, end - begin, static_cast<int>(least - matrices_of.begin())});
    }
    for (const GradientTransfer& transfer : bucket.transfers) {
      if (transfer.owner >= 0 && transfer.owner != rank) continue;
      const std::int64_t begin = transfer.begin + (transfer.owner < 0 ? transfer.each * rank : 0);
      plan.own.push_back({begin, transfer.each, plan.own_size});
      plan.own_size += aligned(transfer.each);
    }
  }
  std::ranges::stable_sort(plan.buckets, {}, &GradientBucket::ready);
  return plan;
}

}  // namespace kw
