#pragma once
// A frozen base in 4 bits (QLoRA, arXiv 2305.14314): the matrices of the linear layers in NF4, embeddings, norms and
// biases as floats. That is what bitsandbytes quantises, too.

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/model_files.h"
#include "model/decoder/parameters.h"
#include "model/weights/nf4.h"

namespace kw {

struct Nf4Base {
  explicit Nf4Base(const ModelDescription& described) : description(described), layout(described) {}

  ModelDescription description;
  ParameterLayout layout;
  std::map<std::int64_t, Nf4Tensor> matrices;         // (out, in), by offset in the layout
  std::map<std::int64_t, std::vector<float>> others;  // likewise
};

// Matrices that the files have in NF4 stay as they are; floats are quantised, one matrix a thread. A base in other
// blocks (GGUF) is refused: its numbers would be rounded a second time.
Result<Nf4Base> load_nf4_base(ThreadTeam& team, const ModelFiles& files, const LoadProgress& progress = {});
Nf4Base quantise_base(ThreadTeam& team, const Parameters& parameters);
// What it is computed with, in float32: codes times their largest magnitude, not rounded further.
Parameters expand_base(const Nf4Base& base);

}  // namespace kw
