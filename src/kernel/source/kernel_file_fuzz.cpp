// Arbitrary text through lexer, preprocessor, parser, splitter and fingerprint: no crash, no hang, and what is cut out
// is replaced byte by byte.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/source/fingerprint.h"
#include "kernel/source/kernel_file.h"
#include "kernel/source/lexer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const kw::TokenStream stream = kw::lex(text, "fuzz.cu");
  std::uint32_t end = 0;
  for (const kw::Token& token : stream.tokens) {
    KW_CHECK(token.offset >= end && token.end_offset() <= size && token.bytes > 0);
    end = token.end_offset();
  }
  KW_CHECK(kw::fingerprint(text).size() == 64);
  const auto file = kw::read_kernel_file(text, "fuzz.cu");
  if (!file.ok()) {
    KW_CHECK(!file.error().message.empty());
    return 0;
  }
  KW_CHECK(file->device_source.size() == size);
  for (std::size_t i = 0; i < size; ++i) {
    const bool same = file->device_source[i] == text[i];
    KW_CHECK(same || (file->device_source[i] == ' ' && text[i] != '\n'));
  }
  return 0;
}
