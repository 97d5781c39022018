// Reductions: a loop in each thread, or a block's threads together.

#include <fmt/format.h>

#include "agents/program/program_writer.h"
#include "agents/program/term_text.h"

namespace kw::program {
namespace {

constexpr std::int64_t numbers_of_a_part = 256;
constexpr std::int64_t most_in_floats = 20'000;  // for one thread
constexpr std::int64_t fewest_in_doubles = 16;   // more than a window of a pooling has

bool is_product(const Graph& graph, TermId body) {
  const Term& term = graph.term(body);
  if (term.kind != TermKind::operation) return false;
  if (term.op == ScalarOp::cast || term.op == ScalarOp::negate) return is_product(graph, term.parts[0]);
  if (term.op == ScalarOp::select) return is_product(graph, term.parts[1]);
  return term.op == ScalarOp::multiply;
}

std::string flat_text(const Extents& shape, const std::vector<std::string>& axes) {
  std::string text;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is(1))
      text = text.empty() ? axes[i] : fmt::format("({}) * ({}) + {}", text, shape[i].text(), axes[i]);
  return text.empty() ? "0" : text;
}

}  // namespace

std::string combination_text(Combine combine, const std::string& total, const std::string& value) {
  switch (combine) {
    case Combine::sum:
      return fmt::format("{} += {};", total, value);
    case Combine::product:
      return fmt::format("{} *= {};", total, value);
    case Combine::maximum:
      return fmt::format("{0} = greater({0}, {1});", total, value);
    case Combine::minimum:
      return fmt::format("{0} = lesser({0}, {1});", total, value);
    case Combine::any:
      return fmt::format("{0} = {0} || {1};", total, value);
    default:
      return fmt::format("{0} = {0} && {1};", total, value);
  }
}

// Reductions without memory that a term loads, as loops that leave their results in locals.
Result<std::map<TermId, std::string>> ProgramWriter::write_reductions(KernelText& kernel, TermId body,
                                                                      const Stage& stage) {
  std::map<TermId, std::string> known;
  for (const TermId each : graph_.terms_of({&body, 1})) {
    const Term& term = graph_.term(each);
    if (term.kind == TermKind::load && !schedule_.own_memory[static_cast<std::size_t>(term.node)])
      known.emplace(each, "");
  }
  for (auto& [load, name] : known) {
    const Term& from = graph_.term(load);
    const Node& node = graph_.node(from.node);
    KW_TRY(name, write_reduction(kernel, node, loop_of(node, {from.parts.begin(), from.parts.end()}), {},
                                 stage.block_an_element));
  }
  return known;
}

// At which of a thread's loops, outermost first, a part of the sum ends: its iterations add a part's numbers each.
// Where one loop alone would be too long, it is cut into strips.
ProgramWriter::PartOfSum ProgramWriter::part_of_sum(const std::vector<Extent>& loops) const {
  std::int64_t inside = 1;
  for (std::size_t i = loops.size(); i-- > 0;) {
    const auto length = loops[i].evaluate(sizes_);
    if (!length.ok()) return {};
    if (inside * *length > 2 * numbers_of_a_part)
      return {.loop = static_cast<int>(i),
              .strip = inside < numbers_of_a_part / 8 ? static_cast<int>(numbers_of_a_part / inside) : 0};
    inside *= *length;
  }
  return {};
}

// A thread's loops. Of a sum, steps that add nothing (a convolution's padding, a transposed one's gaps) are left out:
// what decides about them comes first, and the axes that it does not depend on are the inner ones. Where `in_parts`, a
// long sum is added up in parts.
ProgramWriter::OpenLoops ProgramWriter::open_loops(KernelText& kernel, const Node& node, const Loop& loop,
                                                   const Extents& shape, TermId body, bool in_parts) {
  const TermId condition = node.combine == Combine::sum ? addressing_.zero_unless(body) : -1;
  std::vector<std::size_t> deciding, others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(1)) continue;
    const bool decides = condition >= 0 && addressing_.depends_on(condition, loop.places[i]);
    (decides ? deciding : others).push_back(i);
  }
  std::vector<Extent> lengths;
  for (const auto* some : {&deciding, &others})
    for (const std::size_t i : *some) lengths.push_back(shape[i]);
  const PartOfSum cut = in_parts ? part_of_sum(lengths) : PartOfSum{};
  OpenLoops made;
  int opened = 0;
  const auto open = [&](std::size_t i) {
    const std::string name = axis_name(loop.places[i]), end = shape[i].text();
    const bool ends_part = opened++ == cut.loop;
    const std::string strip = ends_part && cut.strip > 0 ? fresh_local(kernel) : "";
    if (!strip.empty())
      kernel.add(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2}) {{", strip, end, cut.strip));
    else
      kernel.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", name, end));
    ++kernel.indent;
    if (!ends_part) return;
    open_part(kernel, made);
    if (strip.empty()) return;
    kernel.add(fmt::format("for (int {0} = {1}; {0} < {2} && {0} < {1} + {3}; ++{0}) {{", name, strip, end, cut.strip));
    ++kernel.indent;
  };
  for (const std::size_t i : deciding) open(i);
  if (condition >= 0 && !others.empty()) {
    kernel.add(fmt::format("if ({}) {{", values_of(kernel, {condition}, {})[0]));
    ++kernel.indent;
    body = addressing_.where_true(body, condition);
  }
  for (const std::size_t i : others) open(i);
  made.body = body;
  return made;
}

// The loop of a block's threads, `cut`: in parts.
ProgramWriter::OpenLoops ProgramWriter::open_block_loop(KernelText& kernel, TermId body, const std::string& step,
                                                        const std::string& type, const Extent& length, bool cut) {
  OpenLoops made{.body = body};
  std::string begin = "threadIdx.x", more;
  if (cut) {
    const std::string strip = fresh_local(kernel);
    const std::int64_t strip_length = numbers_of_a_part * threads_of_block;
    kernel.add(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, strip, length.text(), strip_length));
    ++kernel.indent;
    open_part(kernel, made);
    begin = strip + " + threadIdx.x";
    more = fmt::format(" && {} - {} < {}", step, strip, strip_length);
  }
  kernel.add(fmt::format("for ({0} {1} = {2}; {1} < {3}{4}; {1} += {5}) {{", type, step, begin, length.text(), more,
                         threads_of_block));
  ++kernel.indent;
  return made;
}

void ProgramWriter::open_part(KernelText& kernel, OpenLoops& loops) {
  loops.part = fresh_local(kernel);
  loops.part_indent = kernel.indent;
  kernel.add(fmt::format("float {} = 0.0f;", loops.part));
}

// `outer`: what stands for the axes of its elements.
ProgramWriter::Loop ProgramWriter::loop_of(const Node& node, std::vector<TermId> outer) {
  Loop loop;
  for (std::size_t i = 0; i < node.over.size(); ++i) {
    loop.places.push_back(first_inner_axis + next_inner_++);
    outer.push_back(graph_.axis(static_cast<int>(loop.places.back())));
  }
  loop.body = addressing_.resolved(graph_.substitute(node.body, outer));
  return loop;
}

// A float that adds thousands of numbers one after the other loses its last digits: the error grows with their number,
// that of parts with the root of it. Numbers that are added as they are read come slower than doubles are added, and
// their mean has to be right to the last digit: a norm divides what is left of equal values by almost nothing.
ProgramWriter::Adding ProgramWriter::adding_of(const Node& node, TermId body, bool block) const {
  const auto steps = elements_of(node.over).evaluate(sizes_);
  if (node.combine != Combine::sum || graph_.term(node.body).dtype != Dtype::float32 || !steps.ok())
    return Adding::plain;
  const std::int64_t of_a_thread = *steps / (block ? threads_of_block : 1);
  if (of_a_thread > most_in_floats || (*steps >= fewest_in_doubles && !is_product(graph_, body)))
    return Adding::in_double;
  return of_a_thread > 2 * numbers_of_a_part ? Adding::in_parts : Adding::plain;
}

Result<std::string> ProgramWriter::write_reduction(KernelText& kernel, const Node& node, const Loop& loop,
                                                   const AxisMap& outer, bool block) {
  const bool place = node.combine == Combine::argmax || node.combine == Combine::argmin;
  const Dtype type = graph_.term(node.body).dtype;
  const Extent length = elements_of(node.over);
  const Adding adding = adding_of(node, loop.body, block);
  const bool wide = adding == Adding::in_double, in_parts = adding == Adding::in_parts;
  const std::string total = fresh_local(kernel);
  const std::string best = place ? fresh_local(kernel) : "";
  const std::string start = number_text(graph_.term(identity_of(graph_, node.combine, type)));
  kernel.add(fmt::format("{} {} = {};", wide ? "double" : std::string(cuda_type_of(type)), total, start));
  if (place) kernel.add(fmt::format("int {} = {};", best, block ? "2147483647" : "0"));
  JoinedAxes space = addressing_.joined({loop.body}, loop.places, node.over);
  space.axes.insert(outer.begin(), outer.end());
  const TermId body = addressing_.addressed(loop.body, space.axes);
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < space.shape.size(); ++i) {
    axes.push_back(axis_name(loop.places[i]));
    kernel.note(space.shape[i]);
  }
  const int indent = kernel.indent;
  const std::string step = fresh_local(kernel);
  OpenLoops loops{.body = body};
  if (block) {
    const std::string type_name = is_large(length) ? "long long" : "int";
    loops = open_block_loop(kernel, body, step, type_name, length, in_parts);
    decode(kernel, step, type_name, space.shape, axes);
  } else {
    loops = open_loops(kernel, node, loop, space.shape, body, in_parts);
    if (place) kernel.add(fmt::format("const int {} = {};", step, flat_text(space.shape, axes)));
  }
  write_step(kernel, node, loops.part.empty() ? total : loops.part, best, step, values_of(kernel, {loops.body}, {})[0]);
  while (kernel.indent > indent) {
    if (kernel.indent == loops.part_indent) kernel.add(fmt::format("{} += {};", total, loops.part));
    --kernel.indent;
    kernel.add("}");
  }
  if (!block) return place ? "(long long)" + best : wide ? "(float)" + total : total;
  return write_block_sum(kernel, node, wide ? Dtype::float64 : type, total, best, wide);
}

// One more value is combined with what there is.
void ProgramWriter::write_step(KernelText& kernel, const Node& node, const std::string& total, const std::string& best,
                               const std::string& step, const std::string& value) const {
  if (best.empty()) return kernel.add(combination_text(node.combine, total, value));
  const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
  kernel.add(fmt::format("const {} candidate = {};", cuda_type_of(graph_.term(node.body).dtype), value));
  kernel.add(fmt::format("if ({3}(candidate, {2}, {0}, {1})) {0} = candidate, {1} = {2};", total, best, step, better));
}

std::string ProgramWriter::write_block_sum(KernelText& kernel, const Node& node, Dtype type, const std::string& total,
                                           const std::string& best, bool wide) {
  const bool place = !best.empty();
  const std::string partial = fresh_local(kernel), places = place ? fresh_local(kernel) : "",
                    made = fresh_local(kernel);
  kernel.add(fmt::format("__shared__ {} {}[{}];", cuda_type_of(type), partial, threads_of_block));
  if (place) kernel.add(fmt::format("__shared__ int {}[{}];", places, threads_of_block));
  kernel.add(fmt::format("{}[threadIdx.x] = {};", partial, total));
  if (place) kernel.add(fmt::format("{}[threadIdx.x] = {};", places, best));
  kernel.add("__syncthreads();");
  kernel.add(fmt::format("for (int width = {}; width > 0; width /= 2) {{", threads_of_block / 2));
  kernel.add("  if (threadIdx.x < width) {");
  if (place) {
    const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
    kernel.add(fmt::format("    if ({0}({1}[threadIdx.x + width], {2}[threadIdx.x + width], {1}[threadIdx.x],", better,
                           partial, places));
    kernel.add(fmt::format("            {}[threadIdx.x])) {{", places));
    kernel.add(fmt::format("      {0}[threadIdx.x] = {0}[threadIdx.x + width];", partial));
    kernel.add(fmt::format("      {0}[threadIdx.x] = {0}[threadIdx.x + width];", places));
    kernel.add("    }");
  } else {
    kernel.add("    " + combination_text(node.combine, partial + "[threadIdx.x]", partial + "[threadIdx.x + width]"));
  }
  kernel.add("  }");
  kernel.add("  __syncthreads();");
  kernel.add("}");
  const Dtype result = place ? Dtype::int64 : wide ? Dtype::float32 : type;
  kernel.add(fmt::format("const {} {} = {}[0];", cuda_type_of(result), made, place ? places : partial));
  return made;
}

}  // namespace kw::program
