// One kernel for attention; before it, one for each factor that cannot be read as it lies in memory.

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/attention_writer.h"
#include "agents/program/term_edit.h"

namespace kw::program {
namespace {

// What kernels of attention call. A task that calls something so too gets plain kernels.
constexpr const char* own_names[] = {"Attended",    "attend", "store_two", "whole", "kept",  "head_tile",
                                     "head_tile_v", "tile_q", "tile_k",    "warps", "stages"};
constexpr const char* log2_of_e = "1.44269504f";
constexpr int piece = 8;                              // elements of 16 bytes
constexpr std::int64_t part_axis = first_inner_axis;  // of a factor in parts
constexpr std::int64_t largest_in_parts = 384;        // head, all parts together

// How far apart neighbours along some axes are, where an offset is linear in those; nothing else about it matters.
std::optional<std::map<std::int64_t, Extent>> steps_along(const Graph& graph, TermId offset,
                                                          const std::vector<std::int64_t>& axes) {
  using Steps = std::map<std::int64_t, Extent>;
  const std::vector<TermId> all = graph.terms_of({&offset, 1});
  const bool fixed = std::none_of(all.begin(), all.end(), [&](TermId each) {
    const Term& term = graph.term(each);
    return term.kind == TermKind::axis && std::find(axes.begin(), axes.end(), term.whole) != axes.end();
  });
  if (fixed) return Steps{};
  const Term& term = graph.term(offset);
  if (term.kind == TermKind::axis) return Steps{{term.whole, Extent(1)}};
  if (term.kind != TermKind::operation) return std::nullopt;
  if (term.op == ScalarOp::cast) return steps_along(graph, term.parts[0], axes);
  if (term.op != ScalarOp::add && term.op != ScalarOp::subtract && term.op != ScalarOp::multiply) return std::nullopt;
  auto left = steps_along(graph, term.parts[0], axes), right = steps_along(graph, term.parts[1], axes);
  if (!left || !right) return std::nullopt;
  if (term.op == ScalarOp::multiply) {
    const bool of_left = !left->empty();
    const auto factor = linear_offset(graph, term.parts[of_left ? 1 : 0]);
    if (!factor || !factor->steps.empty()) return std::nullopt;
    Steps& made = of_left ? *left : *right;
    for (auto& [axis, step] : made) step = step * factor->rest;
    return made;
  }
  const Extent sign(term.op == ScalarOp::add ? 1 : -1);
  for (const auto& [axis, step] : *right) (*left)[axis] = (*left)[axis] + sign * step;
  return left;
}

int rounded_up(std::int64_t value) { return static_cast<int>((value + 15) / 16 * 16); }

}  // namespace

std::map<NodeId, Attention> AttentionWriter::find() {
  const std::vector<Parameter> parameters = program_.task_.parameters();
  const bool taken = std::any_of(parameters.begin(), parameters.end(), [](const Parameter& parameter) {
    return std::find(std::begin(own_names), std::end(own_names), parameter.name) != std::end(own_names);
  });
  if (taken || program_.wants_every_digit()) return {};
  std::vector<Sizes> sizes = program_.all_sizes_;
  sizes.insert(sizes.begin(), program_.sizes_);
  std::map<NodeId, Attention> made = find_attentions(graph_, sizes);
  std::erase_if(made, [&](const auto& each) { return !can_write(each.second); });
  return made;
}

// Values, and what becomes of them, are rounded as PyTorch rounds them, so that 16-bit tiles can be copied.
std::set<NodeId> AttentionWriter::kept_in_16_bits(const Attention& attention) {
  std::set<NodeId> made{attention.stage};
  const auto read_by = [&](TermId element) { return graph_.term(addressing_.resolved(element)).node; };
  const NodeId values = read_by(attention.value);
  if (values < 0 || values == read_by(attention.query) || values == read_by(attention.key)) return made;
  const Node& node = graph_.node(values);
  if (node.kind != NodeKind::scatter && node.dtype == attention.type) made.insert(values);
  return made;
}

// Places are counted in 32 bits.
bool AttentionWriter::can_write(const Attention& attention) const {
  if (program_.is_large(elements_of(graph_.node(attention.node).shape))) return false;
  for (const TermId element : {attention.query, attention.key, attention.value})
    if (program_.is_large(elements_of(graph_.node(graph_.term(element).node).shape))) return false;
  const int parts = attention.parts(graph_);
  if (parts == 1) return true;
  Extent largest = (attention.queries + attention.keys) * (attention.depth + attention.features) * Extent(parts);
  for (const std::int64_t axis : attention.batch)
    largest = largest * graph_.node(attention.node).shape[static_cast<std::size_t>(axis)];
  if (program_.is_large(largest)) return false;
  return std::all_of(program_.all_sizes_.begin(), program_.all_sizes_.end(), [&](const Sizes& sizes) {
    const auto depth = attention.depth.evaluate(sizes);
    return depth.ok() && parts * *depth <= largest_in_parts;
  });
}

Extent AttentionWriter::extent_of(std::int64_t axis) const {
  if (axis == attention_.key_axis) return attention_.keys;
  if (axis == attention_.depth_axis) return attention_.depth;
  return graph_.node(attention_.node).shape[static_cast<std::size_t>(axis)];
}

std::string AttentionWriter::local(std::string name) const {
  while (program_.taken_.contains(name)) name += "_";
  return name;
}

std::vector<AxisExtent> AttentionWriter::batch() const {
  std::vector<AxisExtent> made;
  for (const std::int64_t axis : attention_.batch) made.emplace_back(axis, extent_of(axis));
  return made;
}

void AttentionWriter::need_multiple(const Extent& extent, int width) {
  if (const auto constant = extent.constant()) {
    never_whole_ = never_whole_ || *constant % width != 0;
    return;
  }
  int& known = multiples_[bracketed(extent)];
  known = std::max(known, width);
}

// Of a whole piece, whatever the axes in it are.
void AttentionWriter::need_multiple(TermId offset) {
  const Term& term = graph_.term(offset);
  const auto extent_in = [&](TermId id) -> std::optional<Extent> {
    const auto linear = linear_offset(graph_, id);
    return linear && linear->steps.empty() ? std::optional(linear->rest) : std::nullopt;
  };
  if (const auto extent = extent_in(offset)) return need_multiple(*extent, piece);
  if (term.kind == TermKind::operation && term.op == ScalarOp::cast) return need_multiple(term.parts[0]);
  if (term.kind == TermKind::operation && (term.op == ScalarOp::add || term.op == ScalarOp::subtract)) {
    need_multiple(term.parts[0]);
    return need_multiple(term.parts[1]);
  }
  if (term.kind == TermKind::operation && term.op == ScalarOp::multiply) {
    const auto left = extent_in(term.parts[0]), right = extent_in(term.parts[1]);
    if (left && left->constant() && *left->constant() % piece == 0) return;
    if (right) return right->is(1) ? need_multiple(term.parts[0]) : need_multiple(*right, piece);
    if (left) return need_multiple(*left, piece);
  }
  never_whole_ = true;
}

std::optional<AttentionWriter::Source> AttentionWriter::source_in_place(TermId element, std::int64_t line,
                                                                        std::int64_t place) {
  const Term& load = graph_.term(element);
  if (load.kind != TermKind::load || load.guarded || load.parts.size() != 1) return std::nullopt;
  if (program_.stored_as(load.node) != attention_.tile_type()) return std::nullopt;
  const auto steps = steps_along(graph_, load.parts[0], {line, place});
  if (!steps || !steps->contains(place) || !steps->at(place).is(1)) return std::nullopt;
  Source made;
  made.tensor = load.node;
  made.name = program_.names_[static_cast<std::size_t>(load.node)];
  made.base = addressing_.addressed(load.parts[0], {{line, graph_.whole(0)}, {place, graph_.whole(0)}});
  made.step = steps->contains(line) ? steps->at(line) : Extent(0);
  return made;
}

AttentionWriter::Source AttentionWriter::source_of(const Stage& stage, const char* what, TermId element,
                                                   std::int64_t line, std::int64_t place) {
  const TermId resolved = addressing_.addressed(addressing_.resolved(element), {});
  const int parts = place == attention_.depth_axis ? parts_ : attention_.value_parts();
  auto found = parts == 1 ? source_in_place(resolved, line, place) : std::nullopt;
  const Extent width = extent_of(place) * Extent(parts);
  if (!found) {
    Source made;
    made.scratch = true;
    made.name = program_.fresh(fmt::format("{}_{}", program_.kernels_[static_cast<std::size_t>(stage.node)], what));
    made.base = graph_.whole(0);
    made.step = width;
    std::vector<AxisExtent> axes;
    for (const AxisExtent& each : batch()) {
      if (!addressing_.depends_on(resolved, each.first)) continue;
      axes.push_back(each);
      made.base = graph_.apply(ScalarOp::add, graph_.apply(ScalarOp::multiply, made.base, graph_.extent(each.second)),
                               graph_.axis(static_cast<int>(each.first)));
    }
    made.base = graph_.apply(ScalarOp::multiply, made.base, graph_.extent(extent_of(line) * width));
    axes.emplace_back(line, extent_of(line));
    if (parts > 1) axes.emplace_back(part_axis, Extent(parts));
    axes.emplace_back(place, extent_of(place));
    write_packed(made.name, resolved, axes, parts > 1);
    found = made;
  }
  need_multiple(found->base);
  need_multiple(found->step, piece);
  need_multiple(extent_of(place), piece);
  return *found;
}

// A factor in the order and the type that tiles have. A part has what is left of rounding the one before.
void AttentionWriter::write_packed(const std::string& name, TermId element, const std::vector<AxisExtent>& axes,
                                   bool in_parts) {
  const std::string kernel_name = program_.fresh(name + "_order");
  const std::string_view type = cuda_type_of(attention_.tile_type());
  KernelText inside, kernel;
  const std::string value = program_.values_of(inside, {element}, {})[0];
  const Dtype stored = attention_.tile_type();
  if (in_parts) {
    const std::string rest = local("rest"), part = local("part");
    inside.add(fmt::format("float {} = {};", rest, value));
    inside.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2} -= (float){3};", part, axis_name(part_axis), rest,
                           stored_text(rest, Dtype::float32, stored)));
    inside.add(fmt::format("{}[at] = {};", name, stored_text(rest, Dtype::float32, stored)));
  } else {
    inside.add(fmt::format("{}[at] = {};", name, stored_text(value, graph_.term(element).dtype, stored)));
  }
  std::string count;
  for (const auto& [axis, extent] : axes) {
    count += (count.empty() ? "" : " * ") + bracketed(extent);
    kernel.note(extent);
  }
  kernel.add("const int at = blockIdx.x * 256 + threadIdx.x;");
  kernel.add(fmt::format("if (at >= {}) return;", count));
  decode_axes(kernel, "at", axes, inside.lines);
  kernel.lines += inside.lines;
  kernel.take_over(inside);
  const auto [parameters, arguments] = program_.parameters_of(kernel, fmt::format("{}* {}", type, name));
  std::string& text = program_.kernels_text_;
  text += listed(fmt::format("__global__ void {}(", kernel_name), parameters, ") {\n", 0);
  text.append(kernel.lines) += "}\n\n";
  std::string& launches = program_.launches_text_;
  const std::string elements = fmt::format("elements{}", ++program_.launches_);
  launches += fmt::format("  const int {} = {};\n", elements, count);
  launches += fmt::format("  {}* {} = nullptr;\n", type, name);
  launches += fmt::format("  cudaMallocAsync(&{}, sizeof({}) * {}, stream);\n", name, type, elements);
  launches +=
      listed(fmt::format("  {}<<<({} + 255) / 256, 256, 0, stream>>>(", kernel_name, elements), arguments, ");\n", 2);
}

// One for the first train size, and one for larger heads where there are any.
void AttentionWriter::find_forms() {
  const auto add = [&](std::int64_t depth, std::int64_t features) {
    const AttentionForm form{rounded_up(depth), rounded_up(features), parts_, attention_.value_parts(),
                             attention_.score >= 0};
    for (const Form& each : forms_)
      if (form.head <= each.form.head && form.head_v <= each.form.head_v) return;
    forms_.push_back({form, attention_tiles(form), "", "", "", "", ""});
  };
  const auto value = [&](const Extent& extent, const Sizes& sizes) {
    const auto made = extent.evaluate(sizes);
    return made.ok() ? *made : 1;
  };
  add(value(attention_.depth, program_.sizes_), value(attention_.features, program_.sizes_));
  std::int64_t depth = 1, features = 1;
  for (const Sizes& sizes : program_.all_sizes_) {
    depth = std::max(depth, value(attention_.depth, sizes));
    features = std::max(features, value(attention_.features, sizes));
  }
  add(depth, features);
}

void AttentionWriter::name_constants() {
  std::string& text = program_.kernels_text_;
  for (Form& form : forms_) {
    const auto fresh = [&](const char* name) { return program_.fresh(name); };
    form.tile_q = fresh("tile_q"), form.tile_k = fresh("tile_k"), form.warps = fresh("warps");
    form.stages = fresh("stages"), form.kept = fresh("queries_in_registers");
    if (forms_.size() > 1)
      text += fmt::format("// Of heads of at most {}.\n", std::max(form.form.head, form.form.head_v));
    text += fmt::format("constexpr int {} = {}, {} = {};  // queries of a block, keys at a time\n", form.tile_q,
                        form.tiles.tile_q, form.tile_k, form.tiles.tile_k);
    text += fmt::format("constexpr int {} = {};\n", form.warps, form.tiles.warps);
    text += fmt::format("constexpr int {} = {};  // tiles of keys on their way, and the one that is used\n",
                        form.stages, form.tiles.stages);
    text += fmt::format("constexpr bool {} = {};\n", form.kept, form.tiles.kept);
  }
  text += "\n";
}

// What becomes of a product, as the function that a kernel calls.
std::string AttentionWriter::score_text(KernelText& kernel, const std::string& row, const std::string& key,
                                        const std::string& sum) {
  if (attention_.score < 0) return fmt::format("[](int, int, float {}) {{ return {}; }}", sum, sum);
  const TermId score = addressing_.addressed(addressing_.resolved(attention_.score), {});
  std::map<TermId, std::string> known;
  for (const TermId load : loads_in(graph_, score))
    if (!program_.schedule_.own_memory[static_cast<std::size_t>(graph_.term(load).node)]) known[load] = sum;
  KernelText inside;
  inside.indent = 4;
  inside.locals = kernel.locals;
  const std::string value = program_.values_of(inside, {score}, known)[0];
  inside.add(fmt::format("return {};", value));
  kernel.take_over(inside);
  return fmt::format("[&](int {}, int {}, float {}) -> float {{\n{}      }}", row, key, sum, inside.lines);
}

std::string AttentionWriter::result_text(KernelText& kernel, const Stage& stage, const std::string& row,
                                         const std::string& col) {
  const Node& node = graph_.node(stage.node);
  const std::string one = local("one"), two = local("two");
  TermId offset = graph_.whole(0);
  for (std::size_t i = 0; i < node.shape.size(); ++i)
    offset = graph_.apply(ScalarOp::add, graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i])),
                          attention_.places[i]);
  KernelText inside;
  inside.indent = 4;
  inside.locals = kernel.locals;
  const std::string place = program_.values_of(inside, {offset}, {})[0];
  const Dtype stored = program_.stored_as(stage.node);
  inside.note(attention_.queries);
  inside.note(attention_.features);
  inside.add(fmt::format("if ({} < {})", row, attention_.queries.text()));
  inside.add(fmt::format("  store_two<whole>({} + {}, {}, {}, {} - {});",
                         program_.names_[static_cast<std::size_t>(stage.node)], place,
                         stored_text(one, Dtype::float32, stored), stored_text(two, Dtype::float32, stored),
                         bracketed(attention_.features), col));
  need_multiple(attention_.features, 2);
  kernel.take_over(inside);
  return fmt::format("[&](int {}, int {}, float {}, float {}) {{\n{}      }}", row, col, one, two, inside.lines);
}

void AttentionWriter::write_kernel(const Stage& stage, const std::vector<Source>& sources) {
  const auto at = static_cast<std::size_t>(stage.node);
  const std::string type(cuda_type_of(attention_.tile_type()));
  KernelText kernel, inside;
  for (const Extent& extent : {attention_.queries, attention_.keys, attention_.depth, attention_.features})
    kernel.note(extent);
  const std::string tiles = local("tiles"), head_at = local("head_at"), in = local("in"), first = local("first");
  std::string members;
  std::vector<std::string> steps;
  for (const Source& source : sources) {
    const std::string base = program_.values_of(inside, {source.base}, {})[0];
    members +=
        fmt::format("{} + {}, ", source.name, base.find_first_of(" ?") == std::string::npos ? base : "(" + base + ")");
    inside.note(source.step);
    steps.push_back(source.step.text());
    if (source.scratch)
      kernel.scratch[source.name] = type;
    else
      kernel.reads.insert(source.tensor);
  }
  // A score that is computed has its scale.
  std::string factor = log2_of_e;
  if (const Term& scale = graph_.term(attention_.scale);
      attention_.score < 0 && (scale.kind != TermKind::real || scale.real != 1))
    factor += " * (" + program_.values_of(inside, {attention_.scale}, {})[0] + ")";
  const Extent shift = attention_.causal ? attention_.shift : attention_.keys;
  inside.note(shift);
  inside.add(fmt::format("const Attended<{}> {}{{", type, in));
  inside.add(fmt::format("    {}", members.substr(0, members.size() - 1)));
  inside.add(fmt::format("    {}, {}, {}, {}, {}, {}, {}, {},", steps[0], steps[1], steps[2], attention_.queries.text(),
                         attention_.keys.text(), attention_.depth.text(), attention_.features.text(), first));
  inside.add(fmt::format("    {}, {}, {}}};", shift.text(), factor, attention_.zero_where_blind));
  const std::string row = axis_name(attention_.query_axis), key = axis_name(attention_.key_axis),
                    col = axis_name(attention_.feature_axis);
  KernelText functions;
  functions.locals = inside.locals;
  const std::string score = score_text(functions, row, key, local("sum"));
  const std::string result = result_text(functions, stage, row, col);
  const std::string queries = bracketed(attention_.queries);
  kernel.add(
      fmt::format("const int {0} = ({1} + tile_q - 1) / tile_q, {2} = blockIdx.x / {0};", tiles, queries, head_at));
  if (attention_.causal) kernel.add("// Those that see most come first.");
  const std::string tile = fmt::format("blockIdx.x % {}", tiles);
  kernel.add(fmt::format("const int {} = {} * tile_q;", first,
                         attention_.causal ? fmt::format("({} - 1 - {})", tiles, tile) : tile));
  decode_axes(kernel, head_at, batch(), inside.lines + score + result);
  kernel.lines += inside.lines;
  kernel.add(fmt::format("attend<{}, whole, {}, head_tile, head_tile_v, {}, {}, tile_q, tile_k, warps, stages, kept>(",
                         type, attention_.score >= 0, parts_, attention_.value_parts()));
  kernel.add(fmt::format("    {},", in));
  kernel.add(fmt::format("    {},", score));
  kernel.add(fmt::format("    {});", result));
  kernel.take_over(inside);
  kernel.take_over(functions);
  auto [parameters, arguments] = program_.parameters_of(
      kernel, fmt::format("{}* {}", cuda_type_of(program_.stored_as(stage.node)), program_.names_[at]));
  std::string& text = program_.kernels_text_;
  std::string shape;
  for (const Extent& extent : graph_.node(stage.node).shape) shape += (shape.empty() ? "" : ", ") + extent.text();
  text += fmt::format("// Attention of [{}]: a block has `tile_q` queries of a head\n", shape);
  text +=
      "template <bool whole, int head_tile, int head_tile_v, int tile_q, int tile_k, int warps, int stages, "
      "bool kept>\n";
  text += listed(fmt::format("__global__ void __launch_bounds__(32 * warps) {}(", program_.kernels_[at]), parameters,
                 ") {\n", 0);
  text.append(kernel.lines) += "}\n\n";
  write_launches(stage, arguments);
}

void AttentionWriter::write_launches(const Stage& stage, const std::vector<std::string>& arguments) {
  std::string& text = program_.launches_text_;
  std::string condition;
  for (const auto& [extent, width] : multiples_)
    condition += fmt::format("{}{} % {} == 0", condition.empty() ? "" : " && ", extent, width);
  const std::string kernel = program_.kernels_[static_cast<std::size_t>(stage.node)];
  for (std::size_t i = 0; i < forms_.size(); ++i) {
    const Form& form = forms_[i];
    const bool last = i + 1 == forms_.size();
    const int number = ++program_.launches_;
    const std::string blocks = fmt::format("blocks{}", number), bytes = fmt::format("bytes{}", number);
    std::string before = "  ";
    if (forms_.size() > 1) {
      std::string fits = fmt::format("{} <= {}", attention_.depth.text(), form.form.head);
      if (!(attention_.depth == attention_.features) || form.form.head != form.form.head_v)
        fits += fmt::format(" && {} <= {}", attention_.features.text(), form.form.head_v);
      text += last ? "  } else {\n" : fmt::format("  {}if ({}) {{\n", i > 0 ? "} else " : "", fits);
      before += "  ";
    }
    std::string count = fmt::format("(({0} + {1} - 1) / {1})", bracketed(attention_.queries), form.tile_q);
    for (const auto& [axis, extent] : batch()) count += " * " + bracketed(extent);
    text += fmt::format("{}const int {} = {};\n", before, blocks, count);
    const int key_pitch = form.form.parts * form.form.head + 8,
              value_pitch = form.form.value_parts * form.form.head_v + 8;
    text += fmt::format("{}const int {} = 2 * ({} * {} + {} * {} * {});\n", before, bytes, form.tile_q, key_pitch,
                        form.stages, form.tile_k, key_pitch + value_pitch);
    for (const bool whole : {true, false}) {
      if (whole ? never_whole_ : !never_whole_ && condition.empty()) continue;
      const bool both = !never_whole_ && !condition.empty();
      const std::string inner = both ? before + "  " : before;
      if (both) text += before + (whole ? fmt::format("if ({}) {{\n", condition) : "} else {\n");
      const std::string form_text =
          fmt::format("{}<{}, {}, {}, {}, {}, {}, {}, {}>", kernel, whole, form.form.head, form.form.head_v,
                      form.tile_q, form.tile_k, form.warps, form.stages, form.kept);
      text += fmt::format("{}cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});\n", inner,
                          form_text, bytes);
      text += listed(fmt::format("{}{}<<<{}, 32 * {}, {}, stream>>>(", inner, form_text, blocks, form.warps, bytes),
                     arguments, ");\n", static_cast<int>(inner.size()));
      if (both && !whole) text += before + "}\n";
    }
    if (forms_.size() > 1 && last) text += "  }\n";
  }
}

Result<void> AttentionWriter::write(const Stage& stage, const Attention& attention) {
  attention_ = attention;
  parts_ = attention.parts(graph_);
  program_.attended_.insert(attention.tile_type() == Dtype::float16 ? Arithmetic::float16 : Arithmetic::bfloat16);
  find_forms();
  const std::vector<Source> sources = {
      source_of(stage, "queries", attention.query, attention.query_axis, attention.depth_axis),
      source_of(stage, "keys", attention.key, attention.key_axis, attention.depth_axis),
      source_of(stage, "values", attention.value, attention.key_axis, attention.feature_axis)};
  name_constants();
  write_kernel(stage, sources);
  for (const Source& source : sources)
    if (source.scratch) program_.launches_text_ += fmt::format("  cudaFreeAsync({}, stream);\n", source.name);
  return {};
}

}  // namespace kw::program
