#include "agents/program/write_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agents/program/device_functions.h"
#include "agents/program/schedule.h"
#include "agents/program/term_text.h"

namespace kw::program {
namespace {

constexpr std::size_t widest_line = 110;
constexpr int threads = 256;

// `begin(a, b, c)end` over as many lines as it takes.
std::string listed(const std::string& begin, const std::vector<std::string>& items, const std::string& end,
                   int indent) {
  std::string text = begin, line;
  std::size_t width = begin.size() + static_cast<std::size_t>(indent);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    if (i > 0 && width + item.size() + 1 > widest_line) {
      text += "\n" + std::string(static_cast<std::size_t>(indent) + 4, ' ');
      width = static_cast<std::size_t>(indent) + 4;
    } else if (i > 0) {
      text += " ";
      ++width;
    }
    text += item;
    width += item.size();
  }
  return text + end;
}

class Writer {
 public:
  Writer(const Task& task, Graph graph) : task_(task), graph_(std::move(graph)) {
    for (const Parameter& parameter : task.parameters()) taken_.insert(parameter.name);
    for (const char* word : {"threadIdx", "blockIdx", "blockDim", "at", "elements", "partial", "total", "stream"})
      taken_.insert(word);
    sizes_ = task.sizes_train.empty() ? Sizes{} : task.sizes_train[0];
  }

  Result<std::string> write() {
    soften_outputs();
    schedule_ = make_schedule(graph_, sizes_);
    name_tensors();
    for (const Stage& stage : schedule_.stages) KW_TRY_VOID(write_stage(stage));
    if (graph_.beyond_limits()) return Error{"the program is too large for the library", "", {}};
    return file();
  }

 private:
  // Atomic sums need a type that has them: half types and bytes are summed in float and int, and cast behind.
  void soften_outputs() {
    for (NodeId& output : graph_.outputs) {
      const Node from = graph_.node(output);
      if (from.kind != NodeKind::scatter || bytes_of(from.dtype) >= 4) continue;
      Node cast;
      cast.dtype = from.dtype;
      cast.shape = from.shape;
      cast.operation = "output";
      std::vector<TermId> at;
      for (std::size_t i = 0; i < from.shape.size(); ++i) at.push_back(graph_.axis(static_cast<int>(i)));
      cast.body = graph_.load(output, at);
      output = graph_.add(std::move(cast));
    }
  }

  std::string fresh(std::string name) {
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

  static std::string word_of(const std::string& operation) {
    std::string made;
    for (const char c : operation)
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') made += c;
    return made.empty() ? "stage" : made;
  }

  void name_tensors() {
    names_.resize(graph_.node_count());
    kernels_.resize(graph_.node_count());
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node(static_cast<NodeId>(i));
      if (node.kind == NodeKind::input) names_[i] = node.operation;
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      names_[static_cast<std::size_t>(graph_.outputs[i])] = task_.outputs[i].name;
    for (const Stage& stage : schedule_.stages) {
      const auto at = static_cast<std::size_t>(stage.node);
      const std::string word = word_of(graph_.node(stage.node).operation);
      if (names_[at].empty()) names_[at] = fresh(fmt::format("{}_{}", word, stage.node));
      kernels_[at] = fresh(fmt::format("{}_stage{}", word, stage.node));
    }
  }

  bool is_output(NodeId id) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
  }

  // Scratch keeps what a kernel computes, so that half types are rounded once, at the end.
  Dtype stored_as(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::input || is_output(id)) return node.dtype;
    if (node.kind == NodeKind::scatter && bytes_of(node.dtype) < 4 && !is_floating_point(node.dtype))
      return Dtype::int32;
    return computed_as(node.dtype);
  }

  bool is_large(const Extent& count) const {
    for (const Sizes& sizes : task_.all_sizes()) {
      const auto value = count.evaluate(sizes);
      if (!value.ok() || *value > max_tensor_elements) return true;
    }
    return false;
  }

  // ---- From a node's body to a term whose loads are of memory ----

  // Loads of nodes without memory are replaced by what those compute; offsets take the place of indices. A reduction
  // without memory stays a load, with its indices: it becomes a loop.
  TermId inlined(TermId id, std::map<TermId, TermId>& done) {
    if (graph_.beyond_limits()) return 0;
    if (const auto found = done.find(id); found != done.end()) return found->second;
    const Term from = graph_.term(id);
    TermId made = id;
    if (from.kind == TermKind::operation) {
      std::vector<TermId> parts;
      for (const TermId part : from.parts) parts.push_back(inlined(part, done));
      if (from.op == ScalarOp::select)
        made = graph_.select(parts[0], parts[1], parts[2]);
      else if (from.op == ScalarOp::cast)
        made = graph_.cast(parts[0], from.dtype);
      else
        made = graph_.apply(from.op, parts[0], parts.size() > 1 ? parts[1] : -1);
    } else if (from.kind == TermKind::load) {
      made = inlined_load(from, done);
    }
    done.emplace(id, made);
    return made;
  }

  TermId inlined_load(const Term& from, std::map<TermId, TermId>& done) {
    const std::size_t rank = from.parts.size() - (from.guarded ? 1 : 0);
    const std::vector<TermId> indices(from.parts.begin(), from.parts.begin() + static_cast<std::ptrdiff_t>(rank));
    const Node& node = graph_.node(from.node);
    if (!schedule_.own_memory[static_cast<std::size_t>(from.node)] && node.kind == NodeKind::map) {
      const TermId guard = from.guarded ? from.parts.back() : -1;
      TermId made = graph_.substitute(node.body, indices, guard);
      if (guard >= 0) {
        const Dtype type = graph_.term(made).dtype;
        made = graph_.select(guard, made, is_floating_point(type) ? graph_.real(0, type) : graph_.whole(0, type));
      }
      return inlined(made, done);
    }
    std::vector<TermId> parts;
    for (const TermId index : indices) parts.push_back(inlined(index, done));
    const TermId guard = from.guarded ? inlined(from.parts.back(), done) : -1;
    if (!schedule_.own_memory[static_cast<std::size_t>(from.node)]) return graph_.load(from.node, parts, guard);
    const Dtype type = is_large(elements_of(node.shape)) ? Dtype::int64 : Dtype::int32;
    TermId offset = -1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const TermId index = graph_.cast(parts[i], type);
      if (offset < 0)
        offset = index;
      else
        offset = graph_.apply(ScalarOp::add,
                              graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i], type)), index);
    }
    return graph_.load(from.node, offset < 0 ? std::vector<TermId>{} : std::vector<TermId>{offset}, guard);
  }

  // ---- Kernels ----

  struct Kernel {
    std::vector<std::string> lines;
    std::set<NodeId> reads;
    std::set<std::string> sizes;
    std::set<std::int64_t> axes;
    int locals = 0;
    int indent = 1;
    void add(const std::string& line) {
      lines.push_back(std::string(static_cast<std::size_t>(indent) * 2, ' ') + line);
    }
  };

  static constexpr std::int64_t first_inner = 1000;  // axes of reductions inside of a stage

  static std::string axis_name(std::int64_t place) {
    return place >= first_inner ? fmt::format("k{}", place - first_inner) : fmt::format("i{}", place);
  }

  void note(Kernel& kernel, const Extent& extent) {
    for (const std::string& name : extent.names()) kernel.sizes.insert(name);
  }

  std::vector<std::string> values_of(Kernel& kernel, const std::vector<TermId>& terms,
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

  std::string fresh_local(Kernel& kernel) {
    std::string name;
    do {
      name = fmt::format("v{}", kernel.locals++);
    } while (taken_.contains(name));
    return name;
  }

  void note_sizes(Kernel& kernel, const std::vector<TermId>& terms) {
    std::set<TermId> seen;
    std::vector<TermId> open = terms;
    while (!open.empty()) {
      const TermId at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (graph_.term(at).kind == TermKind::extent) note(kernel, graph_.term(at).extent);
      open.insert(open.end(), graph_.term(at).parts.begin(), graph_.term(at).parts.end());
    }
  }

  std::string element_text(Kernel& kernel, const Term& load, const std::string& offset,
                           const std::map<TermId, std::string>& known) {
    for (const auto& [term, name] : known)
      if (graph_.term(term).node == load.node && graph_.term(term).parts == load.parts) return name;
    kernel.reads.insert(load.node);
    const Node& node = graph_.node(load.node);
    const bool scalar = node.kind == NodeKind::input && node.shape.empty();
    std::string text = names_[static_cast<std::size_t>(load.node)] + (scalar ? "" : "[" + offset + "]");
    const Dtype stored = stored_as(load.node);
    if (stored == Dtype::float16) return "__half2float(" + text + ")";
    if (stored == Dtype::bfloat16) return "__bfloat162float(" + text + ")";
    if (stored != load.dtype) return fmt::format("(({}){})", cuda_type_of(load.dtype), text);
    return text;
  }

  static std::string stored_text(const std::string& value, Dtype computed, Dtype stored) {
    if (computed == stored) return value;
    if (stored == Dtype::float16)
      return fmt::format("__float2half({}({}))", computed == Dtype::float32 ? "" : "(float)", value);
    if (stored == Dtype::bfloat16)
      return fmt::format("__float2bfloat16({}({}))", computed == Dtype::float32 ? "" : "(float)", value);
    if (stored == Dtype::boolean) return fmt::format("({}) != 0", value);
    return fmt::format("({})({})", cuda_type_of(stored), value);
  }

  // Reductions without memory that a term loads, as loops that leave their results in locals.
  Result<std::map<TermId, std::string>> write_reductions(Kernel& kernel, TermId body, const Stage& stage) {
    std::map<TermId, std::string> known;
    std::set<TermId> seen;
    std::vector<TermId> open{body};
    while (!open.empty()) {
      const TermId at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      const Term& term = graph_.term(at);
      if (term.kind == TermKind::load && !schedule_.own_memory[static_cast<std::size_t>(term.node)])
        known.emplace(at, "");
      open.insert(open.end(), term.parts.begin(), term.parts.end());
    }
    for (auto& [load, name] : known) {
      const Term from = graph_.term(load);
      KW_TRY(name, write_reduction(kernel, graph_.node(from.node), from.parts, stage.block_an_element));
    }
    return known;
  }

  static std::string combined(Combine combine, const std::string& total, const std::string& value) {
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

  Result<std::string> write_reduction(Kernel& kernel, const Node& node, std::vector<TermId> outer, bool block) {
    const bool place = node.combine == Combine::argmax || node.combine == Combine::argmin;
    Dtype type = graph_.term(node.body).dtype;
    const Extent length = elements_of(node.over);
    // A float that sums a hundred thousand numbers one after the other has lost the last of its digits.
    const auto steps = length.evaluate(sizes_);
    const bool wide =
        node.combine == Combine::sum && type == Dtype::float32 && steps.ok() && *steps / (block ? threads : 1) > 20'000;
    const std::string total = fresh_local(kernel);
    const std::string best = place ? fresh_local(kernel) : "";
    Graph& graph = graph_;
    const std::string start = number_text(graph.term(identity_of(graph, node.combine, type)));
    kernel.add(fmt::format("{} {} = {};", wide ? "double" : std::string(cuda_type_of(type)), total, start));
    if (place) kernel.add(fmt::format("int {} = {};", best, block ? "2147483647" : "0"));
    std::vector<std::string> axes;
    for (std::size_t i = 0; i < node.over.size(); ++i) {
      const std::int64_t own = first_inner + next_inner_++;
      outer.push_back(graph.axis(static_cast<int>(own)));
      axes.push_back(axis_name(own));
      note(kernel, node.over[i]);
    }
    std::map<TermId, TermId> done;
    const TermId body = inlined(graph.substitute(node.body, outer), done);
    const int indent = kernel.indent;
    const std::string step = place ? fresh_local(kernel) : fresh_local(kernel);
    if (block) {
      const std::string type_name = is_large(length) ? "long long" : "int";
      kernel.add(fmt::format("for ({0} {1} = threadIdx.x; {1} < {2}; {1} += {3}) {{", type_name, step, length.text(),
                             threads));
      ++kernel.indent;
      decode(kernel, step, type_name, node.over, axes);
    } else {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (node.over[i].is(1)) continue;
        kernel.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", axes[i], node.over[i].text()));
        ++kernel.indent;
      }
      if (place) kernel.add(fmt::format("const int {} = {};", step, flat_text(node.over, axes)));
    }
    const std::string value = values_of(kernel, {body}, {})[0];
    if (place) {
      kernel.add(fmt::format("const {} candidate = {};", cuda_type_of(type), value));
      const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
      kernel.add(fmt::format("if ({3}(candidate, {4}, {0}, {1})) {0} = candidate, {1} = {2};", total, best, step,
                             better, step));
    } else {
      kernel.add(combined(node.combine, total, value));
    }
    while (kernel.indent > indent) {
      --kernel.indent;
      kernel.add("}");
    }
    if (!block) return place ? "(long long)" + best : wide ? "(float)" + total : total;
    return write_block_sum(kernel, node, wide ? Dtype::float64 : type, total, best, wide);
  }

  static std::string flat_text(const Extents& shape, const std::vector<std::string>& axes) {
    std::string text;
    for (std::size_t i = 0; i < shape.size(); ++i)
      text = text.empty() ? axes[i] : fmt::format("({}) * ({}) + {}", text, shape[i].text(), axes[i]);
    return text.empty() ? "0" : text;
  }

  std::string write_block_sum(Kernel& kernel, const Node& node, Dtype type, const std::string& total,
                              const std::string& best, bool wide) {
    const bool place = !best.empty();
    const std::string partial = fresh_local(kernel), places = place ? fresh_local(kernel) : "",
                      made = fresh_local(kernel);
    kernel.add(fmt::format("__shared__ {} {}[{}];", cuda_type_of(type), partial, threads));
    if (place) kernel.add(fmt::format("__shared__ int {}[{}];", places, threads));
    kernel.add(fmt::format("{}[threadIdx.x] = {};", partial, total));
    if (place) kernel.add(fmt::format("{}[threadIdx.x] = {};", places, best));
    kernel.add("__syncthreads();");
    kernel.add(fmt::format("for (int width = {}; width > 0; width /= 2) {{", threads / 2));
    kernel.add("  if (threadIdx.x < width) {");
    if (place) {
      const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
      kernel.add(fmt::format("    if ({0}({1}[threadIdx.x + width], {2}[threadIdx.x + width], {1}[threadIdx.x],",
                             better, partial, places));
      kernel.add(fmt::format("            {}[threadIdx.x])) {{", places));
      kernel.add(fmt::format("      {0}[threadIdx.x] = {0}[threadIdx.x + width];", partial));
      kernel.add(fmt::format("      {0}[threadIdx.x] = {0}[threadIdx.x + width];", places));
      kernel.add("    }");
    } else {
      kernel.add("    " + combined(node.combine, partial + "[threadIdx.x]", partial + "[threadIdx.x + width]"));
    }
    kernel.add("  }");
    kernel.add("  __syncthreads();");
    kernel.add("}");
    const Dtype result = place ? Dtype::int64 : wide ? Dtype::float32 : type;
    kernel.add(fmt::format("const {} {} = {}[0];", cuda_type_of(result), made, place ? places : partial));
    return made;
  }

  // `const int i1 = at % cols;` for each axis of a space from a flat place in it.
  void decode(Kernel& kernel, const std::string& flat, const std::string& type, const Extents& shape,
              const std::vector<std::string>& axes, const std::set<std::size_t>* wanted = nullptr) {
    std::string rest = flat;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i].is(1)) continue;
      bool first = true;
      for (std::size_t k = 0; k < i; ++k) first = first && shape[k].is(1);
      const std::string extent = "(" + shape[i].text() + ")";
      const bool used = wanted == nullptr || wanted->contains(i);
      note(kernel, shape[i]);
      if (used) kernel.add(fmt::format("const int {} = {};", axes[i], first ? rest : rest + " % " + extent));
      if (first) break;
      bool more = false;
      for (std::size_t k = 0; k < i; ++k) more = more || wanted == nullptr || wanted->contains(k);
      if (!more) break;
      const std::string next = fresh_local(kernel);
      kernel.add(fmt::format("const {} {} = {} / {};", type, next, rest, extent));
      rest = next;
    }
  }

  Result<void> write_stage(const Stage& stage) {
    const Node node = graph_.node(stage.node);
    if (node.kind == NodeKind::scatter) return write_scatter(stage);
    if (node.kind == NodeKind::scan) return write_scan(stage);
    Kernel body;
    next_inner_ = 0;
    std::vector<TermId> axes;
    for (std::size_t i = 0; i < node.shape.size(); ++i) axes.push_back(graph_.axis(static_cast<int>(i)));
    std::string value;
    Dtype computed = graph_.term(node.body).dtype;
    if (node.kind == NodeKind::reduce) {
      KW_TRY(value, write_reduction(body, node, axes, stage.block_an_element));
      if (node.combine == Combine::argmax || node.combine == Combine::argmin) computed = Dtype::int64;
      note_axes(body, node);
    } else {
      std::map<TermId, TermId> done;
      const TermId root = inlined(node.body, done);
      computed = graph_.term(root).dtype;
      KW_TRY(const auto known, write_reductions(body, root, stage));
      value = values_of(body, {root}, known)[0];
    }
    const std::string target = names_[static_cast<std::size_t>(stage.node)] + "[at]";
    const std::string store = fmt::format("{} = {};", target, stored_text(value, computed, stored_as(stage.node)));
    body.add(stage.block_an_element ? "if (threadIdx.x == 0) " + store : store);
    finish(stage, body, node.shape, stage.block_an_element);
    return {};
  }

  // A reduction's loop may not use all axes of its element; those that it does are known once it is written.
  void note_axes(Kernel&, const Node&) {}

  Result<void> write_scan(const Stage& stage) {
    const Node node = graph_.node(stage.node);
    const bool place = node.combine == Combine::argmax || node.combine == Combine::argmin;
    Kernel body;
    next_inner_ = 0;
    const auto axis = static_cast<std::size_t>(node.axis);
    const Dtype type = graph_.term(node.body).dtype;
    const std::string step = fmt::format("i{}", axis), total = fresh_local(body), best = place ? fresh_local(body) : "";
    std::map<TermId, TermId> done;
    const TermId element = inlined(node.body, done);
    body.add(fmt::format("{} {} = {};", cuda_type_of(type), total,
                         number_text(graph_.term(identity_of(graph_, node.combine, type)))));
    if (place) body.add(fmt::format("int {} = 0;", best));
    body.add(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", step, node.shape[axis].text()));
    note(body, node.shape[axis]);
    ++body.indent;
    const std::string value = values_of(body, {element}, {})[0];
    if (place) {
      const char* better = node.combine == Combine::argmax ? "is_greater" : "is_less";
      body.add(fmt::format("const {} candidate = {};", cuda_type_of(type), value));
      body.add(fmt::format("if (candidate == {0} || {3}(candidate, {2}, {0}, {1})) {0} = candidate, {1} = {2};", total,
                           best, step, better));
    } else {
      body.add(combined(node.combine, total, value));
    }
    std::vector<TermId> parts;
    for (std::size_t i = 0; i < node.shape.size(); ++i) parts.push_back(graph_.axis(static_cast<int>(i)));
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

  Result<void> write_scatter(const Stage& stage) {
    const Node node = graph_.node(stage.node);
    const Dtype stored = stored_as(stage.node);
    const auto at = static_cast<std::size_t>(stage.node);
    const std::string name = kernels_[at];
    Kernel fill;
    next_inner_ = 0;
    std::map<TermId, TermId> done;
    const TermId initial = inlined(node.initial, done);
    const std::string begin = values_of(fill, {initial}, {})[0];
    fill.add(fmt::format("{}[at] = {};", names_[at], stored_text(begin, graph_.term(initial).dtype, stored)));
    kernels_[at] = fresh(name + "_fill");
    finish(stage, fill, node.shape, false);
    kernels_[at] = name;
    Kernel body;
    std::map<TermId, TermId> again;
    TermId offset = -1;
    for (std::size_t i = 0; i < node.target.size(); ++i) {
      const TermId index = inlined(node.target[i], again);
      offset = offset < 0 ? index
                          : graph_.apply(ScalarOp::add,
                                         graph_.apply(ScalarOp::multiply, offset, graph_.extent(node.shape[i])), index);
    }
    const TermId update = inlined(node.body, again);
    const std::vector<std::string> both = values_of(body, {offset < 0 ? graph_.whole(0) : offset, update}, {});
    const std::string value = stored_text(both[1], graph_.term(update).dtype, stored);
    KW_TRY(const std::string line, scatter_text(node, stored, names_[at] + "[" + both[0] + "]", value));
    body.add(line);
    finish(stage, body, node.over, false);
    return {};
  }

  Result<std::string> scatter_text(const Node& node, Dtype stored, const std::string& target,
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

  // The kernel around a body, and its launch.
  void finish(const Stage& stage, Kernel& body, const Extents& space, bool block) {
    const Extent count = elements_of(space);
    const bool large = is_large(count);
    Kernel head;
    head.locals = body.locals;
    std::set<std::size_t> wanted;
    std::vector<std::string> axes;
    for (std::size_t i = 0; i < space.size(); ++i) {
      axes.push_back(axis_name(static_cast<std::int64_t>(i)));
      if (body.axes.contains(static_cast<std::int64_t>(i))) wanted.insert(i);
    }
    const std::string type = large ? "long long" : "unsigned";
    if (block) {
      head.add(fmt::format("const {} at = blockIdx.x;", type));
    } else {
      head.add(fmt::format("const {0} at = ({0})blockIdx.x * {1} + threadIdx.x;", type, threads));
      head.add("if (at >= elements) return;");
    }
    if (!wanted.empty()) decode(head, "at", type, space, axes, &wanted);
    body.sizes.insert(head.sizes.begin(), head.sizes.end());

    std::vector<std::string> parameters, arguments;
    for (const NodeId id : body.reads) {
      const Node& node = graph_.node(id);
      const std::string& name = names_[static_cast<std::size_t>(id)];
      const bool scalar = node.kind == NodeKind::input && node.shape.empty();
      const std::string_view type_name = cuda_type_of(stored_as(id));
      parameters.push_back(scalar ? fmt::format("{} {}", type_name, name)
                                  : fmt::format("const {}* {}", type_name, name));
      arguments.push_back(name);
    }
    const std::string& target = names_[static_cast<std::size_t>(stage.node)];
    parameters.push_back(fmt::format("{}* {}", cuda_type_of(stored_as(stage.node)), target));
    arguments.push_back(target);
    for (const std::string& name : task_.size_names) {
      if (!body.sizes.contains(name)) continue;
      parameters.push_back("int " + name);
      arguments.push_back(name);
    }
    if (!block) parameters.push_back(type + " elements");
    const std::string& kernel = kernels_[static_cast<std::size_t>(stage.node)];
    kernels_text_ += fmt::format("// {}\n", comment_of(stage));
    kernels_text_ += listed("__global__ void " + kernel + "(", parameters, ") {\n", 0);
    for (const Kernel* part : {&head, &body})
      for (const std::string& line : part->lines) kernels_text_ += line + "\n";
    kernels_text_ += "}\n\n";

    std::string product = "1LL";
    for (const Extent& extent : space)
      if (!extent.is(1)) product += " * (" + extent.text() + ")";
    const std::string elements = fmt::format("elements{}", ++launches_);
    launches_text_ += fmt::format("  const long long {} = {};\n", elements, product);
    if (!block) arguments.push_back(large ? elements : fmt::format("(unsigned){}", elements));
    const std::string grid = block ? fmt::format("(unsigned){}", elements)
                                   : fmt::format("(unsigned)(({} + {}) / {})", elements, threads - 1, threads);
    launches_text_ += listed(fmt::format("  {}<<<{}, {}, 0, stream>>>(", kernel, grid, threads), arguments, ");\n", 2);
  }

  std::string comment_of(const Stage& stage) const {
    const Node& node = graph_.node(stage.node);
    std::string shape;
    for (const Extent& extent : node.shape) shape += (shape.empty() ? "" : ", ") + extent.text();
    std::string text = fmt::format("{} of [{}]", node.operation, shape);
    if (text.size() > 90) text = node.operation;
    return text + (stage.block_an_element ? ", a block an element" : ", a thread an element");
  }

  std::string file() const {
    std::string text;
    const std::string all = kernels_text_ + launches_text_ + task_.launcher_declaration();
    if (all.find("__half") != std::string::npos) text += "#include <cuda_fp16.h>\n";
    if (all.find("bfloat16") != std::string::npos) text += "#include <cuda_bf16.h>\n";
    if (!text.empty()) text += "\n";
    text += device_functions(kernels_text_) + kernels_text_;
    std::vector<std::string> parameters;
    const std::string declaration = task_.launcher_declaration();
    const std::size_t open = declaration.find('(');
    std::string inside = declaration.substr(open + 1, declaration.rfind(')') - open - 1);
    for (std::size_t comma = inside.find(", "); comma != std::string::npos; comma = inside.find(", ")) {
      parameters.push_back(inside.substr(0, comma));
      inside.erase(0, comma + 2);
    }
    parameters.push_back(inside);
    text += listed(declaration.substr(0, open + 1), parameters, ") {\n", 0);
    std::string frees;
    for (const Stage& stage : schedule_.stages) {
      if (is_output(stage.node)) continue;
      const std::string& name = names_[static_cast<std::size_t>(stage.node)];
      const std::string_view type = cuda_type_of(stored_as(stage.node));
      std::string product = fmt::format("sizeof({})", type);
      for (const Extent& extent : graph_.node(stage.node).shape)
        if (!extent.is(1)) product += " * (" + extent.text() + ")";
      text += fmt::format("  {}* {} = nullptr;\n", type, name);
      text += fmt::format("  cudaMallocAsync(&{}, {}, stream);\n", name, product);
      frees += fmt::format("  cudaFreeAsync({}, stream);\n", name);
    }
    return text + launches_text_ + frees + "}\n";
  }

  const Task& task_;
  Graph graph_;
  Sizes sizes_;
  Schedule schedule_;
  std::set<std::string> taken_;
  std::vector<std::string> names_, kernels_;  // by node
  std::string kernels_text_, launches_text_;
  int next_inner_ = 0, launches_ = 0;
};

}  // namespace

Result<std::string> write_program(const Task& task, Graph graph) { return Writer(task, std::move(graph)).write(); }

}  // namespace kw::program
