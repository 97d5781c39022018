#include "kernel/judge/judge_facts.h"

#include <fmt/format.h>

#include "base/bounded_json.h"
#include "kernel/judge/gpu_backend.h"
#include "kernel/judge/judge_secret.h"

namespace kw {
namespace {

constexpr std::size_t most_facts_bytes = 16u << 10, most_text_bytes = 200;
constexpr int most_workers = 4096;
constexpr double most_seconds = 36'000;

Result<std::string> short_text(const nlohmann::json& json, const char* key) {
  KW_TRY(std::string text, json_string_or(json, key, ""));
  if (text.size() > most_text_bytes) return Error{fmt::format("'{}' is too long", key), "", {}};
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';  // it is shown on a terminal
  return text;
}

}  // namespace

std::string JudgeFacts::description() const {
  if (backend == "gpu") return "measured on " + device;
  return "emulated, times modelled for " + profile;
}

JudgeFacts facts_of(const Judge& judge, int workers, std::string_view challenge) {
  const JudgeOptions& options = judge.options();
  JudgeFacts facts;
  facts.rules = judge.rules();
  facts.backend = options.gpu != nullptr ? "gpu" : "emulator";
  if (options.gpu != nullptr) facts.device = options.gpu->facts().name;
  facts.profile = options.profile.name;
  facts.profile_digest = options.profile.digest;
  facts.workers = workers;
  facts.limit_seconds = options.limits.seconds;
  facts.proof = secret_proof(options.secret, challenge);
  return facts;
}

nlohmann::ordered_json to_json(const JudgeFacts& facts) {
  return {{"rules", facts.rules},
          {"backend", facts.backend},
          {"device", facts.device},
          {"profile", facts.profile},
          {"profile_digest", facts.profile_digest},
          {"workers", facts.workers},
          {"limit_seconds", facts.limit_seconds},
          {"proof", facts.proof}};
}

Result<JudgeFacts> read_judge_facts(std::string_view text) {
  if (text.size() > most_facts_bytes) return Error{"its facts are too long", "", {}};
  KW_TRY(const nlohmann::json json, parse_bounded_json(text, {.max_depth = 3, .max_members = 64}));
  JudgeFacts facts;
  KW_TRY(facts.rules, short_text(json, "rules"));
  KW_TRY(facts.backend, short_text(json, "backend"));
  KW_TRY(facts.device, short_text(json, "device"));
  KW_TRY(facts.profile, short_text(json, "profile"));
  KW_TRY(facts.profile_digest, short_text(json, "profile_digest"));
  KW_TRY(facts.proof, short_text(json, "proof"));
  KW_TRY(const std::int64_t workers, json_integer(json, "workers", 1, most_workers));
  facts.workers = static_cast<int>(workers);
  KW_TRY(facts.limit_seconds, json_number_or(json, "limit_seconds", JudgeLimits::default_seconds));
  if (!(facts.limit_seconds > 0 && facts.limit_seconds <= most_seconds))
    return Error{"'limit_seconds' is out of range", "", {}};
  if (facts.backend != "emulator" && facts.backend != "gpu") return Error{"its backend is none that we know", "", {}};
  return facts;
}

std::string difference(const JudgeFacts& one, const JudgeFacts& other) {
  if (one.backend != other.backend || one.device != other.device)
    return fmt::format("one judges {}, the other {}", one.description(), other.description());
  if (one.profile != other.profile)
    return fmt::format("one models times for {}, the other for {}", one.profile, other.profile);
  if (one.profile_digest != other.profile_digest)
    return fmt::format("their profiles of {} have different numbers", one.profile);
  if (one.rules != other.rules) return "they are different versions of the judge, or were started with other limits";
  return "";
}

}  // namespace kw
