#include "kernel/source/pitfalls_syntax.h"

#include <tree_sitter/api.h>

#include <ctime>
#include <memory>

#include "base/check.h"

extern "C" const TSLanguage* tree_sitter_cuda();

namespace kw {
namespace {

// A real kernel takes milliseconds; text made to confuse the parser can take minutes. Counted in processor time, so
// that a busy machine does not change the findings.
constexpr double max_parse_cpu_s = 0.3;

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Deadline {
  double cpu_s = thread_cpu_s() + max_parse_cpu_s;
};

bool is_over(TSParseState* state) { return thread_cpu_s() > static_cast<const Deadline*>(state->payload)->cpu_s; }

// Brackets alone show most of what would nest too deeply, before the parser spends time on it.
bool nests_too_deeply(std::string_view text) {
  std::size_t depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (depth > max_pitfall_depth) return true;
  }
  return false;
}

struct WholeText {
  std::string_view text;
};

const char* read_text(void* payload, std::uint32_t at, TSPoint, std::uint32_t* bytes) {
  const std::string_view text = static_cast<WholeText*>(payload)->text;
  *bytes = at < text.size() ? static_cast<std::uint32_t>(text.size() - at) : 0;
  return at < text.size() ? text.data() + at : "";
}

using Parser = std::unique_ptr<TSParser, decltype(&ts_parser_delete)>;
using Tree = std::unique_ptr<TSTree, decltype(&ts_tree_delete)>;

SyntaxNode read_node(TSNode node, const char* field, std::string_view text) {
  SyntaxNode result;
  result.type = ts_node_type(node);
  if (field != nullptr) result.field = field;
  const std::uint32_t begin = ts_node_start_byte(node);
  const std::uint32_t end = ts_node_end_byte(node);
  result.text = begin <= end && end <= text.size() ? text.substr(begin, end - begin) : std::string_view{};
  const TSPoint point = ts_node_start_point(node);
  result.line = point.row + 1;
  result.column = point.column + 1;
  result.named = ts_node_is_named(node);
  return result;
}

}  // namespace

NodeIndex SyntaxTree::child(NodeIndex parent, std::string_view field) const {
  if (parent == no_node) return no_node;
  for (NodeIndex i = parent + 1; i < nodes[parent].end; i = nodes[i].end) {
    if (nodes[i].field == field) return i;
  }
  return no_node;
}

std::vector<NodeIndex> SyntaxTree::named_children(NodeIndex parent) const {
  std::vector<NodeIndex> result;
  if (parent == no_node) return result;
  for (NodeIndex i = parent + 1; i < nodes[parent].end; i = nodes[i].end) {
    if (nodes[i].named && nodes[i].type != "comment") result.push_back(i);
  }
  return result;
}

NodeIndex SyntaxTree::unwrapped(NodeIndex i) const {
  while (i != no_node && (is(i, "parenthesized_expression") || is(i, "condition_clause"))) {
    const std::vector<NodeIndex> inner = named_children(i);
    i = inner.empty() ? no_node : inner.back();
  }
  return i;
}

std::optional<SyntaxTree> parse_cuda(std::string_view text) {
  if (text.size() > max_syntax_bytes || nests_too_deeply(text)) return std::nullopt;
  const Parser parser(ts_parser_new(), &ts_parser_delete);
  KW_CHECK(parser != nullptr && ts_parser_set_language(parser.get(), tree_sitter_cuda()));
  WholeText whole{text};
  Deadline deadline;
  const TSInput input{&whole, &read_text, TSInputEncodingUTF8, nullptr};
  const TSParseOptions options{&deadline, &is_over};
  const Tree tree(ts_parser_parse_with_options(parser.get(), nullptr, input, options), &ts_tree_delete);
  if (tree == nullptr) return std::nullopt;

  SyntaxTree result;
  std::vector<NodeIndex> open;  // the path to the present node
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree.get()));
  bool too_deep = false;
  for (bool more = true; more;) {
    SyntaxNode node = read_node(ts_tree_cursor_current_node(&cursor), ts_tree_cursor_current_field_name(&cursor), text);
    node.parent = open.empty() ? no_node : open.back();
    const auto index = static_cast<NodeIndex>(result.nodes.size());
    node.end = index + 1;
    result.nodes.push_back(node);
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      open.push_back(index);
      too_deep = open.size() > max_pitfall_depth;
      more = !too_deep;
      continue;
    }
    while (!ts_tree_cursor_goto_next_sibling(&cursor)) {
      more = ts_tree_cursor_goto_parent(&cursor);
      if (!more) break;
      result.nodes[open.back()].end = static_cast<NodeIndex>(result.nodes.size());
      open.pop_back();
    }
  }
  ts_tree_cursor_delete(&cursor);
  if (too_deep) return std::nullopt;
  return result;
}

}  // namespace kw
