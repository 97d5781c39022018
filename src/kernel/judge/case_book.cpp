#include "kernel/judge/case_book.h"

#include "base/hash.h"
#include "kernel/judge/case_answer.h"
#include "kernel/judge/case_plan.h"
#include "kernel/judge/made_sizes.h"

namespace kw {
namespace {

// Of all small sizes of a task together: they are emulated, with every check on.
constexpr std::int64_t most_small_elements = 20'000'000;

std::uint64_t bytes_of_cases(const std::vector<Case>& cases) {
  std::uint64_t bytes = 0;
  for (const Case& one : cases) {
    bytes += sizeof one;
    for (const InputTensor& input : one.inputs) bytes += input.bytes.size();
    for (const OutputTensor& output : one.truth) bytes += output.bytes.size();
    for (const ErrorBound& bound : one.bounds) bytes += bound.unstable.size() * sizeof(UnstableElement);
  }
  return bytes;
}

}  // namespace

ScalarInputs scalar_values(const std::vector<InputTensor>& inputs) {
  ScalarInputs scalars;
  for (const InputTensor& tensor : inputs)
    if (tensor.shape.empty()) scalars[tensor.name] = element_at(tensor.dtype, tensor.bytes, 0);
  return scalars;
}

CaseBook::CaseBook(Task task, std::string secret) : task_(std::move(task)), secret_(std::move(secret)) {}
CaseBook::~CaseBook() = default;

std::uint64_t CaseBook::seed_of(std::string_view purpose, int a, int b) const {
  const std::string hex =
      Sha256().add(secret_).add(task_.name).add(purpose).add(std::to_string(a)).add(std::to_string(b)).hex();
  return std::stoull(hex.substr(0, 12), nullptr, 16);  // 48 bits: a whole number in every JSON reader
}

int CaseBook::set_for(std::string_view kernel_text) const {
  const std::string hex = Sha256().add(secret_).add(kernel_text).hex();
  return static_cast<int>(std::stoul(hex.substr(0, 4), nullptr, 16) % sets);
}

Result<std::shared_ptr<const std::vector<Case>>> CaseBook::questions(int index) {
  Place& place = places_.at(static_cast<std::size_t>(index));
  std::lock_guard lock(place.mutex);
  if (place.questions == nullptr) {
    KW_TRY(place.questions, make_questions(index));
    kept_bytes_ += bytes_of_cases(*place.questions);
  }
  return place.questions;
}

Result<std::shared_ptr<const CaseSet>> CaseBook::set(int index) {
  KW_TRY(const auto asked, questions(index));
  Place& place = places_.at(static_cast<std::size_t>(index));
  // One at a time: the reference is one object, and who waits here waits for what it wants.
  std::lock_guard lock(reference_mutex_);
  if (place.answers == nullptr) {
    KW_TRY(place.answers, make_set(*asked));
    kept_bytes_ += bytes_of_cases(place.answers->cases);
  }
  return place.answers;
}

Result<std::shared_ptr<const std::vector<Case>>> CaseBook::make_questions(int index) const {
  std::int64_t small_elements = 0;
  for (const Sizes& sizes : task_.sizes_small) small_elements += elements_of(task_, sizes);
  if (small_elements > most_small_elements)
    return Error{"the small sizes of '" + task_.name + "' have " + std::to_string(small_elements) +
                     " elements in all tensors, and at most " + std::to_string(most_small_elements) + " are emulated",
                 "declare smaller ones: what is large belongs into the train sizes",
                 {task_.file, 0, 0}};
  std::vector<Case> questions;
  int number = 0;
  for (const PlannedCase& planned : plan_cases(task_, seed_of("sizes", index, 0), seed_of("kinds", index, 0))) {
    Case one;
    one.question = questions.size();
    one.sizes = planned.sizes;
    one.hidden = planned.hidden;
    one.optional = planned.optional;
    one.kind = planned.kind;
    one.seed = seed_of("inputs", index, ++number);
    auto inputs = make_inputs(task_, one.sizes, one.seed);
    if (!inputs.ok() && one.hidden) continue;  // the task's values may not go with every size
    KW_TRY(one.inputs, std::move(inputs));
    if (one.kind != InputKind::ordinary && !change_inputs(task_, one.sizes, one.inputs, one.kind, one.seed)) continue;
    one.scalars = scalar_values(one.inputs);
    questions.push_back(std::move(one));
  }
  return std::make_shared<const std::vector<Case>>(std::move(questions));
}

Result<std::shared_ptr<const CaseSet>> CaseBook::make_set(const std::vector<Case>& questions) {
  if (reference_ == nullptr) {
    KW_TRY(reference_, make_reference(task_));
  }
  reference_->start_work();
  CaseSet made;
  for (const Case& question : questions) {
    Case one = question;
    const auto usable = answer_case(task_, *reference_, one);
    // A size of our own making may be one that the reference does not accept; the task's own must work.
    if (!usable.ok() && !one.hidden && one.kind == InputKind::ordinary) return usable.error();
    if (usable.ok() && *usable) made.cases.push_back(std::move(one));
  }
  // Constant whatever the inputs, at every size? (With one column a softmax always is.)
  made.constant_outputs = !made.cases.empty();
  for (const Case& one : made.cases) {
    if (!made.constant_outputs) break;
    KW_TRY(const auto inputs, make_inputs(task_, one.sizes, one.seed + 1));
    KW_TRY(const auto other, reference_->run(inputs, one.sizes, Precision::truth));
    for (std::size_t i = 0; i < other.size(); ++i)
      made.constant_outputs = made.constant_outputs && other[i].bytes == one.truth[i].bytes;
  }
  return std::make_shared<const CaseSet>(std::move(made));
}

}  // namespace kw
