#include "agents/draw/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace kw::programs {
namespace {

using namespace program;

// What an index is made of.
enum IndexKind : unsigned { plain = 0, window = 1, data = 2, reversed = 4 };

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

bool commutes(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
    case ScalarOp::multiply:
    case ScalarOp::minimum:
    case ScalarOp::maximum:
    case ScalarOp::bit_and:
    case ScalarOp::bit_or:
    case ScalarOp::bit_xor:
    case ScalarOp::equal:
    case ScalarOp::not_equal:
    case ScalarOp::logical_and:
    case ScalarOp::logical_or:
      return true;
    default:
      return false;
  }
}

class Signature {
 public:
  explicit Signature(const Graph& graph)
      : graph_(graph), terms_(graph.term_count(), 0), nodes_(graph.node_count(), 0) {}

  std::uint64_t of_outputs() {
    std::vector<std::uint64_t> outputs;
    for (const NodeId node : graph_.outputs) outputs.push_back(of_node(node));
    std::sort(outputs.begin(), outputs.end());
    std::uint64_t made = outputs.size();
    for (const std::uint64_t each : outputs) made = mixed(made, each);
    return made;
  }

 private:
  // Inputs are all alike, constants and extents too; whether two operands are the same input does not count.
  static constexpr std::uint64_t input_mark = 11, constant_mark = 13, axis_mark = 17;

  std::uint64_t of_node(NodeId id) {
    std::uint64_t& known = nodes_[static_cast<std::size_t>(id)];
    if (known != 0) return known;
    const Node& node = graph_.node(id);
    std::uint64_t made = 0;
    switch (node.kind) {
      case NodeKind::input:
        made = input_mark;
        break;
      case NodeKind::map:
        made = of_term(node.body);  // a map is its body, wherever it is read
        break;
      case NodeKind::reduce:
      case NodeKind::scan:
        made = mixed(mixed(node.kind == NodeKind::scan ? 101 : 100, static_cast<std::uint64_t>(node.combine)),
                     of_term(node.body));
        break;
      case NodeKind::scatter:
        made = mixed(mixed(102, static_cast<std::uint64_t>(node.combine)),
                     mixed(of_term(node.body), of_term(node.initial)));
        break;
    }
    if (made == 0) made = 1;
    return nodes_[static_cast<std::size_t>(id)] = made;
  }

  std::uint64_t of_term(TermId id) {
    std::uint64_t& known = terms_[static_cast<std::size_t>(id)];
    if (known != 0) return known;
    const std::uint64_t made = compute(id);
    return terms_[static_cast<std::size_t>(id)] = made == 0 ? 1 : made;
  }

  std::uint64_t compute(TermId id) {
    const Term& term = graph_.term(id);
    switch (term.kind) {
      case TermKind::real:
      case TermKind::whole:
      case TermKind::extent:
        return constant_mark;
      case TermKind::axis:
        return axis_mark;
      case TermKind::load:
        return of_load(term);
      case TermKind::operation:
        break;
    }
    if (term.op == ScalarOp::cast) return of_term(term.parts[0]);
    // A constant taken away or divided by is one added or multiplied with.
    std::uint64_t op = static_cast<std::uint64_t>(term.op);
    bool sorted = commutes(term.op);
    if (term.parts.size() == 2 && of_term(term.parts[1]) == constant_mark) {
      if (term.op == ScalarOp::subtract) op = static_cast<std::uint64_t>(ScalarOp::add), sorted = true;
      if (term.op == ScalarOp::divide) op = static_cast<std::uint64_t>(ScalarOp::multiply), sorted = true;
    }
    std::array<std::uint64_t, 3> parts{};  // no operation has more operands
    bool constant = true;
    const std::size_t count = term.parts.size();
    for (std::size_t i = 0; i < count; ++i) {
      parts.at(i) = of_term(term.parts[i]);
      constant = constant && parts[i] == constant_mark;
    }
    if (constant) return constant_mark;
    if (sorted) std::sort(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    std::uint64_t made = 1000 + op;
    for (std::size_t i = 0; i < count; ++i) made = mixed(made, parts[i]);
    return made;
  }

  std::uint64_t of_load(const Term& term) {
    unsigned kind = plain;
    std::uint64_t from_data = 0;
    const std::size_t indices = term.parts.size() - (term.guarded ? 1 : 0);
    for (std::size_t i = 0; i < indices; ++i) {
      const unsigned each = index_kind(term.parts[i]);
      kind |= each;
      if ((each & data) != 0) from_data = mixed(from_data, of_term(term.parts[i]));
    }
    const std::uint64_t inner = of_node(term.node);
    return kind == plain ? inner : mixed(mixed(2000 + kind, inner), from_data);
  }

  // A sum of two axes is a window; what holds a load is data; an axis from its end is one that matters to a scan;
  // everything else moves elements about.
  unsigned index_kind(TermId id) {
    const Term& term = graph_.term(id);
    if (term.kind == TermKind::load) return data;
    if (term.kind != TermKind::operation) return plain;
    unsigned kind = plain;
    int with_axis = 0;
    for (const TermId part : term.parts) {
      kind |= index_kind(part);
      with_axis += has_axis(part) ? 1 : 0;
    }
    if ((term.op == ScalarOp::add || term.op == ScalarOp::subtract) && with_axis == 2) kind |= window;
    if (term.op == ScalarOp::subtract && with_axis == 1 && has_axis(term.parts[1])) kind |= reversed;
    return kind;
  }

  bool has_axis(TermId id) const {
    const Term& term = graph_.term(id);
    if (term.kind == TermKind::axis) return true;
    return term.kind == TermKind::operation &&
           std::any_of(term.parts.begin(), term.parts.end(), [&](TermId part) { return has_axis(part); });
  }

  const Graph& graph_;
  std::vector<std::uint64_t> terms_, nodes_;
};

}  // namespace

std::uint64_t signature_of(const Graph& graph) { return Signature(graph).of_outputs(); }

std::string signature_text(std::uint64_t signature) { return fmt::format("{:016x}", signature); }

}  // namespace kw::programs
