#include "agents/episode/endpoint_model.h"

#include <algorithm>

#include "agents/endpoint/endpoint_answers.h"
#include "agents/endpoint/endpoint_prompt.h"
#include "agents/episode/prompt_files.h"
#include "base/hash.h"
#include "base/log.h"

namespace kw {
namespace {

// Where an endpoint does not say how much it reads, it refuses by itself what is too long.
constexpr std::int64_t unknown_context = std::int64_t{1} << 20;

class EndpointModel : public AgentModel {
 public:
  EndpointModel(std::string asked_for, EndpointName name, EndpointKey key, EndpointLimits limits, Dialect dialect,
                const EndpointFacts& facts, std::string fingerprint)
      : asked_for_(std::move(asked_for)),
        name_(std::move(name)),
        key_(std::move(key)),
        limits_(std::move(limits)),
        dialect_(std::move(dialect)),
        context_(facts.context > 0 ? facts.context : unknown_context),
        fingerprint_(std::move(fingerprint)) {}

  const std::string& name() const override { return asked_for_; }
  const std::string& device() const override { return device_; }
  const Dialect& dialect() const override { return dialect_; }
  const std::string& default_system() const override { return no_system_; }
  Decoder* decoder() override { return nullptr; }
  Result<std::unique_ptr<AnswerSource>> make_answers(const RolloutOptions& options) override {
    EndpointLimits limits = limits_;
    limits.calls_at_a_time = std::min(limits.calls_at_a_time, static_cast<std::size_t>(options.most_running));
    KW_TRY(auto answers, EndpointAnswers::open(name_, key_, dialect_.tokenizer(), std::move(limits)));
    return std::unique_ptr<AnswerSource>(std::move(answers));
  }
  std::int64_t context() override { return context_; }
  std::int32_t adapter_of(AgentRole) const override { return -1; }
  const std::string& fingerprint() const override { return fingerprint_; }

 private:
  const std::string asked_for_;
  const std::string device_ = "an endpoint";
  const std::string no_system_;
  const EndpointName name_;
  const EndpointKey key_;
  const EndpointLimits limits_;
  const Dialect dialect_;
  const std::int64_t context_;
  const std::string fingerprint_;
};

}  // namespace

Result<std::unique_ptr<AgentModel>> open_endpoint_model(const std::string& name, const AgentModelOptions& options) {
  if (options.device == "gpu")
    return Error{"an endpoint computes where it is; there is no device to choose", "leave --device out", {}};
  KW_TRY(EndpointName endpoint, parse_endpoint_name(name));
  KW_TRY(EndpointKey key, endpoint_key(endpoint.url));
  if (key.withheld)
    log_event(LogLevel::warn, "key_not_sent",
              {{"variable", key.variable}, {"reason", "plain http to another machine can be read on the way"}});
  KW_TRY(EndpointLimits limits, endpoint_limits());
  limits.calls_at_a_time = std::min(limits.calls_at_a_time, static_cast<std::size_t>(options.most_rows));
  KW_TRY(const EndpointFacts facts, ask_about_model(endpoint, key, limits));
  KW_TRY(const std::filesystem::path folder, prompts_folder());
  KW_TRY(PromptBook book, PromptBook::load(folder));
  KW_TRY(Dialect dialect, byte_dialect(facts.compact ? PromptStyle::compact : PromptStyle::chatml, std::move(book)));
  KW_TRY(const std::string prompts, prompts_hash(dialect, folder));
  Sha256 hash;
  hash.add("endpoint").add(to_string(endpoint)).add(prompts);
  return std::unique_ptr<AgentModel>(std::make_unique<EndpointModel>(
      name, std::move(endpoint), std::move(key), std::move(limits), std::move(dialect), facts, hash.hex()));
}

}  // namespace kw
