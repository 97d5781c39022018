#include "learn/learner/sampler.h"

#include "model/arithmetic/half_of_cores.h"
#include "model/gpu/model_gpu.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {

Result<std::unique_ptr<Sampler>> Sampler::on_cpu(const ModelFiles* files, const WeightsCopy& weights, int threads,
                                                 std::int64_t usable_vocabulary) {
  std::unique_ptr<Sampler> sampler(new Sampler);
  {
    // The trainer's team has the first half (learner.cpp).
    const HalfOfCores half(HalfOfCores::second);
    sampler->team_ = std::make_unique<ThreadTeam>(threads > 0 ? threads : half.count());
  }
  CpuDecoderOptions options;
  options.usable_vocabulary = usable_vocabulary;
  if (weights.base) {
    KW_TRY(sampler->decoder_, make_cpu_decoder(*sampler->team_, *weights.base, weights.adapters, options));
  } else {
    if (files == nullptr) return Error{"a frozen base is sampled from as its files have it", "", {}};
    KW_TRY(sampler->decoder_, make_cpu_decoder(*sampler->team_, *files, weights.adapters, options));
  }
  return sampler;
}

Result<std::unique_ptr<Sampler>> Sampler::on_gpu(const Parameters& base, const WeightsCopy& weights,
                                                 std::int64_t usable_vocabulary) {
  std::unique_ptr<Sampler> sampler(new Sampler);
  GpuDecoderOptions options;
  options.usable_vocabulary = usable_vocabulary;
  KW_TRY(sampler->decoder_, make_gpu_decoder(base, weights.adapters, options));
  return sampler;
}

Result<Decoder*> Sampler::by(const WeightsCopy& weights) {
  if (version_ == weights.version) return decoder_.get();
  version_ = -1;
  if (team_ == nullptr) {
    KW_TRY_VOID(update_gpu_decoder(*decoder_, weights.base.get(), weights.adapters, weights.version));
  } else {
    auto& decoder = static_cast<CpuDecoder&>(*decoder_);
    if (weights.base) KW_TRY_VOID(decoder.update(*weights.base));
    for (std::size_t i = 0; i < weights.adapters.size(); ++i)
      KW_TRY_VOID(decoder.update_adapter(static_cast<std::int64_t>(i), weights.adapters[i]));
    KW_TRY_VOID(decoder.set_weights_version(weights.version));
  }
  version_ = weights.version;
  return decoder_.get();
}

}  // namespace kw
