#pragma once
// Answers from an OpenAI-compatible endpoint: every sample is a call of its own, so many at a time as the endpoint is
// asked to bear, the rest waits. A call that fails in a way that may pass is made again, later and later; where the
// endpoint says when, then, and nobody else calls before. A call that fails for good is an answer with
// FinishReason::failed and its reason: it costs that answer and nothing else.
//
// Not done: streaming (an answer comes as a whole), log-probabilities, token ids.

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agents/endpoint/completion.h"
#include "agents/endpoint/endpoint_name.h"
#include "model/rollout/answer_source.h"
#include "model/tokenizer/tokenizer.h"

namespace kw {

struct EndpointLimits {
  std::size_t calls_at_a_time = 16;
  int attempts = 5;                                // of each answer
  std::chrono::milliseconds first_wait{1'000};     // before the second attempt; then twice as long each time
  std::chrono::milliseconds longest_wait{30'000};  // that we choose
  std::chrono::milliseconds longest_asked_wait{
      300'000};  // that the endpoint may ask for; longer: the answer has failed
  HttpClientLimits http{.max_body_bytes = 4u << 20};
  std::string trusted_file = {};  // of certificates, for tests; empty: whom this machine trusts
};

// KERNELWRIGHT_ENDPOINT_CALLS and KERNELWRIGHT_ENDPOINT_SECONDS (of an answer) in place of the defaults.
Result<EndpointLimits> endpoint_limits();

// Asks for the list of models, once. An error: nobody answers there, or the key is refused; what a list does not say is
// not known.
Result<EndpointFacts> ask_about_model(const EndpointName& name, const EndpointKey& key, const EndpointLimits& limits);

class EndpointAnswers : public AnswerSource {
 public:
  // The tokenizer is that of a byte_dialect(), and outlives it.
  static Result<std::unique_ptr<EndpointAnswers>> open(EndpointName name, EndpointKey key, const Tokenizer& tokenizer,
                                                       EndpointLimits limits = {});
  ~EndpointAnswers() override;

  Result<RequestId> submit(GenerationRequest request) override;
  void cancel(RequestId id) override;
  std::vector<GenerationResult> take_finished() override;
  bool idle() const override;
  Result<bool> advance() override;
  void settle() override {}
  bool elsewhere() const override { return true; }
  void on_arrival(std::function<void()> arrived) override;
  const RolloutStatistics& statistics() const override { return statistics_; }
  std::int64_t running() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked;
  struct Call {
    RequestId request = 0;
    std::size_t sample = 0;
    int attempts = 0;
    Clock::time_point due = {};
    HttpClient::Ticket ticket = 0;
  };
  struct Arrived {
    GenerationResult result;
    std::function<void(const TokenEvent&)> on_token;
  };

  EndpointAnswers(EndpointName name, EndpointKey key, const Tokenizer& tokenizer, EndpointLimits limits);
  // The lock is held for all of these.
  void pump();
  void start(Call call);
  void wake_at(Clock::time_point time);
  void finish(const Call& call, GeneratedSample sample);
  bool try_again(Call call, const HttpOutcome& outcome);
  void arrive(std::map<RequestId, std::unique_ptr<Asked>>::iterator asked);
  // They are not.
  void take(std::uint64_t number, HttpOutcome outcome);
  void tell();

  const EndpointName name_;
  const EndpointKey key_;
  const Tokenizer& tokenizer_;
  const EndpointLimits limits_;

  std::mutex arrival_mutex_;  // held while the listener is called, so that it can be taken away
  std::function<void()> arrival_;

  mutable std::mutex mutex_;  // of what follows, but what the owner's thread has alone
  RequestId next_id_ = 1;
  std::uint64_t next_call_ = 1;
  std::map<RequestId, std::unique_ptr<Asked>> asked_;
  std::deque<Call> waiting_;
  std::map<std::uint64_t, Call> calling_;
  Clock::time_point quiet_until_ = {};  // as the endpoint has asked
  Clock::time_point wake_time_ = Clock::time_point::max();
  EndpointManners manners_;
  std::vector<Arrived> arrived_;
  std::vector<GenerationResult> finished_;
  RolloutStatistics statistics_;  // the owner's thread

  std::unique_ptr<HttpClient> client_;  // last: its thread ends before what it uses
};

}  // namespace kw
