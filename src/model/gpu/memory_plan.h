#pragma once
// How much of a GPU's memory training takes: what lies there all the time, and what a pass over some tokens takes
// besides. `kernelwright model plan` prints it; the trainer decides by it what a pass keeps for its gradient.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/decoder/parameters.h"
#include "model/weights/model_description.h"

namespace kw {

enum class TrainingMethod { full, lora, qlora };
std::string_view to_string(TrainingMethod method);
Result<TrainingMethod> training_method(std::string_view name);

// What is trained, as far as memory goes. Matrices are computed with in bf16.
struct TrainerShape {
  ModelDescription model;
  TrainingMethod method = TrainingMethod::lora;
  std::int64_t adapter_parameters = 0;  // of all adapters
  std::int64_t adapter_ranks = 0;       // of the largest: rank times targets that it has in a layer
  bool eight_bit = false;               // the adapters' moments
  bool value_head = false;
  std::int64_t element_bytes = 2;  // of what is computed with: 4 in float32
};
// Adapters of this rank on all seven projections.
std::int64_t adapter_parameters(const ModelDescription& model, std::int64_t rank);

struct MemoryPiece {
  std::string name;
  std::int64_t bytes = 0;
};
std::int64_t sum_of(const std::vector<MemoryPiece>& pieces);
// Weights, adapters with gradients and moments, tables: there from the beginning to the end.
std::vector<MemoryPiece> fixed_memory(const TrainerShape& shape);
// CUDA's context and the modules that it loads: of the process, but not of torch's allocator. An estimate with room.
inline constexpr std::int64_t memory_outside_allocator = std::int64_t{5} << 28;

// What a block leaves for its gradient; all else of it is computed once more.
enum class Kept {
  input,      // the stream that enters
  attention,  // that, q, k and v, attention, and the stream behind it
  products,   // that, gate and up
  all         // that, and both norms
};
// Of one block, T = `rows` tokens.
std::int64_t kept_bytes(const TrainerShape& shape, std::int64_t rows, Kept kept);

struct PassNeeds {
  std::int64_t rows = 0, scored = 0;
  std::int64_t sequences = 1;
};
struct PassPlan {
  std::int64_t all = 0, products = 0, attention = 0;  // so many layers keep that, all others their input
  std::int64_t logits_rows = 0;                       // that exist at a time; none is kept
  std::int64_t bytes = 0;                             // at the most, beside what is fixed

  // Layers that keep more are the last ones: their gradient comes first.
  Kept kept(std::int64_t layer, std::int64_t layers) const;
  // Of a forward pass, how much is computed a second time; without attention's own sums.
  double recomputed(const ModelDescription& model) const;
};
// The most that fits into `available` bytes; not found: not even the least does, which is what `bytes` says then.
struct PassAnswer {
  bool fits = false;
  PassPlan plan;
};
PassAnswer plan_pass(const TrainerShape& shape, const PassNeeds& needs, std::int64_t available);

// The most tokens of a pass that fit, a multiple of `step`; with `least` what is kept in every layer. 0: none.
std::int64_t most_rows(const TrainerShape& shape, std::int64_t available, Kept least, std::int64_t step,
                       std::int64_t context);

// Tokens of a pass for who has no wish of his own: nothing is computed twice, unless passes would be shorter than
// `enough`. Room for a decoder on the same weights (decoder_pages.h) is left. 0: none fit.
std::int64_t usual_rows(const TrainerShape& shape, std::int64_t available, std::int64_t enough);

// Keys and values of one token.
std::int64_t cache_bytes_of_token(const ModelDescription& model, std::int64_t element_bytes = 2);

}  // namespace kw
