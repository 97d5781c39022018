#pragma once
// Test code: a trainer that notes what is asked of another one, a letter for each call: b backward, l the last backward
// is announced, s step.

#include <string>
#include <vector>

#include "model/decoder/training.h"

namespace kw {

class NotedTrainer final : public Trainer {
 public:
  explicit NotedTrainer(Trainer& trainer) : trainer_(trainer) {}
  std::string calls;
  // Those before each step.
  std::vector<std::string> steps() const {
    std::vector<std::string> steps;
    for (std::size_t begin = 0, end = 0; (end = calls.find('s', begin)) != std::string::npos; begin = end + 1)
      steps.push_back(calls.substr(begin, end - begin));
    return steps;
  }

  Result<TokenScores> score(const PackedBatch& batch) override { return trainer_.score(batch); }
  Result<TokenScores> forward(const PackedBatch& batch) override { return trainer_.forward(batch); }
  Result<void> backward(const ScoreGradients& gradients) override {
    calls += 'b';
    return trainer_.backward(gradients);
  }
  void clear_gradients() override { trainer_.clear_gradients(); }
  Result<void> end_slot(std::int64_t slot) override { return trainer_.end_slot(slot); }
  void last_backward_follows() override {
    calls += 'l';
    trainer_.last_backward_follows();
  }
  Result<StepReport> step(double learning_rate) override {
    calls += 's';
    return trainer_.step(learning_rate);
  }
  std::int64_t weights_version() const override { return trainer_.weights_version(); }
  Result<void> read_parameters(Parameters& into) override { return trainer_.read_parameters(into); }
  Result<Adapter> read_adapter(std::int64_t index) override { return trainer_.read_adapter(index); }
  Result<void> save_state(const std::string& folder) override { return trainer_.save_state(folder); }
  Result<void> restore_state(const std::string& folder) override { return trainer_.restore_state(folder); }

 private:
  Trainer& trainer_;
};

// "bbblb": one step's backward passes, the last of them announced.
inline bool last_is_announced(const std::string& calls) {
  return calls.size() >= 2 && calls == std::string(calls.size() - 2, 'b') + "lb";
}

}  // namespace kw
