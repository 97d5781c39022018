#include "agents/normal_form/launcher_order.h"

#include <cctype>
#include <optional>

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

struct Launcher {
  std::size_t begin = 0, end = 0;  // the text between its brackets
  std::size_t body = 0;            // behind the brace that opens its body; 0: a mere declaration
  std::vector<std::string> parameters;
};

std::optional<Launcher> find_launcher(const std::string& text) {
  Launcher found;
  found.begin = parameters_begin(text);
  if (found.begin == std::string::npos) return std::nullopt;
  int depth = 0;
  std::size_t from = found.begin;
  for (found.end = from; found.end < text.size(); ++found.end) {
    const char c = text[found.end];
    if (c == '/' || c == '#' || c == '"') return std::nullopt;  // comments among them: left alone
    if (depth == 0 && (c == ',' || c == ')')) {
      found.parameters.push_back(trimmed(std::string_view(text).substr(from, found.end - from)));
      from = found.end + 1;
      if (c == ')') break;
    }
    depth += c == '(' || c == '[' || c == '<' ? 1 : c == ')' || c == ']' || c == '>' ? -1 : 0;
  }
  if (found.end >= text.size()) return std::nullopt;
  const std::size_t brace = after_spaces(text, found.end + 1);
  if (brace < text.size() && text[brace] == '{') found.body = brace + 1;
  return found;
}

// The parameter at place j goes to places[j]; the stream stays last.
std::vector<std::string> moved_to_task(const std::vector<std::string>& asked, const std::vector<std::size_t>& places) {
  std::vector<std::string> moved = asked;
  for (std::size_t j = 0; j < places.size(); ++j) moved[places[j]] = asked[j];
  return moved;
}

std::vector<std::string> moved_to_asked(const std::vector<std::string>& task, const std::vector<std::size_t>& places) {
  std::vector<std::string> moved = task;
  for (std::size_t j = 0; j < places.size(); ++j) moved[j] = task[places[j]];
  return moved;
}

std::string name_in(const std::string& parameter) {
  std::size_t begin = parameter.size();
  while (begin > 0 && in_word(parameter[begin - 1])) --begin;
  return parameter.substr(begin);
}

constexpr std::string_view constants_begin = "\n  const int ";

// "\n  const int rows = 64, cols = 1000;"
std::string constants_line(const std::vector<NamedExtent>& extents, const std::vector<std::string>& names) {
  std::string line(constants_begin);
  for (std::size_t i = 0; i < extents.size(); ++i)
    line += (i == 0 ? "" : ", ") + names[i] + " = " + std::to_string(extents[i].value);
  return line + ";";
}

// The names in such a line at the head of the body, if it is one with these values.
std::optional<std::vector<std::string>> constants_at(std::string_view body, const std::vector<NamedExtent>& extents) {
  if (!body.starts_with(constants_begin)) return std::nullopt;
  std::vector<std::string> names;
  std::size_t at = constants_begin.size();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t begin = at;
    while (at < body.size() && in_word(body[at])) ++at;
    names.emplace_back(body.substr(begin, at - begin));
    at += 3 + std::to_string(extents[i].value).size() + (i + 1 < extents.size() ? 2 : 0);
    if (names.back().empty() || at > body.size()) return std::nullopt;
  }
  if (!body.starts_with(constants_line(extents, names))) return std::nullopt;
  return names;
}

std::string joined(const std::vector<std::string>& parameters) {
  std::string list;
  for (const std::string& part : parameters) list += (list.empty() ? "" : ", ") + part;
  return list;
}

}  // namespace

std::string in_task_order(const NormalForm& form, const std::string& kernel) {
  if (!form.has_other_launcher()) return kernel;
  const auto launcher = find_launcher(kernel);
  if (!launcher || launcher->parameters.size() != form.task.parameters().size()) return kernel;
  if (form.named_extents.empty())
    return kernel.substr(0, launcher->begin) + joined(moved_to_task(launcher->parameters, form.places)) +
           kernel.substr(launcher->end);
  if (launcher->body == 0) return kernel;
  std::vector<std::string> kept = launcher->parameters, names;
  for (const NamedExtent& extent : form.named_extents) names.push_back(name_in(launcher->parameters[extent.place]));
  for (std::size_t i = form.named_extents.size(); i-- > 0;)
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(form.named_extents[i].place));
  return kernel.substr(0, launcher->begin) + joined(moved_to_task(kept, form.places)) +
         kernel.substr(launcher->end, launcher->body - launcher->end) + constants_line(form.named_extents, names) +
         kernel.substr(launcher->body);
}

std::string in_asked_order(const NormalForm& form, const std::string& kernel) {
  if (!form.has_other_launcher()) return kernel;
  const auto launcher = find_launcher(kernel);
  const std::size_t expected = form.task.parameters().size() - form.named_extents.size();
  if (!launcher || launcher->parameters.size() != expected) return kernel;
  std::vector<std::string> asked = moved_to_asked(launcher->parameters, form.places);
  if (form.named_extents.empty())
    return kernel.substr(0, launcher->begin) + joined(asked) + kernel.substr(launcher->end);
  if (launcher->body == 0) return kernel;
  const auto names = constants_at(std::string_view(kernel).substr(launcher->body), form.named_extents);
  for (std::size_t i = 0; i < form.named_extents.size(); ++i) {
    const NamedExtent& extent = form.named_extents[i];
    asked.insert(asked.begin() + static_cast<std::ptrdiff_t>(extent.place),
                 "int " + (names ? (*names)[i] : extent.name));
  }
  const std::size_t rest = launcher->body + (names ? constants_line(form.named_extents, *names).size() : 0);
  return kernel.substr(0, launcher->begin) + joined(asked) +
         kernel.substr(launcher->end, launcher->body - launcher->end) + kernel.substr(rest);
}

}  // namespace kw
