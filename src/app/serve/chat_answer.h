#pragma once
// An answer in OpenAI's form, as one object or as a stream of chunks. Fed by the agents' thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "app/serve/chat_request.h"
#include "base/http/http_reply.h"
#include "model/rollout/generation.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

class ChatAnswer {
 public:
  struct Facts {
    std::string id;  // "chatcmpl-..."
    std::int64_t created_s = 0;
    std::int64_t prompt_tokens = 0;
    // What the client reads instead of what was said, known at the end only: then nothing is streamed before.
    std::function<std::string(const std::string&)> rewrite = {};
  };

  // The tokenizer outlives it.
  ChatAnswer(ChatRequest request, Facts facts, const Tokenizer& tokenizer, std::shared_ptr<HttpReply> reply);

  void begin();  // sends the head of a stream
  void take(const TokenEvent& event);
  void end(const Result<GenerationResult>& result);

 private:
  using Json = nlohmann::ordered_json;
  Json envelope(const char* chat_object, const char* text_object) const;
  Json log_probs_of(const std::vector<std::int32_t>& tokens, const std::vector<float>& log_probs) const;
  Json usage(std::int64_t completion_tokens) const;
  Json choice(std::int64_t index, const GeneratedSample& sample) const;
  void send_chunk(std::int64_t index, const std::string& text, const Json& log_probs, const Json& finish_reason);
  std::string text_of(const std::string& said) const { return facts_.rewrite ? facts_.rewrite(said) : said; }

  const ChatRequest request_;
  Facts facts_;
  const Tokenizer& tokenizer_;
  const std::shared_ptr<HttpReply> reply_;
};

}  // namespace kw
