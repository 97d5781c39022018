#include "app/serve/chat_request.h"

#include <fmt/format.h>

namespace kw {
namespace {

constexpr std::size_t max_messages = 256, max_stops = 16, max_completion_prompt_bytes = 1u << 20;
constexpr std::int64_t max_answers = 64, max_answer_tokens = 32'768;

// A message's content: a text, or parts that are texts.
std::string content_of(RequestFields& fields, const nlohmann::json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) {
    fields.refuse("messages", "has a content that is neither a text nor a list of parts");
    return text;
  }
  for (const auto& part : content) {
    const bool is_text =
        part.is_object() && part.value("type", "") == "text" && part.contains("text") && part["text"].is_string();
    if (!is_text) {
      fields.refuse("messages", "has a part that is not text; only text is understood");
      return text;
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

std::vector<ChatMessage> read_messages(RequestFields& fields) {
  std::vector<ChatMessage> messages;
  const auto& list = fields.value("messages");
  if (!list.is_array() || list.empty() || list.size() > max_messages) {
    fields.refuse("messages", fmt::format("must be a list of 1 to {} messages", max_messages));
    return messages;
  }
  for (const auto& one : list) {
    std::string role = one.is_object() && one.contains("role") && one["role"].is_string()
                           ? one["role"].get<std::string>()
                           : std::string();
    if (role == "developer") role = "system";  // OpenAI's newer name
    if (role != "system" && role != "user" && role != "assistant") {
      fields.refuse("messages", "has a role that is not system, user or assistant");
      return messages;
    }
    messages.push_back({role, one.contains("content") ? content_of(fields, one["content"]) : std::string()});
  }
  return messages;
}

void refuse_what_is_not_done(RequestFields& fields) {
  for (const char* key : {"presence_penalty", "frequency_penalty"})
    if (fields.number(key, 0, -2, 2) != 0) fields.refuse(key, "is not supported; leave it out");
  for (const char* key : {"tools", "functions", "logit_bias", "audio", "suffix", "best_of"}) {
    const auto& value = fields.value(key);
    const bool nothing = value.is_null() || ((value.is_array() || value.is_object()) && value.empty()) || value == 1;
    if (!nothing) fields.refuse(key, "is not supported; leave it out");
  }
  const auto& format = fields.value("response_format");
  if (format.is_object() && format.value("type", "text") != "text")
    fields.refuse("response_format", "must be text: other formats are not supported");
  if (fields.integer("top_logprobs", 0, 0, 20) > 0)
    fields.refuse("top_logprobs", "is not supported: log-probabilities are those of the sampled tokens");
}

}  // namespace

ChatRequest read_chat_request(RequestFields& fields, bool chat) {
  ChatRequest request;
  request.chat = chat;
  request.model = fields.text("model", "", 256);
  if (request.model.empty()) fields.refuse("model", "is missing; GET /v1/models lists them");
  if (chat) {
    request.messages = read_messages(fields);
    request.logprobs = fields.flag("logprobs", false);
  } else {
    const auto& prompt = fields.value("prompt");
    if (!prompt.is_string() || prompt.get_ref<const std::string&>().empty())
      fields.refuse("prompt", "must be a text that is not empty");
    else
      request.prompt = fields.text("prompt", "", max_completion_prompt_bytes);
    request.logprobs = fields.has("logprobs");
    fields.integer("logprobs", 0, 0, 0);
    if (fields.flag("echo", false)) fields.refuse("echo", "is not supported");
  }
  refuse_what_is_not_done(fields);
  request.answers = fields.integer("n", 1, 1, max_answers);
  request.max_tokens = fields.integer("max_completion_tokens", fields.integer("max_tokens", 1024, 1, max_answer_tokens),
                                      1, max_answer_tokens);
  request.temperature = fields.number("temperature", 1, 0, 2);
  request.top_p = fields.number("top_p", 1, 0, 1);
  if (fields.has("seed")) request.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, INT64_MIN, INT64_MAX));
  request.stop = fields.texts("stop", max_stops);
  for (const std::string& stop : request.stop)
    if (stop.empty() || stop.size() > 1024) fields.refuse("stop", "must hold texts of 1 to 1024 bytes");
  request.stream = fields.flag("stream", false);
  const auto& options = fields.value("stream_options");
  if (options.is_object()) request.usage_in_stream = options.value("include_usage", nlohmann::json(false)) == true;
  return request;
}

}  // namespace kw
