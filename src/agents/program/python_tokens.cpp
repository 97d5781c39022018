#include "agents/program/python_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "agents/program/python_text.h"

namespace kw {
namespace {

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view reader) : text_(text), reader_(reader) {}

  Result<std::vector<PythonToken>> scan() {
    tokens_.reserve(text_.size() / 4);
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        end_line();
        ++at_;
        ++line_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (begins_name(c)) {
        std::size_t end = at_;
        while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) ++end;
        take(PythonToken::Kind::name, end);
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        if (!number()) return unknown_line(text_, at_, reader_);
      } else if (c == '"' || c == '\'') {
        if (!string(c)) return unknown_line(text_, at_, reader_);
      } else if (!sign()) {
        return unknown_line(text_, at_, reader_);
      }
    }
    if (open_ != 0) return unknown_line(text_, opened_at_, reader_);
    end_line();
    add(PythonToken::Kind::end, "", at_);
    return std::move(tokens_);
  }

 private:
  void add(PythonToken::Kind kind, std::string text, std::size_t end) {
    tokens_.push_back({kind, std::move(text), line_, at_, end});
  }
  void take(PythonToken::Kind kind, std::size_t end) {
    add(kind, std::string(text_.substr(at_, end - at_)), end);
    at_ = end;
  }
  void end_line() {
    if (open_ == 0 && !tokens_.empty() && tokens_.back().kind != PythonToken::Kind::line_end)
      add(PythonToken::Kind::line_end, "", at_);
  }
  bool number() {
    std::size_t end = at_;
    bool exponent = false;
    while (end < text_.size()) {
      const char c = text_[end];
      if (is_digit(c) || c == '.') {
        ++end;
      } else if ((c == 'e' || c == 'E') && !exponent) {
        exponent = true;
        ++end;
        if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      } else {
        break;
      }
    }
    // 0x10, 1_000, 2j, 1.2.3, 1e
    const std::string_view written = text_.substr(at_, end - at_);
    if (end < text_.size() && begins_name(text_[end])) return false;
    if (std::count(written.begin(), written.end(), '.') > 1 || (exponent && !is_digit(written.back()))) return false;
    take(PythonToken::Kind::number, end);
    return true;
  }
  bool string(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) {
      const auto c = static_cast<unsigned char>(text_[end]);
      if (c < 0x20 || c >= 0x7f || c == '\\' || c == '"') return false;
      ++end;
    }
    if (end >= text_.size()) return false;
    add(PythonToken::Kind::string, std::string(text_.substr(at_ + 1, end - at_ - 1)), end + 1);
    at_ = end + 1;
    return true;
  }
  bool sign() {
    static constexpr std::array<std::string_view, 30> signs{"...", "~", "**", "//", "<=", ">=", "==", "!=", "<<", ">>",
                                                            "->",  "(", ")",  "[",  "]",  ",",  ":",  ".",  "=",  "+",
                                                            "-",   "*", "/",  "%",  "@",  "<",  ">",  "&",  "|",  "^"};
    for (const std::string_view each : signs) {
      if (!text_.substr(at_).starts_with(each)) continue;
      if ((each == "(" || each == "[") && open_++ == 0) opened_at_ = at_;
      if ((each == ")" || each == "]") && --open_ < 0) return false;
      take(PythonToken::Kind::sign, at_ + each.size());
      return true;
    }
    return false;
  }

  std::string_view text_;
  std::string_view reader_;
  std::size_t at_ = 0;
  int line_ = 1;
  int open_ = 0;
  std::size_t opened_at_ = 0;  // the outermost bracket that is open
  std::vector<PythonToken> tokens_;
};

}  // namespace

Error unknown_line(std::string_view text, std::size_t at, std::string_view reader) {
  at = std::min(at, text.size());
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n') + 1;
  return not_known(quoted(text.substr(begin, text.find('\n', at) - begin)), static_cast<int>(line), reader);
}

Result<std::vector<PythonToken>> python_tokens(std::string_view text, std::string_view reader) {
  return Scanner(text, reader).scan();
}

}  // namespace kw
