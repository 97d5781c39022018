#include "model/gpu/memory_plan.h"

#include <algorithm>

namespace kw {
namespace {

struct Widths {
  std::int64_t hidden, query, qkv, inner, vocabulary, heads, element;
  explicit Widths(const TrainerShape& shape)
      : hidden(shape.model.hidden),
        query(shape.model.heads * shape.model.head_dim),
        qkv(query + 2 * shape.model.kv_heads * shape.model.head_dim),
        inner(shape.model.intermediate),
        vocabulary(shape.model.vocabulary),
        heads(shape.model.heads),
        element(shape.element_bytes) {}
};

std::int64_t linear_parameters(const ModelDescription& model) {
  std::int64_t count = 0;
  for (int p = 0; p < projection_count; ++p) {
    const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
    count += shape.out * shape.in;
  }
  return count * model.layers;
}

// The largest matrix of a layer, those that read the same input taken as one.
std::int64_t largest_matrix(const ModelDescription& model) {
  const std::int64_t hidden = model.hidden, query = model.heads * model.head_dim;
  return std::max({2 * model.intermediate * hidden, (query + 2 * model.kv_heads * model.head_dim) * hidden});
}

// Codes, a byte for 64 elements, and a float for 256 of those.
std::int64_t nf4_bytes(std::int64_t elements) { return elements / 2 + elements / 64 + elements / (64 * 256) * 4; }

// Beside what blocks keep: the most that one has at a time, forward or backward, what it computes again included.
std::int64_t block_bytes(const Widths& w, const PassNeeds& needs) {
  const std::int64_t stream = w.hidden;
  const std::int64_t forward = 3 * w.inner + 4 * stream + w.qkv + w.query;
  // Gradient and value of the activation, gate and up, both norms, the streams' gradients.
  const std::int64_t feed_forward = 4 * w.inner + 5 * stream;
  // q, k, v, attention and their gradients, which attention makes beside ours and for all heads alike.
  const std::int64_t attention = 2 * w.qkv + 3 * w.query + 4 * stream + w.qkv + 2 * w.query;
  // Sums of q's gradient in float32, one set for each group of blocks that work on a head (flash attention).
  const std::int64_t groups = (132 + needs.sequences * w.heads - 1) / (needs.sequences * w.heads);
  const std::int64_t sums = groups * (needs.rows + 128 * needs.sequences) * w.query * 4;
  return std::max({forward * w.element * needs.rows, feed_forward * w.element * needs.rows,
                   attention * w.element * needs.rows + sums});
}

std::int64_t head_kept(const Widths& w, const PassNeeds& needs, bool value_head) {
  return needs.scored * (2 * w.hidden * w.element + 16 + (value_head ? 4 * w.hidden : 0));
}
// Logits, their gradients, and those of the streams.
std::int64_t head_bytes(const Widths& w, const PassNeeds& needs, std::int64_t logits_rows) {
  const std::int64_t of_row = w.vocabulary * (w.element + 4);
  return std::min(logits_rows, needs.scored) * of_row + needs.scored * 3 * w.hidden * w.element +
         needs.rows * w.hidden * w.element;
}

// What the allocator cannot use: pieces that are free, but too small.
std::int64_t with_gaps(std::int64_t bytes) { return bytes + bytes / 32; }

}  // namespace

std::string_view to_string(TrainingMethod method) {
  constexpr std::string_view names[] = {"full", "lora", "qlora"};
  return names[static_cast<int>(method)];
}

Result<TrainingMethod> training_method(std::string_view name) {
  for (const auto method : {TrainingMethod::full, TrainingMethod::lora, TrainingMethod::qlora})
    if (name == to_string(method)) return method;
  return Error{"there is no method '" + std::string(name.substr(0, 100)) + "'", "full, lora or qlora", {}};
}

std::int64_t adapter_parameters(const ModelDescription& model, std::int64_t rank) {
  std::int64_t count = 0;
  for (int p = 0; p < projection_count; ++p) {
    const ProjectionShape shape = projection_shape(model, static_cast<Projection>(p));
    count += rank * (shape.out + shape.in);
  }
  return count * model.layers;
}

std::int64_t sum_of(const std::vector<MemoryPiece>& pieces) {
  std::int64_t sum = 0;
  for (const MemoryPiece& piece : pieces) sum += piece.bytes;
  return sum;
}

std::vector<MemoryPiece> fixed_memory(const TrainerShape& shape) {
  const ModelDescription& model = shape.model;
  const std::int64_t element = shape.element_bytes;
  const std::int64_t linear = linear_parameters(model), all = parameter_count(model);
  std::vector<MemoryPiece> pieces;
  if (shape.method == TrainingMethod::qlora) {
    pieces.push_back({"linear layers in NF4", nf4_bytes(linear)});
    pieces.push_back({"embeddings, norms, biases", (all - linear) * element});
    pieces.push_back({"workspace for one matrix", largest_matrix(model) * element});
  } else {
    pieces.push_back({"weights", all * element});
  }
  if (shape.method == TrainingMethod::full) {
    const std::int64_t masters = element == 4 ? 0 : all * 4;
    pieces.push_back({"master weights, gradients and moments", masters + 12 * all});
  }
  if (shape.adapter_parameters > 0) {
    const std::int64_t count = shape.adapter_parameters, copy = element == 4 ? 0 : count * element;
    pieces.push_back({"adapters and their gradients", 8 * count + copy});
    pieces.push_back(
        {shape.eight_bit ? "moments of 8 bits" : "moments", shape.eight_bit ? 2 * count + count / 256 * 8 : 8 * count});
  }
  pieces.push_back({"tables of the rotation", model.context * model.head_dim * 4});
  return pieces;
}

std::int64_t kept_bytes(const TrainerShape& shape, std::int64_t rows, Kept kept) {
  const Widths w(shape);
  // A x of each projection that is not computed again: of down always.
  const std::int64_t rank = shape.adapter_ranks / projection_count;
  std::int64_t of_row = (w.hidden + rank) * w.element;
  if (kept >= Kept::attention) of_row += (w.qkv + w.query + w.hidden + 4 * rank) * w.element + w.heads * 4;
  if (kept >= Kept::products) of_row += (2 * w.inner + 2 * rank) * w.element;
  if (kept >= Kept::all) of_row += 2 * w.hidden * w.element + 8;
  return of_row * rows;
}

Kept PassPlan::kept(std::int64_t layer, std::int64_t layers) const {
  const std::int64_t from_end = layers - 1 - layer;
  if (from_end < all) return Kept::all;
  if (from_end < all + products) return Kept::products;
  if (from_end < all + products + attention) return Kept::attention;
  return Kept::input;
}

double PassPlan::recomputed(const ModelDescription& model) const {
  double again = 0, whole = 0;
  for (int p = 0; p < projection_count; ++p) {
    const auto projection = static_cast<Projection>(p);
    const ProjectionShape shape = projection_shape(model, projection);
    const auto work = static_cast<double>(shape.out * shape.in);
    whole += work * static_cast<double>(model.layers);
    if (projection == Projection::down) continue;  // nothing but the next block reads it
    const bool is_inner = projection == Projection::gate || projection == Projection::up;
    const std::int64_t spared = all + products + (is_inner ? 0 : attention);
    again += work * static_cast<double>(model.layers - spared);
  }
  return again / whole;
}

PassAnswer plan_pass(const TrainerShape& shape, const PassNeeds& needs, std::int64_t available) {
  const Widths w(shape);
  const std::int64_t layers = shape.model.layers;
  PassAnswer answer;
  PassPlan& plan = answer.plan;
  // Two streams, token numbers, positions and places of the scored ones.
  const std::int64_t common = needs.rows * (2 * w.hidden * w.element + 32) + head_kept(w, needs, shape.value_head);
  const std::int64_t least = layers * kept_bytes(shape, needs.rows, Kept::input);
  const std::int64_t of_block = block_bytes(w, needs);
  plan.logits_rows = std::min<std::int64_t>(2048, std::max<std::int64_t>(needs.scored, 1));
  const auto bytes = [&](std::int64_t kept) {
    return with_gaps(common + kept + std::max(of_block, head_bytes(w, needs, plan.logits_rows)));
  };
  // Fewer rows of logits leave the GPU idle, so they are the last to go.
  while (plan.logits_rows > 256 && bytes(least) > available) plan.logits_rows /= 2;
  plan.bytes = bytes(least);
  answer.fits = plan.bytes <= available;
  if (!answer.fits) return answer;
  // What a layer spares for a byte is most for all of its products, then for attention.
  std::int64_t kept = least, left = layers;
  const auto raise = [&](Kept to, std::int64_t& count) {
    const std::int64_t more = kept_bytes(shape, needs.rows, to) - kept_bytes(shape, needs.rows, Kept::input);
    while (left > 0 && bytes(kept + more) <= available) {
      kept += more;
      --left;
      ++count;
    }
  };
  raise(Kept::products, plan.products);
  raise(Kept::attention, plan.attention);
  plan.bytes = bytes(kept);
  return answer;
}

std::int64_t most_rows(const TrainerShape& shape, std::int64_t available, Kept least, std::int64_t step,
                       std::int64_t context) {
  const auto fits = [&](std::int64_t rows) {
    const auto [found, plan] = plan_pass(shape, {rows, rows, std::max<std::int64_t>(1, rows / context)}, available);
    if (!found || least == Kept::input) return found;
    return plan.products + (least == Kept::attention ? plan.attention : 0) == shape.model.layers;
  };
  std::int64_t rows = 0;
  while (rows < (std::int64_t{1} << 22) && fits(rows + step)) rows += step;
  return rows;
}

std::int64_t usual_rows(const TrainerShape& shape, std::int64_t available, std::int64_t enough) {
  constexpr std::int64_t step = 256;
  const std::int64_t left = available - available * 2 / 5;
  const std::int64_t once = most_rows(shape, left, Kept::products, step, shape.model.context);
  if (once >= enough) return once;
  return std::min(most_rows(shape, left, Kept::input, step, shape.model.context), enough);
}

std::int64_t cache_bytes_of_token(const ModelDescription& model, std::int64_t element_bytes) {
  return model.layers * 2 * model.kv_heads * model.head_dim * element_bytes;
}

}  // namespace kw
