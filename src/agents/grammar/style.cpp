#include "agents/grammar/style.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"

namespace kw {
namespace {

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void append_indented(std::string& out, std::string_view value, std::size_t indent) {
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    if (end > at && value[at] != '#') out.append(indent, ' ');  // #pragma stands at the margin
    out.append(value.substr(at, end - at));
    out += '\n';
    at = end + 1;
  }
}

constexpr std::size_t widest = 110;

// Long heads of functions and launches, broken behind a parameter.
void append_wrapped(std::string& out, std::string_view line, bool aligned) {
  const std::size_t open = line.find('(', line.find(' '));
  const std::size_t indent = aligned && open < 50 ? open + 1 : 4;
  std::size_t used = 0;
  while (used + line.size() > widest) {
    const std::size_t cut = line.rfind(", ", widest - used);
    if (cut == std::string_view::npos || cut == 0) break;
    out.append(line.substr(0, cut + 1));
    out += '\n';
    out.append(indent, ' ');
    line.remove_prefix(cut + 2);
    used = indent;
  }
  out.append(line);
}

// A long statement, broken behind its `=` and then where an operand ends.
void append_statement(std::string& out, std::string_view line, std::size_t indent) {
  std::size_t used = indent;
  bool assigned = false;  // one `=` only
  while (used + line.size() > widest) {
    std::size_t cut = std::string_view::npos;
    for (std::string_view mark : {" = ", " ? ", " : ", ", ", " + ", " * "}) {
      if (assigned && mark == " = ") continue;
      const std::size_t at = line.rfind(mark, widest - used - mark.size());
      if (at == std::string_view::npos || at == 0) continue;
      // `?` and `:` begin a line, everything else ends one.
      cut = mark == " ? " || mark == " : " ? at + 1 : at + mark.size();
      break;
    }
    if (cut == std::string_view::npos) break;
    out.append(line.substr(0, cut - 1));
    out += '\n';
    used = indent + 4;
    out.append(used, ' ');
    line.remove_prefix(cut);
    assigned = true;
  }
  out.append(line);
}

}  // namespace

Style draw_style(Random& random) {
  const auto chance = [&](double p) { return random.uniform() < p; };
  Style style;
  style.comments = chance(0.45);
  style.restrict_pointers = chance(0.55);
  style.const_locals = chance(0.55);
  style.four_spaces = chance(0.35);
  style.helper_functions = chance(0.45);
  style.function_form = chance(0.2);
  style.block_constant = chance(0.35);
  style.early_return = chance(0.6);
  style.load_first = chance(0.6);
  style.name_by_operand = chance(0.55);
  style.rename_in_kernel = chance(0.3);
  style.dim3_launch = chance(0.3);
  style.launch_locals = chance(0.75);
  style.pre_increment = chance(0.65);
  style.force_inline = chance(0.4);
  style.align_parameters = chance(0.48);
  style.index_form = static_cast<int>(random.integer(0, 2));
  style.ceil_div_form = chance(0.7) ? 0 : static_cast<int>(random.integer(1, 2));
  return style;
}

void use_formulas(Style& style) {
  style.formulas = true;
  style.function_form = true;
  style.helper_functions = true;
  style.comments = false;
}

std::string Names::pick(std::initializer_list<std::string_view> candidates) {
  KW_CHECK(candidates.size() > 0);
  const auto start = static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(candidates.size()) - 1));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::string name(candidates.begin()[(start + i) % candidates.size()]);
    if (take(name)) return name;
  }
  for (int number = 2;; ++number) {
    std::string name = std::string(*candidates.begin()) + std::to_string(number);
    if (take(name)) return name;
  }
}

std::string Names::pick_for_file(std::initializer_list<std::string_view> candidates) {
  std::string name = pick(candidates);
  file_.insert(name);
  return name;
}

std::string fill(std::string_view text, const Fields& fields) {
  const auto value_of = [&](std::string_view name) -> const std::string& {
    for (const auto& [key, value] : fields)
      if (key == name) return value;
    check_failed(std::string(name).c_str(), __FILE__, __LINE__);
  };
  std::string out;
  out.reserve(text.size() * 2);
  if (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string_view::npos && line[begin] == '$' &&
        std::all_of(line.begin() + static_cast<std::ptrdiff_t>(begin) + 1, line.end(), word_character)) {
      append_indented(out, value_of(line.substr(begin + 1)), begin);
      continue;
    }
    for (std::size_t i = 0; i < line.size();) {
      if (line[i] != '$') {
        out += line[i++];
        continue;
      }
      std::size_t stop = i + 1;
      while (stop < line.size() && word_character(line[stop])) ++stop;
      out += value_of(line.substr(i + 1, stop - i - 1));
      i = stop;
      if (i < line.size() && line[i] == '$') ++i;  // $name$ where a letter follows
    }
    out += '\n';
  }
  return out;
}

std::string lay_out(const std::string& text, const Style& style) {
  std::string out;
  out.reserve(text.size() + 256);
  bool empty_before = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    const std::size_t comment = line.find("//");
    if (!style.comments && comment != std::string_view::npos) {
      line = line.substr(0, comment);
      if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    }
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (line.empty()) {
      if (!empty_before) out += '\n';
      empty_before = true;
      continue;
    }
    empty_before = false;
    const std::size_t begin = line.find_first_not_of(' ');
    const std::size_t indent = style.four_spaces ? 2 * begin : begin;
    out.append(indent, ' ');
    line.remove_prefix(begin);
    if (style.formulas) {
      out.append(line);
      out += '\n';
      continue;
    }
    const bool head = line.rfind("__global__", 0) == 0 || line.rfind("extern", 0) == 0;
    if (head) {
      append_wrapped(out, line, style.align_parameters);
    } else if (const std::size_t body = line.find(") { return ");
               indent + line.size() > widest && begin == 0 && body != std::string_view::npos) {
      out.append(line.substr(0, body + 3));
      out += '\n';
      out.append(style.four_spaces ? 4 : 2, ' ');
      line.remove_prefix(body + 4);
      append_statement(out, line.substr(0, line.size() - 2), style.four_spaces ? 4 : 2);
      out += "\n}";
    } else if (indent + line.size() > widest && line.front() != '#' && comment == std::string_view::npos) {
      append_statement(out, line, indent);
    } else {
      out.append(line);
    }
    out += '\n';
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

std::string pick_one(Random& random, std::initializer_list<std::string_view> values) {
  return std::string(values.begin()[random.integer(0, static_cast<std::int64_t>(values.size()) - 1)]);
}

}  // namespace kw
