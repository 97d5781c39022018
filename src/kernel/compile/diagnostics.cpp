#include "kernel/compile/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kernel/compile/compiler.h"
#include "kernel/compile/compiler_message.h"
#include "kernel/compile/ptx.h"

namespace kw {
namespace {

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class LogParser {
 public:
  explicit LogParser(const LogContext& context) : context_(context) {}

  std::vector<Diagnostic> run(std::string_view log) {
    while (!log.empty() && list_.size() < max_diagnostics) read(take_line(log));
    for (Diagnostic& diagnostic : list_) diagnostic.advice = advice_for(diagnostic.message);
    return std::move(list_);
  }

 private:
  void read(std::string_view line) {
    if (without_blanks(line).empty()) {
      echo_lines_ = 0;
      return;
    }
    if (line.starts_with("ptxas")) return read_ptxas(line);
    if (read_positioned(line)) return;
    if (read_unpositioned(line)) return;
    // The compiler repeats the source line and puts a caret under it; then come indented notes.
    if (echo_lines_ > 0) {
      --echo_lines_;
      return;
    }
    if (line.starts_with("        ")) add_note(without_blanks(line));
  }

  // `kernel.cu(12): error: ...`
  bool read_positioned(std::string_view line) {
    const std::size_t close = line.find("): ");
    if (close == std::string_view::npos || line[0] == ' ') return false;
    const std::size_t open = line.rfind('(', close);
    if (open == std::string_view::npos) return false;
    const std::optional<std::uint64_t> number = whole_number(line.substr(open + 1, close - open - 1));
    const std::optional<CompilerMessage> said = read_compiler_message(line.substr(close + 3));
    if (!number || !said) return false;
    const std::string_view file = line.substr(0, open);
    // No header of ours is called like this: a message of the source's own that imitates the compiler.
    if (file.empty() || file[0] == '/' || file.find_first_of(" \t\"") != std::string_view::npos) return false;
    if (file == "__nv_name_map") return read_kernel_name(*said);
    Diagnostic diagnostic;
    if (file == compiled_file_name) {
      const UserPosition user = context_.lines->at(*number);
      diagnostic.file = context_.file_name;
      diagnostic.line = user.line;
      diagnostic.column = user.column;
    } else {
      diagnostic.file = kept_text(file);
      diagnostic.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(*number, UINT32_MAX));
    }
    add(std::move(diagnostic), *said);
    echo_lines_ = 2;
    return true;
  }

  // The requested kernels are looked up by code that NVRTC adds; of several messages about one, the last names it.
  bool read_kernel_name(const CompilerMessage& said) {
    echo_lines_ = 2;
    constexpr std::string_view words = "Input name expression was: \"";
    const std::size_t at = said.text.find(words);
    if (at == std::string_view::npos) return true;
    std::string_view name = without_blanks(said.text.substr(at + words.size()));
    if (!name.empty() && name.back() == '"') name.remove_suffix(1);
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    const std::string message = "there is no kernel \"" + std::string(without_blanks(name)) + "\" in the device code";
    add(std::move(diagnostic), {Severity::error, "", message});
    return true;
  }

  // `nvrtc: error: ...`, `error: ...`; the line that names no place.
  bool read_unpositioned(std::string_view line) {
    if (line.starts_with("nvrtc: ")) line.remove_prefix(7);
    if (line.empty() || line[0] == ' ' || line.starts_with("Remark: ")) return false;
    const std::optional<CompilerMessage> said = read_compiler_message(line);
    if (!said) return false;
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    add(std::move(diagnostic), *said);
    return true;
  }

  // `ptxas error   : ...`, `ptxas application ptx input, line 26; error   : ...`
  void read_ptxas(std::string_view line) {
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    constexpr std::string_view place = "ptxas application ptx input, line ";
    std::string_view rest = line.substr(5);
    if (line.starts_with(place)) {
      const std::size_t semicolon = line.find(';');
      if (semicolon == std::string_view::npos) return;
      const auto number = whole_number(line.substr(place.size(), semicolon - place.size()));
      if (number) {
        const UserPosition user = position_of_ptx_line(context_.ptx, *number, *context_.lines);
        diagnostic.line = user.line;
        diagnostic.column = user.column;
      }
      rest = line.substr(semicolon + 1);
    }
    const std::optional<CompilerMessage> said = read_compiler_message(rest);
    if (!said) return;
    // Most of ptxas's information is resource usage, which has its own place; advice has a code: "(C7510) Potential
    // ...".
    if (said->severity == Severity::note && !said->text.starts_with("(C")) return;
    if (said->text.starts_with("Ptx assembly aborted due to errors") && !list_.empty()) return;
    add(std::move(diagnostic), *said);
  }

  void add(Diagnostic diagnostic, const CompilerMessage& said) {
    diagnostic.severity = said.severity;
    diagnostic.code = valid_utf8(said.code);
    diagnostic.message = kept_text(with_user_lines(said.text));
    list_.push_back(std::move(diagnostic));
  }

  void add_note(std::string_view text) {
    if (list_.empty() || list_.back().notes.size() >= max_diagnostic_notes) return;
    if (text.starts_with("^")) return;
    list_.back().notes.push_back(kept_text(with_user_lines(text)));
  }

  // "at line 12" speaks of a canonical line unless a header is named behind it.
  std::string with_user_lines(std::string_view text) const {
    constexpr std::string_view words = "at line ";
    std::string out;
    if (text.size() > 2 * max_diagnostic_bytes) text = text.substr(0, 2 * max_diagnostic_bytes);
    for (;;) {
      const std::size_t at = text.find(words);
      if (at == std::string_view::npos) break;
      const std::size_t begin = at + words.size();
      std::size_t end = begin;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
      const std::optional<std::uint64_t> number = whole_number(text.substr(begin, end - begin));
      const bool in_header = text.substr(end).starts_with(" of ");
      out.append(text.substr(0, begin));
      if (number && !in_header && context_.lines->at(*number).line != 0) {
        out.append(std::to_string(context_.lines->at(*number).line));
      } else {
        out.append(text.substr(begin, end - begin));
      }
      text.remove_prefix(end);
    }
    out.append(text);
    return out;
  }

  const LogContext& context_;
  std::vector<Diagnostic> list_;
  int echo_lines_ = 0;
};

// Length of the UTF-8 sequence at the front, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, beyond U+10FFFF.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string to_string(const Diagnostic& diagnostic) {
  std::string line = diagnostic.file;
  if (diagnostic.line != 0) line += ":" + std::to_string(diagnostic.line);
  if (diagnostic.line != 0 && diagnostic.column != 0) line += ":" + std::to_string(diagnostic.column);
  if (!line.empty()) line += ": ";
  line += std::string(to_string(diagnostic.severity)) + ": " + diagnostic.message;
  if (!diagnostic.code.empty()) line += " [" + diagnostic.code + "]";
  return line;
}

std::vector<Diagnostic> parse_log(std::string_view log, const LogContext& context) {
  KW_CHECK(context.lines != nullptr);
  return LogParser(context).run(log);
}

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      out.append("\xEF\xBF\xBD");
    } else if (length == 1 && (static_cast<unsigned char>(bytes[0]) < 0x20 || bytes[0] == 0x7F)) {
      out.push_back(' ');
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace kw
