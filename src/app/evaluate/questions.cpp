#include <fmt/format.h>

#include <algorithm>

#include "agents/grammar/mutation.h"
#include "app/evaluate/exam.h"
#include "base/interrupt.h"
#include "kernel/judge/judge_pool.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

ExampleStream held_out_stream(DataSplit split, std::uint64_t seed) {
  StreamOptions options;
  options.seed = seed;
  options.split = split;
  options.naive_too = true;
  return ExampleStream(options);
}

ExamQuestion question_about(const DrawnTask& drawn, DataSplit split) {
  ExamQuestion question;
  question.task = drawn.task;
  question.group = name_of(split);
  question.family = name_of(drawn.problem.family);
  question.tier = drawn.problem.tier;
  return question;
}

// Tasks that are looked at for each question that is wanted, before we say that there are none.
constexpr std::size_t most_draws = 20;

class JudgedQuestions {
 public:
  JudgedQuestions(Judge& judge, DataSplit split, std::uint64_t seed)
      : judge_(judge), split_(split), stream_(held_out_stream(split, seed)), pool_(judge) {}

  // The first `wanted` tasks of the stream that give a question, whatever order they are judged in.
  template <class Make>
  Result<void> add(std::size_t wanted, const Make& make, const char* what, std::vector<ExamQuestion>& questions) {
    std::size_t found = 0;
    for (std::size_t first = 0; found < wanted;) {
      if (first >= most_draws * wanted)
        return Error{fmt::format("only {} of {} {} were found among {} tasks", found, wanted, what, first), "", {}};
      const std::size_t count = std::max<std::size_t>(wanted - found, 4);
      std::vector<std::optional<ExamQuestion>> made(count);
      pool_.for_each(count, [&](std::size_t i) { made[i] = make(stream_.task_at(first + i)); });
      if (interrupted()) return Error{"interrupted", "", {}};
      for (auto& question : made)
        if (question && found < wanted) {
          questions.push_back(std::move(*question));
          ++found;
        }
      first += count;
    }
    return {};
  }

  std::optional<ExamQuestion> to_improve(const DrawnTask& drawn) const {
    const std::string kernel = stream_.kernel_for(drawn, Level::naive, house_style);
    Verdict verdict = judge_.judge(drawn.task, kernel, drawn.task.name);
    if (!verdict.correct || (judge_.options().want_time && !verdict.time_us)) return std::nullopt;
    return question(drawn, kernel, std::move(verdict));
  }

  std::optional<ExamQuestion> to_repair(const DrawnTask& drawn) const {
    Random random(stream_.options().seed ^ 0x726570616972u, drawn.index);
    const std::string right = kernel_at_some_level(drawn, random);
    const auto mutant = mutate(right, random);
    if (!mutant) return std::nullopt;
    Verdict verdict = judge_.judge(drawn.task, mutant->kernel, drawn.task.name);
    if (verdict.correct || is_unjudged(verdict)) return std::nullopt;
    // What cannot be repaired back to something right is no question.
    if (!judge_.judge(drawn.task, right, drawn.task.name).correct) return std::nullopt;
    return question(drawn, mutant->kernel, std::move(verdict));
  }

  std::optional<ExamQuestion> to_test(const DrawnTask& drawn) const {
    Random random(stream_.options().seed ^ 0x746573746572u, drawn.index);
    std::string kernel = kernel_at_some_level(drawn, random);
    if (random.uniform() < 0.5) {
      const auto mutant = mutate(kernel, random);
      if (!mutant) return std::nullopt;
      kernel = mutant->kernel;
    }
    Verdict verdict = judge_.judge(drawn.task, kernel, drawn.task.name);
    if (is_unjudged(verdict)) return std::nullopt;
    ExamQuestion made = question(drawn, kernel, std::move(verdict));
    made.role = AgentRole::tester;
    return made;
  }

 private:
  static bool is_unjudged(const Verdict& verdict) {
    return verdict.status == VerdictStatus::unsupported || verdict.status == VerdictStatus::internal_error;
  }

  std::string kernel_at_some_level(const DrawnTask& drawn, Random& random) const {
    const std::vector<Level> levels = levels_of(drawn.problem);
    const auto at = random.integer(0, static_cast<std::int64_t>(levels.size()) - 1);
    return stream_.kernel_for(drawn, levels[static_cast<std::size_t>(at)], house_style);
  }

  ExamQuestion question(const DrawnTask& drawn, const std::string& kernel, Verdict verdict) const {
    ExamQuestion made = question_about(drawn, split_);
    made.role = AgentRole::optimizer;
    made.kernel = kernel;
    made.verdict = std::move(verdict);
    return made;
  }

  Judge& judge_;
  DataSplit split_;
  ExampleStream stream_;
  JudgePool pool_;
};

}  // namespace

std::vector<ExamQuestion> drawn_questions(DataSplit split, std::uint64_t seed, std::size_t count) {
  const ExampleStream stream = held_out_stream(split, seed);
  std::vector<ExamQuestion> questions;
  for (std::uint64_t i = 0; i < count; ++i) questions.push_back(question_about(stream.task_at(i), split));
  return questions;
}

Result<std::vector<ExamQuestion>> optimizer_questions(Judge& judge, DataSplit split, std::uint64_t seed,
                                                      std::size_t improve, std::size_t repair) {
  JudgedQuestions source(judge, split, seed);
  std::vector<ExamQuestion> questions;
  KW_TRY_VOID(source.add(
      improve, [&](const DrawnTask& drawn) { return source.to_improve(drawn); }, "right naive kernels", questions));
  KW_TRY_VOID(
      source.add(repair, [&](const DrawnTask& drawn) { return source.to_repair(drawn); }, "broken kernels", questions));
  return questions;
}

Result<std::vector<ExamQuestion>> tester_questions(Judge& judge, DataSplit split, std::uint64_t seed,
                                                   std::size_t count) {
  JudgedQuestions source(judge, split, seed);
  std::vector<ExamQuestion> questions;
  KW_TRY_VOID(
      source.add(count, [&](const DrawnTask& drawn) { return source.to_test(drawn); }, "kernels to test", questions));
  return questions;
}

Result<std::vector<ExamQuestion>> suite_questions(const std::filesystem::path& suite) {
  KW_TRY(const auto entries, load_suite(suite));
  std::vector<ExamQuestion> questions;
  for (const SuiteEntry& entry : entries) {
    if (!entry.task.ok()) return entry.task.error();
    if (entry.task->split != Split::holdout) continue;
    ExamQuestion question;
    question.task = *entry.task;
    question.group = name_of(DataSplit::suite);
    question.family = entry.task->family;
    question.tier = entry.task->tier;
    questions.push_back(std::move(question));
  }
  return questions;
}

}  // namespace kw
