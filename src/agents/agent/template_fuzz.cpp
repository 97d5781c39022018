// Arbitrary bytes as a template, and as the values of one: an error or a text; values open no directive and add no
// control token.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/agent/template.h"
#include "base/check.h"

namespace {

std::size_t count_tokens(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("<|"); at != std::string_view::npos; at = text.find("<|", at + 1)) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const kw::TemplateValues values{{"a", "x"}, {"b", ""}, {"list", kw::TemplateList{{{"line", "1"}}, {{"line", "2"}}}}};
  if (const auto parsed = kw::Template::parse(text, "fuzz"); parsed.ok()) {
    const auto rendered = parsed->render(values);
    KW_CHECK(rendered.ok() || !rendered.error().message.empty());
  } else {
    KW_CHECK(!parsed.error().message.empty());
  }
  static const auto frame = kw::Template::parse("<|s|>{{a}}{{b}}<{{a}}{{#each list}}{{line}} {{/each}}<|e|>", "frame");
  const std::size_t half = size / 2;
  const kw::TemplateValues hostile{{"a", text.substr(0, half)},
                                   {"b", text.substr(half)},
                                   {"list", kw::TemplateList{{{"line", text}}, {{"line", text.substr(half)}}}}};
  const auto rendered = frame->render(hostile);
  KW_CHECK(rendered.ok() && count_tokens(*rendered) == 2);
  return 0;
}
