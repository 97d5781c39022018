#pragma once
// The weights of a model and of its adapters, packed for products on the CPU. Blocks of a GGUF file stay quantised.

#include <array>
#include <cstdint>
#include <vector>

#include "model/arithmetic/linear.h"
#include "model/decoder/adapter.h"
#include "model/decoder/model_files.h"
#include "model/decoder/parameters.h"

namespace kw {

// Projections that read the same rows: q, k and v; o; gate and up; down.
struct ProjectionGroup {
  Projection first = Projection::q;
  int count = 1;
};
inline constexpr int group_count = 4;
inline constexpr std::array<ProjectionGroup, group_count> projection_groups{
    {{Projection::q, 3}, {Projection::o, 1}, {Projection::gate, 2}, {Projection::down, 1}}};
enum class GroupName { qkv, o, gate_up, down };

struct CpuLayerWeights {
  std::vector<float> input_norm, post_attention_norm;  // (hidden)
  // q, k and v are one weight, so that they are one product; three where a file has them in different formats. The
  // others have a part for each projection.
  std::array<std::vector<PackedWeight>, group_count> parts;
  std::array<std::vector<float>, projection_count> bias;  // (out), or empty; those of q, k and v all in q's
};

struct CpuWeights {
  std::vector<CpuLayerWeights> layers;
  std::vector<float> final_norm;  // (hidden)
  PackedWeight output;            // (vocabulary, hidden)
  PackedWeight embedding;         // the same, empty when they are tied
  std::size_t bytes() const;      // of all packed weights

  const PackedWeight& embedding_rows() const { return embedding.out() == 0 ? output : embedding; }
};

Result<CpuWeights> pack_weights(const ModelFiles& files);
CpuWeights pack_weights(const Parameters& parameters);

struct CpuAdapterLayer {
  // A's of a group's adapted projections one below the other: (rank * adapted, in).
  std::array<PackedWeight, group_count> a;
  std::array<PackedWeight, projection_count> b;  // (out, rank); out() is 0 where a projection is not adapted
};

struct CpuAdapter {
  std::int64_t rank = 0;
  float scale = 1;
  std::vector<CpuAdapterLayer> layers;
};

Result<CpuAdapter> pack_adapter(const Adapter& adapter, const ModelDescription& description);

}  // namespace kw
