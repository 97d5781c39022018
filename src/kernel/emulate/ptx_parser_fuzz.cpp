// Arbitrary bytes as PTX: an error or a module that keeps its promises, never a crash or a hang.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/emulate/ptx_forms.h"
#include "kernel/emulate/ptx_parser.h"
#include "kernel/emulate/ptx_parser_invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto module = kw::parse_ptx(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!module.ok()) {
    KW_CHECK(!module.error().message.empty());
    return 0;
  }
  KW_CHECK(kw::broken_ptx_promise(*module) == "");
  kw::PtxForms forms;
  kw::add_ptx_forms(*module, forms);
  return 0;
}
