#pragma once
// The weights of the base model as the CPU trainer reads them. Either all floats in one flat buffer, which an optimizer
// can move; or frozen and packed as the file has them: quantised blocks stay quantised.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/arithmetic/linear.h"
#include "model/decoder/float_buffer.h"
#include "model/decoder/model_files.h"
#include "model/decoder/parameters.h"

namespace kw {

class BaseWeights {
 public:
  explicit BaseWeights(Parameters parameters);
  static Result<BaseWeights> frozen(const ModelFiles& files);

  const ModelDescription& description() const { return description_; }
  const ParameterLayout& layout() const { return layout_; }
  bool is_flat() const { return packed_.empty(); }
  std::span<float> values() { return values_; }  // flat only
  std::vector<float> copy_values() const;        // in either case, in the order of the layout

  // A norm's weight or a bias, by its offset in the layout; null for -1.
  const float* vector(std::int64_t offset) const;

  void embed(ThreadTeam& team, std::span<const std::int32_t> tokens, float* out) const;
  // `count` projections of a layer that read the same rows; their results lie side by side in y. Those of q, k and v
  // are one product where the weights are flat.
  void project(ThreadTeam& team, std::int64_t layer, Projection first, int count, const LinearRows& rows) const;
  void project_output(ThreadTeam& team, const LinearRows& rows) const;

  // Gradients of what those read. dy (rows, all outs), dx (rows, in), written or added to.
  void project_gradient(ThreadTeam& team, std::int64_t layer, Projection first, int count, std::int64_t rows,
                        const float* dy, float* dx, bool add);
  void output_gradient(ThreadTeam& team, std::int64_t rows, const float* dy, float* dx) const;

 private:
  explicit BaseWeights(const ModelDescription& description) : description_(description), layout_(description) {}

  ModelDescription description_;
  ParameterLayout layout_;
  std::vector<float> values_;                           // flat
  std::map<std::int64_t, PackedWeight> packed_;         // by offset in the layout
  std::map<std::int64_t, std::vector<float>> vectors_;  // by offset in the layout, beside packed_
  FloatBuffer expanded_;                                // q, k and v of one layer, as floats
};

}  // namespace kw
