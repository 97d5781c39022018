#include "base/http/http_target.h"

#include <utf8proc.h>

#include <algorithm>

namespace kw {
namespace {

int hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

Error refused(std::string message) { return {std::move(message), "", {}}; }

Result<std::map<std::string, std::string>> parse_query(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value =
        percent_decoded(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return refused("the query has a '%' without two hexadecimal digits behind it");
    if (!is_utf8(*name) || !is_utf8(*value)) return refused("the query is not UTF-8");
    query[*name] = *value;
  }
  return query;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded.push_back(' ');
    } else if (text[i] != '%') {
      decoded.push_back(text[i]);
    } else {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hexadecimal_digit(text[i + 1]);
      const int low = hexadecimal_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return decoded;
}

bool is_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t codepoint = 0;
    const utf8proc_ssize_t taken = utf8proc_iterate(bytes, left, &codepoint);
    if (taken <= 0) return false;
    bytes += taken;
    left -= taken;
  }
  return true;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_request_id(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

Result<HttpTarget> parse_http_target(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    target = path == std::string_view::npos ? "/" : target.substr(path);
  }
  HttpTarget parsed;
  if (target == "*") {
    parsed.path = parsed.raw_path = "*";
    return parsed;
  }
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  parsed.raw_path = target.substr(0, question);
  if (!parsed.raw_path.starts_with('/')) return refused("the target of a request must begin with '/'");
  auto path = percent_decoded(parsed.raw_path);
  if (!path) return refused("the path has a '%' without two hexadecimal digits behind it");
  if (!is_utf8(*path)) return refused("the path is not UTF-8");
  if (has_control_character(*path)) return refused("the path has a control character");
  if (path->find("..") != std::string::npos) return refused("the path has '..'");
  parsed.path = std::move(*path);
  if (question != std::string_view::npos) {
    KW_TRY(parsed.query, parse_query(target.substr(question + 1)));
  }
  return parsed;
}

}  // namespace kw
