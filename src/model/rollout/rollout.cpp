#include "model/rollout/rollout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "model/rollout/rollout_state.h"

namespace kw {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop_token:
      return "stop_token";
    case FinishReason::stop_string:
      return "stop_string";
    case FinishReason::length:
      return "length";
    case FinishReason::context:
      return "context";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::failed:
      return "failed";
  }
  return "unknown";
}

std::uint64_t sample_seed(std::uint64_t seed, std::int64_t sample) {
  if (sample == 0) return seed;
  return Random(seed, static_cast<std::uint64_t>(sample)).next();
}

std::uint64_t resample_seed(std::uint64_t seed, std::int64_t times) {
  return Random(seed, ~static_cast<std::uint64_t>(times)).next();
}

Rollout::Rollout(Decoder& decoder, const Tokenizer* tokenizer, RolloutOptions options)
    : decoder_(decoder),
      tokenizer_(tokenizer),
      options_(options),
      pool_(decoder.page_count()),
      weights_version_(decoder.weights_version()) {
  KW_CHECK(budget() > 0 && options_.most_running > 0 && pool_.size() > 1);
}

Rollout::~Rollout() = default;

double Rollout::seconds_of(const Group& group) const {
  return std::chrono::duration<double>(Clock::now() - group.submitted).count();
}

Result<RequestId> Rollout::submit(GenerationRequest request) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (prompt == 0) return Error{"the prompt has no tokens", "", {}};
  for (const std::int32_t token : request.prompt) {
    if (token < 0 || token >= decoder_.vocabulary()) {
      return Error{fmt::format("{} is no token of this model", token), "", {}};
    }
  }
  if (request.adapter < -1 || request.adapter >= decoder_.adapters()) {
    return Error{fmt::format("there is no adapter {}", request.adapter), "", {}};
  }
  if (request.samples < 1) return Error{"a request needs at least one sample", "", {}};
  if (request.most_resamples < 0) return Error{"most_resamples must be at least 0", "", {}};
  if (request.max_tokens < 1) return Error{"max_tokens must be at least 1", "", {}};
  if (prompt >= room()) {
    return Error{fmt::format("a prompt of {} tokens leaves no room for an answer in {} tokens", prompt, room()),
                 decoder_.context() > room() ? "give keys and values more memory" : "shorten the prompt",
                 {}};
  }
  if (!(request.rule.temperature >= 0) || !(request.rule.top_p > 0) || request.rule.top_k < 0) {
    return Error{"a sampling rule needs temperature >= 0, top_p > 0 and top_k >= 0", "", {}};
  }
  if (!request.stop_strings.empty() && tokenizer_ == nullptr) {
    return Error{"stop strings need a tokenizer", "use stop tokens", {}};
  }
  for (const std::string& stop : request.stop_strings) {
    if (stop.empty()) return Error{"a stop string is empty", "", {}};
  }

  auto group = std::make_unique<Group>();
  group->submitted = Clock::now();
  group->unfinished = request.samples;
  // A prompt within one page is computed by each sample for itself: no more work than copying the page.
  if (request.samples > 1 && prompt - 1 > decoder_.page_tokens()) {
    group->trunk = std::make_unique<Sequence>();
    group->trunk->group = group.get();
    group->trunk->tokens.assign(request.prompt.begin(), request.prompt.end() - 1);
  }
  for (std::int64_t sample = 0; sample < request.samples; ++sample) {
    auto sequence = std::make_unique<Sequence>();
    sequence->group = group.get();
    sequence->sample = sample;
    group->samples.push_back(std::move(sequence));
  }
  group->request = std::move(request);
  for (auto& sequence : group->samples) begin_answer(*sequence);

  const std::lock_guard lock(mutex_);
  group->id = next_id_++;
  ++open_;
  const RequestId id = group->id;
  submitted_.push_back(std::move(group));
  return id;
}

// From the prompt, as nothing had been said.
void Rollout::begin_answer(Sequence& sequence) {
  const GenerationRequest& request = sequence.group->request;
  const std::int64_t resampled = sequence.result.resampled;
  sequence.tokens = request.prompt;
  sequence.rule = request.rule;
  sequence.rule.seed = sample_seed(request.rule.seed, sequence.sample);
  if (resampled > 0) sequence.rule.seed = resample_seed(sequence.rule.seed, resampled);
  sequence.text = AnswerText(request.stop_strings);
  const bool constrained = request.constraint != nullptr && decoder_.constrains();
  sequence.constraint = constrained ? request.constraint->begin() : nullptr;
  sequence.result.constrained = constrained;
}

void Rollout::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(id);
}

std::vector<GenerationResult> Rollout::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

bool Rollout::idle() const {
  const std::lock_guard lock(mutex_);
  return open_ == 0;
}

void Rollout::take_submissions() {
  std::vector<RequestId> cancelled;
  {
    const std::lock_guard lock(mutex_);
    for (auto& group : submitted_) {
      for (auto& sequence : group->samples) waiting_.insert(sequence.get());
      groups_.emplace(group->id, std::move(group));
    }
    submitted_.clear();
    cancelled.swap(cancelled_);
  }
  for (const RequestId id : cancelled) {
    const auto found = groups_.find(id);
    if (found == groups_.end()) continue;
    for (auto& sequence : found->second->samples) {
      if (!sequence->done) finish(*sequence, FinishReason::cancelled, {});
    }
  }
  close_groups();
}

Result<bool> Rollout::advance() {
  take_submissions();
  flush_if_weights_changed();
  KW_TRY_VOID(admit());
  const std::vector<Planned> planned = plan();
  statistics_.most_pages = std::max(statistics_.most_pages, pool_.used());
  if (planned.empty()) {
    KW_CHECK(groups_.empty());  // else nothing would ever move again
    return false;
  }

  std::vector<DecoderRow> rows;
  rows.reserve(planned.size());
  for (const auto& [sequence, count] : planned) {
    DecoderRow row;
    row.tokens = std::span(sequence->tokens)
                     .subspan(static_cast<std::size_t>(sequence->computed), static_cast<std::size_t>(count));
    row.first_position = sequence->computed;
    row.pages = sequence->pages;
    row.adapter = sequence->group->request.adapter;
    row.sample = !sequence->trunk() && count == sequence->left();
    row.rule = sequence->rule;
    row.answer_index = static_cast<std::int64_t>(sequence->result.tokens.size());
    if (row.sample && sequence->constraint) row.allowed = sequence->constraint->allowed();
    rows.push_back(row);
    if (!sequence->trunk() && sequence->result.started_s == 0) {
      sequence->result.started_s = seconds_of(*sequence->group);
    }
  }
  KW_TRY(const std::vector<SampledToken> sampled, decoder_.step(rows));
  KW_CHECK(sampled.size() == planned.size());

  ++statistics_.steps;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    Sequence& sequence = *planned[i].sequence;
    const std::int64_t again =
        std::clamp(sequence.most_computed - sequence.computed, std::int64_t{0}, planned[i].count);
    sequence.computed += planned[i].count;
    sequence.most_computed = std::max(sequence.most_computed, sequence.computed);
    statistics_.recomputed_tokens += again;
    if (!sequence.trunk()) sequence.result.recomputed_tokens += again;
    // The token that a step of an answer hands in was counted when it was sampled.
    if (rows[i].answer_index == 0) statistics_.prompt_tokens += planned[i].count - again;
    if (!rows[i].sample) continue;
    ++statistics_.sampled_tokens;
    take_token(sequence, sampled[i]);
    if (sequence.constraint) take_forced(sequence);
  }
  close_groups();
  return true;
}

void Rollout::take_token(Sequence& sequence, const SampledToken& token) {
  const GenerationRequest& request = sequence.group->request;
  GeneratedSample& result = sequence.result;
  if (result.tokens.empty()) {
    result.first_token_s = seconds_of(*sequence.group);
    result.weights_version = weights_version_;
  }
  result.last_weights_version = weights_version_;
  result.tokens.push_back(token.token);
  result.log_probs.push_back(token.log_prob);
  sequence.tokens.push_back(token.token);
  if (sequence.constraint) sequence.constraint->take(token.token);

  if (std::ranges::find(request.stop_tokens, token.token) != request.stop_tokens.end()) {
    return finish(sequence, FinishReason::stop_token, token);
  }
  // Rows of the output that no token stands for can be sampled from a model that was not trained: they have no text.
  if (tokenizer_ != nullptr && static_cast<std::size_t>(token.token) < tokenizer_->size() &&
      !tokenizer_->is_special(token.token) && sequence.text.append(tokenizer_->bytes_of(token.token))) {
    return finish(sequence, FinishReason::stop_string, token);
  }
  if (static_cast<std::int64_t>(result.tokens.size()) >= request.max_tokens) {
    return finish(sequence, FinishReason::length, token);
  }
  if (static_cast<std::int64_t>(sequence.tokens.size()) >= room()) {
    return finish(sequence, FinishReason::context, token);
  }
  if (request.on_token) {
    request.on_token({sequence.group->id, sequence.sample, token, sequence.text.take_visible(false), false});
  }
}

// What a constraint is sure of is not asked for token by token: it is handed in with the next step, in one piece.
void Rollout::take_forced(Sequence& sequence) {
  while (!sequence.done) {
    const std::int32_t token = sequence.constraint->forced();
    if (token < 0) return;
    ++statistics_.forced_tokens;
    ++sequence.result.forced_tokens;
    take_token(sequence, {token, 0});
  }
}

bool Rollout::resample(Sequence& sequence, FinishReason reason) {
  const GenerationRequest& request = sequence.group->request;
  if (reason != FinishReason::length && reason != FinishReason::context) return false;
  if (!sequence.constraint || sequence.constraint->complete() || sequence.rule.temperature == 0) return false;
  if (sequence.result.resampled >= request.most_resamples) return false;
  GeneratedSample result;
  result.started_s = sequence.result.started_s;
  result.recomputed_tokens = sequence.result.recomputed_tokens;
  result.resampled = sequence.result.resampled + 1;
  sequence.result = std::move(result);
  ++statistics_.resamples;
  begin_answer(sequence);
  preempt(sequence);
  sequence.most_computed = std::min(sequence.most_computed, static_cast<std::int64_t>(request.prompt.size()));
  if (request.on_token) request.on_token({sequence.group->id, sequence.sample, {}, {}, false, true});
  return true;
}

void Rollout::finish(Sequence& sequence, FinishReason reason, const SampledToken& last) {
  if (resample(sequence, reason)) return;
  waiting_.erase(&sequence);
  running_.erase(&sequence);
  drop_pages(sequence);
  sequence.done = true;
  sequence.result.finish = reason;
  sequence.result.finished_s = seconds_of(*sequence.group);
  if (--sequence.group->unfinished == 0) ended_.push_back(sequence.group->id);
  const GenerationRequest& request = sequence.group->request;
  if (request.on_token) {
    request.on_token({sequence.group->id, sequence.sample, last, sequence.text.take_visible(true), true});
  }
  sequence.result.text = sequence.text.text();
}

void Rollout::close_groups() {
  for (const RequestId id : ended_) {
    const auto place = groups_.find(id);
    Group& group = *place->second;
    if (group.trunk) {
      running_.erase(group.trunk.get());
      drop_pages(*group.trunk);
    }
    GenerationResult result;
    result.id = id;
    for (auto& sequence : group.samples) result.samples.push_back(std::move(sequence->result));
    groups_.erase(place);
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::move(result));
    --open_;
  }
  ended_.clear();
}

Result<std::vector<GenerationResult>> Rollout::generate(std::vector<GenerationRequest> requests) {
  std::map<RequestId, std::size_t> places;
  auto cancel_all = [&] {
    for (const auto& [id, place] : places) cancel(id);
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto id = submit(std::move(requests[i]));
    if (!id.ok()) {
      cancel_all();
      return std::move(id).error();
    }
    places.emplace(*id, i);
  }
  std::vector<GenerationResult> results(requests.size());
  std::size_t missing = requests.size();
  while (missing > 0) {
    const auto moved = advance();
    if (!moved.ok()) {
      cancel_all();
      return moved.error();
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(finished_, [&](GenerationResult& result) {
      const auto place = places.find(result.id);
      if (place == places.end()) return false;
      results[place->second] = std::move(result);
      --missing;
      return true;
    });
  }
  return results;
}

}  // namespace kw
