#pragma once
// The cases that a kernel has to get right: sizes (the task's small ones and hidden ones), private inputs, the truth
// and how far from it an output may be. Made once for a task and kept, because many kernels are judged for each task.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "judge/error_bound.h"
#include "reference/reference.h"
#include "source/interpreter.h"
#include "task/task.h"

namespace kw {

// Inputs beyond the task's own distribution, where honest kernels are still right: a maximum that starts at zero
// fails for negative values, an exponential without the usual shift overflows for large ones, a norm without its
// epsilon divides by zero.
enum class InputKind : std::uint8_t { ordinary, negative, large, zero };
std::string_view name_of(InputKind kind);

struct Case {
  std::size_t question = 0;  // its place among the questions
  Sizes sizes;
  bool hidden = false;    // a size that the task's file does not have
  bool optional = false;  // left out when the naive kernel takes long for it
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

// Sizes like the task's small ones that the task's file does not have: every name stays within the values that the
// task uses for it and keeps their common divisor, so that whatever the task means by its sizes stays true.
std::vector<Sizes> hidden_sizes(const Task& task, std::uint64_t seed, int count);

// Halved until the task's tensors have at most so many elements, or nothing can be halved any more.
Sizes shrink(const Task& task, Sizes sizes, std::int64_t most_elements);

// The train sizes, halved until they are small: what kernels do for sizes that are multiples of something (vector
// loads, full tiles), they do there too.
std::vector<Sizes> shrunk_sizes(const Task& task);

// One size name at a train value, the others as small as the task has them: what is fixed to small sizes (a
// row that must fit into a buffer) shows there, at little cost. Those that are still too large to emulate are left out.
std::vector<Sizes> stretched_sizes(const Task& task);

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
  // A further case, for a kernel that does something at large sizes that it does nowhere else.
  Result<std::shared_ptr<const Case>> large_case(const Sizes& sizes);
  const Task& task() const { return task_; }

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
  std::map<std::string, std::shared_ptr<const Case>> large_;
};

}  // namespace kw
