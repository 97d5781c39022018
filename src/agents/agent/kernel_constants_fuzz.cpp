// Arbitrary bytes as a kernel: what is found stands in the text, and changing it to what it is changes nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/agent/kernel_constants.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<KernelConstant> constants = kernel_constants(text);
  KW_CHECK(constants.size() <= most_kernel_constants);
  std::vector<ConstantChange> all;
  for (const KernelConstant& constant : constants) {
    KW_CHECK(!constant.name.empty() && !constant.places.empty());
    KW_CHECK(constant.value >= 1 && constant.value <= most_constant_value);
    KW_CHECK(with_values(text, {{&constant, constant.value}}) == text);
    for (const std::int64_t value : other_values(constant)) KW_CHECK(value >= 1 && value != constant.value);
    all.emplace_back(&constant, 1 + constant.value);
  }
  const std::string changed = with_values(text, all);
  KW_CHECK(constants.empty() ? changed == text : changed != text);
  return 0;
}
