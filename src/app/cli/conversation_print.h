#pragma once
// A conversation on the terminal, as it happens: one answer token by token, or several with progress and a table.

#include <cstdint>
#include <memory>
#include <string>

#include "agents/episode/episode_engine.h"
#include "base/progress.h"

namespace kw::cli {

class ConversationView {
 public:
  ConversationView(std::int64_t samples) : samples_(samples) {}

  // What the engine should tell it. It must outlive the engine.
  EpisodeHooks hooks();
  // Turns that were read from a store.
  void show_stored(const Episode& episode);

 private:
  void question(const Episode& episode, const Turn& turn);
  void answer(const Turn& turn, std::size_t sample);
  void turn_taken(const Episode& episode);

  std::int64_t samples_;
  std::int64_t tokens_ = 0;
  bool line_open_ = false;  // the streamed answer has not ended its line
  bool began_ = false;
  std::unique_ptr<Progress> progress_;
};

// What the library's kernel is to the conversation, where it was asked for one.
void print_library(const Episode& episode);

// The best kernel, who wrote it, its verdict, and what became of the first one.
void print_outcome(const Episode& episode);

}  // namespace kw::cli
