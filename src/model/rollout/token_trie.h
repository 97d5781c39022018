#pragma once
// The tokens of a vocabulary by their bytes. Which tokens an automaton over bytes takes is found in one walk: what
// tokens begin with is looked at once, and a part of the tree whose first byte is refused not at all.

#include <cstdint>
#include <span>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace kw {

class TokenTrie {
 public:
  // Without special tokens, and those without bytes.
  explicit TokenTrie(const Tokenizer& tokenizer);

  // `step(state, byte)`: whether the automaton goes on; it changes its state then. `found(token, state)`: for each
  // token all of whose bytes were taken.
  template <class State, class Step, class Found>
  void walk(const State& start, const Step& step, const Found& found) const {
    std::vector<State> states(static_cast<std::size_t>(most_bytes_) + 1, start);
    for (std::size_t at = 0; at < nodes_.size();) {
      const Node& node = nodes_[at];
      State& state = states[node.depth];
      state = states[node.depth - 1];
      if (!step(state, node.byte)) {
        at = node.next;
        continue;
      }
      for (std::uint32_t i = node.first_token; i < node.end_token; ++i) found(tokens_[i], state);
      ++at;
    }
  }

 private:
  // Depth first: the children of a node follow it.
  struct Node {
    std::uint32_t next = 0;  // behind everything below it
    std::uint32_t first_token = 0, end_token = 0;
    std::uint16_t depth = 0;  // of the first byte: 1
    std::uint8_t byte = 0;
  };
  std::vector<Node> nodes_;
  std::vector<std::int32_t> tokens_;
  std::uint16_t most_bytes_ = 0;
};

}  // namespace kw
