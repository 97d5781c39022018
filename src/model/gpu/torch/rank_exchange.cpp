#include "model/gpu/torch/rank_exchange.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace kw {
namespace {

using at::Tensor;

void require(const Result<void>& done) {
  if (!done.ok()) throw std::runtime_error(to_string(done.error()));
}

char* address(const Tensor& tensor, std::int64_t element) {
  return static_cast<char*>(tensor.data_ptr()) + element * static_cast<std::int64_t>(tensor.element_size());
}

DeviceNumber number_of(const Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? DeviceNumber::bfloat16 : DeviceNumber::float32;
}

std::size_t unsigned_count(std::int64_t count) { return static_cast<std::size_t>(count); }

std::int64_t bytes_of(const GradientBucket& bucket, int ranks) {
  std::int64_t elements = 0;
  for (const GradientTransfer& transfer : bucket.transfers) elements += transfer.count(ranks);
  return elements * 4;
}

}  // namespace

RankExchange::RankExchange(DeviceCollectives& ranks, std::vector<Part> parts, bool trace)
    : ranks_(ranks), parts_(std::move(parts)) {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    for (const GradientBucket& cut : parts_[part].plan->buckets) {
      Bucket& bucket = buckets_.emplace_back();
      bucket.part = part;
      bucket.cut = &cut;
      last_moment_ = std::max(last_moment_, cut.ready);
    }
  }
  std::ranges::stable_sort(buckets_, {}, [](const Bucket& bucket) { return bucket.cut->ready; });
  if (!parts_.empty() && parts_.front().gradient.is_cuda()) {
    stream_ = c10::cuda::getStreamFromPool(true);
    trace_ = trace;
  }
}

void RankExchange::second_follows_first() {
  if (!stream_) return;
  at::cuda::CUDAEvent here;
  here.record();
  here.block(*stream_);
}

void RankExchange::first_follows_second() {
  if (!stream_) return;
  at::cuda::CUDAEvent here;
  here.record(*stream_);
  here.block(c10::cuda::getCurrentCUDAStream());
}

void RankExchange::begin() {
  if (begun()) throw std::runtime_error("a backward pass after the last one of the step");
  if (trace_) pass_began_.record();
}

void RankExchange::reached(int moment) {
  for (; next_ < buckets_.size() && buckets_[next_].cut->ready <= moment; ++next_) send(buckets_[next_]);
  if (trace_ && moment >= last_moment_) pass_ended_.record();
}

void RankExchange::send(Bucket& bucket) {
  const Tensor& gradient = parts_[bucket.part].gradient;
  second_follows_first();
  if (trace_) bucket.sent.record(*stream_);
  require(ranks_.together([&]() -> Result<void> {
    for (const GradientTransfer& transfer : bucket.cut->transfers) {
      char* const from = address(gradient, transfer.begin);
      if (transfer.owner >= 0) {
        KW_TRY_VOID(
            ranks_.reduce(from, unsigned_count(transfer.each), DeviceNumber::float32, transfer.owner, stream()));
      } else {
        char* const own = address(gradient, transfer.begin + transfer.each * ranks_.rank());
        KW_TRY_VOID(ranks_.reduce_scatter(from, own, unsigned_count(transfer.each), DeviceNumber::float32, stream()));
      }
    }
    return {};
  }));
  if (trace_) bucket.summed.record(*stream_);
}

void RankExchange::finish() {
  for (; next_ < buckets_.size(); ++next_) send(buckets_[next_]);
  wait();
  next_ = 0;
}

// The host waits, too: a kernel of NCCL's that nobody answers must not be met where nothing looks at the clock.
void RankExchange::wait() {
  if (ranks_.size() == 1) return first_follows_second();  // nobody can be missing
  if (!stream_) return require(ranks_.wait([] { return true; }));
  at::cuda::CUDAEvent ended;
  ended.record(*stream_);
  require(ranks_.wait([&] { return ended.query(); }));
  first_follows_second();
}

void RankExchange::gather(const PartBuckets& plan, const Tensor& whole) { gather({{&plan, whole}}); }

void RankExchange::gather(const std::vector<std::pair<const PartBuckets*, Tensor>>& wholes) {
  if (wholes.empty()) return;
  second_follows_first();
  require(ranks_.together([&]() -> Result<void> {
    for (const auto& [plan, whole] : wholes) {
      const DeviceNumber type = number_of(whole);
      for (const GradientBucket& bucket : plan->buckets) {
        for (const GradientTransfer& transfer : bucket.transfers) {
          char* const begin = address(whole, transfer.begin);
          if (transfer.owner >= 0) {
            KW_TRY_VOID(ranks_.broadcast(begin, unsigned_count(transfer.each), type, transfer.owner, stream()));
          } else {
            const char* const own = address(whole, transfer.begin + transfer.each * ranks_.rank());
            KW_TRY_VOID(ranks_.all_gather(own, begin, unsigned_count(transfer.each), type, stream()));
          }
        }
      }
    }
    return {};
  }));
  wait();
}

void RankExchange::clear() {
  if (begun() && stream_) stream_->synchronize();
  next_ = 0;
}

std::string RankExchange::report() {
  if (!trace_ || !pass_ended_.isCreated()) return {};
  pass_ended_.synchronize();
  std::string text;
  char line[160];
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (!buckets_[i].summed.isCreated()) continue;
    buckets_[i].summed.synchronize();
    std::snprintf(line, sizeof line, "bucket %zu: %.2f MB, sent %.3f ms, summed %.3f ms\n", i,
                  1e-6 * static_cast<double>(bytes_of(*buckets_[i].cut, ranks_.size())),
                  static_cast<double>(pass_began_.elapsed_time(buckets_[i].sent)),
                  static_cast<double>(pass_began_.elapsed_time(buckets_[i].summed)));
    text += line;
  }
  std::snprintf(line, sizeof line, "backward pass ended %.3f ms\n",
                static_cast<double>(pass_began_.elapsed_time(pass_ended_)));
  return text + line;
}

}  // namespace kw
