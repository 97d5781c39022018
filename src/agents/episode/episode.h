#pragma once
// A conversation about one task: the Generator writes a kernel, the judge says what it is worth, the Optimizer repairs
// or improves it, at most a few turns long. Plain data: everything that was asked, said, judged and paid, as it
// happened.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/agent/answer.h"
#include "agents/agent/prompt_values.h"
#include "base/agent_role.h"
#include "kernel/judge/baseline.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task.h"
#include "model/rollout/generation.h"

namespace kw {

// One answer of a turn.
struct TurnSample {
  std::vector<std::int32_t> tokens;  // exactly as sampled, the stop token included; empty: it came from elsewhere
  std::vector<float> log_probs;      // one for each token
  TokenUsage usage;                  // of an answer from elsewhere
  FinishReason finish = FinishReason::length;
  std::int64_t weights_version = -1;  // of the first and the last token
  std::int64_t last_weights_version = -1;
  std::string text;  // without special tokens
  // The launcher's parameters that it was held to while it was sampled (answer_constraint.h): log_probs are those of
  // the policy among what that allows. Empty: it was sampled freely.
  std::string held_to;
  std::int64_t resampled = 0;  // times that it was begun anew because it was cut off

  AnswerOutcome outcome = AnswerOutcome::empty;
  std::string message;               // about the outcome, one sentence
  std::string kernel;                // empty unless outcome is kernel
  std::string said;                  // what else was said, cut
  std::vector<Strategy> strategies;  // seen in the kernel

  std::optional<double> predicted_correct;  // the Tester's probability, where it was asked
  bool skipped = false;                     // and found hopeless: not judged
  std::shared_ptr<const Verdict> verdict;   // null: there was nothing to judge, or it was skipped
  double reward = 0;
  bool rewarded = true;  // false: the judge could not say (its own fault, or skipped); no sample to learn from
};

struct Turn {
  int index = 0;
  AgentRole role = AgentRole::generator;
  std::vector<std::int32_t> prompt;
  int given_turn = -1;  // the kernel that the Optimizer was shown: of this turn; -1: the user's, or none
  std::vector<TurnSample> samples;
  std::int64_t chosen = 0;  // the sample that the conversation went on with
  double seconds = 0;       // from the question to the last verdict; not part of what is reproducible
};

enum class EpisodeEnd : std::uint8_t {
  unfinished,
  turns,      // as many as were allowed
  target,     // the best kernel is as good as was wanted
  tokens,     // the budget of tokens is used up
  time,       // the budget of time is
  stuck,      // the same question again, to an agent that is not sampled: it would say the same again
  refused,    // the question cannot be asked: too long for the model, or the kernel cannot be shown
  cancelled,  // somebody wanted no more; a store has it as unfinished, so that it can be resumed
};
std::string_view to_string(EpisodeEnd end);

// Who wrote a kernel: a person, the library of kernels (agents/program), or an agent.
enum class KernelWriter : std::uint8_t { user, library, agent };
std::string_view name_of(KernelWriter writer);

// What the library of kernels does for a conversation. Training and exams ask nothing of it.
enum class LibraryUse : std::uint8_t {
  none,
  baseline,  // its kernel is what speedups are stated against, where the task has no naive one
  begin,     // that, and the conversation begins with it
};

// What starts a conversation.
struct EpisodeRequest {
  std::uint64_t number = 0;  // chooses the random numbers, together with the seed
  std::shared_ptr<const Task> task = {};
  std::string level = {};                        // what the Generator is asked for; may be empty
  std::string kernel = {};                       // a kernel to begin with; empty: the Generator writes the first one
  std::shared_ptr<const Verdict> verdict = {};   // of that kernel, where it is known: it is not judged again
  bool to_predict = false;                       // the Tester is asked what the judge would say of that kernel
  std::optional<std::uint64_t> first_seed = {};  // of the first turn's answers, instead of one by seed and number
  // Tells it apart, in a store, from one that is equal in everything else: two users may ask the same.
  std::string name = {};
  KernelWriter kernel_writer = KernelWriter::user;  // of `kernel`
  LibraryUse library = LibraryUse::none;
};

// See library_kernel.h.
struct LibraryKernel {
  std::string kernel;                      // empty: there is none
  std::shared_ptr<const Verdict> verdict;  // null: it was not judged
  std::string problem;                     // why it is not used, one sentence; empty: it is
};

// Which kernel: of a turn's chosen sample. -1: the one that the conversation began with.
using KernelTurn = std::optional<int>;

struct Episode {
  std::uint64_t ticket = 0;  // of the engine that took it
  EpisodeRequest request;
  std::optional<LibraryKernel> library;            // where it was asked for one
  KernelWriter naive_writer = KernelWriter::user;  // of the task's naive kernel; library: it came without one
  std::shared_ptr<const Verdict> given_verdict;    // of request.kernel; null without one
  std::vector<Turn> turns;
  KernelTurn current;  // what the next turn works on; none: there is no kernel yet
  KernelTurn best;     // none: no kernel was right
  EpisodeEnd end = EpisodeEnd::unfinished;
  std::string problem;       // with `refused`
  std::int64_t tokens = 0;   // sampled
  double seconds = 0;        // that its turns took
  bool from_store = false;   // it had ended before, and was only read
  std::int64_t resumed = 0;  // turns that were read from the store
};

const TurnSample& chosen_sample(const Turn& turn);
const std::string& kernel_of(const Episode& episode, int turn);
const Verdict& verdict_of(const Episode& episode, int turn);
KernelWriter writer_of(const Episode& episode, int turn);
// What the task's naive kernel is called, over which the verdicts' `speedup_naive` is.
Baseline naive_baseline(const Episode& episode);
// Of the kernel that it began with: "the given kernel", "the library's kernel".
std::string_view words_of_given(const Episode& episode);

// How good a kernel is for going on with: right ones by speed, then by how far wrong ones got. A kernel that the judge
// does not believe (an exploit's flag) is wrong.
struct KernelRank {
  bool right = false;
  double speedup = 0;    // over naive; of a right one
  double quickness = 0;  // 1 / microseconds; of a right one without a speedup: the task has no naive kernel
  bool compiled = false;
  double pass_rate = 0;
  auto operator<=>(const KernelRank&) const = default;
};
KernelRank rank_of(const Verdict& verdict);
// Whether an Optimizer can work with it: the judge has said something about the kernel itself.
bool says_something(const Verdict& verdict);

// One point for each kernel that the conversation went on with, the given one first.
struct TrajectoryPoint {
  int turn = -1;
  VerdictStatus status = VerdictStatus::internal_error;
  bool compiled = false;
  std::optional<double> speedup;
  std::optional<double> best_speedup;  // so far
};
std::vector<TrajectoryPoint> trajectory_of(const Episode& episode);

// How much faster the best kernel is than the first right one of the conversation that has a time.
struct Gain {
  int from = -1;  // the first right kernel's turn
  double factor = 1;
};
std::optional<Gain> gain_of(const Episode& episode);

// What was tried and failed: answers without a kernel and kernels that are not right.
struct FailedAttempt {
  int turn = 0;
  std::int64_t sample = 0;
  std::string why;  // "no_launcher", "race", "skipped"
  std::vector<Strategy> strategies;
};
std::vector<FailedAttempt> failed_attempts(const Episode& episode);

// Each kernel that the conversation went on with, but the one that is asked about now: "tried before".
std::vector<TriedKernel> tried_before(const Episode& episode);

}  // namespace kw
