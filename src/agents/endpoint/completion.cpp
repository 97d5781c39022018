#include "agents/endpoint/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>

#include "base/bounded_json.h"
#include "base/http/http_target.h"
#include "base/http/response_reader.h"

namespace kw {
namespace {

using Json = nlohmann::json;

constexpr JsonBounds answer_bounds{.max_depth = 12, .min_bytes_per_value = 1, .max_values = 100'000};
constexpr JsonBounds list_bounds{.max_depth = 12, .min_bytes_per_value = 1, .max_values = 500'000};
constexpr std::size_t max_shown_bytes = 240;
constexpr std::int64_t most_tokens = 100'000'000, bytes_per_token = 4;
constexpr std::string_view thought_begin = "<think>", thought_end = "</think>";

// What a person sees of what a stranger wrote: one line, no control characters, not too long.
std::string shown(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, max_shown_bytes))
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0) == 0x80) line.pop_back();
  while (!line.empty() && !is_utf8(line)) line.pop_back();
  return text.size() > max_shown_bytes ? line + "..." : line;
}

double rounded(float value) { return std::round(static_cast<double>(value) * 1e6) / 1e6; }

bool is_json(const HttpResponse& response) {
  const std::string type = lower_case(std::string_view(response.content_type).substr(0, 100));
  return type.starts_with("application/json") || type.find("+json") != std::string::npos;
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json* value) {
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  std::string text;  // parts of several kinds; only texts are an answer
  if (value->is_array())
    for (const Json& part : *value)
      if (const Json* words = member(part, "text"); words != nullptr && words->is_string())
        text += words->get_ref<const std::string&>();
  return text;
}

std::int64_t count_of(const Json* usage, const char* key) {
  const Json* value = usage == nullptr ? nullptr : member(*usage, key);
  if (value == nullptr || !value->is_number_integer()) return -1;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most_tokens)) return -1;
  const auto count = value->get<std::int64_t>();
  return count >= 0 && count <= most_tokens ? count : -1;
}

std::string without_thoughts(std::string text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || !std::string_view(text).substr(begin).starts_with(thought_begin)) return text;
  const std::size_t end = text.find(thought_end, begin);
  return end == std::string::npos ? std::string() : text.substr(end + thought_end.size());
}

// "20ms", "6m0s", "1h2.5s", or plain seconds.
std::optional<double> seconds_from(std::string_view text) {
  if (text.empty() || text.size() > 40) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (problem != std::errc() || !(number >= 0) || number > 1e9) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t letters = std::min(text.find_first_not_of("hms"), text.size());
    const std::string_view unit = text.substr(0, letters);
    text.remove_prefix(letters);
    if (unit == "h")
      seconds += 3600 * number;
    else if (unit == "m")
      seconds += 60 * number;
    else if (unit == "s" || (unit.empty() && text.empty()))
      seconds += number;
    else if (unit == "ms")
      seconds += number / 1000;
    else
      return std::nullopt;
  }
  return seconds;
}

// "Wed, 21 Oct 2026 07:28:00 GMT".
std::optional<double> seconds_until(std::string_view date) {
  std::tm time{};
  const std::string text(date.substr(0, 64));
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::max(0.0, std::difftime(timegm(&time), std::time(nullptr)));
}

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e7) * 1000)));
}

}  // namespace

std::string question_body(const EndpointQuestion& question, const EndpointManners& manners) {
  nlohmann::ordered_json body{{"model", question.model}};
  if (question.messages.empty()) {
    body["prompt"] = question.text;
  } else {
    body["messages"] = Json::array();
    for (const ChatMessage& message : question.messages)
      body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  body[manners.newer_length ? "max_completion_tokens" : "max_tokens"] = question.max_tokens;
  const SamplingRule& rule = question.rule;
  if (!manners.no_temperature) body["temperature"] = rounded(rule.temperature);
  if (rule.temperature > 0) {
    if (rule.top_p < 1 && !manners.no_top_p) body["top_p"] = rounded(rule.top_p);
    if (rule.top_k > 0) body["top_k"] = rule.top_k;
    if (!manners.no_seed) body["seed"] = static_cast<std::int64_t>(rule.seed);
  }
  if (!question.stop.empty()) body["stop"] = question.stop;
  body["stream"] = false;
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Completion> read_completion(const HttpResponse& response, bool chat) {
  if (!is_json(response))
    return Error{fmt::format("the endpoint's answer is '{}', not JSON", shown(response.content_type)), "", {}};
  if (const auto coding = header_of(response, "content-encoding"); !coding.empty() && lower_case(coding) != "identity")
    return Error{"the endpoint's answer is compressed, which nobody asked for", "", {}};
  const auto json = parse_bounded_json(response.body, answer_bounds);
  if (!json.ok()) return Error{"the endpoint's answer is no JSON object: " + shown(json.error().message), "", {}};
  const Json* choices = member(*json, "choices");
  if (choices == nullptr || !choices->is_array() || choices->empty())
    return Error{"the endpoint's answer has no choices", "", {}};
  const Json& choice = choices->front();
  const Json* message = chat ? member(choice, "message") : &choice;
  if (message == nullptr || !message->is_object()) return Error{"the endpoint's answer has no message", "", {}};
  Completion completion;
  completion.text = without_thoughts(text_of(member(*message, chat ? "content" : "text")));
  const std::string finish = text_of(member(choice, "finish_reason"));
  if (finish == "length") {
    completion.finish = FinishReason::length;
  } else if (!finish.empty() && finish != "stop" && finish != "eos" && finish != "end_turn") {
    return Error{fmt::format("the endpoint ended the answer because of '{}'", shown(finish)), "", {}};
  }
  const Json* usage = member(*json, "usage");
  const std::int64_t answered = count_of(usage, "completion_tokens");
  completion.usage.prompt_tokens = std::max<std::int64_t>(count_of(usage, "prompt_tokens"), 0);
  completion.usage.answer_tokens =
      answered >= 0 ? answered
                    : (static_cast<std::int64_t>(completion.text.size()) + bytes_per_token - 1) / bytes_per_token;
  return completion;
}

std::string refusal_of(const HttpResponse& response) {
  std::string said;
  if (response.status / 100 == 3) {
    said = fmt::format("it sends elsewhere ({}), which is not followed", shown(header_of(response, "location")));
  } else if (const auto json = parse_bounded_json(response.body, answer_bounds); json.ok()) {
    const Json* error = member(*json, "error");
    const Json* message = error != nullptr && error->is_object() ? member(*error, "message") : error;
    if (message == nullptr) message = member(*json, "message");
    if (message == nullptr) message = member(*json, "detail");
    said = shown(text_of(message));
  }
  return said.empty() ? fmt::format("HTTP {} {}", response.status, http_reason(response.status))
                      : fmt::format("HTTP {}: {}", response.status, said);
}

bool learn_manners(const HttpResponse& response, EndpointManners& manners) {
  if (response.status != 400 && response.status != 422) return false;
  const auto json = parse_bounded_json(response.body, answer_bounds);
  const Json* error = json.ok() ? member(*json, "error") : nullptr;
  if (error == nullptr || !error->is_object()) return false;
  const std::string param = text_of(member(*error, "param"));
  for (const auto& [name, known] :
       {std::pair{"max_tokens", &manners.newer_length}, std::pair{"temperature", &manners.no_temperature},
        std::pair{"top_p", &manners.no_top_p}, std::pair{"seed", &manners.no_seed}}) {
    if (param != name || *known) continue;
    *known = true;
    return true;
  }
  return false;
}

EndpointFacts facts_of_model(const HttpResponse& models, const std::string& model) {
  EndpointFacts facts;
  if (models.status != 200 || !is_json(models)) return facts;
  const auto json = parse_bounded_json(models.body, list_bounds);
  const Json* data = json.ok() ? member(*json, "data") : nullptr;
  if (data == nullptr || !data->is_array()) return facts;
  for (const Json& entry : *data) {
    if (text_of(member(entry, "id")) != model) continue;
    facts.compact = text_of(member(entry, "prompts")) == "compact";
    const Json* meta = member(entry, "meta");
    facts.context = std::max({std::int64_t{0}, count_of(&entry, "max_model_len"), count_of(&entry, "context_length"),
                              count_of(meta, "n_ctx_train")});
    return facts;
  }
  return facts;
}

std::optional<std::chrono::milliseconds> asked_to_wait(const HttpResponse& response) {
  if (const auto wait = seconds_from(header_of(response, "retry-after-ms"))) return milliseconds_of(*wait / 1000);
  if (const std::string_view text = header_of(response, "retry-after"); !text.empty()) {
    const auto wait = seconds_from(text);
    const auto until = wait ? wait : seconds_until(text);
    if (until) return milliseconds_of(*until);
  }
  std::optional<double> longest;
  for (const char* what : {"requests", "tokens"}) {
    if (header_of(response, fmt::format("x-ratelimit-remaining-{}", what)) != "0") continue;
    if (const auto wait = seconds_from(header_of(response, fmt::format("x-ratelimit-reset-{}", what))))
      longest = std::max(longest.value_or(0), *wait);
  }
  return longest ? std::optional(milliseconds_of(*longest)) : std::nullopt;
}

}  // namespace kw
