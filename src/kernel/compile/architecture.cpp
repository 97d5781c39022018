#include "kernel/compile/architecture.h"

#include "base/check.h"

namespace kw {
namespace {

struct ArchitectureFacts {
  GpuArchitecture architecture;
  std::string_view name;
  std::string_view dotted;
  int capability;
  std::string_view device;
};

constexpr std::array<ArchitectureFacts, 7> facts = {{
    {GpuArchitecture::sm_80, "sm_80", "8.0", 80, "A100"},
    {GpuArchitecture::sm_86, "sm_86", "8.6", 86, "RTX 3090, A10"},
    {GpuArchitecture::sm_89, "sm_89", "8.9", 89, "RTX 4090, L4"},
    {GpuArchitecture::sm_90, "sm_90", "9.0", 90, "H100, H200"},
    {GpuArchitecture::sm_90a, "sm_90a", "9.0a", 90, "H100, H200"},
    {GpuArchitecture::sm_100, "sm_100", "10.0", 100, "B200"},
    {GpuArchitecture::sm_100a, "sm_100a", "10.0a", 100, "B200"},
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
std::string_view example_device(GpuArchitecture architecture) { return facts_of(architecture).device; }

std::optional<GpuArchitecture> architecture_from_string(std::string_view text) {
  for (const ArchitectureFacts& entry : facts) {
    if (text == entry.name || text == entry.name.substr(3) || text == entry.dotted) return entry.architecture;
  }
  return std::nullopt;
}

}  // namespace kw
