#include "agents/grammar/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, family_count> family_names{
    "elementwise",      "broadcast",    "reduce_last",    "reduce_first", "reduce_middle",    "reduce_all",
    "arg_reduce",       "logsumexp",    "softmax",        "log_softmax",  "causal_softmax",   "layer_norm",
    "rms_norm",         "l2_normalize", "transpose",      "permute",      "cumsum",           "cummax",
    "exclusive_cumsum", "gather_rows",  "take_along",     "scatter_add",  "max_pool1d",       "max_pool2d",
    "avg_pool1d",       "avg_pool2d",   "conv1d",         "conv2d",       "depthwise_conv2d", "matmul",
    "matmul_nt",        "matmul_tn",    "batched_matmul", "matvec",       "attention_scores", "attention_values"};

constexpr std::array<std::string_view, level_count> level_names{"naive", "coalesced",  "unrolled", "shared",
                                                                "warp",  "vectorised", "blocked",  "tensor"};

constexpr std::array<std::string_view, 8> reduction_names{"sum",      "mean",  "maximum", "minimum",
                                                          "variance", "norm1", "norm2",   "mean_square"};

template <class Names>
std::optional<std::size_t> place_of(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

Expression parsed(const std::string& text) { return Expression::parse(text).value(); }

int outside_held_out(int value) { return value % held_out_factor == 0 ? value + 1 : value; }

Sizes draw_small(const Problem& problem, Random& random, bool corner) {
  Sizes sizes;
  for (std::size_t i = 0; i < problem.dims.size(); ++i) {
    const DimRange& range = problem.ranges[i];
    // A corner: every size small, so that the judge can stretch one of them to its full length.
    const int low = corner ? range.small_low : (range.small_low + range.small_high) / 2;
    const int high = corner ? std::min(range.small_low + 6, range.small_high) : range.small_high;
    const auto value = static_cast<int>(corner && random.uniform() < 0.4 ? low : random.integer(low, high));
    sizes[problem.dims[i]] = outside_held_out(value);
  }
  return sizes;
}

Sizes draw_large(const Problem& problem, Random& random, bool held_out) {
  Sizes sizes;
  for (std::size_t i = 0; i < problem.dims.size(); ++i) {
    const auto& train = problem.ranges[i].train;
    const int value = train[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(train.size()) - 1))];
    const int step = held_out_factor;
    // Somewhat smaller than a train size, and never one.
    sizes[problem.dims[i]] = held_out ? std::max(value * 3 / 4 / step * step, step) : outside_held_out(value);
  }
  return sizes;
}

}  // namespace

std::string_view name_of(Family family) { return family_names[static_cast<std::size_t>(family)]; }
std::optional<Family> family_from_name(std::string_view name) {
  const auto place = place_of(family_names, name);
  return place ? std::optional(static_cast<Family>(*place)) : std::nullopt;
}

FamilyKind kind_of(Family family) {
  switch (family) {
    case Family::elementwise:
      return FamilyKind::elementwise;
    case Family::broadcast:
      return FamilyKind::broadcast;
    case Family::reduce_last:
    case Family::reduce_first:
    case Family::reduce_middle:
    case Family::reduce_all:
    case Family::arg_reduce:
    case Family::logsumexp:
      return FamilyKind::reduction;
    case Family::softmax:
    case Family::log_softmax:
    case Family::causal_softmax:
    case Family::layer_norm:
    case Family::rms_norm:
    case Family::l2_normalize:
      return FamilyKind::row_norm;
    case Family::transpose:
    case Family::permute:
    case Family::gather_rows:
    case Family::take_along:
    case Family::scatter_add:
      return FamilyKind::movement;
    case Family::cumsum:
    case Family::cummax:
    case Family::exclusive_cumsum:
      return FamilyKind::scan;
    case Family::max_pool1d:
    case Family::max_pool2d:
    case Family::avg_pool1d:
    case Family::avg_pool2d:
    case Family::conv1d:
    case Family::conv2d:
    case Family::depthwise_conv2d:
      return FamilyKind::window;
    case Family::matmul:
    case Family::matmul_nt:
    case Family::matmul_tn:
    case Family::batched_matmul:
    case Family::matvec:
    case Family::attention_scores:
    case Family::attention_values:
      return FamilyKind::product;
  }
  return FamilyKind::product;
}

std::string_view name_of(Level level) { return level_names[static_cast<std::size_t>(level)]; }
std::optional<Level> level_from_name(std::string_view name) {
  const auto place = place_of(level_names, name);
  return place ? std::optional(static_cast<Level>(*place)) : std::nullopt;
}
std::vector<std::string> all_level_names() { return {level_names.begin(), level_names.end()}; }
std::string_view name_of(Reduction reduction) { return reduction_names[static_cast<std::size_t>(reduction)]; }

std::string_view description_of(Level level) {
  switch (level) {
    case Level::naive:
      return "one thread for each output";
    case Level::coalesced:
      return "coalesced accesses";
    case Level::unrolled:
      return "several independent elements a thread";
    case Level::shared:
      return "shared memory";
    case Level::warp:
      return "warp shuffles";
    case Level::vectorised:
      return "vector loads and stores";
    case Level::blocked:
      return "several results a thread in registers";
    case Level::tensor:
      return "tensor cores";
  }
  return "";
}

std::vector<std::string> size_order(const Problem& problem) {
  std::vector<std::string> order;
  const auto visit = [&](const std::vector<std::string>& shape) {
    for (const std::string& entry : shape) {
      const bool plain = std::find(problem.dims.begin(), problem.dims.end(), entry) != problem.dims.end();
      if (plain) {
        if (std::find(order.begin(), order.end(), entry) == order.end()) order.push_back(entry);
      } else if (entry.find_first_not_of("0123456789") != std::string::npos) {
        const Expression expression = parsed(entry);
        for (const std::string& name : expression.names())
          if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
      }
    }
  };
  for (const Operand& operand : problem.operands) visit(operand.shape);
  visit(problem.output_shape);
  KW_CHECK(order.size() == problem.dims.size());
  return order;
}

Task make_task(const Problem& problem, const std::string& name, Random& random) {
  Task task;
  task.name = name;
  task.tier = problem.tier;
  task.family = std::string(name_of(problem.family));
  task.summary = problem.summary;
  std::string parameters;
  for (const Operand& operand : problem.operands) {
    TensorSpec spec{operand.name, operand.dtype, {}, operand.values};
    for (const std::string& entry : operand.shape) spec.shape.push_back(parsed(entry));
    task.inputs.push_back(std::move(spec));
    parameters += (parameters.empty() ? "" : ", ") + operand.name;
  }
  TensorSpec result{problem.output, problem.output_dtype, {}, NormalValues{}};
  for (const std::string& entry : problem.output_shape) result.shape.push_back(parsed(entry));
  task.outputs.push_back(std::move(result));
  task.pytorch = "def reference(" + parameters + "):\n";
  for (std::size_t at = 0; at < problem.torch_body.size();) {
    const std::size_t end = std::min(problem.torch_body.find('\n', at), problem.torch_body.size());
    task.pytorch += "    " + problem.torch_body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  task.size_names = size_order(problem);
  task.sizes_small = {draw_small(problem, random, true), draw_small(problem, random, false)};
  task.sizes_train = {draw_large(problem, random, false)};
  if (const Sizes second = draw_large(problem, random, false); second != task.sizes_train.front())
    task.sizes_train.push_back(second);
  task.sizes_holdout = {draw_large(problem, random, true)};
  return task;
}

std::string structure_of(const Problem& problem) {
  std::vector<std::string> labels;
  for (const Operand& operand : problem.operands) labels.push_back(operand.label);
  labels.push_back("result");
  std::string text(name_of(problem.family));
  switch (problem.family) {
    case Family::reduce_last:
    case Family::reduce_first:
    case Family::reduce_middle:
    case Family::reduce_all:
      text += ":" + std::string(name_of(problem.reduction));
      break;
    case Family::arg_reduce:
      text += problem.largest ? ":max" : ":min";
      break;
    case Family::permute:
      for (int axis : problem.permutation) text += ":" + std::to_string(axis);
      break;
    default:
      break;
  }
  if (kind_of(problem.family) == FamilyKind::window)
    text += fmt::format(":{}:{}:{}", problem.window, problem.stride, problem.padding);
  if (problem.causal) text += ":causal";
  return text + "|" + canonical_text({&problem.pre, &problem.post}, labels);
}

}  // namespace kw
