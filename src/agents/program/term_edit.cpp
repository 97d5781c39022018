#include "agents/program/term_edit.h"

#include <map>
#include <set>

namespace kw::program {
namespace {

TermId put_in(Graph& graph, TermId id, TermId what, TermId by, std::map<TermId, TermId>& done) {
  if (id == what) return by;
  if (const auto found = done.find(id); found != done.end()) return found->second;
  const Term from = graph.term(id);
  TermId made = id;
  if (from.kind == TermKind::operation || from.kind == TermKind::load) {
    std::vector<TermId> parts;
    for (const TermId part : from.parts) parts.push_back(put_in(graph, part, what, by, done));
    if (from.kind == TermKind::load) {
      const TermId guard = from.guarded ? parts.back() : -1;
      if (from.guarded) parts.pop_back();
      made = graph.load(from.node, parts, guard);
    } else if (from.op == ScalarOp::select) {
      made = graph.select(parts[0], parts[1], parts[2]);
    } else if (from.op == ScalarOp::cast) {
      made = graph.cast(parts[0], from.dtype);
    } else {
      made = graph.apply(from.op, parts[0], parts.size() > 1 ? parts[1] : -1);
    }
  }
  done.emplace(id, made);
  return made;
}

}  // namespace

TermId replaced(Graph& graph, TermId term, TermId what, TermId by) {
  std::map<TermId, TermId> done;
  return put_in(graph, term, what, by, done);
}

std::vector<TermId> loads_in(const Graph& graph, TermId root) {
  std::set<TermId> seen;
  std::vector<TermId> open{root}, made;
  while (!open.empty()) {
    const TermId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    const Term& term = graph.term(at);
    if (term.kind == TermKind::load) made.push_back(at);
    open.insert(open.end(), term.parts.begin(), term.parts.end());
  }
  return made;
}

}  // namespace kw::program
