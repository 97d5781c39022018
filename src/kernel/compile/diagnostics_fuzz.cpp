// Everything that reads what a compiler process said: log, PTX, cubin. The input is the three, separated by 0x1E bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/compile/compiler.h"
#include "kernel/compile/diagnostics.h"
#include "kernel/compile/ptx.h"
#include "kernel/compile/resources.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto next_part = [&] {
    const std::string_view part = rest.substr(0, rest.find('\x1e'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  const std::string_view log = next_part();
  const std::string_view ptx = next_part();
  const std::string_view cubin = rest;

  LineMap lines;
  for (std::uint32_t n = 1; n <= 40; ++n) lines.positions.push_back({n / 3 + 1, n});
  const std::vector<Diagnostic> diagnostics = parse_log(log, {"user.cu", &lines, ptx});
  KW_CHECK(diagnostics.size() <= max_diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) {
    KW_CHECK(diagnostic.message.size() <= 3 * max_diagnostic_bytes + 8);
    KW_CHECK(diagnostic.notes.size() <= max_diagnostic_notes);
    KW_CHECK(valid_utf8(diagnostic.message) == diagnostic.message);
    KW_CHECK(diagnostic.file != "user.cu" || diagnostic.line <= 14);
  }
  for (const EntryResources& entry : parse_resources(log, ptx, cubin)) KW_CHECK(entry.resources.max_threads >= 0);
  const std::string mapped = with_user_positions(ptx, lines, compiled_file_name, "user.cu");
  KW_CHECK(mapped.size() <= 3 * ptx.size() + 64);
  KW_CHECK(ptx_fingerprint(ptx).size() == 64);
  return 0;
}
