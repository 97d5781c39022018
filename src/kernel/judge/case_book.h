#pragma once
// The cases that a kernel has to get right: sizes (the task's small ones and hidden ones), private inputs, the truth
// and how far from it an output may be. Made once for a task and kept, because many kernels are judged for each task.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernel/judge/error_bound.h"
#include "kernel/judge/input_kind.h"
#include "kernel/reference/reference.h"
#include "kernel/source/interpreter.h"
#include "kernel/task/task.h"

namespace kw {

struct Case {
  std::size_t question = 0;  // its place among the questions
  Sizes sizes;
  bool hidden = false;    // a size that the task's file does not have
  bool optional = false;  // left out when it takes too long (allowed_work.h)
  std::uint64_t seed = 0;
  InputKind kind = InputKind::ordinary;
  std::vector<InputTensor> inputs;
  ScalarInputs scalars;
  std::vector<OutputTensor> truth;
  std::vector<ErrorBound> bounds;  // of each output
};

struct CaseSet {
  std::vector<Case> cases;        // those of one size stand together, so that they can share device memory
  bool constant_outputs = false;  // the reference gives the same whatever the inputs: a kernel need not compute
};

// Values of scalar inputs, for the launch plan.
ScalarInputs scalar_values(const std::vector<InputTensor>& inputs);

class CaseBook {
 public:
  // `secret` makes the seeds private: whoever does not know it cannot know a kernel's inputs.
  CaseBook(Task task, std::string secret);
  ~CaseBook();

  static constexpr int sets = 4;  // different inputs; which one a kernel gets depends on its text and the secret

  // Which of the sets a kernel is judged with.
  int set_for(std::string_view kernel_text) const;
  // Made at the first use; from any thread. The questions are the cases without their answers and need no reference;
  // a few of them may have none, when the reference does not accept them.
  Result<std::shared_ptr<const std::vector<Case>>> questions(int index);
  Result<std::shared_ptr<const CaseSet>> set(int index);
  const Task& task() const { return task_; }
  std::uint64_t kept_bytes() const { return kept_bytes_; }  // of the questions and answers that were made

 private:
  struct Place {
    std::mutex mutex;
    std::shared_ptr<const std::vector<Case>> questions;
    std::shared_ptr<const CaseSet> answers;
  };
  Result<std::shared_ptr<const std::vector<Case>>> make_questions(int index) const;
  Result<std::shared_ptr<const CaseSet>> make_set(const std::vector<Case>& questions);
  std::uint64_t seed_of(std::string_view purpose, int a, int b) const;

  Task task_;
  std::string secret_;
  std::array<Place, sets> places_;
  std::mutex reference_mutex_;
  std::unique_ptr<Reference> reference_;
  std::atomic<std::uint64_t> kept_bytes_ = 0;
};

}  // namespace kw
