#include "agents/program/attention.h"

#include <algorithm>
#include <limits>

#include "agents/program/addressing.h"
#include "agents/program/attention_stage.h"
#include "agents/program/contraction.h"
#include "agents/program/term_edit.h"

namespace kw::program {
namespace {

constexpr int largest_body = 300;  // terms, after what it loads is put in
constexpr std::int64_t largest_head = 256;
constexpr double hidden = -1e8;  // lower than any score, as masks have it that do not use infinity

bool has_tiles(Dtype type) { return type == Dtype::float16 || type == Dtype::bfloat16 || type == Dtype::float32; }

class AttentionFinder {
 public:
  AttentionFinder(Graph& graph, const std::vector<Sizes>& sizes)
      : graph_(graph),
        sizes_(sizes),
        addressing_(graph, maps_have_no_memory_, [](const Extent&) { return false; }),
        body_sizes_(graph.node_count()) {
    for (std::size_t i = 0; i < graph_.node_count(); ++i)
      maps_have_no_memory_.own_memory.push_back(graph_.node(static_cast<NodeId>(i)).kind != NodeKind::map);
    measure_bodies();
  }

  std::map<NodeId, Attention> run() {
    std::map<NodeId, Attention> made;
    for (std::size_t i = 0; i < maps_have_no_memory_.own_memory.size(); ++i) {
      auto found = find(static_cast<NodeId>(i));
      if (!found) continue;
      find_stage(graph_, addressing_, sizes_, *found);
      made.emplace(found->stage, *found);
      if (reads_what_is_left_out(made)) made.erase(found->stage);
    }
    return made;
  }

 private:
  // How large a body is after maps are put in; those that are too large are not looked at.
  void measure_bodies() {
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node(static_cast<NodeId>(i));
      int size = 0;
      if (node.body >= 0)
        for (const TermId term : graph_.terms_of({&node.body, 1})) size += size_of(graph_.term(term));
      body_sizes_[i] = std::min(size, largest_body + 1);
    }
  }
  int size_of(const Term& term) const {
    if (term.kind != TermKind::load || graph_.node(term.node).kind != NodeKind::map) return 1;
    return std::min(1 + body_sizes_[static_cast<std::size_t>(term.node)], largest_body + 1);
  }
  bool is_small(NodeId node) const { return body_sizes_[static_cast<std::size_t>(node)] <= largest_body; }

  std::optional<std::int64_t> value_of(const Extent& extent) const {
    if (sizes_.empty()) return extent.constant();
    const auto value = extent.evaluate(sizes_.front());
    return value.ok() ? std::optional(*value) : std::nullopt;
  }
  bool at_most(const Extent& extent, std::int64_t most) const {
    return std::all_of(sizes_.begin(), sizes_.end(), [&](const Sizes& sizes) {
      const auto value = extent.evaluate(sizes);
      return value.ok() && *value <= most;
    });
  }
  bool same(const Extent& one, const Extent& other) const { return same_at(sizes_, one, other); }

  bool is_operation(TermId id, ScalarOp op) const {
    const Term& term = graph_.term(id);
    return term.kind == TermKind::operation && term.op == op;
  }
  bool depends(TermId term, std::int64_t axis) const { return addressing_.depends_on(term, axis); }

  // What a reduction combines, over the axes of the attention; -1: the load is of no such reduction.
  TermId reduced(TermId load, Combine combine, std::int64_t axis) {
    const Term& term = graph_.term(load);
    if (term.kind != TermKind::load || term.guarded) return -1;
    const Node& node = graph_.node(term.node);
    if (node.kind != NodeKind::reduce || node.combine != combine || node.over.size() != 1 || !is_small(term.node))
      return -1;
    std::vector<TermId> axes(term.parts.begin(), term.parts.end());
    axes.push_back(graph_.axis(static_cast<int>(axis)));
    return graph_.substitute(node.body, axes);
  }
  Extent extent_over(TermId load) const { return graph_.node(graph_.term(load).node).over[0]; }

  bool is_lowest(TermId id) const {
    const Term& term = graph_.term(id);
    return term.kind == TermKind::real && term.real == -std::numeric_limits<double>::infinity();
  }

  // The scores whose softmax over the keys a term is.
  std::optional<TermId> scores_of(TermId weights, Attention& made) {
    TermId term = addressing_.resolved(weights);
    TermId blind = -1;
    if (is_operation(term, ScalarOp::select) && is_operation(graph_.term(term).parts[0], ScalarOp::equal)) {
      const Term& select = graph_.term(term);
      const Term& equal = graph_.term(select.parts[0]);
      const Term& otherwise = graph_.term(select.parts[1]);
      if (!is_lowest(equal.parts[1]) || otherwise.kind != TermKind::real || otherwise.real != 0) return std::nullopt;
      blind = equal.parts[0];
      term = select.parts[2];
    }
    if (!is_operation(term, ScalarOp::divide)) return std::nullopt;
    const TermId power = graph_.term(term).parts[0], sum = graph_.term(term).parts[1];
    if (!is_operation(power, ScalarOp::exp)) return std::nullopt;
    const TermId shifted = graph_.term(power).parts[0];
    if (!is_operation(shifted, ScalarOp::subtract)) return std::nullopt;
    const TermId scores = graph_.term(shifted).parts[0], top = graph_.term(shifted).parts[1];
    if (blind >= 0 && blind != top) return std::nullopt;
    const TermId added = reduced(sum, Combine::sum, made.key_axis);
    const TermId compared = reduced(top, Combine::maximum, made.key_axis);
    if (added < 0 || compared < 0) return std::nullopt;
    if (addressing_.resolved(added) != power || addressing_.resolved(compared) != scores) return std::nullopt;
    if (!same(extent_over(sum), made.keys) || !same(extent_over(top), made.keys)) return std::nullopt;
    made.zero_where_blind = blind >= 0;
    made.left_out = {graph_.term(sum).node, graph_.term(top).node};
    return scores;
  }

  // A factor without numbers that all its elements are multiplied by, which go into `scale`.
  TermId without_scale(TermId factor, Dtype type, TermId& scale) {
    TermId at = addressing_.resolved(factor);
    TermId numbers = scale;
    while (graph_.term(at).kind == TermKind::operation) {
      const Term& term = graph_.term(at);
      if (term.op != ScalarOp::multiply && term.op != ScalarOp::divide) return factor;
      TermId rest = term.parts[0], number = term.parts[1];
      if (term.op == ScalarOp::multiply && is_positive(rest)) std::swap(rest, number);
      if (!is_positive(number)) return factor;
      numbers = graph_.apply(term.op, numbers, number);
      at = rest;
    }
    const Term& load = graph_.term(at);
    if (load.kind != TermKind::load || load.guarded || graph_.node(load.node).dtype != type) return factor;
    scale = numbers;
    return at;
  }

  // A number above 0 that is the same everywhere.
  bool is_positive(TermId id) const {
    const Term& term = graph_.term(id);
    if (term.kind == TermKind::real) return term.real > 0 && term.real < 1e30;
    if (term.kind == TermKind::whole) return term.whole > 0;
    if (term.kind == TermKind::extent) return true;
    if (term.kind != TermKind::operation) return false;
    switch (term.op) {
      case ScalarOp::multiply:
      case ScalarOp::divide:
      case ScalarOp::add:
        return is_floating_point(term.dtype) && is_positive(term.parts[0]) && is_positive(term.parts[1]);
      case ScalarOp::power:
        return graph_.term(term.parts[1]).kind == TermKind::real && is_positive(term.parts[0]);
      case ScalarOp::cast:
      case ScalarOp::square_root:
      case ScalarOp::reciprocal_root:
        return is_positive(term.parts[0]);
      default:
        return false;
    }
  }

  // Finds query and key below the scores, and their product in them.
  bool find_product(TermId scores, Attention& made) {
    for (const TermId load : loads_in(graph_, scores)) {
      if (graph_.node(graph_.term(load).node).kind != NodeKind::reduce || !depends(load, made.key_axis)) continue;
      if (made.product >= 0) return false;
      made.product = load;
    }
    if (made.product < 0) return false;
    const TermId body = reduced(made.product, Combine::sum, made.depth_axis);
    if (body < 0 || !is_operation(body, ScalarOp::multiply)) return false;
    made.depth = extent_over(made.product);
    made.query = graph_.term(body).parts[0];
    made.key = graph_.term(body).parts[1];
    if (depends(made.query, made.key_axis)) std::swap(made.query, made.key);
    if (depends(made.query, made.key_axis) || !depends(made.key, made.key_axis)) return false;
    made.scale = graph_.real(1);
    made.query = without_scale(made.query, made.type, made.scale);
    made.key = without_scale(made.key, made.type, made.scale);
    made.left_out.push_back(graph_.term(made.product).node);
    return is_element(made.query, made.type) && is_element(made.key, made.type);
  }
  bool is_element(TermId id, Dtype type) const {
    const Term& term = graph_.term(id);
    return term.kind == TermKind::load && graph_.node(term.node).dtype == type;
  }

  // Which axis is that of the queries, and which are the batch.
  bool sort_axes(TermId scores, Attention& made) const {
    const Node& node = graph_.node(made.node);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < node.shape.size(); ++i)
      if (!same(node.shape[i], Extent(1))) axes.push_back(static_cast<std::int64_t>(i));
    if (axes.size() < 2) return false;
    made.feature_axis = axes.back();
    if (depends(scores, made.feature_axis) || !depends(made.value, made.feature_axis)) return false;
    std::int64_t most = -1;
    for (const std::int64_t axis : axes) {
      if (axis == made.feature_axis || depends(made.value, axis) || depends(made.key, axis)) continue;
      const auto count = value_of(node.shape[static_cast<std::size_t>(axis)]);
      if (!depends(made.query, axis) || !count || *count < most) continue;
      most = *count;
      made.query_axis = axis;
    }
    if (made.query_axis < 0) return false;
    for (const std::int64_t axis : axes) {
      if (axis == made.feature_axis || axis == made.query_axis) continue;
      if (!depends(scores, axis) && !depends(made.value, axis)) return false;
      made.batch.push_back(axis);
    }
    made.queries = node.shape[static_cast<std::size_t>(made.query_axis)];
    made.features = node.shape[static_cast<std::size_t>(made.feature_axis)];
    return true;
  }

  // Whether a term is so low that it counts for nothing; `infinite`: that is sure.
  bool is_hidden(TermId id, bool& infinite) const {
    const Term& term = graph_.term(id);
    if (term.kind == TermKind::real) {
      infinite = infinite && is_lowest(id);
      return term.real <= hidden;
    }
    if (term.kind != TermKind::operation) return false;
    if (term.op == ScalarOp::add) return is_hidden(term.parts[1], infinite) || is_hidden(term.parts[0], infinite);
    bool sure = true;
    return (term.op == ScalarOp::multiply || term.op == ScalarOp::divide) && is_positive(term.parts[1]) &&
           is_hidden(term.parts[0], sure) && sure;
  }

  // `key <= query + shift`, as it stands, or where `turned` its contrary.
  struct Triangle {
    Extent shift;
    bool turned = false;
  };
  std::optional<Triangle> triangle_of(TermId condition, const Attention& made) const {
    const Term& term = graph_.term(condition);
    if (term.kind != TermKind::operation || (term.op != ScalarOp::less && term.op != ScalarOp::less_equal))
      return std::nullopt;
    const auto left = linear_offset(graph_, term.parts[0]), right = linear_offset(graph_, term.parts[1]);
    if (!left || !right) return std::nullopt;
    for (const LinearOffset* side : {&*left, &*right})
      for (const auto& [axis, step] : side->steps)
        if (axis != made.query_axis && axis != made.key_axis) return std::nullopt;
    const Extent query = right->step(made.query_axis) - left->step(made.query_axis),
                 key = right->step(made.key_axis) - left->step(made.key_axis);
    // left <= right, where whole numbers have no `less` of their own.
    const Extent rest = right->rest - left->rest - Extent(term.op == ScalarOp::less ? 1 : 0);
    if (query.is(1) && key.is(-1)) return Triangle{rest, false};
    // query <= key + rest
    if (query.is(-1) && key.is(1)) return Triangle{Extent(-1) - rest, true};
    return std::nullopt;
  }

  // A condition that hides the keys behind a query's own place, in whatever form, is left out of the scores.
  TermId without_triangle(TermId scores, Attention& made) {
    for (const TermId each : graph_.terms_of({&scores, 1})) {
      const auto triangle = triangle_of(each, made);
      if (!triangle) continue;
      const TermId yes = replaced(graph_, scores, each, graph_.whole(1, Dtype::boolean));
      const TermId no = replaced(graph_, scores, each, graph_.whole(0, Dtype::boolean));
      bool infinite = true;
      if (!is_hidden(triangle->turned ? yes : no, infinite)) continue;
      const TermId seen = triangle->turned ? no : yes;
      // Numbers that are only low count where a query sees no key.
      if (!infinite && (scale_of(seen, made) < 0 || !at_most(Extent(0) - triangle->shift, 0))) continue;
      made.causal = true;
      made.shift = triangle->shift;
      return seen;
    }
    return scores;
  }

  // What the product is multiplied by; -1: the score is something else.
  TermId scale_of(TermId score, const Attention& made) {
    TermId scale = made.scale;
    while (score != made.product) {
      const Term& term = graph_.term(score);
      if (term.kind != TermKind::operation || (term.op != ScalarOp::multiply && term.op != ScalarOp::divide)) return -1;
      TermId rest = term.parts[0], number = term.parts[1];
      if (term.op == ScalarOp::multiply && is_positive(rest)) std::swap(rest, number);
      if (!is_positive(number)) return -1;
      scale = graph_.apply(term.op, scale, number);
      score = rest;
    }
    return scale;
  }

  std::optional<Attention> find(NodeId id) {
    const Node node = graph_.node(id);
    if (node.kind != NodeKind::reduce || node.combine != Combine::sum || node.over.size() != 1) return std::nullopt;
    if (!has_tiles(node.dtype) || !is_small(id) || !is_operation(node.body, ScalarOp::multiply)) return std::nullopt;
    const TermParts& factors = graph_.term(node.body).parts;
    for (const bool swapped : {false, true}) {
      Attention made;
      made.node = id;
      made.type = node.dtype;
      made.key_axis = static_cast<std::int64_t>(node.shape.size());
      made.depth_axis = made.key_axis + 1;
      made.keys = node.over[0];
      made.value = factors[swapped ? 0 : 1];
      const TermId weights = factors[swapped ? 1 : 0];
      if (graph_.term(weights).kind != TermKind::load || graph_.term(weights).guarded) continue;
      const auto scores = scores_of(weights, made);
      if (!scores || !find_product(*scores, made)) continue;
      TermId scale_of_values = graph_.real(1);
      const TermId plain = without_scale(made.value, made.type, scale_of_values);
      if (scale_of_values == graph_.real(1)) made.value = plain;
      if (!is_element(made.value, made.type)) continue;
      if (!sort_axes(*scores, made) || !pays(made)) continue;
      const TermId seen = without_triangle(*scores, made);
      const TermId scale = scale_of(seen, made);
      if (scale < 0)
        made.score = replaced(graph_, seen, made.product, graph_.apply(ScalarOp::multiply, made.product, made.scale));
      else
        made.scale = scale;
      return made;
    }
    return std::nullopt;
  }

  // Tiles need some queries and keys; and a head fits into registers.
  bool pays(const Attention& made) const {
    const auto queries = value_of(made.queries), keys = value_of(made.keys), depth = value_of(made.depth);
    if (!queries || !keys || !depth || *queries < 16 || *keys < 16 || *depth < 8) return false;
    double work = static_cast<double>(*queries) * static_cast<double>(*keys) * static_cast<double>(*depth);
    for (const std::int64_t axis : made.batch)
      work *= static_cast<double>(value_of(graph_.node(made.node).shape[static_cast<std::size_t>(axis)]).value_or(1));
    return work >= 0x1p18 && at_most(made.depth, largest_head) && at_most(made.features, largest_head);
  }

  // Whether something else reads sums and scores that no stage would compute.
  bool reads_what_is_left_out(const std::map<NodeId, Attention>& made) {
    std::vector<bool> needed(graph_.node_count());
    for (const NodeId output : graph_.outputs) needed[static_cast<std::size_t>(output)] = true;
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      if (!needed[i]) continue;
      const auto id = static_cast<NodeId>(i);
      const Node& node = graph_.node(id);
      std::vector<TermId> roots = node.target;
      for (const TermId root : {node.body, node.initial})
        if (root >= 0) roots.push_back(root);
      if (const auto found = made.find(id); found != made.end()) roots = found->second.roots(graph_);
      for (const TermId root : roots)
        for (const NodeId read : graph_.loads_of(root)) needed[static_cast<std::size_t>(read)] = true;
    }
    return std::any_of(made.begin(), made.end(), [&](const auto& each) {
      const Attention& attention = each.second;
      return (attention.stage != attention.node && needed[static_cast<std::size_t>(attention.node)]) ||
             std::any_of(attention.left_out.begin(), attention.left_out.end(),
                         [&](NodeId node) { return needed[static_cast<std::size_t>(node)]; });
    });
  }

  Graph& graph_;
  const std::vector<Sizes>& sizes_;
  Schedule maps_have_no_memory_;
  Addressing addressing_;
  std::vector<int> body_sizes_;
};

}  // namespace

int Attention::parts(const Graph& graph) const {
  if (type == Dtype::float32) return 3;
  const bool exact = graph.node(graph.term(query).node).kind == NodeKind::input &&
                     graph.node(graph.term(key).node).kind == NodeKind::input;
  return exact ? 1 : 2;
}

std::vector<TermId> Attention::roots(Graph& graph) const {
  std::vector<TermId> made{query, key, value};
  if (score >= 0) made.push_back(replaced(graph, score, product, graph.real(1)));
  return made;
}

std::map<NodeId, Attention> find_attentions(Graph& graph, const std::vector<Sizes>& sizes) {
  return AttentionFinder(graph, sizes).run();
}

}  // namespace kw::program
