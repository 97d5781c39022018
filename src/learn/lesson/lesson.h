#pragma once
// What a model is taught: a prompt and the answer to it, as token ids. Lesson i of a seed is a pure function of the
// seed and i, so that lessons can be made by any number of threads, and again after a restart.
//
//   generate  task -> kernel
//   optimise  kernel and verdict -> a faster kernel
//   repair    broken kernel and verdict -> a right one
//   report    kernel -> verdict, for the Tester
//
// Generated tasks are endless; verdicts are the judge's own and come from a store, while the kernels that answer them
// are written anew each time.

#include <map>
#include <memory>
#include <optional>

#include "agents/agent/dialect.h"
#include "learn/lesson/judged_book.h"

namespace kw {

enum class LessonKind : std::uint8_t { generate, optimise, repair, report };
inline constexpr int lesson_kind_count = 4;
std::string_view to_string(LessonKind kind);
AgentRole role_of(LessonKind kind);

struct Lesson {
  LessonKind kind = LessonKind::generate;
  std::uint64_t index = 0;
  std::vector<TokenId> tokens;  // prompt, then answer
  std::int64_t answer = 0;      // where it begins
};

// Where lessons come from, by index.
class LessonSource {
 public:
  virtual ~LessonSource() = default;
  // From any number of threads, each with a scribe of its own. Nothing: it would be too long. Errors are faults of ours
  // (a template that fails).
  virtual Result<std::optional<Lesson>> at(std::uint64_t index, Scribe& scribe) const = 0;
  virtual std::int64_t longest() const = 0;  // tokens
};

struct LessonPlan {
  std::uint64_t seed = 1;
  DataSplit split = DataSplit::train;              // of generate; another one than train is for measuring the loss
  double share[lesson_kind_count] = {1, 0, 0, 0};  // by LessonKind; need not add up to one
  double house_style = 0.8;    // share of answers in the house style, the rest as various people write
  double formulas = 0;         // share of formula_style among answers in the house style
  double level_named = 0.5;    // share of Generator's prompts that ask for a level
  double plain_unnamed = 0.5;  // share of naive kernels among answers to prompts that do not
  double rewrite = 0.5;        // share of repairs that write the kernel anew, not as it was before the mistake
  // Share of optimise lessons on tasks that are not in the store. What is known of such a kernel is that it is right;
  // which level is faster is what the judge found for the family.
  double unjudged = 0.5;
  double tried = 0.4;           // share of Optimizer's prompts that name kernels tried before
  std::int64_t longest = 2048;  // tokens; longer lessons are left out and counted
  // Share of generate lessons in formula_style that end where the kernel itself begins: the expression is what takes
  // long to learn, and so there are more of them among as many tokens.
  double drill = 0;
  std::uint64_t generate_first = 0;  // lessons before any other kind: who cannot write a kernel learns to improve none
  std::uint64_t ramp = 0;            // number of lessons over which generate's tasks grow from short ones to all
  std::vector<Family> families;      // of generate; empty: all that training has
};

class LessonStream : public LessonSource {
 public:
  // Without a book, only generate. The dialect outlives it.
  static Result<LessonStream> make(const Dialect& dialect, std::shared_ptr<const JudgedBook> book, LessonPlan plan);

  Result<std::optional<Lesson>> at(std::uint64_t index, Scribe& scribe) const override;
  std::int64_t longest() const override { return plan_.longest; }
  // The task and kernel behind a lesson of kind generate, to be judged. `variant`: as ExampleStream::kernel_for has it.
  std::optional<Example> example_at(std::uint64_t index, std::uint64_t* variant = nullptr) const;
  const ExampleStream& stream() const { return stream_; }

  const LessonPlan& plan() const { return plan_; }

 private:
  friend std::vector<std::string> vocabulary_texts(const LessonPlan& plan, std::size_t count);
  LessonStream(std::shared_ptr<const JudgedBook> book, LessonPlan plan);
  LessonKind kind_of(std::uint64_t index, Random& random) const;
  DrawnTask task_for(std::uint64_t index) const;
  Example generated(std::uint64_t index, Random& random, bool& named, std::uint64_t* variant = nullptr) const;
  // A task, a right kernel for it and a faster one; nothing where the family has none.
  struct Improvement {
    DrawnTask drawn;
    std::string before, after;
  };
  std::optional<Improvement> unjudged_improvement(std::uint64_t index, Random& random) const;
  std::optional<std::uint64_t> house_variant(Random& random, double share) const;
  std::string kernel_for(const JudgedTask& task, const JudgedKernel& like, Random& random) const;
  std::vector<TriedKernel> tried_before(JudgedBook::Place place, Random& random) const;

  std::shared_ptr<const JudgedBook> book_;
  LessonPlan plan_;
  ExampleStream stream_;
};

// Texts that a vocabulary for this plan is trained on: prompts and answers of its first lessons, in compact style.
std::vector<std::string> vocabulary_texts(const LessonPlan& plan, std::size_t count);

}  // namespace kw
