// Arbitrary bytes as the output of ncu: an error or counters within their bounds, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "kernel/counters/advice.h"
#include "kernel/counters/ncu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kw;
  const auto report = parse_ncu_csv(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!report.ok()) {
    KW_CHECK(!report.error().message.empty());
    return 0;
  }
  KW_CHECK(!report->kernels.empty() && report->kernels.size() <= max_ncu_kernels);
  for (const KernelCounters& kernel : report->kernels) {
    KW_CHECK(kernel.kernel.size() <= max_ncu_name_bytes);
    KW_CHECK(!std::isinf(kernel.duration_us));
    const CounterAdvice advice = advise(kernel);
    KW_CHECK(!advice.limiter.empty() && advice.sentences.size() <= 3);
    KW_CHECK(counters_from_json(to_json(kernel)).ok());
  }
  return 0;
}
