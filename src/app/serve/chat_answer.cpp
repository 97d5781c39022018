#include "app/serve/chat_answer.h"

#include "app/serve/api_json.h"
#include "base/http/server_sent_events.h"

namespace kw {
namespace {

const char* finish_reason(FinishReason reason) {
  return reason == FinishReason::stop_token || reason == FinishReason::stop_string ? "stop" : "length";
}

}  // namespace

ChatAnswer::ChatAnswer(ChatRequest request, Facts facts, const Tokenizer& tokenizer, std::shared_ptr<HttpReply> reply)
    : request_(std::move(request)), facts_(std::move(facts)), tokenizer_(tokenizer), reply_(std::move(reply)) {}

Json ChatAnswer::envelope(const char* chat_object, const char* text_object) const {
  return {{"id", facts_.id},
          {"object", request_.chat ? chat_object : text_object},
          {"created", facts_.created_s},
          {"model", request_.model},
          {"system_fingerprint", nullptr}};
}

Json ChatAnswer::usage(std::int64_t completion_tokens) const {
  return {{"prompt_tokens", facts_.prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", facts_.prompt_tokens + completion_tokens}};
}

Json ChatAnswer::log_probs_of(const std::vector<std::int32_t>& tokens, const std::vector<float>& log_probs) const {
  if (!request_.logprobs) return nullptr;
  Json content = Json::array(), texts = Json::array(), values = Json::array(), offsets = Json::array();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto decoded = tokenizer_.decode({&tokens[i], 1});
    const std::string text = decoded.ok() ? *decoded : std::string();
    Json bytes = Json::array();
    for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
    content.push_back({{"token", text}, {"logprob", log_probs[i]}, {"bytes", bytes}, {"top_logprobs", Json::array()}});
    texts.push_back(text);
    values.push_back(log_probs[i]);
    offsets.push_back(offset);
    offset += static_cast<std::int64_t>(text.size());
  }
  if (request_.chat) return {{"content", std::move(content)}, {"refusal", nullptr}};
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(values)},
          {"top_logprobs", nullptr},
          {"text_offset", std::move(offsets)}};
}

void ChatAnswer::begin() {
  if (!request_.stream) return;
  reply_->begin_stream(event_stream());
  if (!request_.chat) return;
  for (std::int64_t i = 0; i < request_.answers; ++i) {
    Json chunk = envelope("chat.completion.chunk", "");
    chunk["choices"] = Json::array({{{"index", i},
                                     {"delta", {{"role", "assistant"}, {"content", ""}}},
                                     {"logprobs", nullptr},
                                     {"finish_reason", nullptr}}});
    reply_->write(sse_data(dump_json(chunk)));
  }
}

void ChatAnswer::send_chunk(std::int64_t index, const std::string& text, const Json& log_probs,
                            const Json& finish_reason) {
  Json chunk = envelope("chat.completion.chunk", "text_completion");
  Json choice = {{"index", index}};
  if (request_.chat)
    choice["delta"] = text.empty() ? Json::object() : Json{{"content", text}};
  else
    choice["text"] = text;
  choice["logprobs"] = log_probs;
  choice["finish_reason"] = finish_reason;
  chunk["choices"] = Json::array({std::move(choice)});
  if (request_.usage_in_stream) chunk["usage"] = nullptr;
  reply_->write(sse_data(dump_json(chunk)));
}

void ChatAnswer::take(const TokenEvent& event) {
  if (!request_.stream || facts_.rewrite) return;
  const bool has_token = event.token.token >= 0;
  if (event.text.empty() && !(request_.logprobs && has_token)) return;
  const Json log_probs = has_token ? log_probs_of({event.token.token}, {event.token.log_prob}) : Json(nullptr);
  send_chunk(event.sample, std::string(event.text), log_probs, nullptr);
}

Json ChatAnswer::choice(std::int64_t index, const GeneratedSample& sample) const {
  Json choice = {{"index", index}};
  if (request_.chat)
    choice["message"] = {{"role", "assistant"}, {"content", text_of(sample.text)}, {"refusal", nullptr}};
  else
    choice["text"] = text_of(sample.text);
  choice["logprobs"] = log_probs_of(sample.tokens, sample.log_probs);
  choice["finish_reason"] = finish_reason(sample.finish);
  return choice;
}

void ChatAnswer::end(const Result<GenerationResult>& result) {
  if (!result.ok()) {
    if (!request_.stream) return reply_->respond(http_error(500, to_string(result.error())));
    reply_->write(sse_data(http_error(500, to_string(result.error())).body));
    return reply_->end_stream();
  }
  std::int64_t tokens = 0;
  for (const GeneratedSample& sample : result->samples) {
    // Whoever answers for this service, elsewhere, did not.
    if (sample.finish == FinishReason::failed) return end(Error{sample.problem, "", {}});
    tokens += token_count(sample.tokens, sample.usage);
    if (sample.usage.prompt_tokens > 0) facts_.prompt_tokens = sample.usage.prompt_tokens;
  }
  if (!request_.stream) {
    Json answer = envelope("chat.completion", "text_completion");
    answer["choices"] = Json::array();
    for (std::size_t i = 0; i < result->samples.size(); ++i)
      answer["choices"].push_back(choice(static_cast<std::int64_t>(i), result->samples[i]));
    answer["usage"] = usage(tokens);
    return reply_->respond({200, "application/json", dump_json(answer), {}});
  }
  for (std::size_t i = 0; i < result->samples.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const GeneratedSample& sample = result->samples[i];
    if (facts_.rewrite) send_chunk(index, text_of(sample.text), log_probs_of(sample.tokens, sample.log_probs), nullptr);
    send_chunk(index, "", nullptr, finish_reason(sample.finish));
  }
  if (request_.usage_in_stream) {
    Json last = envelope("chat.completion.chunk", "text_completion");
    last["choices"] = Json::array();
    last["usage"] = usage(tokens);
    reply_->write(sse_data(dump_json(last)));
  }
  reply_->write(sse_data("[DONE]"));
  reply_->end_stream();
}

}  // namespace kw
