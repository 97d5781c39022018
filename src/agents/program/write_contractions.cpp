// One kernel for a contraction, what follows it included; a second one where its sums are taken in parts.

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/contraction_writer.h"
#include "agents/program/term_text.h"

namespace kw::program {
namespace {

// What kernels of contractions call things. A task that calls something so too gets a plain kernel.
constexpr const char* own_names[] = {"Block",    "Copied", "Gathered",     "Window",   "Windowed",
                                     "tile",     "places", "block_at",     "contract", "contract_precisely",
                                     "put",      "block",  "left",         "right",    "left_at",
                                     "right_at", "whole",  "line",         "place",    "row",
                                     "col",      "sum",    "sums",         "values",   "v",
                                     "count",    "part",   "for_each_tile"};

}  // namespace

bool ContractionWriter::names_are_free() const {
  const std::vector<Parameter> parameters = program_.task_.parameters();
  return std::none_of(parameters.begin(), parameters.end(), [](const Parameter& parameter) {
    return std::find(std::begin(own_names), std::end(own_names), parameter.name) != std::end(own_names);
  });
}

Extent ContractionWriter::extent_of(std::int64_t axis) const {
  if (axis < first_inner_axis) return contraction_.shape[static_cast<std::size_t>(axis)];
  return contraction_.over[static_cast<std::size_t>(axis - first_inner_axis)];
}

Extent ContractionWriter::extent_of(const std::vector<std::int64_t>& axes) const {
  Extent made(1);
  for (const std::int64_t axis : axes) made = made * extent_of(axis);
  return made;
}

ContractionSize ContractionWriter::size() const {
  const auto value = [&](const std::vector<std::int64_t>& axes) {
    const auto made = extent_of(axes).evaluate(program_.sizes_);
    return made.ok() ? *made : 1;
  };
  return {value(contraction_.batch), value(contraction_.rows), value(contraction_.cols), value(contraction_.depth)};
}

// Of blocks: down and in depth it has 16 bits.
bool ContractionWriter::fits_a_grid() const {
  constexpr std::int64_t most = 65'535;
  const std::vector<Sizes> all = program_.task_.all_sizes();
  return std::all_of(all.begin(), all.end(), [&](const Sizes& sizes) {
    const auto batch = extent_of(contraction_.batch).evaluate(sizes),
               rows = extent_of(contraction_.rows).evaluate(sizes), cols = extent_of(contraction_.cols).evaluate(sizes);
    return batch.ok() && rows.ok() && cols.ok() && *batch * tiles_.splits <= most && *rows / tiles_.tile_m < most &&
           *cols / tiles_.tile_n < most;
  });
}

void ContractionWriter::decode(KernelText& kernel, const Decoded& from, const std::string& lines) const {
  std::vector<AxisExtent> axes;
  for (const std::int64_t axis : from.axes) axes.emplace_back(axis, extent_of(axis));
  decode_axes(kernel, from.flat, axes, lines);
}

void ContractionWriter::name_constants() {
  const auto fresh = [&](const char* name) { return program_.fresh(name); };
  names_ = {fresh("tile_m"), fresh("tile_n"), fresh("tile_k"), fresh("warps_m"), fresh("warps_n"),
            fresh("stages"), fresh("group"),  fresh("splits"), fresh("threads")};
  std::string& text = program_.kernels_text_;
  text += fmt::format("constexpr int {} = {}, {} = {};  // of the result, for a block\n", names_.tile_m, tiles_.tile_m,
                      names_.tile_n, tiles_.tile_n);
  text += fmt::format("constexpr int {} = {};  // of the sum, at a time\n", names_.tile_k, tiles_.tile_k);
  text += fmt::format("constexpr int {} = {}, {} = {};  // a block's, down and across\n", names_.warps_m,
                      tiles_.warps_m, names_.warps_n, tiles_.warps_n);
  text += fmt::format("constexpr int {} = {};  // tiles on their way, and the one that is multiplied\n", names_.stages,
                      tiles_.stages);
  text += fmt::format("constexpr int {} = {};  // rows of tiles that run together\n", names_.group, tiles_.group);
  text +=
      fmt::format("constexpr int {} = {};  // parts of a sum, each another block's\n", names_.splits, tiles_.splits);
  text += fmt::format("constexpr int {} = 32 * {} * {};\n\n", names_.threads, names_.warps_m, names_.warps_n);
}

// `left` or `right` of the kernel.
void ContractionWriter::write_factor(KernelText& kernel, const Factor& factor, bool left) {
  const std::string name = left ? "left" : "right";
  const std::vector<std::int64_t>& lines = left ? contraction_.rows : contraction_.cols;
  const std::string element(cuda_type_of(type()));
  const Extent count = extent_of(lines);
  const std::string form = fmt::format("{}, {}, {}, {}, {}", element, factor.by_depth,
                                       left ? names_.tile_m : names_.tile_n, names_.tile_k, names_.threads);
  kernel.note(count);
  if (window_ && window_->left == left) return write_window(kernel, factor, left);
  if (window_) {
    kernel.scratch[window_->reordered] = "float";
    kernel.add(fmt::format("Copied<{}, true> {}{{{}, {}, {}}};", form, name, window_->reordered, padded_depth(),
                           count.text()));
    return;
  }
  if (is_copied(factor)) {
    TermId offset = graph_.extent(factor.offset.rest);
    for (const std::int64_t axis : contraction_.batch)
      offset = graph_.apply(ScalarOp::add, offset,
                            graph_.apply(ScalarOp::multiply, graph_.axis(static_cast<int>(axis)),
                                         graph_.extent(factor.offset.step(axis))));
    const Extent step = factor.offset.step(factor.by_depth ? contraction_.depth.back() : lines.back());
    const std::string from = program_.values_of(kernel, {offset}, {})[0];
    kernel.note(step);
    kernel.reads.insert(factor.tensor);
    kernel.add(fmt::format("Copied<{}, whole> {}{{{} + {}, {}, {}}};", form, name,
                           program_.names_[static_cast<std::size_t>(factor.tensor)], from, step.text(), count.text()));
    return;
  }
  KernelText inside;
  inside.indent = 2;
  inside.locals = kernel.locals;
  const std::string value = program_.values_of(inside, {factor.value}, {})[0];
  kernel.add(fmt::format("const auto {}_at = [&](int line, int place) -> float {{", name));
  ++kernel.indent;
  inside.add(fmt::format("return {};", value));
  decode(kernel, {"line", lines}, inside.lines);
  decode(kernel, {"place", contraction_.depth}, inside.lines);
  --kernel.indent;
  kernel.lines += inside.lines;
  kernel.add("};");
  kernel.add(fmt::format("Gathered<{}, decltype({}_at)> {}{{{}_at, {}}};", form, name, name, name, count.text()));
  kernel.take_over(inside);
}

// What becomes of the sums: up to four of them, next to each other in a row.
void ContractionWriter::write_results(KernelText& kernel, const Stage& stage) {
  const Extent rows = extent_of(contraction_.rows), cols = extent_of(contraction_.cols);
  const std::string target = program_.names_[static_cast<std::size_t>(stage.node)];
  kernel.note(rows);
  kernel.note(cols);
  kernel.add(fmt::format("if (row >= {} || col >= {}) return;", rows.text(), cols.text()));
  if (tiles_.splits > 1) {
    const Extent batches = extent_of(contraction_.batch);
    kernel.note(batches);
    kernel.add(fmt::format("const long long at = (((long long)block.part * {} + block.batch) * {} + row) * {} + col;",
                           bracketed(batches), bracketed(rows), bracketed(cols)));
    kernel.add(fmt::format("put<whole>({} + at, sums, {} - col);", parts_, bracketed(cols)));
    return;
  }
  const Dtype stored = program_.stored_as(stage.node);
  const bool together = cols_are_together();
  KernelText inside;
  inside.indent = kernel.indent + 1;
  inside.locals = kernel.locals;
  std::map<TermId, std::string> known;
  if (contraction_.load >= 0) known[contraction_.load] = "sum";
  const Dtype computed = contraction_.root < 0 ? Dtype::float32 : graph_.term(contraction_.root).dtype;
  const std::string value = contraction_.root < 0 ? "sum" : program_.values_of(inside, {contraction_.root}, known)[0];
  KernelText placed;
  placed.indent = together ? kernel.indent : inside.indent;
  placed.locals = inside.locals;
  const std::string offset = program_.values_of(placed, {offset_of_result()}, {})[0];
  const std::string made = stored_text(value, computed, stored);
  if (together) {
    inside.add(fmt::format("values[v] = {};", made));
    placed.add(fmt::format("put<whole>({} + {} + col, values, {} - col);", target, offset, bracketed(cols)));
  } else {
    inside.lines += placed.lines;
    inside.add(fmt::format("{}[{}] = {};", target, offset, made));
    placed.lines.clear();
  }
  const std::string all = inside.lines + placed.lines;
  decode(kernel, {"row", contraction_.rows}, all);
  if (together) kernel.add(fmt::format("{} values[sizeof(sums) / sizeof(float)] = {{}};", cuda_type_of(stored)));
  kernel.add("#pragma unroll");
  kernel.add("for (int v = 0; v < sizeof(sums) / sizeof(float); ++v) {");
  ++kernel.indent;
  kernel.add(fmt::format("if (!whole && col + v >= {}) break;", cols.text()));
  kernel.add("const float sum = sums[v];");
  decode(kernel, {"(col + v)", contraction_.cols}, inside.lines);
  kernel.lines += inside.lines;
  --kernel.indent;
  kernel.add("}");
  kernel.lines += placed.lines;
  kernel.take_over(inside);
  kernel.take_over(placed);
}

// Without the columns, where those lie next to each other.
TermId ContractionWriter::offset_of_result() {
  const bool together = cols_are_together();
  TermId offset = graph_.whole(0);
  for (std::size_t i = 0; i < contraction_.shape.size(); ++i) {
    const Extent& extent = contraction_.shape[i];
    const auto axis = static_cast<std::int64_t>(i);
    const bool col = std::find(contraction_.cols.begin(), contraction_.cols.end(), axis) != contraction_.cols.end();
    if (extent.is(1)) continue;
    offset = graph_.apply(ScalarOp::multiply, offset, graph_.extent(extent));
    if (!together || !col) offset = graph_.apply(ScalarOp::add, offset, graph_.axis(static_cast<int>(i)));
  }
  return offset;
}

// The columns are the last axes of the result.
bool ContractionWriter::cols_are_together() const {
  const std::int64_t first = contraction_.cols.front();
  const auto before = [&](const std::vector<std::int64_t>& axes) {
    return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) { return axis < first; });
  };
  return before(contraction_.rows) && before(contraction_.batch);
}

bool ContractionWriter::is_copied(const Factor& factor) const {
  return factor.tensor >= 0 && program_.stored_as(factor.tensor) == type();
}

// What must be divisible by what, so that pieces of 16 bytes are cut by no edge.
std::vector<std::pair<Extent, int>> ContractionWriter::whole_pieces() const {
  std::vector<std::pair<Extent, int>> made;
  const int width = type() == Dtype::float32 ? 4 : 8;
  for (const bool left : {true, false}) {
    const Factor& factor = left ? contraction_.left : contraction_.right;
    if (!is_copied(factor) || window_) continue;
    const std::vector<std::int64_t>& lines = left ? contraction_.rows : contraction_.cols;
    const std::vector<std::int64_t>& places = contraction_.depth;
    made.emplace_back(extent_of(factor.by_depth ? lines : places), width);
    made.emplace_back(factor.offset.step(factor.by_depth ? places.back() : lines.back()), width);
    made.emplace_back(factor.offset.rest, width);
    for (const std::int64_t axis : contraction_.batch) made.emplace_back(factor.offset.step(axis), width);
  }
  made.emplace_back(extent_of(contraction_.cols), type() == Dtype::float32 ? 4 : 2);
  return made;
}

std::string ContractionWriter::whole_condition() const {
  std::set<std::string> conditions;
  for (const auto& [extent, width] : whole_pieces()) {
    const auto constant = extent.constant();
    if (constant && *constant % width == 0) continue;
    if (constant) return "false";
    conditions.insert(fmt::format("{} % {} == 0", bracketed(extent), width));
  }
  std::string text;
  for (const std::string& condition : conditions) text += (text.empty() ? "" : " && ") + condition;
  return text.empty() ? "true" : text;
}

void ContractionWriter::write_kernel(const Stage& stage) {
  const auto at = static_cast<std::size_t>(stage.node);
  KernelText factors, results;
  write_factor(factors, contraction_.left, true);
  write_factor(factors, contraction_.right, false);
  results.indent = 2;
  results.locals = factors.locals;
  write_results(results, stage);
  KernelText kernel;
  const Extent rows = extent_of(contraction_.rows), cols = extent_of(contraction_.cols),
               depth = extent_of(contraction_.depth);
  for (const Extent& extent : {rows, cols, depth}) kernel.note(extent);
  kernel.add(fmt::format("const Block block = block_at<{}, {}, {}, {}>({}, {});", names_.tile_m, names_.tile_n,
                         names_.tile_k, names_.group, window_ ? padded_depth() : depth.text(), names_.splits));
  if (tiles_.group > 1) kernel.add(fmt::format("if (block.row >= {}) return;", rows.text()));
  const std::string all = factors.lines + results.lines;
  decode(kernel, {"block.batch", contraction_.batch}, all);
  kernel.lines += factors.lines;
  const std::string element = type() == Dtype::float32 ? "" : std::string(cuda_type_of(type())) + ", ";
  const char* function = contraction_.arithmetic == Arithmetic::tf32_parts ? "contract_precisely" : "contract";
  kernel.add(fmt::format("{}<{}{}, {}, {}, {}, {}, {}, {}, {}>(", function, element, names_.tile_m, names_.tile_n,
                         names_.tile_k, names_.warps_m, names_.warps_n, names_.stages, contraction_.left.by_depth,
                         contraction_.right.by_depth));
  kernel.add("    block, left, right, [&](int row, int col, const auto& sums) {");
  kernel.lines += indented(results.lines);
  kernel.add("    });");
  kernel.take_over(factors);
  kernel.take_over(results);
  kernel.scratch = factors.scratch;
  const std::string target =
      tiles_.splits > 1 ? "float* " + parts_
                        : fmt::format("{}* {}", cuda_type_of(program_.stored_as(stage.node)), program_.names_[at]);
  auto [parameters, arguments] = program_.parameters_of(kernel, target);
  std::string& text = program_.kernels_text_;
  text += fmt::format("// {}\n", program_.comment_of(stage));
  text += "template <bool whole>\n";
  text += listed(fmt::format("__global__ void __launch_bounds__({}) {}(", names_.threads, program_.kernels_[at]),
                 parameters, ") {\n", 0);
  text += kernel.lines;
  text += "}\n\n";
  write_launch(stage, arguments);
}

void ContractionWriter::write_launch(const Stage& stage, const std::vector<std::string>& arguments) const {
  const int number = ++program_.launches_;
  const std::string tiles = fmt::format("blocks{}", number), bytes = fmt::format("bytes{}", number);
  const std::string kernel = program_.kernels_[static_cast<std::size_t>(stage.node)];
  const auto pieces = [&](const std::vector<std::int64_t>& axes, const std::string& tile) {
    return fmt::format("({} + {} - 1) / {}", bracketed(extent_of(axes)), tile, tile);
  };
  std::string& text = program_.launches_text_;
  const std::string down = pieces(contraction_.rows, names_.tile_m), across = pieces(contraction_.cols, names_.tile_n);
  if (tiles_.group > 1)
    text += fmt::format("  const dim3 {0}({1}, {2}, ({3} + {1} - 1) / {1});\n", tiles, names_.group, across, down);
  else
    text += fmt::format("  const dim3 {}({}, {}, {} * {});\n", tiles, across, down,
                        bracketed(extent_of(contraction_.batch)), names_.splits);
  text += fmt::format("  const int {} = {} * ({} + {}) * {} * {};\n", bytes, names_.stages, names_.tile_m,
                      names_.tile_n, names_.tile_k, bytes_of(type()));
  const std::string condition = whole_condition();
  for (const bool whole : {true, false}) {
    if (condition == (whole ? "false" : "true")) continue;
    const bool both = condition != "false" && condition != "true";
    const int indent = both ? 4 : 2;
    const std::string before(static_cast<std::size_t>(indent), ' ');
    if (both) text += whole ? fmt::format("  if ({}) {{\n", condition) : "  } else {\n";
    text += fmt::format("{}cudaFuncSetAttribute({}<{}>, cudaFuncAttributeMaxDynamicSharedMemorySize, {});\n", before,
                        kernel, whole, bytes);
    text +=
        listed(fmt::format("{}{}<{}><<<{}, {}, {}, stream>>>(", before, kernel, whole, tiles, names_.threads, bytes),
               arguments, ");\n", indent);
    if (both && !whole) text += "  }\n";
  }
}

// The parts of each sum are added, and what follows the sum is computed.
Result<void> ContractionWriter::write_sum_of_parts(const Stage& stage) {
  const auto at = static_cast<std::size_t>(stage.node);
  std::vector<std::int64_t> order = contraction_.batch;
  order.insert(order.end(), contraction_.rows.begin(), contraction_.rows.end());
  order.insert(order.end(), contraction_.cols.begin(), contraction_.cols.end());
  KernelText body;
  body.scratch[parts_] = "float";
  std::string place = "at";
  if (!std::is_sorted(order.begin(), order.end())) {
    place.clear();
    for (const std::int64_t axis : order) {
      body.note(extent_of(axis));
      body.axes.insert(axis);
      place = place.empty() ? axis_name(axis)
                            : fmt::format("({}) * {} + {}", place, bracketed(extent_of(axis)), axis_name(axis));
    }
  }
  body.add("float sum = 0.0f;");
  body.add(fmt::format("for (int part = 0; part < {}; ++part) sum += {}[(long long)part * elements + {}];",
                       names_.splits, parts_, place));
  std::map<TermId, std::string> known;
  if (contraction_.load >= 0) known[contraction_.load] = "sum";
  const Dtype computed = contraction_.root < 0 ? Dtype::float32 : graph_.term(contraction_.root).dtype;
  const std::string value = contraction_.root < 0 ? "sum" : program_.values_of(body, {contraction_.root}, known)[0];
  body.add(
      fmt::format("{}[at] = {};", program_.names_[at], stored_text(value, computed, program_.stored_as(stage.node))));
  program_.finish(stage, body, contraction_.shape, false);
  return {};
}

Result<bool> ContractionWriter::write(const Stage& stage) {
  if (!names_are_free() || program_.wants_every_digit()) return false;
  auto found = find(stage);
  if (!found) return false;
  contraction_ = std::move(*found);
  const ContractionSize sizes = size();
  if (!pays(sizes)) return false;
  const bool copied = is_copied(contraction_.left) && is_copied(contraction_.right);
  const bool windowed = !copied && find_window();
  tiles_ = tiles_for(sizes, contraction_.arithmetic, !copied && !windowed, windowed);
  if (!contraction_.batch.empty()) tiles_.group = 1;
  if (!fits_a_grid()) return false;
  program_.contracted_.insert(contraction_.arithmetic);
  name_constants();
  if (window_) write_reordered(stage);
  KW_TRY_VOID(write_products(stage));
  if (window_) program_.launches_text_ += fmt::format("  cudaFreeAsync({}, stream);\n", window_->reordered);
  return true;
}

Result<void> ContractionWriter::write_products(const Stage& stage) {
  if (tiles_.splits == 1) {
    write_kernel(stage);
    return {};
  }
  const auto at = static_cast<std::size_t>(stage.node);
  const std::string name = program_.kernels_[at];
  parts_ = program_.fresh(name + "_parts");
  std::string& launches = program_.launches_text_;
  launches += fmt::format("  float* {} = nullptr;\n", parts_);
  std::string count = fmt::format("sizeof(float) * {}", names_.splits);
  for (const Extent& extent : contraction_.shape)
    if (!extent.is(1)) count += " * " + bracketed(extent);
  launches += fmt::format("  cudaMallocAsync(&{}, {}, stream);\n", parts_, count);
  write_kernel(stage);
  program_.kernels_[at] = program_.fresh(name + "_sum");
  KW_TRY_VOID(write_sum_of_parts(stage));
  launches += fmt::format("  cudaFreeAsync({}, stream);\n", parts_);
  return {};
}

}  // namespace kw::program
