#pragma once
// Kernels with the verdicts that the judge really gave them, from a store that `data make` filled: what an Optimizer is
// shown, and what a Tester learns to predict.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/grammar/stream.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct JudgedKernel {
  Level level = Level::naive;
  std::string mistake;  // that was put into it; empty: it is as it was written
  std::string text;
  Verdict verdict;
};

struct JudgedTask {
  Task task;
  // As the stream draws it, where it still draws the same: further kernels can be written for it.
  std::optional<DrawnTask> drawn;
  std::vector<JudgedKernel> kernels;
};

class JudgedBook {
 public:
  // Reads the `report` lines of all shards, several at a time. Fails when there are none.
  static Result<JudgedBook> load(const std::filesystem::path& store, int threads);

  const std::vector<JudgedTask>& tasks() const { return tasks_; }
  // The stream that the store was made from.
  const ExampleStream& stream() const { return *stream_; }

  // A kernel of a task, by its place.
  struct Place {
    std::uint32_t task = 0;
    std::uint32_t kernel = 0;
  };
  const std::vector<Place>& improvable() const { return improvable_; }  // right, and another one is faster
  const std::vector<Place>& broken() const { return broken_; }          // and the right one is there too
  const std::vector<Place>& all() const { return all_; }

  const JudgedTask& task(Place place) const { return tasks_[place.task]; }
  const JudgedKernel& kernel(Place place) const { return tasks_[place.task].kernels[place.kernel]; }
  // Right kernels of the same task that take at most 1 / gain of the time, fastest first.
  std::vector<const JudgedKernel*> faster_than(Place place, double gain) const;
  // Levels that are faster than this one for the family, on average over the store: fastest first.
  std::vector<Level> faster_levels(Family family, Level level, double gain) const;
  // What a broken kernel was before.
  const JudgedKernel* original_of(Place place) const;

 private:
  std::vector<JudgedTask> tasks_;
  std::optional<ExampleStream> stream_;
  std::vector<Place> improvable_, broken_, all_;
  std::map<Family, std::map<Level, double>> speedup_;  // over naive, geometric mean
};

inline constexpr double lesson_gain = 1.1;  // by which a kernel is faster to be worth learning from

}  // namespace kw
