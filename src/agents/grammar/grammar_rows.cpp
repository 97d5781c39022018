// Reductions, normalisations of rows, scans.

#include <fmt/format.h>

#include "agents/grammar/grammar.h"

namespace kw {
namespace {

// The shape of a tensor of rows, two- or three-dimensional.
std::vector<std::string> draw_row_shape(GrammarParts& parts, double three_share, bool square = false) {
  if (parts.chance(three_share)) {
    std::vector<std::string> shape{parts.name(names::product_batch), parts.name(names::row_seq),
                                   parts.name(names::row_dim)};
    parts.dim(shape[0], 1, 4, {4, 8, 16});
    parts.dim(shape[1], 1, 12, {256, 512, 1024, 500});
    parts.dim(shape[2], 1, 200, {256, 512, 768, 1024, 2048});
    return shape;
  }
  std::vector<std::string> shape{parts.name(names::row_rows), parts.name(names::row_cols)};
  if (square) {
    parts.dim(shape[0], 1, 170, {1024, 2048, 1000});
    parts.dim(shape[1], 1, 170, {1024, 2048, 1000});
  } else {
    parts.dim(shape[0], 1, 40, {1024, 2048, 4096, 8192, 3000});
    parts.dim(shape[1], 1, 250, {256, 512, 768, 1000, 1024, 2048, 4096});
  }
  return shape;
}

std::string reduced(Reduction reduction, const std::string& value, const std::string& dims) {
  switch (reduction) {
    case Reduction::sum:
      return fmt::format("torch.sum({}, {})", value, dims);
    case Reduction::mean:
      return fmt::format("torch.mean({}, {})", value, dims);
    case Reduction::maximum:
      return fmt::format("torch.amax({}, {})", value, dims);
    case Reduction::minimum:
      return fmt::format("torch.amin({}, {})", value, dims);
    case Reduction::variance:
      return fmt::format("torch.var({}, {}, unbiased=False)", value, dims);
    case Reduction::norm1:
      return fmt::format("torch.sum(torch.abs({}), {})", value, dims);
    case Reduction::norm2:
      return fmt::format("torch.sqrt(torch.sum(torch.square({}), {}))", value, dims);
    case Reduction::mean_square:
      return fmt::format("torch.mean(torch.square({}), {})", value, dims);
  }
  return "";
}

// Operands of the part that is read: one or two full ones, perhaps a vector along the row or a scalar.
void draw_pre(GrammarParts& parts, const std::vector<std::string>& shape, double plain_share, bool row_vectors) {
  Problem& p = parts.problem;
  std::vector<int> used{parts.add(parts.name(names::row_full), "full", shape)};
  if (parts.chance(plain_share)) {
    p.pre = operand_expression(0);
    return;
  }
  if (parts.chance(0.35)) used.push_back(parts.add(parts.name(names::row_second), "full", shape));
  if (row_vectors && parts.chance(0.15))
    used.push_back(parts.add(parts.name(names::row_vector), "row", {shape.back()}));
  if (parts.chance(0.15)) used.push_back(parts.add_scalar());
  // Of zero inputs it may make a row of equal numbers. Their mean is then wrong by a rounding, and what is left after
  // subtracting it is nothing but that, which a normalisation blows up: no honest sum would be right.
  std::vector<double> zeros(p.operands.size() + 1, 0.0);
  for (std::size_t i = 0; i < p.operands.size(); ++i)
    if (p.operands[i].is_scalar()) zeros[i] = 1;
  const int operators = parts.pick({1, 1, 2, 2}) + static_cast<int>(used.size()) - 1;
  for (int attempt = 0; attempt < 200; ++attempt) {
    p.pre = parts.expression(used, operators);
    if (p.family != Family::layer_norm || evaluate(p.pre, zeros) == 0) return;
  }
}

}  // namespace

void draw_reduction(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 1;
  const Family family = p.family;
  const bool argument = family == Family::arg_reduce, lse = family == Family::logsumexp;
  parts.draw_dtype(argument ? 0 : 0.15, argument || lse ? 0 : 0.08);
  std::vector<std::string> shape;
  std::string dims = "-1";
  switch (family) {
    case Family::reduce_first:
      shape = draw_row_shape(parts, 0);
      dims = "0";
      break;
    case Family::reduce_middle:
      shape = {parts.name(names::middle_outer), parts.name(names::middle_reduced), parts.name(names::middle_inner)};
      parts.dim(shape[0], 1, 6, {2, 4, 8});
      parts.dim(shape[1], 1, 40, {512, 1024, 1000, 2048});
      parts.dim(shape[2], 1, 80, {128, 256, 512, 1000});
      dims = "1";
      break;
    case Family::reduce_all:
      shape = {parts.name(names::total_length)};
      parts.dim(shape[0], 1, 6000, {4194304, 8388608, 16777216, 10000000});
      break;
    default:
      shape = draw_row_shape(parts, argument ? 0 : 0.25);
      break;
  }
  if (argument) {
    const int first = parts.add(parts.name(names::arg_full), "full", shape);
    p.pre = operand_expression(first);
    // Only what computes exactly: a rounding would choose between neighbours.
    const double kind = parts.random.uniform();
    if (kind < 0.2) p.pre.nodes.push_back({Op::absolute, 0});
    if (kind >= 0.2 && kind < 0.35) p.pre.nodes.push_back({Op::negate, 0});
    if (kind >= 0.35 && kind < 0.6) {
      const int second = parts.add(parts.name(names::arg_second), "full", shape);
      p.pre.nodes.push_back({Op::operand, -1, -1, -1, second, 0});
      p.pre.nodes.push_back({kind < 0.5 ? Op::maximum : Op::minimum, 0, 1});
    }
  } else {
    draw_pre(parts, shape, lse ? 0.1 : 0.3, dims == "-1" && family != Family::reduce_all);
  }
  const Reduction kinds[] = {Reduction::sum,     Reduction::sum,     Reduction::mean,
                             Reduction::maximum, Reduction::minimum, Reduction::variance,
                             Reduction::norm1,   Reduction::norm2,   Reduction::mean_square};
  int count = 9;
  if (p.integer()) {
    const Reduction whole[] = {Reduction::sum, Reduction::maximum, Reduction::minimum};
    p.reduction = whole[parts.random.integer(0, 2)];
    count = 0;
  }
  if (count > 0) p.reduction = kinds[parts.random.integer(0, count - 1)];
  if (family == Family::reduce_all && p.reduction == Reduction::variance) p.reduction = Reduction::sum;
  p.largest = parts.chance(0.6);
  p.output = parts.name(names::reduction_output);
  p.output_shape = shape;
  if (family == Family::reduce_all) {
    p.output_shape = {"1"};
  } else {
    p.output_shape.erase(dims == "0"   ? p.output_shape.begin()
                         : dims == "1" ? p.output_shape.begin() + 1
                                       : p.output_shape.end() - 1);
  }
  const std::string value = parts.torch(p.pre);
  std::string core;
  if (argument) {
    p.output_dtype = Dtype::int32;
    parts.no_post();
    core = fmt::format("torch.{}({}, -1)", p.largest ? "argmax" : "argmin", value);
  } else {
    parts.draw_post({}, 0.35, parts.pick({1, 1, 2}));
    core = lse ? fmt::format("torch.logsumexp({}, -1)", value)
               : reduced(p.reduction, value, p.reduction == Reduction::variance ? "[" + dims + "]" : dims);
    if (family == Family::reduce_all) core += ".reshape(1)";
  }
  if (family == Family::reduce_all && !argument) core = reduced(p.reduction, value, "[0]") + ".reshape(1)";
  parts.finish_torch(core);
  p.summary = fmt::format("{} over axis {} of {}.",
                          argument ? (p.largest ? "Argmax" : "Argmin")
                          : lse    ? "Logsumexp"
                                   : std::string(name_of(p.reduction)),
                          family == Family::reduce_all ? "0" : dims, value);
}

void draw_row_norm(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 2;
  parts.draw_dtype(0.2, 0);
  p.causal = p.family == Family::causal_softmax;
  const std::vector<std::string> shape = draw_row_shape(parts, p.causal ? 0 : 0.25, p.causal);
  draw_pre(parts, shape, p.family == Family::layer_norm || p.family == Family::rms_norm ? 0.4 : 0.25, true);
  const bool scaled = p.family == Family::layer_norm || p.family == Family::rms_norm;
  std::vector<int> extra;
  const auto row_operand = [&](RoleNames candidates) {
    extra.push_back(parts.add(parts.name(candidates), "row", {shape.back()}));
  };
  if (scaled && parts.chance(0.6)) row_operand(names::norm_weight);
  if (scaled && parts.chance(0.4)) row_operand(names::norm_bias);
  if (p.operands.size() < 4 && parts.chance(0.15))
    extra.push_back(parts.add(parts.name(names::norm_skip), "full", shape));
  p.output = parts.name(names::output);
  p.output_shape = shape;
  if (scaled && extra.size() == 2 && parts.chance(0.6)) {
    // weight * normalised + bias, as everybody writes it
    p.post.nodes = {{Op::operand, -1, -1, -1, p.result_index(), 0},
                    {Op::operand, -1, -1, -1, extra[0], 0},
                    {Op::multiply, 0, 1},
                    {Op::operand, -1, -1, -1, extra[1], 0},
                    {Op::add, 2, 3}};
  } else {
    parts.draw_post(extra, 0.3, parts.pick({1, 1, 2}) + static_cast<int>(extra.size()) - (extra.empty() ? 0 : 1));
  }
  std::string value = parts.torch(p.pre), before;
  if (!p.pre.trivial() || p.family == Family::rms_norm || p.causal) {
    const std::string name = parts.name(names::input_local);
    before = name + " = " + value + "\n";
    value = name;
  }
  std::string core;
  switch (p.family) {
    case Family::softmax:
      core = fmt::format("torch.softmax({}, -1)", value);
      break;
    case Family::log_softmax:
      core = fmt::format("torch.log_softmax({}, -1)", value);
      break;
    case Family::causal_softmax:
      core =
          fmt::format("torch.softmax({0}.masked_fill(torch.ones_like({0}).tril() == 0, float(\"-inf\")), -1)", value);
      break;
    case Family::layer_norm:
      core = fmt::format("F.layer_norm({0}, [{0}.size(-1)])", value);
      break;
    case Family::rms_norm:
      core = fmt::format("{0} * torch.rsqrt(torch.mean(torch.square({0}), -1, keepdim=True) + 1e-6)", value);
      break;
    default:
      core = fmt::format("F.normalize({}, 2.0, -1)", value);
      break;
  }
  if (p.causal) parts.no_post();
  parts.finish_torch(core, before);
  p.summary =
      fmt::format("{} of every row{}{}.", name_of(p.family), p.pre.trivial() ? "" : ", fused with what comes before",
                  p.post.trivial() ? "" : (p.pre.trivial() ? ", fused with what follows" : " and after"));
}

void draw_scan(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 1;
  parts.draw_dtype(p.family == Family::cummax ? 0.1 : 0, 0.1);
  const std::vector<std::string> shape = draw_row_shape(parts, 0.15);
  draw_pre(parts, shape, 0.2, true);
  p.output = parts.name(names::output);
  p.output_shape = shape;
  parts.draw_post({}, 0.3, parts.pick({1, 1, 2}));
  const std::string value = parts.torch(p.pre);
  std::string core = fmt::format("torch.cumsum({}, -1)", value), before;
  if (p.family == Family::cummax) core = fmt::format("torch.cummax({}, -1)[0]", value);
  if (p.family == Family::exclusive_cumsum) {
    const std::string name = parts.name(names::input_local);
    before = name + " = " + value + "\n";
    core = fmt::format("torch.cumsum({0}, -1) - {0}", name);
  }
  if (p.integer() && p.family != Family::cummax) core = "(" + core + ").to(torch.int32)";
  parts.finish_torch(core, before);
  p.summary = fmt::format("{} along every row of {}.", name_of(p.family), value);
}

}  // namespace kw
