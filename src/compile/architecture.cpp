#include "compile/architecture.h"

#include "base/check.h"

namespace kw {
namespace {

struct ArchitectureFacts {
  Architecture architecture;
  std::string_view name;
  std::string_view dotted;
  int capability;
  std::string_view device;
};

constexpr std::array<ArchitectureFacts, 7> facts = {{
    {Architecture::sm_80, "sm_80", "8.0", 80, "A100"},
    {Architecture::sm_86, "sm_86", "8.6", 86, "RTX 3090, A10"},
    {Architecture::sm_89, "sm_89", "8.9", 89, "RTX 4090, L4"},
    {Architecture::sm_90, "sm_90", "9.0", 90, "H100, H200"},
    {Architecture::sm_90a, "sm_90a", "9.0a", 90, "H100, H200"},
    {Architecture::sm_100, "sm_100", "10.0", 100, "B200"},
    {Architecture::sm_100a, "sm_100a", "10.0a", 100, "B200"},
}};

const ArchitectureFacts& facts_of(Architecture architecture) {
  for (const ArchitectureFacts& entry : facts) {
    if (entry.architecture == architecture) return entry;
  }
  KW_CHECK(false);
  return facts[0];
}

}  // namespace

std::string_view to_string(Architecture architecture) { return facts_of(architecture).name; }
int compute_capability(Architecture architecture) { return facts_of(architecture).capability; }
std::string_view example_device(Architecture architecture) { return facts_of(architecture).device; }

std::optional<Architecture> architecture_from_string(std::string_view text) {
  for (const ArchitectureFacts& entry : facts) {
    if (text == entry.name || text == entry.name.substr(3) || text == entry.dotted) return entry.architecture;
  }
  return std::nullopt;
}

}  // namespace kw
