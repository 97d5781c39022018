#include "model/arithmetic/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace kw {

extern const Kernels portable_kernels;
#ifdef KW_HAS_AVX2
namespace unit_avx2 {
extern const Kernels table;
}
#endif
#ifdef KW_HAS_AVX512
namespace unit_avx512 {
extern const Kernels table;
}
#endif

namespace {

#if defined(__x86_64__)
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

const std::vector<const Kernels*>& all() {
  static const std::vector<const Kernels*> found = [] {
    std::vector<const Kernels*> kinds{&portable_kernels};
#if defined(__x86_64__)
    // The compiler's test also asks whether the operating system saves the registers.
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#ifdef KW_HAS_AVX2
    if (avx2) kinds.push_back(&unit_avx2::table);
#endif
#ifdef KW_HAS_AVX512
    if (avx512) kinds.push_back(&unit_avx512::table);
#endif
    (void)avx512;
#endif
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
