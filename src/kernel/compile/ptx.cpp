#include "kernel/compile/ptx.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "base/text_lines.h"

namespace kw {
namespace {

std::string_view without_blanks(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view{} : line.substr(first);
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// Takes a whole number off the front, after blanks and commas.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t' || text[0] == ',')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct Loc {
  std::uint64_t file = 0;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
  std::string_view rest;  // ", function_name ..., inlined_at 1 9 3"
};

std::optional<Loc> parse_loc(std::string_view line) {
  std::string_view text = without_blanks(line);
  if (text.rfind(".loc", 0) != 0) return std::nullopt;
  text.remove_prefix(4);
  Loc loc;
  for (std::uint64_t* part : {&loc.file, &loc.line, &loc.column}) {
    const std::optional<std::uint64_t> number = take_number(text);
    if (!number) return std::nullopt;
    *part = *number;
  }
  loc.rest = text;
  return loc;
}

// The number that a `.file 1 "kernel.cu"` line gives to the compiled file; 1 when it is not there.
std::uint64_t number_of_file(std::string_view ptx, std::string_view name) {
  std::uint64_t number = 1;
  // Written last, so only the end has to be read.
  const std::size_t start = ptx.rfind("\n}");
  if (start != std::string_view::npos) ptx.remove_prefix(start);
  bool found = false;
  for_each_line(ptx, [&](std::string_view line) {
    std::string_view text = without_blanks(line);
    if (found || text.rfind(".file", 0) != 0) return;
    text.remove_prefix(5);
    const std::optional<std::uint64_t> candidate = take_number(text);
    if (!candidate || text.find(name) == std::string_view::npos) return;
    number = *candidate;
    found = true;
  });
  return number;
}

void append_number(std::string& out, std::uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// "inlined_at 1 57 3" names a canonical line too.
void append_inlined(std::string& out, std::string_view rest, std::uint64_t file, const LineMap& lines) {
  constexpr std::string_view word = "inlined_at ";
  const std::size_t at = rest.find(word);
  if (at == std::string_view::npos) {
    out.append(rest);
    return;
  }
  out.append(rest.substr(0, at + word.size()));
  std::string_view numbers = rest.substr(at + word.size());
  const auto inlined_file = take_number(numbers);
  const auto line = take_number(numbers);
  const auto column = take_number(numbers);
  if (!inlined_file || !line || !column) {
    out.append(rest.substr(at + word.size()));
    return;
  }
  UserPosition user{static_cast<std::uint32_t>(*line), static_cast<std::uint32_t>(*column)};
  if (*inlined_file == file) user = lines.at(*line);
  append_number(out, *inlined_file);
  out.push_back(' ');
  append_number(out, user.line);
  out.push_back(' ');
  append_number(out, user.column);
  out.append(numbers);
}

bool is_line_information(std::string_view text) { return text.rfind(".loc", 0) == 0 || text.rfind(".file", 0) == 0; }

}  // namespace

std::vector<PtxEntry> ptx_entries(std::string_view ptx) {
  std::vector<PtxEntry> entries;
  bool in_head = false;  // between `.entry` and the body
  for_each_line(ptx, [&](std::string_view line) {
    const std::string_view text = without_blanks(line);
    if (text.empty() || (text[0] != '.' && text[0] != '{')) return;
    constexpr std::string_view word = ".entry ";
    // `.entry` itself or after its linkage: `.visible .entry name(`; never in an instruction.
    const bool may_declare =
        text.rfind(".entry", 0) == 0 || text.rfind(".visible", 0) == 0 || text.rfind(".weak", 0) == 0;
    const std::size_t at = may_declare ? text.find(word) : std::string_view::npos;
    if (at != std::string_view::npos) {
      std::string_view name = text.substr(at + word.size());
      std::size_t length = 0;
      while (length < name.size() && is_name_character(name[length])) ++length;
      if (length > 0) entries.push_back({std::string(name.substr(0, length)), 0});
      in_head = length > 0;
    } else if (in_head && (text.rfind(".maxntid", 0) == 0 || text.rfind(".reqntid", 0) == 0)) {
      std::string_view numbers = text.substr(8);
      std::uint64_t threads = 1;
      while (const auto number = take_number(numbers)) threads = *number <= 65536 ? threads * *number : 0;
      entries.back().max_threads = threads <= 65536 ? static_cast<int>(threads) : 0;
    } else if (in_head && !text.empty() && text[0] == '{') {
      in_head = false;
    }
  });
  return entries;
}

std::string with_user_positions(std::string_view ptx, const LineMap& lines, std::string_view compiled_name,
                                std::string_view user_name) {
  const std::uint64_t file = number_of_file(ptx, compiled_name);
  const bool printable = user_name.find_first_of("\"\n\r\\") == std::string_view::npos;
  std::string out;
  out.reserve(ptx.size() + 256);
  for_each_line(ptx, [&](std::string_view line) {
    const std::string_view text = without_blanks(line);
    if (text.empty() || text[0] != '.') {
      out.append(line).push_back('\n');
      return;
    }
    if (const std::optional<Loc> loc = parse_loc(line)) {
      UserPosition user{static_cast<std::uint32_t>(loc->line), static_cast<std::uint32_t>(loc->column)};
      if (loc->file == file) user = lines.at(loc->line);
      if (user.line == 0) return;
      out.append("\t.loc\t");
      append_number(out, loc->file);
      out.push_back(' ');
      append_number(out, user.line);
      out.push_back(' ');
      append_number(out, user.column);
      append_inlined(out, loc->rest, file, lines);
      out.push_back('\n');
      return;
    }
    const std::size_t name = is_line_information(text) ? line.find(compiled_name) : std::string_view::npos;
    if (name != std::string_view::npos && printable) {
      // The folder before the name is the sandbox's, and says nothing.
      const std::size_t quote = line.rfind('"', name);
      out.append(line.substr(0, quote == std::string_view::npos ? name : quote + 1)).append(user_name);
      out.append(line.substr(name + compiled_name.size()));
    } else {
      out.append(line);
    }
    out.push_back('\n');
  });
  return out;
}

UserPosition position_of_ptx_line(std::string_view ptx, std::uint64_t ptx_line, const LineMap& lines) {
  UserPosition last;
  for (std::uint64_t number = 1; number <= ptx_line && !ptx.empty(); ++number) {
    const std::string_view line = ptx.substr(0, ptx.find('\n'));
    ptx.remove_prefix(std::min(ptx.size(), line.size() + 1));
    const std::optional<Loc> loc = parse_loc(line);
    if (loc && loc->file == 1) last = lines.at(loc->line);
  }
  return last;
}

std::string ptx_fingerprint(std::string_view ptx) {
  // Every name that is not an instruction, a register or a directive is numbered by its first appearance. Names of
  // registers and labels are given by the compiler alone and stay.
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::string normal;
  normal.reserve(ptx.size());
  bool in_debug_section = false;
  for_each_line(ptx, [&](std::string_view line) {
    std::string_view text = without_blanks(line);
    const std::size_t comment = text.find("//");
    if (comment != std::string_view::npos) text = text.substr(0, comment);
    if (text.rfind(".section", 0) == 0) in_debug_section = true;
    if (in_debug_section) {
      if (text.find('}') != std::string_view::npos) in_debug_section = false;
      return;
    }
    if (text.empty() || is_line_information(text)) return;
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++i;
        continue;
      }
      const bool after_name_mark = i > 0 && (text[i - 1] == '.' || text[i - 1] == '%');
      std::size_t length = 0;
      while (i + length < text.size() && is_name_character(text[i + length])) ++length;
      const bool starts_name = length > 0 && !(c >= '0' && c <= '9');
      const std::string_view word = text.substr(i, length);
      // User names as NVRTC writes them: mangled, or plain for extern "C" and parameters.
      const bool is_opcode = i + length < text.size() && text[i + length] == '.' && text.find_first_not_of(" \t{") == i;
      if (!starts_name || after_name_mark || is_opcode || c == '$') {
        const std::size_t taken = length > 0 ? length : 1;
        normal.append(text.substr(i, taken));
        i += taken;
        continue;
      }
      const auto [entry, is_new] = numbers.try_emplace(word, numbers.size());
      (void)is_new;
      normal.push_back('@');
      append_number(normal, entry->second);
      i += length;
    }
    normal.push_back('\n');
  });
  return sha256_hex(normal);
}

}  // namespace kw
