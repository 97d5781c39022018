// Arbitrary bytes as a kernel: edits are bounded, each changes the text, and the edited text can be edited again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/agent/kernel_edits.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<KernelEdit> edits = kernel_edits(text);
  KW_CHECK(edits.size() <= most_kernel_edits);
  for (const KernelEdit& edit : edits) {
    KW_CHECK(edit.kernel != text && edit.kernel.size() > text.size() / 2 &&
             edit.kernel.size() < 4 * text.size() + 4096);
    KW_CHECK(!edit.change.empty() && !edit.kind.empty());
    kernel_edits(edit.kernel);
  }
  return 0;
}
