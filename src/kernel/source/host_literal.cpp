#include "kernel/source/host_literal.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace kw {
namespace {

Error bad_number(std::string_view text) {
  return Error{"`" + std::string(text.substr(0, 40)) + "` is not a number", "", {}};
}

bool is_floating_literal(const std::string& digits, bool hex) {
  for (std::size_t i = hex ? 2 : 0; i < digits.size(); ++i) {
    const char c = digits[i];
    if (c == '.' || c == 'p' || c == 'P' || (!hex && (c == 'e' || c == 'E'))) return true;
  }
  return false;
}

Result<HostValue> read_floating(std::string digits, std::string_view text, const TypeTable& types) {
  TypeKind kind = TypeKind::double_;
  if (digits.back() == 'f' || digits.back() == 'F') {
    kind = TypeKind::float_;
    digits.pop_back();
  } else if (digits.back() == 'l' || digits.back() == 'L') {
    return Error{"the launcher uses long double, which the interpreter does not know", "use double", {}};
  }
  if (digits.empty()) return bad_number(text);
  // strtod reads hexadecimal floats too; the locale is never changed, so the point is a point.
  char* end = nullptr;
  const double value = kind == TypeKind::float_ ? static_cast<double>(std::strtof(digits.c_str(), &end))
                                                : std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return bad_number(text);
  return make_real(types.basic(kind), value);
}

}  // namespace

Result<HostValue> read_number(std::string_view text, const TypeTable& types) {
  std::string digits;
  for (const char c : text) {
    if (c != '\'') digits += c;
  }
  if (digits.empty() || digits.size() > 200) return bad_number(text);
  const bool hex = digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  if (is_floating_literal(digits, hex)) return read_floating(digits, text, types);

  bool is_unsigned = false;
  int longs = 0;
  while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
    if (digits.back() == 'u' || digits.back() == 'U') {
      is_unsigned = true;
    } else {
      ++longs;
    }
    digits.pop_back();
  }
  int base = 10;
  std::string_view rest = digits;
  if (hex) {
    base = 16;
    rest.remove_prefix(2);
  } else if (rest.size() > 1 && rest[0] == '0') {
    const bool binary = rest[1] == 'b' || rest[1] == 'B';
    base = binary ? 2 : 8;
    rest.remove_prefix(binary ? 2 : 1);
  }
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (rest.empty() || end != rest.data() + rest.size() || longs > 2) return bad_number(text);
  if (code != std::errc()) return Error{"the number " + std::string(text) + " does not fit 64 bits", "", {}};
  // [lex.icon]: the first type of the list that holds the value; decimal numbers stay signed unless marked.
  const bool may_be_unsigned = is_unsigned || base != 10;
  const bool may_be_signed = !is_unsigned;
  const auto fits = [&](int bits) { return bits == 64 || value >> bits == 0; };
  TypeKind kind = TypeKind::void_;
  if (longs == 0 && may_be_signed && fits(31))
    kind = TypeKind::int_;
  else if (longs == 0 && may_be_unsigned && fits(32))
    kind = TypeKind::uint;
  else if (longs <= 1 && may_be_signed && fits(63))
    kind = TypeKind::long_;
  else if (longs <= 1 && may_be_unsigned)
    kind = TypeKind::ulong;
  else if (longs == 2 && may_be_signed && fits(63))
    kind = TypeKind::longlong;
  else if (longs == 2 && may_be_unsigned)
    kind = TypeKind::ulonglong;
  else
    return Error{"the number " + std::string(text) + " does not fit a signed type", "add the suffix u", {}};
  return make_integer(types.basic(kind), static_cast<std::int64_t>(value));
}

Result<HostValue> read_character(std::string_view text, const TypeTable& types) {
  const auto bad = [&] {
    return Error{"the character constant " + std::string(text.substr(0, 20)) + " is not known", "", {}};
  };
  if (text.size() < 3 || text.front() != '\'' || text.back() != '\'') return bad();
  const std::string_view body = text.substr(1, text.size() - 2);
  std::int64_t value = static_cast<unsigned char>(body[0]);
  if (body[0] == '\\') {
    if (body.size() != 2) return bad();
    switch (body[1]) {
      case 'n':
        value = '\n';
        break;
      case 't':
        value = '\t';
        break;
      case 'r':
        value = '\r';
        break;
      case '0':
        value = 0;
        break;
      case '\\':
        value = '\\';
        break;
      case '\'':
        value = '\'';
        break;
      case '"':
        value = '"';
        break;
      default:
        return bad();
    }
  } else if (body.size() != 1 || value >= 0x80) {
    return bad();
  }
  return make_integer(types.basic(TypeKind::char_), value);
}

}  // namespace kw
