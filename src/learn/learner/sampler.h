#pragma once
// A second decoder beside the learner's, on weights of its own: it samples by those that it is given, whatever the
// trainer does meanwhile. On the CPU it has a team of its own too, so both may work at the same time.

#include <memory>

#include "learn/learner/weights_copy.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/rollout/decoder.h"

namespace kw {

class Sampler {
 public:
  // `files`: where the base is frozen on the CPU, its blocks stay as the files have them. `weights` are where it
  // starts.
  static Result<std::unique_ptr<Sampler>> on_cpu(const ModelFiles* files, const WeightsCopy& weights, int threads,
                                                 std::int64_t usable_vocabulary);
  // `base`: of `weights` too, where they have one.
  static Result<std::unique_ptr<Sampler>> on_gpu(const Parameters& base, const WeightsCopy& weights,
                                                 std::int64_t usable_vocabulary);

  // The decoder, by these weights from now on. Not while a step of it is in progress. The same one every time.
  Result<Decoder*> by(const WeightsCopy& weights);

 private:
  Sampler() = default;

  std::unique_ptr<ThreadTeam> team_;  // null: on a GPU
  std::unique_ptr<Decoder> decoder_;
  std::int64_t version_ = -1;  // of the last by()
};

}  // namespace kw
