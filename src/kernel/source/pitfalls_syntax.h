#pragma once
// A CUDA file's syntax tree as one array in source order: a node is followed by its children, so a subtree is a range
// and nothing that reads it needs recursion.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kw {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex no_node = UINT32_MAX;

struct SyntaxNode {
  std::string_view type;   // the grammar's name: "for_statement"; an operator's own text: "+"
  std::string_view field;  // its role in the parent: "left"; may be empty
  std::string_view text;
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  NodeIndex parent = no_node;
  NodeIndex end = 0;  // one behind the last node of its subtree
  bool named = false;
};

struct SyntaxTree {
  std::vector<SyntaxNode> nodes;

  const SyntaxNode& operator[](NodeIndex i) const { return nodes[i]; }
  bool is(NodeIndex i, std::string_view type) const { return i != no_node && nodes[i].type == type; }
  // The child with this role, or no_node.
  NodeIndex child(NodeIndex parent, std::string_view field) const;
  // Children that the grammar names; operators and brackets are left out.
  std::vector<NodeIndex> named_children(NodeIndex parent) const;
  // Without surrounding brackets.
  NodeIndex unwrapped(NodeIndex i) const;
  bool inside(NodeIndex i, NodeIndex ancestor) const { return i >= ancestor && i < nodes[ancestor].end; }
};

inline constexpr std::size_t max_syntax_bytes = 256u << 10;
inline constexpr std::size_t max_pitfall_depth = 200;

// Nothing when a limit is reached. The text must outlive the tree.
std::optional<SyntaxTree> parse_cuda(std::string_view text);

}  // namespace kw
