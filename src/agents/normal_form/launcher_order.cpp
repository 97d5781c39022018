#include "agents/normal_form/launcher_order.h"

#include <cctype>

namespace kw {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t after_spaces(const std::string& text, std::size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
  return at;
}

// Behind the bracket that opens the launcher's parameters: `void launch (`, the last one; npos: none.
std::size_t parameters_begin(const std::string& text) {
  for (std::size_t at = text.rfind("launch"); at != std::string::npos && at > 0; at = text.rfind("launch", at - 1)) {
    if (in_word(text[at - 1])) continue;
    const std::size_t open = after_spaces(text, at + 6);
    if (open >= text.size() || text[open] != '(') continue;
    std::size_t before = at;
    while (before > 0 && std::isspace(static_cast<unsigned char>(text[before - 1])) != 0) --before;
    if (before >= 4 && text.compare(before - 4, 4, "void") == 0) return open + 1;
  }
  return std::string::npos;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos
             ? ""
             : std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

// to_task: the parameter at place j goes to places[j]; else the one at places[j] comes to j. The stream stays last.
std::string reordered(const std::string& text, const std::vector<std::size_t>& places, bool to_task) {
  if (places.empty()) return text;
  const std::size_t begin = parameters_begin(text);
  if (begin == std::string::npos) return text;
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t from = begin, end = begin;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '/' || c == '#' || c == '"') return text;  // comments among them: left alone
    if (depth == 0 && (c == ',' || c == ')')) {
      parts.push_back(trimmed(std::string_view(text).substr(from, end - from)));
      from = end + 1;
      if (c == ')') break;
    }
    depth += c == '(' || c == '[' || c == '<' ? 1 : c == ')' || c == ']' || c == '>' ? -1 : 0;
  }
  if (end >= text.size() || parts.size() != places.size() + 1) return text;
  std::vector<std::string> moved = parts;
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (to_task)
      moved[places[j]] = parts[j];
    else
      moved[j] = parts[places[j]];
  }
  std::string list;
  for (const std::string& part : moved) list += (list.empty() ? "" : ", ") + part;
  return text.substr(0, begin) + list + text.substr(end);
}

}  // namespace

std::string in_task_order(const NormalForm& form, const std::string& kernel) {
  return reordered(kernel, form.places, true);
}

std::string in_asked_order(const NormalForm& form, const std::string& kernel) {
  return reordered(kernel, form.places, false);
}

}  // namespace kw
