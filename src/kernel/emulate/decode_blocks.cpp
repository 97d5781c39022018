#include "kernel/emulate/decode_blocks.h"

#include <algorithm>
#include <set>

namespace kw {
namespace {

constexpr std::uint64_t loop_search_steps =
    8'000'000;  // beyond it (only hostile input) loops are not kept in one piece

struct Graph {
  std::vector<BasicBlock> blocks;
  std::vector<std::vector<std::uint32_t>>
      forward_predecessors;  // without the edges that go back in the depth-first search
  std::vector<std::uint32_t> reverse_post_order;
  std::vector<std::uint32_t> position;  // of a block in it; ~0: unreachable
  std::vector<std::pair<std::uint32_t, std::uint32_t>> back_edges;
};

std::vector<BasicBlock> split_blocks(const PtxFunction& function) {
  const auto& body = function.body;
  std::vector<char> leader(body.size() + 1, 0);
  leader[0] = 1;
  auto mark = [&](int target) {
    if (target >= 0 && static_cast<std::size_t>(target) < body.size()) leader[target] = 1;
  };
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (!ends_block(body[i])) continue;
    leader[i + 1] = 1;
    for (const PtxOperand& operand : body[i].operands)
      if (operand.kind == PtxOperand::Kind::label) mark(operand.index);
    for (int target : body[i].branch_targets) mark(target);
  }
  std::vector<BasicBlock> blocks;
  std::vector<std::uint32_t> block_of(body.size(), 0);
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    if (leader[i]) {
      if (!blocks.empty()) blocks.back().end = i;
      blocks.push_back({i, i, {}});
    }
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
  }
  if (!blocks.empty()) blocks.back().end = static_cast<std::uint32_t>(body.size());

  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    const PtxInstruction& last = body[blocks[b].end - 1];
    auto add = [&](int target) {
      if (target < 0 || static_cast<std::size_t>(target) >= body.size()) return;
      auto& successors = blocks[b].successors;
      if (std::find(successors.begin(), successors.end(), block_of[target]) == successors.end())
        successors.push_back(block_of[target]);
    };
    if (ends_block(last)) {
      for (const PtxOperand& operand : last.operands)
        if (operand.kind == PtxOperand::Kind::label) add(operand.index);
      for (int target : last.branch_targets) add(target);
    }
    if (falls_through(last) && b + 1 < blocks.size()) add(static_cast<int>(blocks[b + 1].first));
  }
  return blocks;
}

void depth_first_search(Graph& graph) {
  std::size_t count = graph.blocks.size();
  enum : char { unseen, open, done };
  std::vector<char> state(count, unseen);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  std::vector<std::uint32_t> post_order;
  graph.forward_predecessors.resize(count);
  if (count > 0) {
    stack.emplace_back(0, 0);
    state[0] = open;
  }
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next == graph.blocks[block].successors.size()) {
      state[block] = done;
      post_order.push_back(block);
      stack.pop_back();
      continue;
    }
    std::uint32_t successor = graph.blocks[block].successors[next++];
    if (state[successor] == open) {
      graph.back_edges.emplace_back(block, successor);
      continue;
    }
    graph.forward_predecessors[successor].push_back(block);
    if (state[successor] == unseen) {
      state[successor] = open;
      stack.emplace_back(successor, 0);
    }
  }
  graph.reverse_post_order.assign(post_order.rbegin(), post_order.rend());
  graph.position.assign(count, ~0u);
  for (std::uint32_t i = 0; i < graph.reverse_post_order.size(); ++i) graph.position[graph.reverse_post_order[i]] = i;
}

// Loop 0 is the whole function.
struct Loops {
  std::vector<std::uint32_t> parent;     // of a loop
  std::vector<std::uint32_t> innermost;  // loop of a block
  std::vector<std::uint32_t> headed;     // the loop that a block is the head of; 0: none
};

bool find_loops(const Graph& graph, Loops& loops) {
  std::size_t count = graph.blocks.size();
  std::vector<std::vector<std::uint32_t>> predecessors(count);
  for (std::uint32_t b : graph.reverse_post_order)
    for (std::uint32_t successor : graph.blocks[b].successors) predecessors[successor].push_back(b);

  loops.parent = {0};
  loops.innermost.assign(count, 0);
  loops.headed.assign(count, 0);
  // Heads from the outside in: an outer loop's head comes earlier in reverse post-order.
  auto edges = graph.back_edges;
  std::sort(edges.begin(), edges.end(),
            [&](const auto& a, const auto& b) { return graph.position[a.second] < graph.position[b.second]; });
  std::vector<std::uint32_t> mark(count, 0);
  std::uint64_t steps = 0;
  for (std::size_t i = 0; i < edges.size();) {
    std::uint32_t head = edges[i].second;
    auto loop = static_cast<std::uint32_t>(loops.parent.size());
    loops.parent.push_back(loops.innermost[head]);
    loops.headed[head] = loop;
    std::vector<std::uint32_t> work;
    mark[head] = loop;
    loops.innermost[head] = loop;
    for (; i < edges.size() && edges[i].second == head; ++i) work.push_back(edges[i].first);
    while (!work.empty()) {
      std::uint32_t block = work.back();
      work.pop_back();
      if (++steps > loop_search_steps) return false;
      // An entry into the middle of a loop (irreducible) would otherwise lead the walk out through the top.
      if (mark[block] == loop || graph.position[block] < graph.position[head]) continue;
      mark[block] = loop;
      loops.innermost[block] = loop;
      for (std::uint32_t predecessor : predecessors[block]) work.push_back(predecessor);
    }
  }
  return true;
}

// A topological order that takes a block of the loop it is in as long as there is one.
std::vector<std::uint32_t> loop_contiguous_order(const Graph& graph, const Loops& loops) {
  std::vector<std::uint32_t> waiting(graph.blocks.size(), 0);
  std::vector<std::vector<std::uint32_t>> followers(graph.blocks.size());
  for (std::uint32_t b : graph.reverse_post_order) {
    waiting[b] = static_cast<std::uint32_t>(graph.forward_predecessors[b].size());
    for (std::uint32_t predecessor : graph.forward_predecessors[b]) followers[predecessor].push_back(b);
  }
  std::vector<std::set<std::uint32_t>> ready(loops.parent.size());  // positions, by the loop that they are taken from
  std::set<std::pair<std::uint32_t, std::uint32_t>> all_ready;      // (position, loop)
  auto add = [&](std::uint32_t block) {
    std::uint32_t loop = loops.headed[block] != 0 ? loops.parent[loops.headed[block]] : loops.innermost[block];
    ready[loop].insert(graph.position[block]);
    all_ready.emplace(graph.position[block], loop);
  };
  std::vector<std::uint32_t> order;
  std::uint32_t current = 0;
  add(0);
  while (!all_ready.empty()) {
    while (ready[current].empty() && current != 0) current = loops.parent[current];
    std::uint32_t from = ready[current].empty() ? all_ready.begin()->second : current;
    std::uint32_t position = *ready[from].begin();
    ready[from].erase(position);
    all_ready.erase({position, from});
    std::uint32_t block = graph.reverse_post_order[position];
    current = loops.headed[block] != 0 ? loops.headed[block] : from;
    order.push_back(block);
    for (std::uint32_t follower : followers[block])
      if (--waiting[follower] == 0) add(follower);
  }
  return order;
}

}  // namespace

bool ends_block(const PtxInstruction& instruction) {
  const std::string& opcode = instruction.opcode;
  return opcode == "bra" || opcode == "brx" || opcode == "ret" || opcode == "exit" || opcode == "trap";
}

bool falls_through(const PtxInstruction& instruction) { return !ends_block(instruction) || instruction.guard >= 0; }

std::vector<BasicBlock> order_blocks(const PtxFunction& function) {
  Graph graph;
  graph.blocks = split_blocks(function);
  depth_first_search(graph);
  Loops loops;
  std::vector<std::uint32_t> order;
  if (find_loops(graph, loops)) order = loop_contiguous_order(graph, loops);
  if (order.size() != graph.reverse_post_order.size()) order = graph.reverse_post_order;

  std::vector<std::uint32_t> place(graph.blocks.size(), 0);
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<BasicBlock> result;
  result.reserve(order.size());
  for (std::uint32_t block : order) {
    result.push_back(graph.blocks[block]);
    for (std::uint32_t& successor : result.back().successors) successor = place[successor];
  }
  return result;
}

}  // namespace kw
