#pragma once
// What an EpisodeEngine knows of an episode; for its own sources only.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/episode/episode_engine.h"
#include "agents/normal_form/normal_form.h"

namespace kw {

// How an episode is held; those that are submitted without options of their own share one.
struct EpisodeEngine::Manner {
  EpisodeOptions options;
  EpisodeHooks hooks;
};

struct EpisodeEngine::Running {
  explicit Running(std::shared_ptr<const Manner> its_manner) : manner(std::move(its_manner)) {}

  std::shared_ptr<const Manner> manner;
  std::string identity;  // in the store; empty: it is not stored
  Episode episode;
  std::shared_ptr<const Task> library_task;  // what the library's kernel is judged for
  NormalForm asked;                          // the task as agents read it
  Turn turn;                                 // the one that is being taken
  std::string held_to;                       // its answers: the launcher's parameters
  RequestId request = 0;
  std::vector<JudgePool::Ticket> kernels;  // that the judge was asked about since the last question
  std::size_t unjudged = 0;
  Clock::time_point turn_began;
  bool cancelled = false;  // its answers, because its time is over

  const EpisodeOptions& options() const { return manner->options; }
  const EpisodeHooks& hooks() const { return manner->hooks; }
  double turn_seconds() const { return std::chrono::duration<double>(Clock::now() - turn_began).count(); }
  const Verdict* given() const {
    return turn.role == AgentRole::optimizer ? &verdict_of(episode, turn.given_turn) : nullptr;
  }
};

}  // namespace kw
