#pragma once
// A decoder on the CPU, in float32 on src/model/arithmetic. The operations and their order are those of the CPU
// trainer, so a sampled token's log-probability is what Trainer::score() gives, to the last bit, whatever the batch
// was.

#include <memory>
#include <vector>

#include "model/arithmetic/thread_team.h"
#include "model/decoder/adapter.h"
#include "model/decoder/model_files.h"
#include "model/rollout/decoder.h"

namespace kw {

struct CpuDecoderOptions {
  std::int64_t kv_bytes = std::int64_t{512} << 20;  // for keys and values; taken from the system as it is used
  std::int64_t most_tokens = 512;                   // of a step
  std::int64_t context = 0;                         // 0: the model's
  std::int64_t usable_vocabulary = 0;               // logits beyond it are never considered; 0: all
};

class CpuDecoder : public Decoder {
 public:
  // Each replaces weights and raises weights_version() by one. Between steps only.
  virtual Result<void> update(const Parameters& parameters) = 0;
  virtual Result<void> update_adapter(std::int64_t index, const Adapter& adapter) = 0;  // index adapters(): a new one
  // The number that the weights have elsewhere (the trainer's), where several updates may be one. Above that of the
  // last step: no two states of the weights that were used have the same.
  virtual Result<void> set_weights_version(std::int64_t version) = 0;

  virtual const ModelDescription& description() const = 0;
  virtual std::int64_t weight_bytes() const = 0;  // that a step of one token reads
  virtual std::int64_t page_bytes() const = 0;    // of all layers
};

// The team must outlive it; the files need not.
Result<std::unique_ptr<CpuDecoder>> make_cpu_decoder(ThreadTeam& team, const ModelFiles& files,
                                                     const std::vector<Adapter>& adapters = {},
                                                     const CpuDecoderOptions& options = {});
Result<std::unique_ptr<CpuDecoder>> make_cpu_decoder(ThreadTeam& team, const Parameters& parameters,
                                                     const std::vector<Adapter>& adapters = {},
                                                     const CpuDecoderOptions& options = {});

}  // namespace kw
