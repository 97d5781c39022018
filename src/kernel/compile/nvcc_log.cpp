#include "kernel/compile/nvcc_log.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "kernel/compile/compiler_message.h"

namespace kw {
namespace {

// The number at the front, which is taken away.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// Line and column of the `.loc 1 LINE COLUMN` before a line of the PTX; file 1 is the program.
std::pair<std::uint32_t, std::uint32_t> place_in_program(std::string_view ptx, std::uint32_t ptx_line) {
  std::pair<std::uint32_t, std::uint32_t> place{0, 0};
  for (std::uint32_t number = 1; number <= ptx_line && !ptx.empty(); ++number) {
    std::string_view line = without_blanks(take_line(ptx));
    if (!take_word(line, ".loc") || (line = without_blanks(line), take_number(line) != 1u)) continue;
    line = without_blanks(line);
    const auto user_line = take_number(line);
    line = without_blanks(line);
    if (user_line) place = {*user_line, take_number(line).value_or(0)};
  }
  return place;
}

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1 && !text.empty(); --number) text.remove_prefix(std::min(text.size() - 1, text.find('\n')) + 1);
  return text.substr(0, text.find('\n'));
}

// The column in the user's line of a place in the line as the front end shows it: `__global__` has become an attribute
// there. What stands left or right of everything expanded is found; 0 for what lies between.
std::uint32_t column_in(std::string_view line, std::string_view shown, std::size_t place) {
  const auto same = [](char a, char b) { return a == b || (a == '\t' && b == ' '); };
  const std::size_t left = static_cast<std::size_t>(
      std::mismatch(line.begin(), line.end(), shown.begin(), shown.end(), same).first - line.begin());
  if (place < left) return static_cast<std::uint32_t>(std::min<std::size_t>(place + 1, UINT32_MAX));
  const std::size_t right = static_cast<std::size_t>(
      std::mismatch(line.rbegin(), line.rend(), shown.rbegin(), shown.rend(), same).first - line.rbegin());
  const std::size_t behind = shown.size() - std::min(shown.size(), place);
  if (behind == 0 || behind > right) return 0;
  return static_cast<std::uint32_t>(std::min<std::size_t>(line.size() - behind + 1, UINT32_MAX));
}

class NvccLogParser {
 public:
  explicit NvccLogParser(const NvccLogContext& context) : context_(context) {}

  std::vector<Diagnostic> run(std::string_view log) {
    while (!log.empty() && list_.size() < max_diagnostics) read(take_line(log));
    for (Diagnostic& diagnostic : list_) diagnostic.advice = advice_for(diagnostic.message);
    return std::move(list_);
  }

 private:
  void read(std::string_view line) {
    if (without_blanks(line).empty()) return;
    if (line.front() == ' ') return read_indented(line);
    echo_lines_ = 0;
    if (line.starts_with("ptxas ")) return read_ptxas(line.substr(6));
    if (read_front_end(line) || read_host_compiler(line)) return;
    read_tool(line);
  }

  // The front end repeats the line, indented by two, and puts a caret under the place; notes are indented by eight.
  void read_indented(std::string_view line) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool caret = without_blanks(line) == "^";
    if (echo_lines_ > 0) {
      --echo_lines_;
      if (!caret) {
        shown_ = line.substr(2);
      } else if (first >= 2 && !list_.empty() && list_.back().column == 0 && in_program_) {
        list_.back().column = column_in(line_of(context_.text, list_.back().line), shown_, first - 2);
      }
      return;
    }
    if (!caret && first >= 8) add_note(without_blanks(line));
  }

  // `program.cu(12): error: ...`
  bool read_front_end(std::string_view line) {
    const std::size_t close = line.find("): ");
    if (close == std::string_view::npos) return false;
    const std::size_t open = line.rfind('(', close);
    if (open == std::string_view::npos || open == 0) return false;
    std::string_view number = line.substr(open + 1, close - open - 1), rest = line.substr(close + 3);
    const auto user_line = take_number(number);
    const auto said = read_compiler_message(rest);
    if (!user_line || !number.empty() || !said) return false;
    Diagnostic diagnostic;
    diagnostic.line = *user_line;
    in_program_ = line.substr(0, open) == whole_program_name;
    add(std::move(diagnostic), line.substr(0, open), *said);
    echo_lines_ = 2;
    shown_ = {};
    return true;
  }

  // `program.cu:12:7: error: ...`, and the assembler's `program.cu:12: Error: ...`
  bool read_host_compiler(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    std::string_view rest = line.substr(colon + 1);
    const auto user_line = take_number(rest);
    if (!user_line || !take_word(rest, ":")) return false;
    Diagnostic diagnostic;
    if (const auto column = take_number(rest)) {
      diagnostic.column = *column;
      if (!take_word(rest, ":")) return false;
    }
    const auto said = read_compiler_message(rest);
    if (!said) return false;
    if (said->severity == Severity::note && !list_.empty()) {
      add_note(fmt::format("line {}: {}", *user_line, said->text.substr(0, max_diagnostic_bytes)));
      return true;
    }
    diagnostic.line = *user_line;
    add(std::move(diagnostic), line.substr(0, colon), *said);
    return true;
  }

  // `nvcc fatal   : ...`, `gcc: fatal error: ...`, `cc1plus: out of memory`; the line that names no place.
  void read_tool(std::string_view line) {
    for (const std::string_view tool : {"nvcc ", "nvlink ", "gcc: ", "g++: ", "cc1plus: ", "fatbinary ", "cudafe++ "}) {
      std::string_view rest = line;
      if (!take_word(rest, tool)) continue;
      if (const auto said = read_compiler_message(rest)) add({}, whole_program_name, *said);
      return;
    }
  }

  // `ptxas FILE, line 26; error   : ...`, `ptxas error   : ...`
  void read_ptxas(std::string_view rest) {
    Diagnostic diagnostic;
    if (const std::size_t at = rest.find(", line "), end = rest.find(';');
        at != std::string_view::npos && end != std::string_view::npos && at < end) {
      std::string_view number = rest.substr(at + 7, end - at - 7);
      if (const auto ptx_line = take_number(number))
        std::tie(diagnostic.line, diagnostic.column) = place_in_program(context_.ptx, *ptx_line);
      rest = rest.substr(end + 1);
    }
    const auto said = read_compiler_message(rest);
    // Its information is resource usage, which has its own place.
    if (!said || said->severity == Severity::note) return;
    if (said->text.starts_with("Ptx assembly aborted due to errors") && !list_.empty()) return;
    add(std::move(diagnostic), whole_program_name, *said);
  }

  void add(Diagnostic diagnostic, std::string_view file, const CompilerMessage& said) {
    diagnostic.severity = said.severity;
    diagnostic.code = valid_utf8(said.code);
    diagnostic.file = file == whole_program_name ? valid_utf8(context_.file_name) : kept_text(file);
    diagnostic.message = kept_text(said.text);
    list_.push_back(std::move(diagnostic));
  }

  void add_note(std::string_view text) {
    if (list_.empty() || list_.back().notes.size() >= max_diagnostic_notes) return;
    list_.back().notes.push_back(kept_text(text));
  }

  const NvccLogContext& context_;
  std::vector<Diagnostic> list_;
  int echo_lines_ = 0;
  std::string_view shown_;  // the line that the front end repeats
  bool in_program_ = false;
};

}  // namespace

std::vector<Diagnostic> parse_nvcc_log(std::string_view log, const NvccLogContext& context) {
  return NvccLogParser(context).run(log);
}

std::string ptxas_lines(std::string_view log) {
  std::string lines;
  bool within = false;  // lines that continue what ptxas said are indented
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    const bool begins = line.starts_with("ptxas ");
    within = begins || (within && line.starts_with("    "));
    if (!within) continue;
    lines += begins ? "" : "ptxas ";
    lines += line;
    lines += '\n';
  }
  return lines;
}

}  // namespace kw
