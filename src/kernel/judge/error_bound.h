#pragma once
// How wrong an output may be. The truth is the reference in float64. An honest kernel in the task's dtype must pass
// and one that computes in a coarser type must not, so the bound is derived from two measured errors: what PyTorch
// itself gets wrong in the task's dtype, and what rounding the inputs to a coarser type would do to the truth.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/reference/reference.h"
#include "kernel/task/task.h"

namespace kw {

// An element whose truth jumps when the inputs change in their last bit: a value at the edge of a rounding, a near tie.
struct UnstableElement {
  std::int64_t index = 0;
  double allowed = 0;  // more than elsewhere; infinite: it says nothing about a kernel
};

// An element is right when |error| <= absolute + relative * |truth|.
struct ErrorBound {
  double relative = 0;
  double absolute = 0;
  std::vector<UnstableElement> unstable = {};  // by index

  double allowed_for(double truth) const { return absolute + relative * (truth < 0 ? -truth : truth); }
};

// Inputs as a kernel would see them that throws precision away: float32 with TF32's 10 bits of mantissa, float16 with
// bfloat16's 7, bfloat16 with 4, float64 as float32. Whole numbers stay.
std::vector<InputTensor> coarse_inputs(const std::vector<InputTensor>& inputs);

// Inputs changed by about their last bit, in double precision: each by another amount and in a random direction, or all
// of the tensor `only` alike, where a value is the product or quotient of several inputs. `sign` -1 goes the other way.
// Zeros stay: equal zeros are a tie that the reference has decided. Scalars and whole numbers stay too.
struct Nudge {
  std::uint64_t seed = 0;
  double sign = 1;
  std::optional<std::size_t> only = {};
};
std::vector<InputTensor> nudged_inputs(const std::vector<InputTensor>& inputs, const Nudge& nudge);
bool can_be_nudged(const InputTensor& input);

// What one set of inputs says about an output: `own` is the reference in the task's dtype, `coarse` the truth of coarse
// inputs.
struct BoundDraw {
  OutputTensor truth, own, coarse;
};

// From several draws, because an output of few elements may be close to zero, or its errors cancel, by chance.
// `terms`: elements that one element of the output depends on, as far as that is known; sums of very many terms in
// float are off by a random walk, in whatever order an honest kernel adds them.
ErrorBound derive_bound(const std::vector<BoundDraw>& draws, double terms = 1);

bool is_finite(const OutputTensor& tensor);

// Whether the reference's own error in the task's dtype leaves an honest kernel, which may be worse, a bound to meet:
// where it does not, such inputs are no fair question.
bool reference_copes(const std::vector<BoundDraw>& draws);

// Adds to the bound's unstable elements those where `nudged`, the truth of inputs that were nudged by a last bit, is
// further off than allowed. `last_bits`: so many may an honest kernel be off before its last step.
void add_unstable(const OutputTensor& truth, const OutputTensor& nudged, ErrorBound& bound, double last_bits = 1);

// Elements of all inputs for one of the outputs: what `terms` is at least for a reduction of everything.
double terms_of(const Task& task, const Sizes& sizes);

struct Comparison {
  bool ok = true;
  double error = 0;    // of the worst element, in units of what is allowed there ...
  double allowed = 0;  // ... which is this; both absolute
  std::int64_t worst = 0;
  std::int64_t wrong = 0;  // elements
  std::int64_t elements = 0;
  std::int64_t first_wrong = -1;
  std::int64_t last_wrong = -1;
  double got = 0;       // at the worst element
  double expected = 0;  // there
  bool not_finite = false;
  bool all_zero = false;  // and should not be
  // The size of the error in terms of the truth's size: between what an honest kernel and a coarser type would have.
  double relative_error = 0;
};

Comparison compare(const OutputTensor& truth, Dtype dtype, std::string_view bytes, const ErrorBound& bound);

// Element i of row-major bytes, as a double (whole numbers up to 2^53 exactly).
double element_at(Dtype dtype, std::string_view bytes, std::int64_t index);

}  // namespace kw
