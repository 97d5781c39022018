#include "arithmetic/kernels.h"

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace kw {

extern const Kernels portable_kernels;

namespace {

const std::vector<const Kernels*>& all() {
  static const std::vector<const Kernels*> found = [] {
    std::vector<const Kernels*> kinds{&portable_kernels};
    return kinds;
  }();
  return found;
}

const Kernels& chosen_by_machine() {
  static const Kernels& chosen = []() -> const Kernels& {
    const char* wanted = std::getenv("KERNELWRIGHT_VECTOR");
    if (wanted == nullptr || *wanted == 0) return *all().back();
    for (const Kernels* kind : all()) {
      if (std::string_view(kind->name) == wanted) return *kind;
    }
    KW_CHECK(false && "KERNELWRIGHT_VECTOR names a vector unit that this machine has not");
    return *all().back();
  }();
  return chosen;
}

std::atomic<const Kernels*> forced{nullptr};

}  // namespace

const Kernels& kernels() {
  const Kernels* chosen = forced.load(std::memory_order_relaxed);
  return chosen != nullptr ? *chosen : chosen_by_machine();
}

std::span<const Kernels* const> available_kernels() { return all(); }

void force_kernels(const Kernels* chosen) { forced.store(chosen); }

}  // namespace kw
