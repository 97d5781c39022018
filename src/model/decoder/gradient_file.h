#pragma once
// A batch from a safetensors file, and a trainer's gradients by the names of the parameters: how gradients are compared
// with other programs (scripts/model_golden.py writes such files, `kernelwright model gradients` reads them).

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/decoder/training.h"
#include "model/weights/safetensors.h"

namespace kw {

// batch.tokens (I32), batch.starts (I64), batch.scored (U8), batch.adapter (I32, may be missing), batch.temperature
// (F32), batch.d_log_prob and batch.d_entropy (F32, one for each scored token; the latter may be missing).
struct BatchFile {
  PackedBatch batch;
  ScoreGradients gradients;
};
Result<BatchFile> read_batch_file(const SafetensorsFile& file);

// Integers of a tensor of exactly that type.
Result<std::vector<std::int32_t>> read_int32s(const SafetensorsFile& file, const std::string& name);

struct NamedValues {
  Shape shape;
  std::vector<float> values;
};
using NamedGradients = std::map<std::string, NamedValues>;

// Of everything that is trained and was used since the last step: parameters of the base under Hugging Face's names,
// those of adapter i under "PATH.lora_A.weight" and "PATH.lora_B.weight" (the same path in two adapters: the last one).
Result<NamedGradients> read_gradients(Trainer& trainer, const ModelDescription& description,
                                      const std::vector<Adapter>& adapters);

}  // namespace kw
