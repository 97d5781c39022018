#pragma once
// One model behind many users: conversations, each with options and listeners of its own, and plain answers, all in one
// batch on one copy of the base; each request says whose adapter answers. A thread of the service's own owns model,
// rollout and engine. Everything here may be called from any thread; listeners are called by the service's thread, must
// be short, and may call cancel() and counts().
//
// What a request gets depends on the request and the weights alone, not on who else asks. Several services may live at
// a time, with models of their own, on one pool of judges.
//
// Not done: users, keys and quotas (the server's), priorities other than age.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agents/episode/agent_model.h"
#include "agents/episode/episode_engine.h"
#include "agents/service/chat_prompt.h"
#include "kernel/judge/judge_pool.h"
#include "model/rollout/answer_source.h"

namespace kw {

struct AgentServiceOptions {
  std::string model = "tiny";        // as AgentModel::open() takes it
  AgentModelOptions loading = {};    // how it is loaded
  std::filesystem::path store = {};  // of conversations, SQLite; empty: none
  std::size_t max_waiting = 4096;    // requests that have not begun; further ones are refused
  std::size_t conversations_in_flight = 256;
  std::int64_t max_samples = 128;  // of a request; each is a row of the batch
};

struct AgentServiceCounts {
  std::size_t answers_waiting = 0;  // they have no token yet
  std::size_t answers_running = 0;
  std::size_t conversations_waiting = 0;
  std::size_t conversations_running = 0;
  std::int64_t answers = 0;        // that have ended, however
  std::int64_t conversations = 0;  // the same
  std::int64_t failures = 0;       // of both, those that ended with an error
  std::int64_t refused = 0;        // because too many were waiting
  std::int64_t rows = 0;           // of the batch now
  std::int64_t pages = 0;          // of keys and values in use now
  std::int64_t sampled_tokens = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t turns = 0;    // of conversations, taken here
  std::int64_t kernels = 0;  // that conversations have asked the judge about
};

class AgentService {
 public:
  using Ticket = std::uint64_t;  // never 0
  // Loads the model; called by the service's thread, which alone uses it then.
  using Load = std::function<Result<std::unique_ptr<AgentModel>>()>;

  struct AnswerRequest {
    std::vector<std::int32_t> prompt;
    Speaker speaker = Speaker::base;
    std::int64_t samples = 1;
    std::int64_t max_tokens = 256;  // of each sample
    SamplingRule rule;
    std::vector<std::string> stop;  // strings that end an answer
  };
  static constexpr std::size_t max_stops = 16;
  static constexpr std::size_t max_stop_bytes = 256;  // of each
  // The messages of refusals that are no fault of the request's: it may be made again later.
  static constexpr const char* full_message = "too many requests are waiting";
  static constexpr const char* closing_message = "the service is closing";

  using OnToken = std::function<void(const TokenEvent&)>;  // the event's request is the ticket
  using OnAnswer = std::function<void(Result<GenerationResult>)>;
  using OnEpisode = std::function<void(Result<Episode>)>;

  // Returns when the model is loaded. The pool must outlive it. `judge_identity`: JudgeSession::identity(); a stored
  // conversation is only resumed with the same judge.
  static Result<std::unique_ptr<AgentService>> open(const AgentServiceOptions& options, JudgePool& judges,
                                                    const std::string& judge_identity);
  static Result<std::unique_ptr<AgentService>> open(const AgentServiceOptions& options, Load load, JudgePool& judges,
                                                    const std::string& judge_identity);
  // Cancels what is in progress: every on_end was called when it returns. Not from a listener.
  ~AgentService();
  AgentService(const AgentService&) = delete;
  AgentService& operator=(const AgentService&) = delete;

  // A plain answer. Refused: too many wait, the prompt is too long, a value makes no sense. After that on_end is called
  // exactly once: an error is of the decoder; a cancelled answer has what there was, with FinishReason::cancelled.
  Result<Ticket> answer(AnswerRequest request, OnToken on_token, OnAnswer on_end);
  // A conversation. Refused: too many wait, options make no sense. After that on_end is called exactly once, after the
  // hooks; a cancelled one has the turns that were taken, and EpisodeEnd::cancelled. With a store, the same request and
  // options go on from the turns that are there, or end at once where it had ended; hooks see only what is new
  // (on_begin has the rest). Episode::ticket is the engine's own.
  Result<Ticket> converse(EpisodeRequest request, EpisodeOptions options, EpisodeHooks hooks, OnEpisode on_end);
  // Of either: at the next step of the batch its rows and pages are free. One that has ended is ignored.
  void cancel(Ticket ticket);
  // Takes no more requests, and returns when all have ended. Not from a listener.
  void drain();
  // The same, but what is in progress is cancelled.
  void close();

  // A chat, in the form that the model was taught (chat_prompt.h).
  Result<std::vector<std::int32_t>> prompt_of(const std::vector<ChatMessage>& messages, Speaker speaker);
  // A text to go on with, as it is; control tokens in it are control tokens.
  Result<std::vector<std::int32_t>> prompt_of(const std::string& text);

  const AgentModel& model() const { return *model_; }
  const Tokenizer& tokenizer() const { return model_->dialect().tokenizer(); }
  std::int64_t context() const { return context_; }  // tokens of a prompt and its answer together
  AgentServiceCounts counts() const;

 private:
  // A request that has not ended. One of the listeners is there.
  struct Open {
    Ticket ticket = 0;
    bool conversation = false;
    std::uint64_t id = 0;  // of the rollout's request, or the engine's ticket
    bool begun = false;
    std::optional<Error> failure;  // what it ends with, whatever else there is
    OnAnswer on_answer;
    OnEpisode on_episode;
  };

  explicit AgentService(AgentServiceOptions options) : options_(std::move(options)) {}
  Result<void> load(const Load& load, JudgePool& judges, const std::string& judge_identity);
  void serve();
  void wait_for_work();
  void end_all();
  void cancel_all(const std::optional<Error>& failure);
  void hand_out();
  void publish();
  Result<void> check_room();  // the lock is held, as for what follows
  void enter(Open open);
  std::optional<Open> take_out(std::map<std::uint64_t, Ticket>& by_id, std::uint64_t id);
  void wake();
  void note_begin(Ticket ticket);  // takes the lock
  std::size_t& waiting(bool conversation) {
    return conversation ? counts_.conversations_waiting : counts_.answers_waiting;
  }
  std::size_t& running(bool conversation) {
    return conversation ? counts_.conversations_running : counts_.answers_running;
  }

  const AgentServiceOptions options_;
  // Of the service's thread, made before anybody else sees this. Of the rollout and the engine, submit(), cancel() and
  // wake() are everybody's.
  std::unique_ptr<AgentModel> model_;
  std::unique_ptr<EpisodeStore> store_;
  std::unique_ptr<AnswerSource> rollout_;
  std::unique_ptr<EpisodeEngine> engine_;
  std::vector<GenerationResult> answered_;  // by the step that was just made
  std::int64_t context_ = 0;

  std::mutex encoder_mutex_;
  std::unique_ptr<Encoder> encoder_;

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable work_, all_ended_;
  bool has_work_ = false;
  bool draining_ = false;
  bool ending_ = false;
  Ticket next_ticket_ = 1;
  std::map<Ticket, Open> open_;
  std::map<std::uint64_t, Ticket> answers_, conversations_;  // by id
  std::size_t unanswered_ = 0;                               // requests whose on_end has not returned
  AgentServiceCounts counts_;

  std::thread thread_;
};

}  // namespace kw
