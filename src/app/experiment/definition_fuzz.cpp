// Arbitrary bytes as an experiment: an error, or a definition that keeps its bounds and reads back equal.
#include <cmath>
#include <cstdint>

#include "app/experiment/definition.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto definition = kw::parse_experiment({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!definition.ok()) return 0;
  KW_CHECK(definition->arms.size() >= 2 && definition->arms.size() <= kw::max_arms);
  KW_CHECK(!definition->ramp_percent.empty() && definition->ramp_percent.size() <= kw::max_ramp_stages);
  double sum = 0;
  for (const auto& arm : definition->arms) sum += arm.weight;
  KW_CHECK(std::abs(sum - 1) < 1e-5);
  for (const auto& guardrail : definition->guardrails) KW_CHECK(guardrail.margin > guardrail.tolerance);
  const std::string json =
      kw::to_json(*definition).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const auto again = kw::parse_experiment(json, "again.json");
  // Bytes that are no UTF-8 were replaced, so names may differ; nothing else may.
  KW_CHECK(again.ok() || json.find("\xEF\xBF\xBD") != std::string::npos);
  if (again.ok())
    KW_CHECK(again->ramp_percent == definition->ramp_percent && again->guardrails == definition->guardrails);
  return 0;
}
