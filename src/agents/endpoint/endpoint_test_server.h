#pragma once
// For tests: a real server that answers as a test wants, on 127.0.0.1.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agents/endpoint/endpoint_answers.h"
#include "agents/endpoint/endpoint_prompt.h"
#include "base/http/http_test_support.h"

namespace kw {

inline HttpResponse json_response(const nlohmann::json& body, int status = 200) {
  return {status, "application/json", body.dump(), {}};
}

inline HttpResponse chat_answer(const std::string& text, std::int64_t tokens = 5, const char* finish = "stop") {
  return json_response(
      {{"choices",
        {{{"message", {{"role", "assistant"}, {"content", text}}}, {"text", text}, {"finish_reason", finish}}}},
       {"usage", {{"prompt_tokens", 11}, {"completion_tokens", tokens}}}});
}

class EndpointServer {
 public:
  // `call` counts from 0.
  using Script = std::function<void(const HttpRequest& request, const std::shared_ptr<HttpReply>& reply, int call)>;

  explicit EndpointServer(Script script) : script_(std::move(script)) {
    auto started = HttpServer::start({}, [this](HttpRequest request, std::shared_ptr<HttpReply> reply) {
      int call = 0;
      {
        const std::scoped_lock lock(mutex_);
        call = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      script_(request, reply, call);
    });
    EXPECT_TRUE(started.ok());
    server_ = std::move(started).value();
  }

  EndpointName name(const std::string& model = "m") const {
    return parse_endpoint_name(server_->address() + "#" + model).value();
  }
  std::vector<HttpRequest> requests() {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  Script script_;
  std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  std::unique_ptr<HttpServer> server_;
};

// Answers what each call gets, the last one again and again.
inline EndpointServer::Script in_turn(std::vector<HttpResponse> responses) {
  return [responses = std::move(responses)](const HttpRequest&, const auto& reply, int call) {
    reply->respond(responses[std::min(static_cast<std::size_t>(call), responses.size() - 1)]);
  };
}

inline const Dialect& test_bytes(PromptStyle style = PromptStyle::chatml) {
  static const auto make = [](PromptStyle each) {
    return byte_dialect(each, PromptBook::load(std::filesystem::path(KW_SOURCE_ROOT) / "prompts").value()).value();
  };
  static const Dialect chat = make(PromptStyle::chatml), compact = make(PromptStyle::compact);
  return style == PromptStyle::chatml ? chat : compact;
}

inline EndpointLimits quick_limits() {
  EndpointLimits limits;
  limits.first_wait = std::chrono::milliseconds(1);
  return limits;
}

inline GenerationRequest chat_request(const std::string& words = "hello", std::int64_t samples = 1) {
  Encoder encoder(test_bytes().tokenizer());
  GenerationRequest request;
  request.prompt = chatml_ids(encoder, test_bytes().tokenizer(), {{"system", "be brief"}, {"user", words}}).value();
  request.samples = samples;
  return request;
}

// Waits as an engine does.
class Asking {
 public:
  explicit Asking(const EndpointServer& server, EndpointLimits limits = quick_limits(), EndpointKey key = {},
                  PromptStyle style = PromptStyle::chatml)
      : answers(EndpointAnswers::open(server.name(), std::move(key), test_bytes(style).tokenizer(), std::move(limits))
                    .value()) {
    answers->on_arrival([this] {
      const std::scoped_lock lock(mutex_);
      ++arrivals_;
      changed_.notify_all();
    });
  }
  ~Asking() { answers->on_arrival(nullptr); }

  // Until as many results are there; by their ids.
  std::map<RequestId, GenerationResult> wait_for(std::size_t count) {
    std::map<RequestId, GenerationResult> results;
    while (results.size() < count) {
      {
        std::unique_lock lock(mutex_);
        EXPECT_TRUE(changed_.wait_for(lock, test_patience, [&] { return arrivals_ > 0; }));
        if (arrivals_ == 0) return results;
        arrivals_ = 0;
      }
      EXPECT_TRUE(answers->advance().ok());
      for (GenerationResult& result : answers->take_finished()) results.emplace(result.id, std::move(result));
    }
    return results;
  }
  GeneratedSample ask(GenerationRequest request = chat_request()) {
    const RequestId id = answers->submit(std::move(request)).value();
    return wait_for(1).at(id).samples.at(0);
  }

  std::unique_ptr<EndpointAnswers> answers;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrivals_ = 0;
};

}  // namespace kw
