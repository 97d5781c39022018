#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18 & 0x07));
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Reads digits of a base from text[at], at most `most`; a braced form \x{...} is read as well.
char32_t read_number(std::string_view text, std::size_t& at, int base, std::size_t most) {
  const bool braced = at < text.size() && text[at] == '{';
  if (braced) ++at;
  char32_t value = 0;
  for (std::size_t n = 0; at < text.size() && (n < most || braced) && digit_value(text[at]) < base; ++n, ++at) {
    value = (value << (base == 8 ? 3 : 4) | static_cast<char32_t>(digit_value(text[at]))) & 0x1FFFFF;
  }
  if (braced && at < text.size() && text[at] == '}') ++at;
  return value;
}

}  // namespace

std::string decode_string(std::string_view literal) {
  const std::size_t quote = literal.find('"');
  if (quote == literal.npos) return {};
  const bool raw = quote > 0 && literal[quote - 1] == 'R';
  std::string_view text = literal.substr(quote + 1);
  if (text.ends_with('"')) text.remove_suffix(1);
  if (raw) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == text.npos || close == text.npos || close < open) return std::string(text);
    return std::string(text.substr(open + 1, close - open - 1));
  }
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      out += text[i++];
      continue;
    }
    const char kind = text[i + 1];
    i += 2;
    switch (kind) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'v':
        out += '\v';
        break;
      case 'f':
        out += '\f';
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'e':
        out += '\033';
        break;
      case 'x':
        out += static_cast<char>(read_number(text, i, 16, text.size()));
        break;
      case 'u':
        append_utf8(out, read_number(text, i, 16, 4));
        break;
      case 'U':
        append_utf8(out, read_number(text, i, 16, 8));
        break;
      case 'o':
        out += static_cast<char>(read_number(text, i, 8, text.size()));
        break;
      default:
        if (kind >= '0' && kind <= '7') {
          --i;
          out += static_cast<char>(read_number(text, i, 8, 3));
        } else {
          out += kind;
        }
    }
  }
  return out;
}

}  // namespace kw
