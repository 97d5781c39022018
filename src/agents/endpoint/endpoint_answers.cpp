#include "agents/endpoint/endpoint_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <future>
#include <utility>

#include "agents/endpoint/endpoint_prompt.h"
#include "base/check.h"
#include "base/log.h"
#include "base/random.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds list_time{20};
constexpr std::size_t most_stops = 4;  // more are refused by many

Result<std::int64_t> from_environment(const char* variable, std::int64_t otherwise, std::int64_t most) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  std::int64_t value = 0;
  const std::string_view whole(text);
  const auto [end, problem] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (problem != std::errc() || end != whole.data() + whole.size() || value < 1 || value > most)
    return Error{fmt::format("{} must be a whole number from 1 to {}", variable, most), "", {}};
  return value;
}

std::vector<std::pair<std::string, std::string>> headers_for(const EndpointKey& key) {
  std::vector<std::pair<std::string, std::string>> headers{
      {"Content-Type", "application/json"}, {"Accept", "application/json"}, {"User-Agent", "kernelwright"}};
  if (!key.value.empty()) headers.emplace_back("Authorization", "Bearer " + key.value);
  return headers;
}

// An endpoint that sends the key back must not get it into a log or a store.
void hide_key(std::string& text, const std::string& key) {
  if (key.empty()) return;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 5))
    text.replace(at, key.size(), "[key]");
}

void hide_key(HttpOutcome& outcome, const std::string& key) {
  if (!outcome.response) return;
  hide_key(outcome.response->body, key);
  hide_key(outcome.response->content_type, key);
  for (auto& [name, value] : outcome.response->headers) hide_key(value, key);
}

bool may_pass(const HttpOutcome& outcome) {
  if (!outcome.response) return outcome.fault == HttpFault::no_connection || outcome.fault == HttpFault::cut_off;
  const int status = outcome.response->status;
  return status == 408 || status == 409 || status == 425 || status == 429 || status >= 500;
}

std::string key_advice(const EndpointKey& key) {
  if (key.withheld)
    return fmt::format("the key of {} is not sent over plain http to another machine: use https or a tunnel",
                       key.variable);
  return key.value.empty() ? "put a key into KERNELWRIGHT_API_KEY" : "is the key in " + key.variable + " right?";
}

std::string reason_of(const HttpOutcome& outcome, const EndpointKey& key) {
  if (!outcome.response) return outcome.problem;
  const int status = outcome.response->status;
  const std::string said = refusal_of(*outcome.response);
  return status == 401 || status == 403 ? fmt::format("{} ({})", said, key_advice(key)) : said;
}

}  // namespace

Result<EndpointLimits> endpoint_limits() {
  EndpointLimits limits;
  KW_TRY(const std::int64_t calls,
         from_environment("KERNELWRIGHT_ENDPOINT_CALLS", static_cast<std::int64_t>(limits.calls_at_a_time), 4096));
  KW_TRY(const std::int64_t seconds,
         from_environment("KERNELWRIGHT_ENDPOINT_SECONDS", limits.http.answer_time / std::chrono::seconds(1), 86'400));
  limits.calls_at_a_time = static_cast<std::size_t>(calls);
  limits.http.answer_time = std::chrono::seconds(seconds);
  return limits;
}

Result<EndpointFacts> ask_about_model(const EndpointName& name, const EndpointKey& key, const EndpointLimits& limits) {
  HttpClientOptions options{limits.http, limits.trusted_file};
  options.limits.answer_time = std::min<milliseconds>(options.limits.answer_time, list_time);
  KW_TRY(const auto client, HttpClient::open(name.url, options));
  std::promise<HttpOutcome> promise;
  client->send({"GET", name.url.path + "/models", headers_for(key), ""},
               [&promise](HttpOutcome outcome) { promise.set_value(std::move(outcome)); });
  HttpOutcome outcome = promise.get_future().get();
  hide_key(outcome, key.value);
  const bool nobody =
      !outcome.response && (outcome.fault == HttpFault::no_connection || outcome.fault == HttpFault::not_trusted);
  if (nobody) return Error{outcome.problem, "is the endpoint's URL right, and does it serve?", {}};
  if (!outcome.response) return EndpointFacts{};
  if (outcome.response->status == 401 || outcome.response->status == 403)
    return Error{
        fmt::format("{} refuses: {}", to_string(name.url), refusal_of(*outcome.response)), key_advice(key), {}};
  return facts_of_model(*outcome.response, name.model);
}

struct EndpointAnswers::Asked {
  GenerationRequest request;
  EndpointQuestion question;
  GenerationResult result;
  std::size_t open = 0;  // samples that have not come
  Clock::time_point submitted = Clock::now();
};

EndpointAnswers::EndpointAnswers(EndpointName name, EndpointKey key, const Tokenizer& tokenizer, EndpointLimits limits)
    : name_(std::move(name)), key_(std::move(key)), tokenizer_(tokenizer), limits_(std::move(limits)) {}

EndpointAnswers::~EndpointAnswers() { client_.reset(); }

Result<std::unique_ptr<EndpointAnswers>> EndpointAnswers::open(EndpointName name, EndpointKey key,
                                                               const Tokenizer& tokenizer, EndpointLimits limits) {
  if (limits.calls_at_a_time < 1 || limits.attempts < 1)
    return Error{"an endpoint must be asked at least once", "", {}};
  std::unique_ptr<EndpointAnswers> answers(
      new EndpointAnswers(std::move(name), std::move(key), tokenizer, std::move(limits)));
  KW_TRY(answers->client_,
         HttpClient::open(answers->name_.url, {answers->limits_.http, answers->limits_.trusted_file}));
  return answers;
}

Result<RequestId> EndpointAnswers::submit(GenerationRequest request) {
  if (request.samples < 1) return Error{"a request needs at least one sample", "", {}};
  if (request.max_tokens < 1) return Error{"max_tokens must be at least 1", "", {}};
  if (request.stop_strings.size() > most_stops)
    return Error{fmt::format("an endpoint takes at most {} stop strings", most_stops), "", {}};
  auto asked = std::make_unique<Asked>();
  asked->question.model = name_.model;
  asked->question.rule = request.rule;
  asked->question.max_tokens = request.max_tokens;
  asked->question.stop = request.stop_strings;
  if (tokenizer_.find("<|im_start|>")) {
    KW_TRY(asked->question.messages, messages_of(tokenizer_, request.prompt));
  } else {
    KW_TRY(asked->question.text, tokenizer_.decode(request.prompt));
    if (asked->question.text.empty()) return Error{"the prompt is empty", "", {}};
  }
  asked->open = static_cast<std::size_t>(request.samples);
  asked->result.samples.resize(asked->open);
  for (GeneratedSample& sample : asked->result.samples) sample.finish = FinishReason::cancelled;
  asked->request = std::move(request);

  const std::lock_guard lock(mutex_);
  const RequestId id = next_id_++;
  asked->result.id = id;
  for (std::size_t sample = 0; sample < asked->open; ++sample) waiting_.push_back({.request = id, .sample = sample});
  asked_.emplace(id, std::move(asked));
  pump();
  return id;
}

void EndpointAnswers::cancel(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    for (Arrived& arrived : arrived_)
      if (arrived.result.id == id) arrived.on_token = nullptr;
    const auto asked = asked_.find(id);
    if (asked == asked_.end()) return;
    std::erase_if(waiting_, [id](const Call& call) { return call.request == id; });
    std::erase_if(calling_, [&](const auto& entry) {
      if (entry.second.request != id) return false;
      client_->cancel(entry.second.ticket);
      return true;
    });
    asked->second->request.on_token = nullptr;
    arrive(asked);
    pump();
  }
  tell();
}

void EndpointAnswers::arrive(std::map<RequestId, std::unique_ptr<Asked>>::iterator asked) {
  arrived_.push_back({std::move(asked->second->result), std::move(asked->second->request.on_token)});
  asked_.erase(asked);
}

std::vector<GenerationResult> EndpointAnswers::take_finished() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, {});
}

bool EndpointAnswers::idle() const {
  const std::lock_guard lock(mutex_);
  return asked_.empty() && arrived_.empty();
}

std::int64_t EndpointAnswers::running() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(calling_.size());
}

Result<bool> EndpointAnswers::advance() {
  std::vector<Arrived> arrived;
  {
    const std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
  }
  for (Arrived& each : arrived) {
    ++statistics_.steps;
    for (std::size_t i = 0; i < each.result.samples.size(); ++i) {
      const GeneratedSample& sample = each.result.samples[i];
      statistics_.sampled_tokens += sample.usage.answer_tokens;
      statistics_.prompt_tokens += sample.usage.prompt_tokens;
      if (!each.on_token) continue;
      each.on_token({each.result.id, static_cast<std::int64_t>(i), SampledToken{}, sample.text, true});
    }
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::move(each.result));
  }
  return !arrived.empty();
}

void EndpointAnswers::on_arrival(std::function<void()> arrived) {
  const std::lock_guard lock(arrival_mutex_);
  arrival_ = std::move(arrived);
}

void EndpointAnswers::tell() {
  const std::lock_guard lock(arrival_mutex_);
  if (arrival_) arrival_();
}

void EndpointAnswers::pump() {
  while (calling_.size() < limits_.calls_at_a_time && !waiting_.empty()) {
    const auto now = Clock::now();
    const auto next = std::ranges::min_element(waiting_, {}, &Call::due);  // of equals the first: the oldest
    const auto due = std::max(next->due, quiet_until_);
    if (due > now) return wake_at(due);
    Call call = *next;
    waiting_.erase(next);
    start(call);
  }
}

void EndpointAnswers::wake_at(Clock::time_point time) {
  if (wake_time_ <= time) return;
  wake_time_ = time;
  const auto delay = std::chrono::ceil<milliseconds>(std::max(time - Clock::now(), Clock::duration::zero()));
  client_->after(delay, [this] {
    const std::lock_guard lock(mutex_);
    wake_time_ = Clock::time_point::max();
    pump();
  });
}

void EndpointAnswers::start(Call call) {
  EndpointQuestion question = asked_.at(call.request)->question;
  question.rule.seed = sample_seed(question.rule.seed, static_cast<std::int64_t>(call.sample));
  ++call.attempts;
  const std::uint64_t number = next_call_++;
  const char* path = question.messages.empty() ? "/completions" : "/chat/completions";
  call.ticket = client_->send({"POST", name_.url.path + path, headers_for(key_), question_body(question, manners_)},
                              [this, number](HttpOutcome outcome) { take(number, std::move(outcome)); });
  calling_.emplace(number, call);
}

// False: it makes no sense.
bool EndpointAnswers::try_again(Call call, const HttpOutcome& outcome) {
  if (call.attempts >= limits_.attempts) return false;
  if (outcome.response && learn_manners(*outcome.response, manners_)) {
    waiting_.push_front(call);
    return true;
  }
  if (!may_pass(outcome)) return false;
  const double chance = Random(static_cast<std::uint64_t>(call.request), call.sample).uniform(0.5, 1);
  milliseconds wait = std::min(limits_.longest_wait, limits_.first_wait * (1 << std::min(call.attempts - 1, 16)));
  wait = std::chrono::ceil<milliseconds>(wait * chance);  // not everybody at the same moment
  const auto asked = outcome.response ? asked_to_wait(*outcome.response) : std::nullopt;
  if (asked && *asked > limits_.longest_asked_wait) return false;
  if (asked) wait = std::max(wait, *asked);
  const auto due = Clock::now() + wait;
  const bool too_fast = outcome.response && (outcome.response->status == 429 || asked);
  if (too_fast) quiet_until_ = std::max(quiet_until_, due);
  call.due = due;
  waiting_.push_back(call);
  log_event(LogLevel::info, "endpoint_asked_again",
            {{"endpoint", to_string(name_.url)}, {"reason", reason_of(outcome, key_)}, {"wait_ms", wait.count()}});
  return true;
}

void EndpointAnswers::take(std::uint64_t number, HttpOutcome outcome) {
  hide_key(outcome, key_.value);
  {
    const std::lock_guard lock(mutex_);
    const auto node = calling_.extract(number);
    if (node.empty()) return;  // cancelled
    const Call& call = node.mapped();
    GeneratedSample sample;
    if (outcome.response && outcome.response->status == 200) {
      const bool chat = !asked_.at(call.request)->question.messages.empty();
      auto completion = read_completion(*outcome.response, chat);
      if (completion.ok()) {
        sample.text = std::move(completion->text);
        sample.finish = completion->finish;
        sample.usage = completion->usage;
      } else {
        sample.finish = FinishReason::failed;
        sample.problem = completion.error().message;
      }
      finish(call, std::move(sample));
    } else if (!try_again(call, outcome)) {
      sample.finish = FinishReason::failed;
      sample.problem = fmt::format("the endpoint did not answer: {}", reason_of(outcome, key_));
      if (call.attempts > 1) sample.problem += fmt::format(", after {} attempts", call.attempts);
      finish(call, std::move(sample));
    }
    pump();
  }
  tell();
}

void EndpointAnswers::finish(const Call& call, GeneratedSample sample) {
  if (sample.finish == FinishReason::failed)
    log_event(LogLevel::warn, "endpoint_failed", {{"endpoint", to_string(name_.url)}, {"reason", sample.problem}});
  const auto asked = asked_.find(call.request);
  sample.finished_s = sample.first_token_s =
      std::chrono::duration<double>(Clock::now() - asked->second->submitted).count();
  asked->second->result.samples[call.sample] = std::move(sample);
  if (--asked->second->open == 0) arrive(asked);
}

}  // namespace kw
