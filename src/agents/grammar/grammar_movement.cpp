// Transposes, permutes, gathers, scatters.

#include <fmt/format.h>

#include "agents/grammar/grammar.h"

namespace kw {
namespace {

void draw_transpose(GrammarParts& parts) {
  Problem& p = parts.problem;
  parts.draw_dtype(0.2, 0.1);
  const bool batched = parts.chance(0.35);
  std::vector<std::string> shape;
  if (batched) {
    shape.push_back(parts.name(names::transpose_batch));
    parts.dim(shape.back(), 1, 4, {4, 8, 16});
  }
  shape.push_back(parts.name(names::transpose_rows));
  parts.dim(shape.back(), 1, 70, {512, 1024, 1000, 2048});
  shape.push_back(parts.name(names::transpose_cols));
  parts.dim(shape.back(), 1, 70, {512, 1024, 768, 2048});
  std::vector<std::string> turned = shape;
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  std::vector<int> used{parts.add(parts.name(names::transpose_full), "full", shape)};
  if (parts.chance(0.2)) used.push_back(parts.add(parts.name(names::transpose_second), "full", shape));
  if (parts.chance(0.2)) used.push_back(parts.add_scalar());
  p.pre = used.size() == 1 && parts.chance(0.2)
              ? operand_expression(0)
              : parts.expression(used, parts.pick({1, 1, 2, 3}) + static_cast<int>(used.size()) - 1);
  std::vector<int> extra;
  if (parts.chance(0.25))
    extra.push_back(parts.add(parts.name(names::transpose_bias), "row", {shape[shape.size() - 2]}));
  p.output = parts.name(names::output);
  p.output_shape = turned;
  parts.draw_post(extra, 0, extra.empty() ? 1 : parts.pick({1, 2}));
  const std::string value = parts.torch(p.pre);
  std::string core = fmt::format("({}).transpose(-2, -1)", value);
  if (p.pre.trivial()) core = value + ".transpose(-2, -1)";
  if (p.post.trivial()) core += ".contiguous()";
  parts.finish_torch(core);
  p.summary = fmt::format("Transpose of the last two axes of {}{}.", value,
                          p.post.trivial() ? "" : ", with work on the result");
}

void draw_permute(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 1;
  parts.draw_dtype(0.2, 0.1);
  std::vector<std::string> shape{parts.name(names::permute_0), parts.name(names::permute_1),
                                 parts.name(names::permute_2)};
  parts.dim(shape[0], 1, 6, {4, 8, 16});
  parts.dim(shape[1], 1, 10, {8, 16, 32, 64});
  parts.dim(shape[2], 1, 20, {64, 128, 256, 200});
  const bool four = parts.chance(0.6);
  if (four) {
    shape.push_back(parts.name(names::permute_3));
    parts.dim(shape[3], 1, 16, {64, 128, 100});
  }
  const std::vector<std::vector<int>> three_ways{{1, 0, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
  const std::vector<std::vector<int>> four_ways{{0, 2, 1, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {2, 0, 1, 3},
                                                {1, 0, 2, 3}, {0, 1, 3, 2}, {3, 0, 1, 2}};
  const auto& ways = four ? four_ways : three_ways;
  p.permutation = ways[static_cast<std::size_t>(parts.random.integer(0, static_cast<std::int64_t>(ways.size()) - 1))];
  std::vector<int> used{parts.add(parts.name(names::permute_full), "full", shape)};
  if (parts.chance(0.2)) used.push_back(parts.add(parts.name(names::permute_second), "full", shape));
  if (parts.chance(0.2)) used.push_back(parts.add_scalar());
  p.pre = used.size() == 1 && parts.chance(0.2)
              ? operand_expression(0)
              : parts.expression(used, parts.pick({1, 1, 2, 3}) + static_cast<int>(used.size()) - 1);
  parts.no_post();
  p.output = parts.name(names::output);
  std::string axes;
  for (int axis : p.permutation) {
    p.output_shape.push_back(shape[static_cast<std::size_t>(axis)]);
    axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
  }
  const std::string value = parts.torch(p.pre);
  parts.finish_torch(fmt::format("{}.permute({}).contiguous()", p.pre.trivial() ? value : "(" + value + ")", axes));
  p.summary = fmt::format("Axes ({}) of {}.", axes, value);
}

void draw_gather(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 1;
  parts.draw_dtype(p.family == Family::scatter_add ? 0 : 0.2, 0.1);
  const bool along = p.family == Family::take_along, scatter = p.family == Family::scatter_add;
  const std::string rows = parts.name(names::table_rows), cols = parts.name(names::table_cols);
  const std::string picks = parts.name(names::picks);
  // So many are picked that every row is, on average: from a kernel that reads less at full size than at small ones
  // the judge concludes that it skips work.
  parts.dim(rows, 1, 60, {1024, 2048, 4096, 3000});
  parts.dim(cols, 1, 70, {256, 512, 768, 1024});
  parts.dim(picks, 1, 60, {4096, 8192, 10000, 16384});
  if (along) p.ranges[2] = {1, 50, {1024, 1500, 2048}};
  const std::vector<std::string> result =
      along ? std::vector<std::string>{rows, picks} : std::vector<std::string>{picks, cols};
  // The table (or the base that is added to), the index, and for a scatter what is added.
  const int table = parts.add(parts.name(names::table), "table", {rows, cols});
  const std::string index = parts.name(names::index);
  parts.add(index, "index", along ? std::vector<std::string>{rows, picks} : std::vector<std::string>{picks});
  p.operands.back().dtype = Dtype::int32;
  p.operands.back().values = IntegerValues{Expression(0), Expression::parse((along ? cols : rows) + " - 1").value()};
  p.output = parts.name(names::output);
  const std::string table_name = p.operands[static_cast<std::size_t>(table)].name;
  if (scatter) {
    std::vector<int> used{parts.add(parts.name(names::updates), "full", {picks, cols})};
    if (parts.chance(0.3)) used.push_back(parts.add_scalar());
    p.pre = used.size() == 1 && parts.chance(0.25)
                ? operand_expression(used[0])
                : parts.expression(used, parts.pick({1, 1, 2}) + static_cast<int>(used.size()) - 1);
    p.output_shape = {rows, cols};
    parts.no_post();
    parts.finish_torch(fmt::format("torch.index_add({}, 0, {}.long(), {})", table_name, index, parts.torch(p.pre)));
    p.summary = fmt::format("Rows of {} added to the rows of {} that {} names.", parts.torch(p.pre), table_name, index);
    return;
  }
  p.pre = operand_expression(table);
  p.output_shape = result;
  std::vector<int> extra;
  if (parts.chance(0.35)) extra.push_back(parts.add(parts.name(names::gather_full), "full", result));
  if (!along && parts.chance(0.2)) extra.push_back(parts.add(parts.name(names::gather_row), "row", {cols}));
  if (parts.chance(0.2)) extra.push_back(parts.add_scalar());
  parts.draw_post(extra, 0.7, parts.pick({1, 1, 2, 3}) + static_cast<int>(extra.size()) - (extra.empty() ? 0 : 1));
  parts.finish_torch(along ? fmt::format("torch.gather({}, 1, {}.long())", table_name, index)
                           : fmt::format("torch.index_select({}, 0, {}.long())", table_name, index));
  p.summary = along ? fmt::format("Elements of the rows of {} that {} names.", table_name, index)
                    : fmt::format("Rows of {} that {} names{}.", table_name, index,
                                  p.post.trivial() ? "" : ", with work on them");
}

}  // namespace

void draw_movement(GrammarParts& parts) {
  switch (parts.problem.family) {
    case Family::transpose:
      return draw_transpose(parts);
    case Family::permute:
      return draw_permute(parts);
    default:
      return draw_gather(parts);
  }
}

}  // namespace kw
