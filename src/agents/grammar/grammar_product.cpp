// Matrix products and the pieces of attention.

#include <fmt/format.h>

#include "agents/grammar/grammar.h"

namespace kw {
namespace {

// An activation or sum behind the product, with the operands that people put there.
void draw_epilogue(GrammarParts& parts, const std::vector<std::string>& shape, double bias_share) {
  std::vector<int> extra;
  if (parts.chance(bias_share)) extra.push_back(parts.add(parts.name(names::product_bias), "row", {shape.back()}));
  if (parts.chance(0.2)) extra.push_back(parts.add(parts.name(names::product_residual), "full", shape));
  if (extra.size() < 2 && parts.chance(0.2)) extra.push_back(parts.add_scalar());
  parts.draw_post(extra, 0.5, parts.pick({1, 1, 2}) + static_cast<int>(extra.size()) - (extra.empty() ? 0 : 1));
}

void draw_matvec(GrammarParts& parts) {
  Problem& p = parts.problem;
  parts.draw_dtype(0.2, 0.05);
  const std::string rows = parts.name(names::matvec_rows), cols = parts.name(names::matvec_cols);
  parts.dim(rows, 1, 40, {1024, 2048, 4096, 5000});
  parts.dim(cols, 1, 250, {512, 1024, 2048, 4096});
  const int matrix = parts.add(parts.name(names::matvec_matrix), "full", {rows, cols});
  const int vector = parts.add(parts.name(names::matvec_vector), "row", {cols});
  p.pre.nodes = {{Op::operand, -1, -1, -1, matrix, 0}, {Op::operand, -1, -1, -1, vector, 0}, {Op::multiply, 0, 1}};
  std::vector<int> extra;
  if (parts.chance(0.4)) extra.push_back(parts.add(parts.name(names::matvec_bias), "column", {rows}));
  if (parts.chance(0.25)) extra.push_back(parts.add_scalar());
  parts.draw_post(extra, 0.6, parts.pick({1, 1, 2}) + static_cast<int>(extra.size()) - (extra.empty() ? 0 : 1));
  p.output = parts.name(names::matvec_output);
  p.output_shape = {rows};
  const std::string& a = p.operands[0].name;
  const std::string& x = p.operands[1].name;
  parts.finish_torch(p.integer() ? fmt::format("({} * {}).sum(-1).to(torch.int32)", a, x)
                                 : fmt::format("torch.mv({}, {})", a, x));
  p.summary = fmt::format("Matrix {} times vector {}{}.", a, x, p.post.trivial() ? "" : ", with work on the result");
}

}  // namespace

void draw_product(GrammarParts& parts) {
  Problem& p = parts.problem;
  if (p.family == Family::matvec) return draw_matvec(parts);
  p.tier = 2;
  const bool scores = p.family == Family::attention_scores, values = p.family == Family::attention_values;
  const bool batched = p.family == Family::batched_matmul, attention = scores || values;
  const bool plain = !batched && !attention;
  parts.draw_dtype(plain ? 0.35 : 0.2, plain ? 0.05 : 0);
  if (p.family == Family::matmul_tn || !plain) {
    if (p.dtype == Dtype::int32) p.dtype = p.output_dtype = Dtype::float32;
  }
  std::vector<std::string> lead;
  if (batched || attention) {
    lead.push_back(parts.name(names::product_batch));
    parts.dim(lead[0], 1, 3, {4, 8, 16});
  }
  if (attention) {
    lead.push_back(parts.name(names::heads));
    parts.dim(lead[1], 1, 3, {4, 8, 16});
  }
  const std::string m = attention ? parts.name(names::queries) : parts.name(names::product_m);
  const std::string k = scores      ? parts.name(names::head_dim)
                        : attention ? parts.name(names::keys)
                                    : parts.name(names::product_k);
  const std::string n = scores      ? parts.name(names::keys)
                        : attention ? parts.name(names::head_dim)
                                    : parts.name(names::product_n);
  // Roles in dims: ..., m, k, n.
  const auto large = [&](const std::string& name, bool depth) {
    if (depth) return parts.dim(name, 1, 45, {256, 512, 1024});
    if (plain) return parts.dim(name, 1, 70, {1024, 2000, 2048, 1536});
    parts.dim(name, 1, 40, {256, 512, 500});
  };
  if (attention) {
    parts.dim(m, 1, 40, {256, 512, 1000});
    if (scores)
      parts.dim(k, 1, 40, {32, 64, 128});
    else
      parts.dim(k, 1, 40, {256, 512, 1000});
    if (scores)
      parts.dim(n, 1, 40, {256, 512, 1000});
    else
      parts.dim(n, 1, 40, {32, 64, 128});
  } else {
    large(m, false);
    large(k, true);
    large(n, false);
  }
  const bool right_turned = p.family == Family::matmul_nt || scores, left_turned = p.family == Family::matmul_tn;
  const auto shaped = [&](std::vector<std::string> tail) {
    std::vector<std::string> shape = lead;
    shape.insert(shape.end(), tail.begin(), tail.end());
    return shape;
  };
  const auto left = left_turned ? shaped({k, m}) : shaped({m, k});
  const auto right = right_turned ? shaped({n, k}) : shaped({k, n});
  const auto result = shaped({m, n});
  parts.add(scores   ? parts.name(names::query)
            : values ? parts.name(names::weights)
                     : parts.name(names::product_left),
            "left", left);
  parts.add(scores   ? parts.name(names::key)
            : values ? parts.name(names::value)
                     : parts.name(names::product_right),
            "right", right);
  p.pre = operand_expression(0);
  p.output = parts.name(names::product_output);
  p.output_shape = result;
  const std::string a = p.operands[0].name + (left_turned ? ".transpose(-2, -1)" : "");
  const std::string b = p.operands[1].name + (right_turned ? ".transpose(-2, -1)" : "");
  std::string core = fmt::format("torch.matmul({}, {})", a, b);
  if (scores) {
    p.causal = parts.chance(0.4);
    std::vector<int> extra;
    if (parts.chance(0.5)) {
      extra.push_back(parts.add_scalar());
    } else if (parts.chance(0.4)) {
      extra.push_back(parts.add(parts.name(names::scores_plane), "plane", {m, n}));
    }
    parts.draw_post(extra, 0.8, parts.pick({1, 1, 2}));
    if (p.causal) {
      // Masked after everything else: the judge compares the zeros too.
      const std::string t = parts.name(names::scores_local);
      p.torch_body = fmt::format("{0} = {1}\n{0} = {2}\nreturn {0}.tril()", t, core, parts.torch(p.post, t));
    } else {
      parts.finish_torch(core);
    }
  } else {
    draw_epilogue(parts, result, plain ? 0.45 : 0.15);
    parts.finish_torch(core);
  }
  p.summary = fmt::format("{}{}.",
                          scores    ? "Attention scores"
                          : values  ? "Attention's weighted sum of values"
                          : batched ? "Batched matrix product"
                                    : "Matrix product",
                          p.causal           ? ", zero above the diagonal"
                          : p.post.trivial() ? ""
                                             : ", with work on the result");
}

}  // namespace kw
