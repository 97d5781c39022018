// Arbitrary bytes as a tokenizer.json, or as a tiktoken file with a text: an error or a tokenizer, and text that
// survives it; never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/unicode_text.h"
#include "model/tokenizer/vocabulary_sources.h"

namespace {

void use(kw::Result<kw::TokenizerSpec> spec, std::string_view text) {
  using namespace kw;
  if (!spec.ok()) {
    KW_CHECK(!spec.error().message.empty());
    return;
  }
  const auto tokenizer = Tokenizer::make(std::move(*spec));
  if (!tokenizer.ok()) return;
  for (const auto special : {SpecialTokens::as_text, SpecialTokens::recognised}) {
    const auto ids = tokenizer->encode(text, special);
    if (!ids.ok()) continue;  // a pattern that backtracks too much
    KW_CHECK(tokenizer->decode(*ids).ok());
  }
  const auto again = parse_tokenizer_json(to_tokenizer_json(tokenizer->spec()));
  KW_CHECK(again.ok() && again->tokens == tokenizer->spec().tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view text = bytes.substr(bytes.size() > 200 ? bytes.size() - 200 : 0);
  if (bytes.starts_with('{')) {
    use(kw::parse_tokenizer_json(bytes), text);
  } else {
    use(kw::spec_from_tiktoken(bytes, kw::qwen2_pattern, true, {"<s>"}), text);
  }
  const std::string repaired = kw::replace_invalid_utf8(bytes);
  KW_CHECK(kw::is_valid_utf8(repaired) && kw::is_valid_utf8(kw::to_nfc(repaired)));
  KW_CHECK(!kw::is_valid_utf8(bytes) || repaired == bytes);
  return 0;
}
