// Arbitrary bytes as a change of constants, and as the kernel whose constants are changed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/agent/constant_answer.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kernel = "constexpr int tile = 64, stages = 2;\n#define BLOCK 256\n#pragma unroll 4\n";
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  for (const std::string_view given : {kernel, bytes.substr(std::min(text.size() + 1, bytes.size()))}) {
    const auto changed = parse_constant_answer(text, given);
    KW_CHECK(changed.ok() ? changed->kernel != given && !changed->change.empty() : !changed.error().message.empty());
    // Numbers change, and nothing else.
    if (changed.ok()) KW_CHECK(changed->kernel.size() <= given.size() + 4 * given.size());
  }
  return 0;
}
