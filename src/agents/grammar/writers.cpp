#include "agents/grammar/writers.h"

namespace kw {
std::vector<Level> levels_of(const Problem& problem) {
  using enum Level;
  switch (problem.family) {
    case Family::elementwise:
      return {naive, coalesced, unrolled, vectorised};
    case Family::broadcast:
      return {naive, coalesced, vectorised};
    case Family::reduce_last:
    case Family::logsumexp:
    case Family::softmax:
    case Family::log_softmax:
    case Family::layer_norm:
    case Family::rms_norm:
    case Family::l2_normalize:
      return {naive, shared, warp, vectorised};
    case Family::causal_softmax:
      return {naive, shared, warp};
    case Family::reduce_first:
    case Family::reduce_middle:
      return {naive, shared};
    case Family::reduce_all:
      return {naive, shared, warp, vectorised};
    case Family::arg_reduce:
      return {naive, shared, warp};
    case Family::transpose:
      return {naive, shared, unrolled};
    case Family::permute:
      if (problem.permutation.back() + 1 == static_cast<int>(problem.permutation.size())) return {naive, vectorised};
      return {naive, shared};
    case Family::cumsum:
    case Family::cummax:
    case Family::exclusive_cumsum:
      return {naive, shared, warp};
    case Family::gather_rows:
      return {naive, coalesced, vectorised};
    case Family::take_along:
      return {naive, coalesced, unrolled};
    case Family::scatter_add:
      return {naive, coalesced};
    case Family::max_pool1d:
    case Family::avg_pool1d:
      // Only windows that overlap read anything twice.
      if (problem.stride >= problem.window) return {naive, coalesced};
      return {naive, coalesced, shared};
    case Family::max_pool2d:
    case Family::avg_pool2d:
      if (problem.stride >= problem.window) return {naive, coalesced};
      return {naive, coalesced, blocked};
    case Family::conv1d:
      return {naive, shared, blocked};
    case Family::conv2d:
      return {naive, shared, blocked};
    case Family::depthwise_conv2d:
      return {naive, coalesced, blocked};
    case Family::matmul:
    case Family::matmul_nt:
      if (problem.dtype == Dtype::float16) return {naive, shared, blocked, tensor};
      return {naive, shared, blocked};
    case Family::matmul_tn:
    case Family::batched_matmul:
    case Family::attention_scores:
    case Family::attention_values:
      return {naive, shared, blocked};
    case Family::matvec:
      return {naive, shared, warp, vectorised};
  }
  return {naive};
}

std::string write_kernel(const Problem& problem, Level level, Random& random, bool formulas) {
  Draft draft(problem, level, random);
  if (formulas) use_formulas(draft.style);
  if (kind_of(problem.family) == FamilyKind::row_norm) return write_row_norm(draft);
  if (kind_of(problem.family) == FamilyKind::scan) return write_scan(draft);
  switch (problem.family) {
    case Family::elementwise:
      return write_elementwise(draft);
    case Family::broadcast:
      return write_broadcast(draft);
    case Family::reduce_last:
    case Family::logsumexp:
    case Family::matvec:
      return write_reduction(draft);
    case Family::reduce_first:
    case Family::reduce_middle:
      return write_axis_reduction(draft);
    case Family::reduce_all:
      return write_full_reduction(draft);
    case Family::arg_reduce:
      return write_arg_reduction(draft);
    case Family::transpose:
      return write_transpose(draft);
    case Family::permute:
      return write_permute(draft);
    case Family::gather_rows:
    case Family::take_along:
    case Family::scatter_add:
      return write_gather(draft);
    case Family::max_pool1d:
    case Family::max_pool2d:
    case Family::avg_pool1d:
    case Family::avg_pool2d:
      return write_pooling(draft);
    case Family::conv1d:
    case Family::conv2d:
    case Family::depthwise_conv2d:
      return write_convolution(draft);
    default:
      return write_matmul(draft);
  }
}

}  // namespace kw
