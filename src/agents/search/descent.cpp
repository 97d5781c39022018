#include "agents/search/descent.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "kernel/source/fingerprint.h"

namespace kw {
namespace {

constexpr std::size_t kernels_of_a_step = 2;
constexpr std::size_t moves_of_a_kernel = 4;
constexpr int most_steps = 256;
// A kernel whose neighbours were looked at counts as so much slower each time.
constexpr double tired = 1.04;

struct Node {
  std::size_t start = 0;
  KernelMove move;  // empty change: the start itself
  double expected_us = 0;
  double standing_us = 0;
  bool exhausted = false;
};

constexpr std::string_view arrow = " -> ";

std::vector<std::string> parts_of(const std::string& change) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < change.size();) {
    const std::size_t end = std::min(change.find(", ", at), change.size());
    parts.push_back(change.substr(at, end - at));
    at = end + 2;
  }
  return parts;
}

// "tile 64 -> 128" and then "tile 128 -> 256" is "tile 64 -> 256".
std::string joined(const std::string& before, const std::string& change) {
  std::vector<std::string> parts = parts_of(before);
  for (const std::string& next : parts_of(change)) {
    const std::size_t middle = std::min(next.find(arrow), next.size());
    const auto same = std::ranges::find_if(parts, [&](const std::string& part) {
      const std::size_t at = part.find(arrow);
      if (at == std::string::npos) return false;
      const std::size_t name = std::min(part.rfind(' ', at == 0 ? 0 : at - 1), at);
      return part.substr(0, name) + " " + part.substr(at + arrow.size()) == next.substr(0, middle);
    });
    if (same == parts.end())
      parts.push_back(next);
    else
      *same = same->substr(0, same->find(arrow)) + next.substr(middle);
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

void extend(KernelMove& move, const KernelMove& before) {
  if (before.change.empty()) return;
  move.change = joined(before.change, move.change);
  std::vector<std::string> names = before.names;
  for (std::string& name : move.names)
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  move.names = std::move(names);
}

}  // namespace

Result<std::vector<DescentFind>> descend(const std::vector<DescentStart>& starts, const NextMove& next_move,
                                         const KnownKernel& known, const DescentLooks& looks, Random& random) {
  std::vector<Node> nodes;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    nodes.push_back({i, {starts[i].kernel, "", {}}, starts[i].known_us, starts[i].known_us, false});
    seen.insert(fingerprint(starts[i].kernel));
  }
  const KnownKernel taken = [&](const std::string& text) { return seen.contains(fingerprint(text)) || known(text); };
  std::vector<DescentFind> finds;
  for (int step = 0; step < most_steps && looks.more(); ++step) {
    std::vector<Node*> fresh;
    for (Node& node : nodes)
      if (!node.exhausted) fresh.push_back(&node);
    if (fresh.empty()) break;
    std::ranges::stable_sort(fresh, {}, &Node::standing_us);
    if (fresh.size() > kernels_of_a_step) fresh.resize(kernels_of_a_step);
    std::vector<Node> next;
    std::vector<std::string> texts;
    for (Node* node : fresh) {
      node->standing_us *= tired;
      for (std::size_t i = 0; i < moves_of_a_kernel && !node->exhausted; ++i) {
        auto move = next_move(node->move.kernel, taken, random);
        node->exhausted = !move;
        if (!move) break;
        seen.insert(fingerprint(move->kernel));
        extend(*move, node->move);
        texts.push_back(move->kernel);
        next.push_back({node->start, std::move(*move), 0, node->standing_us, false});
      }
    }
    KW_TRY(const std::vector<KernelLook> looked, looks.look_at(texts));
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (!looked[i].built()) continue;
      const DescentStart& start = starts[next[i].start];
      if (reads_less(looked[i], start.look)) continue;
      if (looked[i].modelled_us > 0 && start.look.modelled_us > 0)
        next[i].standing_us = next[i].expected_us = start.known_us * looked[i].modelled_us / start.look.modelled_us;
      finds.push_back({next[i].start, next[i].move, next[i].expected_us});
      nodes.push_back(std::move(next[i]));
    }
  }
  // What has no expected time comes behind.
  std::ranges::stable_sort(finds, [](const DescentFind& a, const DescentFind& b) {
    if ((a.expected_us > 0) != (b.expected_us > 0)) return a.expected_us > 0;
    return a.expected_us < b.expected_us;
  });
  return finds;
}

}  // namespace kw
