// Reductions: a loop in each thread, or a block's threads together.

#include <fmt/format.h>

#include "agents/program/program_writer.h"
#include "agents/program/term_text.h"

namespace kw::program {
namespace {

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
  std::set<TermId> seen{body};
  std::vector<TermId> reached{body};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Term& term = graph_.term(reached[i]);
    if (term.kind == TermKind::load && !schedule_.own_memory[static_cast<std::size_t>(term.node)])
      known.emplace(reached[i], "");
    for (const TermId part : term.parts)
      if (seen.insert(part).second) reached.push_back(part);
  }
  for (auto& [load, name] : known) {
    const Term from = graph_.term(load);
    const Node node = graph_.node(from.node);
    KW_TRY(name, write_reduction(kernel, node, loop_of(node, from.parts), {}, stage.block_an_element));
  }
  return known;
}

// A thread's loops. Of a sum, steps that add nothing (a convolution's padding, a transposed one's gaps) are left out:
// what decides about them comes first, and the axes that it does not depend on are the inner ones.
TermId ProgramWriter::open_loops(KernelText& kernel, const Node& node, const Loop& loop, const Extents& shape,
                                 TermId body) {
  const TermId condition = node.combine == Combine::sum ? addressing_.zero_unless(body) : -1;
  std::vector<std::size_t> deciding, others;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is(1)) continue;
    const bool decides = condition >= 0 && addressing_.depends_on(condition, loop.places[i]);
    (decides ? deciding : others).push_back(i);
  }
  const auto open = [&](std::size_t i) {
    kernel.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", axis_name(loop.places[i]), shape[i].text()));
    ++kernel.indent;
  };
  for (const std::size_t i : deciding) open(i);
  if (condition >= 0 && !others.empty()) {
    kernel.add(fmt::format("if ({}) {{", values_of(kernel, {condition}, {})[0]));
    ++kernel.indent;
    body = addressing_.where_true(body, condition);
  }
  for (const std::size_t i : others) open(i);
  return body;
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

Result<std::string> ProgramWriter::write_reduction(KernelText& kernel, const Node& node, const Loop& loop,
                                                   const AxisMap& outer, bool block) {
  const bool place = node.combine == Combine::argmax || node.combine == Combine::argmin;
  const Dtype type = graph_.term(node.body).dtype;
  const Extent length = elements_of(node.over);
  // A float that sums a hundred thousand numbers one after the other has lost the last of its digits.
  const auto steps = length.evaluate(sizes_);
  const bool wide = node.combine == Combine::sum && type == Dtype::float32 && steps.ok() &&
                    *steps / (block ? threads_of_block : 1) > 20'000;
  const std::string total = fresh_local(kernel);
  const std::string best = place ? fresh_local(kernel) : "";
  const std::string start = number_text(graph_.term(identity_of(graph_, node.combine, type)));
  kernel.add(fmt::format("{} {} = {};", wide ? "double" : std::string(cuda_type_of(type)), total, start));
  if (place) kernel.add(fmt::format("int {} = {};", best, block ? "2147483647" : "0"));
  JoinedAxes space = addressing_.joined({loop.body}, loop.places, node.over);
  space.axes.insert(outer.begin(), outer.end());
  TermId body = addressing_.addressed(loop.body, space.axes);
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < space.shape.size(); ++i) {
    axes.push_back(axis_name(loop.places[i]));
    kernel.note(space.shape[i]);
  }
  const int indent = kernel.indent;
  const std::string step = fresh_local(kernel);
  if (block) {
    const std::string type_name = is_large(length) ? "long long" : "int";
    kernel.add(fmt::format("for ({0} {1} = threadIdx.x; {1} < {2}; {1} += {3}) {{", type_name, step, length.text(),
                           threads_of_block));
    ++kernel.indent;
    decode(kernel, step, type_name, space.shape, axes);
  } else {
    body = open_loops(kernel, node, loop, space.shape, body);
    if (place) kernel.add(fmt::format("const int {} = {};", step, flat_text(space.shape, axes)));
  }
  write_step(kernel, node, total, best, step, values_of(kernel, {body}, {})[0]);
  while (kernel.indent > indent) {
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
