#include "learn/rl/ahead_checkpoint.h"

#include <fmt/format.h>

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

fs::path file_of(const fs::path& folder, std::int64_t step) {
  return folder / fmt::format("sampled-by-{:08}.safetensors", step);
}

}  // namespace

Json ahead_facts(const std::vector<std::shared_ptr<const StepWeights>>& older) {
  Json facts = Json::array();
  for (const auto& each : older)
    facts.push_back({{"step", each->step}, {"history", each->history}, {"version", each->weights.version}});
  return facts;
}

Result<void> save_ahead(const fs::path& folder, const std::vector<std::shared_ptr<const StepWeights>>& older) {
  for (const auto& each : older) KW_TRY_VOID(save_weights(file_of(folder, each->step), each->weights));
  return {};
}

Result<std::vector<std::shared_ptr<const StepWeights>>> restore_ahead(const Checkpoint& checkpoint, Learner& policy) {
  std::vector<std::shared_ptr<const StepWeights>> older;
  const auto facts = checkpoint.facts.find("ahead");
  if (facts == checkpoint.facts.end() || facts->empty()) return older;
  KW_TRY(const WeightsCopy like, policy.copy_weights());
  const auto broken = [&](const std::string& what) {
    return Error{"not a checkpoint of conversations ahead: " + what, "", {checkpoint.folder.string(), 0, 0}};
  };
  try {
    for (const Json& each : *facts) {
      auto weights = std::make_shared<StepWeights>();
      weights->step = each.at("step").get<std::int64_t>();
      weights->history = each.at("history").get<std::string>();
      const auto version = each.at("version").get<std::int64_t>();
      if (!older.empty() && weights->step != older.back()->step + 1) return broken("a step is missing");
      KW_TRY(weights->weights, load_weights(file_of(checkpoint.folder, weights->step), like, version));
      older.push_back(std::move(weights));
    }
  } catch (const nlohmann::json::exception& error) {
    return broken(error.what());
  }
  if (older.back()->step != checkpoint.step - 1) return broken("the step before it is missing");
  return older;
}

}  // namespace kw
