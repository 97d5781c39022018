#pragma once
// Gradients on their way between ranks: a bucket is summed on a second stream as soon as the backward pass is through
// with it, while the first stream goes on. On CPU tensors (tests) everything happens at once, in the same order.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/distributed/device_collectives.h"
#include "model/gpu/gradient_buckets.h"
#include "model/gpu/torch/torch_headers.h"

namespace kw {

class RankExchange {
 public:
  // A part's gradient, in float32, and how it is cut. Tensors and plans outlive the exchange.
  struct Part {
    at::Tensor gradient;
    const PartBuckets* plan = nullptr;
  };
  // `trace`: see report().
  RankExchange(DeviceCollectives& ranks, std::vector<Part> parts, bool trace);

  // A backward pass that completes gradients begins, and has come to a moment: what is ready is sent.
  void begin();
  void reached(int moment);
  bool begun() const { return next_ > 0; }
  // Sends what is left; what is queued from here on finds all of it summed: each rank's own pieces are sums afterwards.
  void finish();
  // Everybody's own pieces of `whole`, a buffer of the part's size, on all ranks.
  void gather(const PartBuckets& plan, const at::Tensor& whole);
  void gather(const std::vector<std::pair<const PartBuckets*, at::Tensor>>& wholes);
  // Nothing is on its way: what was sent is forgotten. The device is idle afterwards.
  void clear();

  // "bucket 0: 12.6 MB, sent 3.1 ms, summed 4.0 ms" lines of the last backward pass that began here, from its
  // beginning, and when it ended; waits for the device.
  std::string report();

 private:
  struct Bucket {
    std::size_t part = 0;
    const GradientBucket* cut = nullptr;
    at::cuda::CUDAEvent sent{cudaEventDefault}, summed{cudaEventDefault};
  };
  void send(Bucket& bucket);
  void wait();
  void* stream() const { return stream_ ? static_cast<void*>(stream_->stream()) : nullptr; }
  // The second stream waits for what the first one has been told, or the other way round.
  void second_follows_first();
  void first_follows_second();

  DeviceCollectives& ranks_;
  std::vector<Part> parts_;
  std::vector<Bucket> buckets_;  // of all parts, by moment
  std::size_t next_ = 0;         // that is not sent yet
  int last_moment_ = 0;
  std::optional<c10::cuda::CUDAStream> stream_;  // none: CPU tensors
  bool trace_ = false;
  at::cuda::CUDAEvent pass_began_{cudaEventDefault}, pass_ended_{cudaEventDefault};
};

}  // namespace kw
