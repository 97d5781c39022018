// A graph in plain words: what `kernelwright program` prints.

#include <fmt/format.h>

#include "agents/program/graph.h"

namespace kw::program {
namespace {

constexpr std::size_t most_bytes = 400;  // of one term

class Printer {
 public:
  Printer(const Graph& graph, std::string& text) : graph_(graph), text_(text) {}

  void print(TermId id, int depth = 0) {
    if (text_.size() > most_bytes || depth > 40) {
      text_ += "...";
      return;
    }
    const Term& term = graph_.term(id);
    switch (term.kind) {
      case TermKind::real:
        text_ += fmt::format("{}", term.real);
        break;
      case TermKind::whole:
        text_ += fmt::format("{}", term.whole);
        break;
      case TermKind::extent:
        text_ += term.extent.text();
        break;
      case TermKind::axis:
        text_ += fmt::format("i{}", term.whole);
        break;
      case TermKind::load:
        load(term, depth);
        break;
      case TermKind::operation:
        operation(term, depth);
        break;
    }
  }

 private:
  void list(std::span<const TermId> parts, int depth) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) text_ += ", ";
      print(parts[i], depth + 1);
    }
  }
  void load(const Term& term, int depth) {
    const Node& node = graph_.node(term.node);
    text_ += node.kind == NodeKind::input ? node.operation : fmt::format("t{}", term.node);
    const std::size_t indices = term.parts.size() - (term.guarded ? 1 : 0);
    if (indices > 0) {
      text_ += "[";
      list(std::span(term.parts).first(indices), depth);
      text_ += "]";
    }
    if (!term.guarded) return;
    text_ += " where ";
    print(term.parts.back(), depth + 1);
  }
  void operation(const Term& term, int depth) {
    const ScalarOperation& row = operation_of(term.op);
    if (term.op == ScalarOp::cast) {
      text_ += fmt::format("{}(", name_of(term.dtype));
    } else if (!row.sign.empty()) {
      text_ += "(";
      print(term.parts[0], depth + 1);
      text_ += fmt::format(" {} ", row.sign);
      print(term.parts[1], depth + 1);
      text_ += ")";
      return;
    } else {
      text_ += fmt::format("{}(", row.name);
    }
    list(term.parts, depth);
    text_ += ")";
  }

  const Graph& graph_;
  std::string& text_;
};

std::string shape_text(const Extents& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + shape[i].text();
  return text + "]";
}

}  // namespace

std::string to_text(const Graph& graph, TermId term) {
  std::string text;
  Printer(graph, text).print(term);
  return text;
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(static_cast<NodeId>(i));
    const std::string type = fmt::format("{} {}", name_of(node.dtype), shape_text(node.shape));
    switch (node.kind) {
      case NodeKind::input:
        text += fmt::format("input {}: {}\n", node.operation, type);
        continue;
      case NodeKind::map:
        text += fmt::format("t{}: {} = {}", i, type, to_text(graph, node.body));
        break;
      case NodeKind::reduce:
        text += fmt::format("t{}: {} = {} over {} of {}", i, type, name_of(node.combine), shape_text(node.over),
                            to_text(graph, node.body));
        break;
      case NodeKind::scan:
        text += fmt::format("t{}: {} = running {} along axis {} of {}", i, type, name_of(node.combine), node.axis,
                            to_text(graph, node.body));
        break;
      case NodeKind::scatter: {
        std::string target;
        for (const TermId each : node.target) target += (target.empty() ? "" : ", ") + to_text(graph, each);
        text += fmt::format("t{}: {} = {}; for all of {}: {} at [{}] with {}", i, type, to_text(graph, node.initial),
                            shape_text(node.over), name_of(node.combine), target, to_text(graph, node.body));
        break;
      }
    }
    text += fmt::format("  # {}{}\n", node.operation, node.line > 0 ? fmt::format(", line {}", node.line) : "");
  }
  text += "outputs:";
  for (const NodeId output : graph.outputs) text += fmt::format(" t{}", output);
  return text + "\n";
}

}  // namespace kw::program
