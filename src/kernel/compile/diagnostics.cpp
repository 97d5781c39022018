#include "kernel/compile/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "kernel/compile/compiler.h"
#include "kernel/compile/ptx.h"

namespace kw {
namespace {

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string bounded(std::string_view text) {
  if (text.size() <= max_diagnostic_bytes) return valid_utf8(text);
  return valid_utf8(text.substr(0, max_diagnostic_bytes)) + " ...";
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "error: message", "warning #177-D: message", "catastrophic error: message".
struct Verdict {
  Severity severity;
  std::string_view code;
  std::string_view message;
};

std::optional<Verdict> parse_verdict(std::string_view text) {
  struct Word {
    std::string_view text;
    Severity severity;
  };
  static constexpr Word words[] = {{"catastrophic error", Severity::error},
                                   {"internal error", Severity::error},
                                   {"error", Severity::error},
                                   {"fatal", Severity::error},
                                   {"warning", Severity::warning},
                                   {"remark", Severity::note},
                                   {"note", Severity::note},
                                   {"info", Severity::note}};
  text = trimmed(text);
  for (const Word& word : words) {
    if (!starts_with(text, word.text)) continue;
    std::string_view rest = text.substr(word.text.size());
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    std::string_view code = trimmed(rest.substr(0, colon));
    if (starts_with(code, "#")) code.remove_prefix(1);
    if (code.size() > 16 || code.find(' ') != std::string_view::npos) return std::nullopt;
    return Verdict{word.severity, code, trimmed(rest.substr(colon + 1))};
  }
  return std::nullopt;
}

class LogParser {
 public:
  explicit LogParser(const LogContext& context) : context_(context) {}

  std::vector<Diagnostic> run(std::string_view log) {
    while (!log.empty() && list_.size() < max_diagnostics) {
      const std::string_view line = log.substr(0, log.find('\n'));
      log.remove_prefix(std::min(log.size(), line.size() + 1));
      read(line);
    }
    for (Diagnostic& diagnostic : list_) diagnostic.advice = advice_for(diagnostic.message);
    return std::move(list_);
  }

 private:
  void read(std::string_view line) {
    if (trimmed(line).empty()) {
      echo_lines_ = 0;
      return;
    }
    if (starts_with(line, "ptxas")) return read_ptxas(line);
    if (read_positioned(line)) return;
    if (read_unpositioned(line)) return;
    // The compiler repeats the source line and puts a caret under it; then come indented notes.
    if (echo_lines_ > 0) {
      --echo_lines_;
      return;
    }
    if (starts_with(line, "        ")) add_note(trimmed(line));
  }

  // `kernel.cu(12): error: ...`
  bool read_positioned(std::string_view line) {
    const std::size_t close = line.find("): ");
    if (close == std::string_view::npos || line[0] == ' ') return false;
    const std::size_t open = line.rfind('(', close);
    if (open == std::string_view::npos) return false;
    const std::optional<std::uint64_t> number = whole_number(line.substr(open + 1, close - open - 1));
    const std::optional<Verdict> verdict = parse_verdict(line.substr(close + 3));
    if (!number || !verdict) return false;
    const std::string_view file = line.substr(0, open);
    // No header of ours is called like this: a message of the source's own that imitates the compiler.
    if (file.empty() || file[0] == '/' || file.find_first_of(" \t\"") != std::string_view::npos) return false;
    if (file == "__nv_name_map") return read_kernel_name(*verdict);
    Diagnostic diagnostic;
    if (file == compiled_file_name) {
      const UserPosition user = context_.lines->at(*number);
      diagnostic.file = context_.file_name;
      diagnostic.line = user.line;
      diagnostic.column = user.column;
    } else {
      diagnostic.file = bounded(file);
      diagnostic.line = static_cast<std::uint32_t>(std::min<std::uint64_t>(*number, UINT32_MAX));
    }
    add(std::move(diagnostic), *verdict);
    echo_lines_ = 2;
    return true;
  }

  // The requested kernels are looked up by code that NVRTC adds; of several messages about one, the last names it.
  bool read_kernel_name(const Verdict& verdict) {
    echo_lines_ = 2;
    constexpr std::string_view words = "Input name expression was: \"";
    const std::size_t at = verdict.message.find(words);
    if (at == std::string_view::npos) return true;
    std::string_view name = trimmed(verdict.message.substr(at + words.size()));
    if (!name.empty() && name.back() == '"') name.remove_suffix(1);
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    const std::string message = "there is no kernel \"" + std::string(trimmed(name)) + "\" in the device code";
    add(std::move(diagnostic), {Severity::error, "", message});
    return true;
  }

  // `nvrtc: error: ...`, `error: ...`; the line that names no place.
  bool read_unpositioned(std::string_view line) {
    if (starts_with(line, "nvrtc: ")) line.remove_prefix(7);
    if (line.empty() || line[0] == ' ' || starts_with(line, "Remark: ")) return false;
    const std::optional<Verdict> verdict = parse_verdict(line);
    if (!verdict) return false;
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    add(std::move(diagnostic), *verdict);
    return true;
  }

  // `ptxas error   : ...`, `ptxas application ptx input, line 26; error   : ...`
  void read_ptxas(std::string_view line) {
    Diagnostic diagnostic;
    diagnostic.file = context_.file_name;
    constexpr std::string_view place = "ptxas application ptx input, line ";
    std::string_view rest = line.substr(5);
    if (starts_with(line, place)) {
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
    const std::optional<Verdict> verdict = parse_verdict(rest);
    if (!verdict) return;
    // Most of ptxas's information is resource usage, which has its own place; advice has a code: "(C7510) Potential
    // ...".
    if (verdict->severity == Severity::note && !starts_with(verdict->message, "(C")) return;
    if (starts_with(verdict->message, "Ptx assembly aborted due to errors") && !list_.empty()) return;
    add(std::move(diagnostic), *verdict);
  }

  void add(Diagnostic diagnostic, const Verdict& verdict) {
    diagnostic.severity = verdict.severity;
    diagnostic.code = valid_utf8(verdict.code);
    diagnostic.message = bounded(with_user_lines(verdict.message));
    list_.push_back(std::move(diagnostic));
  }

  void add_note(std::string_view text) {
    if (list_.empty() || list_.back().notes.size() >= max_diagnostic_notes) return;
    if (starts_with(text, "^")) return;
    list_.back().notes.push_back(bounded(with_user_lines(text)));
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
      const bool in_header = starts_with(text.substr(end), " of ");
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
