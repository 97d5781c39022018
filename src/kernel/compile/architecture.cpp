#include "kernel/compile/architecture.h"

#include "base/check.h"

namespace kw {
namespace {

struct ArchitectureFacts {
  GpuArchitecture architecture;
  std::string_view name;
  std::string_view dotted;
  int capability;
};

constexpr std::array<ArchitectureFacts, 7> facts = {{
    {GpuArchitecture::sm_80, "sm_80", "8.0", 80},
    {GpuArchitecture::sm_86, "sm_86", "8.6", 86},
    {GpuArchitecture::sm_89, "sm_89", "8.9", 89},
    {GpuArchitecture::sm_90, "sm_90", "9.0", 90},
    {GpuArchitecture::sm_90a, "sm_90a", "9.0a", 90},
    {GpuArchitecture::sm_100, "sm_100", "10.0", 100},
    {GpuArchitecture::sm_100a, "sm_100a", "10.0a", 100},
}};

const ArchitectureFacts& facts_of(GpuArchitecture architecture) {
  for (const ArchitectureFacts& entry : facts) {
    if (entry.architecture == architecture) return entry;
  }
  KW_CHECK(false);
  return facts[0];
}

}  // namespace

std::string_view to_string(GpuArchitecture architecture) { return facts_of(architecture).name; }
int compute_capability(GpuArchitecture architecture) { return facts_of(architecture).capability; }

std::optional<GpuArchitecture> architecture_from_string(std::string_view text) {
  for (const ArchitectureFacts& entry : facts) {
    if (text == entry.name || text == entry.name.substr(3) || text == entry.dotted) return entry.architecture;
  }
  return std::nullopt;
}

}  // namespace kw
