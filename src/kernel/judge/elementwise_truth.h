#pragma once
// Where a task works element by element, what is right at some places follows from the inputs there: a million values
// instead of all of a full size, which are a minute of drawing, copying and computing.

#include <memory>
#include <optional>
#include <vector>

#include "kernel/judge/large_inputs.h"
#include "kernel/reference/reference.h"

namespace kw {

class ElementwiseTruth {
 public:
  // Nothing where the task is not known to work so: its operations, or the shapes of its tensors at these sizes.
  static std::optional<ElementwiseTruth> of(const Task& task, const Sizes& sizes);

  // The outputs at `places` of each, as Reference::run_at gives them of whole inputs.
  Result<std::vector<OutputTensor>> at(const std::vector<LargeInput>& inputs, const Positions& places,
                                       Precision precision);

 private:
  explicit ElementwiseTruth(Sizes sizes) : sizes_(std::move(sizes)) {}
  Result<std::vector<InputTensor>> lines_of(const std::vector<LargeInput>& inputs, const Positions& places);

  Sizes sizes_;
  std::vector<std::int64_t> shape_;  // of every output
  std::unique_ptr<Reference> reference_;
  std::vector<InputTensor> lines_;  // made at the first use
};

}  // namespace kw
