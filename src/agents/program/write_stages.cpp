// One kernel for each kind of node that has memory of its own.

#include <fmt/format.h>

#include "agents/program/attention_writer.h"
#include "agents/program/contraction_writer.h"
#include "agents/program/joined_text.h"
#include "agents/program/program_writer.h"
#include "agents/program/term_text.h"

namespace kw::program {

std::string axis_name(std::int64_t place) {
  return place >= first_inner_axis ? "k" + std::to_string(place - first_inner_axis) : "i" + std::to_string(place);
}

std::string stored_text(const std::string& value, Dtype computed, Dtype stored) {
  if (computed == stored) return value;
  if (stored == Dtype::float16)
    return fmt::format("__float2half({}({}))", computed == Dtype::float32 ? "" : "(float)", value);
  if (stored == Dtype::bfloat16)
    return fmt::format("__float2bfloat16({}({}))", computed == Dtype::float32 ? "" : "(float)", value);
  if (stored == Dtype::boolean) return fmt::format("({}) != 0", value);
  return fmt::format("({})({})", cuda_type_of(stored), value);
}

std::vector<std::string> ProgramWriter::values_of(KernelText& kernel, const std::vector<TermId>& terms,
                                                  const std::map<TermId, std::string>& known) {
  TermNames names;
  names.axis = [&](std::int64_t place) {
    kernel.axes.insert(place);
    return axis_name(place);
  };
  names.local = [&] { return fresh_local(kernel); };
  names.element = [&](const Term& load, const std::string& offset) {
    return element_text(kernel, load, offset, known);
  };
  note_sizes(kernel, terms);
  TermText text = write_terms(graph_, terms, names);
  for (const std::string& line : text.lines) kernel.add(line);
  return text.values;
}

std::string ProgramWriter::fresh_local(KernelText& kernel) {
  std::string name;
  do {
    name = "v" + std::to_string(kernel.locals++);
  } while (taken_.contains(name));
  return name;
}

void ProgramWriter::note_sizes(KernelText& kernel, const std::vector<TermId>& terms) const {
  for (const TermId each : graph_.terms_of(terms))
    if (graph_.term(each).kind == TermKind::extent) kernel.note(graph_.term(each).extent);
}

std::string ProgramWriter::element_text(KernelText& kernel, const Term& load, const std::string& offset,
                                        const std::map<TermId, std::string>& known) {
  for (const auto& [term, name] : known)
    if (graph_.term(term).node == load.node && graph_.term(term).parts == load.parts) return name;
  kernel.reads.insert(load.node);
  const Node& node = graph_.node(load.node);
  const bool scalar = node.kind == NodeKind::input && node.shape.empty();
  const std::string& name = names_[static_cast<std::size_t>(load.node)];
  const std::string text = scalar ? name : joined_text(name, "[", offset, "]");
  const Dtype stored = stored_as(load.node);
  if (stored == Dtype::float16) return "__half2float(" + text + ")";
  if (stored == Dtype::bfloat16) return "__bfloat162float(" + text + ")";
  if (stored != load.dtype) return joined_text("((", cuda_type_of(load.dtype), ")", text, ")");
  return text;
}

// The element's own axes. Those that all loads read in the order of memory become one.
JoinedAxes ProgramWriter::joined_space(const std::vector<TermId>& roots, const Extents& shape) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < shape.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
  return addressing_.joined(roots, places, shape);
}

Result<void> ProgramWriter::write_stage(const Stage& stage) {
  const Node& node = graph_.node(stage.node);
  if (node.kind == NodeKind::scatter) return write_scatter(stage);
  if (node.kind == NodeKind::scan) return write_scan(stage);
  if (const auto found = attentions_.find(stage.node); found != attentions_.end())
    return AttentionWriter(*this).write(stage, found->second);
  KW_TRY(const bool contracted, ContractionWriter(*this).write(stage));
  if (contracted) return {};
  KernelText body;
  next_inner_ = 0;
  std::string value;
  Dtype computed = graph_.term(node.body).dtype;
  JoinedAxes space;
  if (node.kind == NodeKind::reduce) {
    std::vector<TermId> axes;
    for (std::size_t i = 0; i < node.shape.size(); ++i) axes.push_back(graph_.axis(static_cast<int>(i)));
    const Loop loop = loop_of(node, std::move(axes));
    space = joined_space({loop.body}, node.shape);
    KW_TRY(value, write_reduction(body, node, loop, space.axes, stage.block_an_element));
    if (node.combine == Combine::argmax || node.combine == Combine::argmin) computed = Dtype::int64;
  } else {
    const TermId resolved = addressing_.resolved(node.body);
    space = joined_space({resolved}, node.shape);
    const TermId root = addressing_.addressed(resolved, space.axes);
    computed = graph_.term(root).dtype;
    KW_TRY(const auto known, write_reductions(body, root, stage));
    value = values_of(body, {root}, known)[0];
  }
  const std::string target = names_[static_cast<std::size_t>(stage.node)] + "[at]";
  const std::string store = joined_text(target, " = ", stored_text(value, computed, stored_as(stage.node)), ";");
  body.add(stage.block_an_element ? "if (threadIdx.x == 0) " + store : store);
  finish(stage, body, space.shape, stage.block_an_element);
  return {};
}

Result<void> ProgramWriter::write_scan(const Stage& stage) {
  const Node& node = graph_.node(stage.node);
  const bool place = node.combine == Combine::argmax || node.combine == Combine::argmin;
  KernelText body;
  next_inner_ = 0;
  const auto axis = static_cast<std::size_t>(node.axis);
  const Dtype type = graph_.term(node.body).dtype;
  const std::string step = fmt::format("i{}", axis), total = fresh_local(body), best = place ? fresh_local(body) : "";
  const TermId element = addressing_.addressed(addressing_.resolved(node.body), {});
  body.add(fmt::format("{} {} = {};", cuda_type_of(type), total,
                       number_text(graph_.term(identity_of(graph_, node.combine, type)))));
  if (place) body.add(fmt::format("int {} = 0;", best));
  body.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", step, node.shape[axis].text()));
  body.note(node.shape[axis]);
  ++body.indent;
  const std::string value = values_of(body, {element}, {})[0];
  if (place) {
    const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
    body.add(fmt::format("const {} candidate = {};", cuda_type_of(type), value));
    body.add(fmt::format("if (candidate == {0} || {3}(candidate, {2}, {0}, {1})) {0} = candidate, {1} = {2};", total,
                         best, step, better));
  } else {
    body.add(combination_text(node.combine, total, value));
  }
  std::vector<TermId> parts;
  // An axis of one element has no name in the kernel, but for the one that is walked along.
  for (std::size_t i = 0; i < node.shape.size(); ++i)
    parts.push_back(i != axis && node.shape[i].is(1) ? graph_.whole(0) : graph_.axis(static_cast<int>(i)));
  const Dtype wide = is_large(elements_of(node.shape)) ? Dtype::int64 : Dtype::int32;
  TermId offset = graph_.cast(parts[0], wide);
  for (std::size_t i = 1; i < parts.size(); ++i)
    offset = graph_.apply(ScalarOp::add, graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i], wide)),
                          graph_.cast(parts[i], wide));
  const std::string at = values_of(body, {offset}, {})[0];
  const std::string result = place ? "(long long)" + best : total;
  body.add(fmt::format("{}[{}] = {};", names_[static_cast<std::size_t>(stage.node)], at,
                       stored_text(result, place ? Dtype::int64 : type, stored_as(stage.node))));
  --body.indent;
  body.add("}");
  Extents rows = node.shape;
  rows[axis] = Extent(1);
  body.axes.erase(static_cast<std::int64_t>(axis));
  finish(stage, body, rows, false);
  return {};
}

Result<void> ProgramWriter::write_scatter(const Stage& stage) {
  const Node& node = graph_.node(stage.node);
  const Dtype stored = stored_as(stage.node);
  const auto at = static_cast<std::size_t>(stage.node);
  const std::string name = kernels_[at];
  KernelText fill;
  next_inner_ = 0;
  const TermId first = addressing_.resolved(node.initial);
  const JoinedAxes all = joined_space({first}, node.shape);
  const TermId initial = addressing_.addressed(first, all.axes);
  const std::string begin = values_of(fill, {initial}, {})[0];
  fill.add(fmt::format("{}[at] = {};", names_[at], stored_text(begin, graph_.term(initial).dtype, stored)));
  kernels_[at] = fresh(name + "_fill");
  finish(stage, fill, all.shape, false);
  kernels_[at] = name;
  KernelText body;
  std::vector<TermId> resolved{addressing_.resolved(node.body)};
  for (const TermId index : node.target) resolved.push_back(addressing_.resolved(index));
  const JoinedAxes space = joined_space(resolved, node.over);
  TermId offset = -1;
  for (std::size_t i = 0; i < node.target.size(); ++i) {
    const TermId index = addressing_.addressed(resolved[i + 1], space.axes);
    offset = offset < 0 ? index
                        : graph_.apply(ScalarOp::add,
                                       graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i])), index);
  }
  const TermId update = addressing_.addressed(resolved[0], space.axes);
  const std::vector<std::string> both = values_of(body, {offset < 0 ? graph_.whole(0) : offset, update}, {});
  const std::string value = stored_text(both[1], graph_.term(update).dtype, stored);
  KW_TRY(const std::string line, scatter_text(node, stored, names_[at] + "[" + both[0] + "]", value));
  body.add(line);
  finish(stage, body, space.shape, false);
  return {};
}

Result<std::string> ProgramWriter::scatter_text(const Node& node, Dtype stored, const std::string& target,
                                                const std::string& value) const {
  const bool wide = stored == Dtype::int64;
  if (node.combine == Combine::replace) return fmt::format("{} = {};", target, value);
  if (node.combine == Combine::sum && wide)
    return fmt::format("atomicAdd((unsigned long long*)&{}, (unsigned long long)({}));", target, value);
  if (node.combine == Combine::sum) return fmt::format("atomicAdd(&{}, {});", target, value);
  const bool extreme = node.combine == Combine::maximum || node.combine == Combine::minimum;
  if (extreme && !is_floating_point(stored))
    return fmt::format("{}(&{}, {});", node.combine == Combine::maximum ? "atomicMax" : "atomicMin", target, value);
  return Error{fmt::format("the library does not write `{}` by {} of {}", node.operation, name_of(node.combine),
                           name_of(stored)),
               "",
               {}};
}

}  // namespace kw::program
