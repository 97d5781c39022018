#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace kw {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: internal error: '%s' does not hold\n", file, line, condition);
  std::abort();
}

std::string to_string(const Position& position) {
  std::string text = position.file;
  if (position.line > 0) {
    if (!text.empty()) text += ':';
    text += std::to_string(position.line);
    if (position.column > 0) text += ':' + std::to_string(position.column);
  }
  return text;
}

std::string to_string(const Error& error) {
  std::string text = to_string(error.where);
  if (!text.empty()) text += ": ";
  text += error.message;
  if (!error.advice.empty()) text += " (" + error.advice + ")";
  return text;
}

}  // namespace kw
