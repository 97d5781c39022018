#pragma once
// A request of OpenAI's /v1/chat/completions or /v1/completions, read and bounded: who should answer what, and how.

#include <optional>
#include <string>
#include <vector>

#include "app/serve/request_fields.h"
#include "model/tokenizer/chatml.h"

namespace kw {

struct ChatRequest {
  bool chat = true;                   // false: /v1/completions
  std::string model;                  // as the client named it
  std::vector<ChatMessage> messages;  // chat
  std::string prompt;                 // completions
  std::int64_t answers = 1;           // n
  std::int64_t max_tokens = 1024;
  double temperature = 1, top_p = 1;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  bool logprobs = false;
  bool stream = false, usage_in_stream = false;
};

// What we cannot do (tools, penalties, other formats of answers) is refused by name, never ignored. Problems are in
// `fields`.
ChatRequest read_chat_request(RequestFields& fields, bool chat);

}  // namespace kw
