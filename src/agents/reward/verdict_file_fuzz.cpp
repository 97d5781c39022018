// Arbitrary bytes as a verdict: an error, or a verdict whose rewards are finite and inside their caps.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/reward/reward.h"
#include "base/check.h"
#include "kernel/judge/verdict_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto verdict = kw::read_verdict_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!verdict.ok()) {
    KW_CHECK(!verdict.error().message.empty());
    return 0;
  }
  for (const std::string& name : kw::reward_shape_names()) {
    const auto reward = kw::reward_of(*verdict, *kw::reward_shape(name));
    KW_CHECK(std::isfinite(reward.total) && reward.total >= 0 && reward.total < 2);
    for (const kw::RewardTerm& term : reward.terms) KW_CHECK(std::abs(term.points) <= term.cap + 1e-12);
  }
  return 0;
}
