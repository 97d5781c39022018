#pragma once
// How ranks share what is trained: which elements belong to whom, and in which pieces gradients travel. A part's flat
// buffer is cut into buckets, each ready at another moment of the backward pass, so that the first ones are summed
// while the rest is computed. A rank owns a share of every bucket: it gets the sum of that share, moves it, and keeps
// its master values and moments alone.
//
// All is decided from sizes, so all ranks decide alike.

#include <cstdint>
#include <utility>
#include <vector>

namespace kw {

// A contiguous range of a part whose gradient is complete at one moment. Moments count up through a backward pass.
struct GradientStretch {
  std::int64_t begin = 0, end = 0;
  int ready = 0;
  // Neighbours that may be sent together, the later moment counting for both.
  bool may_join = true;
  // Not empty: [begin, end) of matrices that one rank must have whole, as Muon needs them. Nothing else of the stretch
  // is trained.
  std::vector<std::pair<std::int64_t, std::int64_t>> matrices = {};
};

// One collective. Without an owner each rank has the same share: rank r has [begin + r * each, begin + (r + 1) * each).
struct GradientTransfer {
  std::int64_t begin = 0;
  std::int64_t each = 0;  // elements
  int owner = -1;         // has all of it
  std::int64_t count(int ranks) const { return owner < 0 ? each * ranks : each; }
};

struct GradientBucket {
  int ready = 0;
  std::vector<GradientTransfer> transfers;
};

// What a rank owns of a part, and where it lies among the rank's own: places start at multiples of 64.
struct OwnPiece {
  std::int64_t begin = 0, count = 0, place = 0;
};

struct PartBuckets {
  std::vector<GradientBucket> buckets;  // by moment
  std::vector<OwnPiece> own;
  std::int64_t own_size = 0;  // of buffers for them
};

// `stretches` in the order in which they are ready. Buckets have `bucket_size` elements, or few more than a stretch.
// Matrices go to the rank that has fewest elements of them so far.
PartBuckets plan_buckets(const std::vector<GradientStretch>& stretches, std::int64_t bucket_size, int rank, int ranks);

}  // namespace kw
