#include "app/cli/terminal_text.h"

#include "kernel/source/rules_unicode.h"

namespace kw::cli {

std::string terminal_text(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_utf8(text, at);
    const char32_t code = character.code_point;
    const bool plain = code == '\n' || code == '\t';
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    if (plain || (character.valid && !control && !is_hidden(code)))
      shown += text.substr(at, character.bytes);
    else
      shown += "\xEF\xBF\xBD";
    at += character.bytes;
  }
  return shown;
}

}  // namespace kw::cli
