// Arbitrary bytes as what nvcc said, with the PTX behind a 0x1E byte: bounded messages of valid text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/compile/nvcc_log.h"
#include "kernel/compile/resources.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view log = all.substr(0, all.find('\x1e'));
  const std::string_view ptx = all.substr(std::min(all.size(), log.size() + 1));
  const auto diagnostics = parse_nvcc_log(log, {"user.cu", ptx, ptx});
  KW_CHECK(diagnostics.size() <= max_diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) {
    KW_CHECK(diagnostic.message.size() <= 3 * max_diagnostic_bytes + 8);
    KW_CHECK(diagnostic.notes.size() <= max_diagnostic_notes);
    KW_CHECK(valid_utf8(diagnostic.message) == diagnostic.message);
    KW_CHECK(valid_utf8(diagnostic.file) == diagnostic.file);
  }
  KW_CHECK(ptxas_lines(log).size() <= 3 * log.size() + 16);
  for (const EntryResources& entry : parse_resources(ptxas_lines(log), ptx, ""))
    KW_CHECK(entry.resources.max_threads >= 0);
  return 0;
}
