#pragma once
// The conversations of one step: tasks drawn by the curriculum, a group of conversations about each, and for DAPO
// further tasks in place of those that taught nothing. Which conversations these are depends on the arguments alone;
// those that a store has already are not held again. Ranks hold a share each and then have all of them.

#include <filesystem>
#include <functional>
#include <stop_token>

#include "agents/episode/episode_engine.h"
#include "learn/curriculum/curriculum.h"
#include "learn/learner/learner.h"
#include "learn/rl/experience.h"
#include "learn/rl/task_pool.h"

namespace kw {

struct StepConversations {
  std::vector<Episode> episodes;
  std::vector<std::int64_t> task_of;  // number of the task within the step, for each episode
  std::vector<ExperiencedAnswer> answers;
  GroupCounts groups;
  int refills = 0;
  bool interrupted = false;  // what there is, is not all

  // Of what was done, by all ranks; what was read from a store is not counted. Seconds are those of rank 0.
  OverlapClock::Seconds seconds;
  double wall_s = 0;
  std::int64_t sampled_tokens = 0;
  std::int64_t decoder_steps = 0;
  std::int64_t kernels = 0, judged = 0;
};

// What an answer is paid instead of what its verdict is worth: for experiments, and for tests without a judge.
using PayAnswer = std::function<void(const Episode&, const Turn&, TurnSample&)>;

struct StepSource {
  Learner& learner;
  Judge& judge;
  const TaskPool& pool;
  Curriculum& curriculum;       // draws and records
  std::uint64_t& next_episode;  // numbers of conversations
  std::string model;            // identifies the weights in the store
  std::filesystem::path store;  // SQLite file; empty: none
  PayAnswer pay;                // may be empty
  EpisodeHooks episode;         // who wants to watch those that are held here
  // Held by the learner's sampler on this copy; null: by the trainer's weights as they are now.
  const WeightsCopy* weights = nullptr;
  std::stop_token stop = {};  // ends them where they are, like an interrupt
};

// An error also when the judge itself failed for most kernels.
Result<StepConversations> hold_step_conversations(const StepSource& source, const ReinforceOptions& options);

// Where a rank other than 0 keeps the conversations of a step that is not over: beside the store, which gets them all.
std::filesystem::path part_store(const std::filesystem::path& store, int rank);

// A store's files, and those beside it that ranks left.
void remove_store(const std::filesystem::path& file);
void remove_part_stores(const std::filesystem::path& file);

}  // namespace kw
