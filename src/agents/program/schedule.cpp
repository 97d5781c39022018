#include "agents/program/schedule.h"

#include <algorithm>

namespace kw::program {
namespace {

// One place where a node's body loads another.
struct Site {
  NodeId reader = -1;
  TermId load = -1;
};

constexpr int cheap = 14;          // what is computed again rather than kept, where two read it
constexpr int very_cheap = 8;      // where each element is read many times
constexpr int largest_body = 300;  // terms, after what it loads is put in
constexpr int deepest_body = 60;   // nodes that are put into each other

class Scheduler {
 public:
  Scheduler(Graph& graph, const Sizes& sizes, const std::map<NodeId, Attention>& attentions)
      : graph_(graph),
        sizes_(sizes),
        attentions_(attentions),
        count_(graph.node_count()),
        needed_(count_),
        sites_(count_),
        heavy_(count_),
        cost_(count_),
        size_(count_),
        depth_(count_),
        terms_(count_),
        elements_(count_),
        steps_(count_),
        reduced_(count_) {
    made_.own_memory.resize(count_);
  }

  Schedule run() {
    find_needed();
    for (std::size_t i = 0; i < count_; ++i)
      if (needed_[i]) place(static_cast<NodeId>(i));
    return std::move(made_);
  }

 private:
  std::vector<TermId> roots_of(NodeId id) const {
    if (const auto found = attentions_.find(id); found != attentions_.end()) return found->second.roots(graph_);
    const Node& node = graph_.node(id);
    std::vector<TermId> roots = node.target;
    if (node.body >= 0) roots.push_back(node.body);
    if (node.initial >= 0) roots.push_back(node.initial);
    return roots;
  }

  void find_needed() {
    for (const NodeId output : graph_.outputs) needed_[static_cast<std::size_t>(output)] = true;
    for (std::size_t i = count_; i-- > 0;) {
      if (!needed_[i]) continue;
      const Node& node = graph_.node(static_cast<NodeId>(i));
      terms_[i] = graph_.terms_of(roots_of(static_cast<NodeId>(i)));
      elements_[i] = elements(node.shape);
      steps_[i] = elements(node.over);
      for (const TermId term : terms_[i]) {
        if (graph_.term(term).kind != TermKind::load) continue;
        const auto from = static_cast<std::size_t>(graph_.term(term).node);
        needed_[from] = true;
        sites_[from].push_back({static_cast<NodeId>(i), term});
      }
    }
  }

  double elements(const Extents& shape) const {
    double made = 1;
    for (const Extent& extent : shape) {
      const auto value = extent.evaluate(sizes_);
      made *= value.ok() ? static_cast<double>(*value) : 1;
    }
    return made;
  }

  double elements_of(NodeId id) const { return elements_[static_cast<std::size_t>(id)]; }

  // The one reader is a map that reads each element once, at its own place.
  bool read_in_place(NodeId id) const {
    const auto& sites = sites_[static_cast<std::size_t>(id)];
    if (sites.size() != 1) return false;
    const Node& reader = graph_.node(sites[0].reader);
    const Term& load = graph_.term(sites[0].load);
    if (reader.kind != NodeKind::map || load.guarded) return false;
    std::vector<std::int64_t> axes;
    for (const TermId part : load.parts) {
      const Term& index = graph_.term(part);
      if (index.kind == TermKind::axis) {
        if (std::find(axes.begin(), axes.end(), index.whole) != axes.end()) return false;
        axes.push_back(index.whole);
      } else if (index.kind != TermKind::whole) {
        return false;
      }
    }
    return elements_of(sites[0].reader) == elements_of(id);
  }

  bool read_often(NodeId id) const {
    const double own = elements_of(id);
    return std::any_of(sites_[static_cast<std::size_t>(id)].begin(), sites_[static_cast<std::size_t>(id)].end(),
                       [&](const Site& site) {
                         if (attentions_.contains(site.reader)) return false;  // puts it in order first, or reads tiles
                         return elements_of(site.reader) * steps_[static_cast<std::size_t>(site.reader)] > 3 * own;
                       });
  }

  void place(NodeId id) {
    const auto at = static_cast<std::size_t>(id);
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::input) {
      made_.own_memory[at] = true;
      return;
    }
    bool heavy = node.kind == NodeKind::reduce, block = false;
    double reduced = node.kind == NodeKind::reduce ? steps_[at] : 0;
    for (const TermId term : terms_[at]) {
      const Term& each = graph_.term(term);
      ++size_[at];
      cost_[at] += each.kind == TermKind::operation ? operation_of(each.op).cost : 1;
      if (each.kind != TermKind::load) continue;
      const auto from = static_cast<std::size_t>(each.node);
      if (made_.own_memory[from]) continue;
      heavy = heavy || heavy_[from];
      cost_[at] += cost_[from];
      size_[at] += size_[from];
      depth_[at] = std::max(depth_[at], depth_[from] + 1);
      reduced = std::max(reduced, reduced_[from]);
    }
    heavy_[at] = heavy;
    reduced_[at] = reduced;
    const bool output = std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
    bool own = output || node.kind == NodeKind::scan || node.kind == NodeKind::scatter;
    own = own || size_[at] > largest_body || depth_[at] > deepest_body || attentions_.contains(id);
    if (heavy)
      own = own || !read_in_place(id);
    else
      own = own || (cost_[at] > cheap && sites_[at].size() > 1) || (cost_[at] > very_cheap && read_often(id));
    made_.own_memory[at] = own;
    if (!own) return;
    if (heavy && !attentions_.contains(id)) {
      // A block's own cost, to put its threads' parts together, is that of hundreds of steps; it pays where they are
      // many, or where there are too few elements to keep a device busy.
      const double outputs = elements_of(id);
      block = reduced >= 64 && reduced >= outputs / 8 && outputs <= 65'536;
    }
    made_.stages.push_back({id, block});
  }

  Graph& graph_;
  const Sizes& sizes_;
  const std::map<NodeId, Attention>& attentions_;
  std::size_t count_;
  std::vector<bool> needed_;
  std::vector<std::vector<Site>> sites_;
  std::vector<bool> heavy_;  // a reduction, or what holds one that is computed inside of it
  std::vector<int> cost_, size_, depth_;
  std::vector<std::vector<TermId>> terms_;  // of each node that is needed
  std::vector<double> elements_, steps_;    // of its shape, of what it reduces
  std::vector<double> reduced_;             // elements of the longest reduction inside
  Schedule made_;
};

}  // namespace

Schedule make_schedule(Graph& graph, const Sizes& sizes, const std::map<NodeId, Attention>& attentions) {
  return Scheduler(graph, sizes, attentions).run();
}

}  // namespace kw::program
