#include "learn/lesson/lesson.h"

#include <algorithm>
#include <numeric>

namespace kw {
namespace {

StreamOptions training_stream(const LessonPlan& plan) {
  StreamOptions options;
  options.seed = plan.seed;
  options.split = plan.split;
  options.families = plan.families;
  return options;
}

constexpr std::uint64_t ramp_candidates = 8;

bool chance(Random& random, double share) { return random.uniform() < share; }

template <class Items>
const auto& pick(Random& random, const Items& items) {
  return items[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(items.size()) - 1))];
}

// Prompts show kernels without comments, so a repair must not be expected to bring them back.
std::string without_comments(const std::string& kernel) {
  const std::string bare = kernel_for_prompt(kernel);
  std::string text;
  std::size_t at = 0, bare_at = 0;
  while (at < kernel.size() && bare_at < bare.size()) {
    const std::size_t end = std::min(kernel.find('\n', at), kernel.size());
    const std::size_t bare_end = std::min(bare.find('\n', bare_at), bare.size());
    const bool was_empty = kernel.find_first_not_of(" \t", at) >= end;
    const bool is_empty = bare.find_first_not_of(" \t", bare_at) >= bare_end;
    if (was_empty || !is_empty) text += bare.substr(bare_at, bare_end - bare_at) + "\n";
    at = end + 1;
    bare_at = bare_end + 1;
  }
  return text;
}

// The beginning of an answer, up to the head of the kernel; all of it where no function stands before that.
std::string_view until_kernel(std::string_view answer) {
  constexpr std::string_view head = "__global__ void ";
  const std::size_t at = answer.find(head);
  if (at == std::string_view::npos || answer.substr(0, at).find("__device__") == std::string_view::npos) return answer;
  return answer.substr(0, at + head.size());
}

}  // namespace

std::string_view to_string(LessonKind kind) {
  switch (kind) {
    case LessonKind::generate:
      return "generate";
    case LessonKind::optimise:
      return "optimise";
    case LessonKind::repair:
      return "repair";
    case LessonKind::report:
      return "report";
  }
  return "";
}

AgentRole role_of(LessonKind kind) {
  if (kind == LessonKind::generate) return AgentRole::generator;
  return kind == LessonKind::report ? AgentRole::tester : AgentRole::optimizer;
}

LessonStream::LessonStream(std::shared_ptr<const JudgedBook> book, LessonPlan plan)
    : book_(std::move(book)), plan_(std::move(plan)), stream_(training_stream(plan_)) {}

Result<LessonStream> LessonStream::make(const Dialect&, std::shared_ptr<const JudgedBook> book, LessonPlan plan) {
  double all = 0;
  for (const double share : plan.share) {
    if (!(share >= 0)) return Error{"the share of a kind of lesson is negative", "", {}};
    all += share;
  }
  if (!(all > 0)) return Error{"no kind of lesson has a share", "", {}};
  const bool needs_book = plan.share[1] + plan.share[2] + plan.share[3] > 0;
  if (needs_book && !book)
    return Error{"optimise, repair and report lessons need verdicts", "name a store that data make has filled", {}};
  if (plan.share[1] > 0 && book->improvable().empty()) return Error{"the store has no faster kernels", "", {}};
  if (plan.share[2] > 0 && book->broken().empty()) return Error{"the store has no broken kernels", "", {}};
  return LessonStream(std::move(book), std::move(plan));
}

LessonKind LessonStream::kind_of(std::uint64_t index, Random& random) const {
  if (index < plan_.generate_first) return LessonKind::generate;
  const double all = std::accumulate(std::begin(plan_.share), std::end(plan_.share), 0.0);
  double at = random.uniform() * all;
  for (int kind = 0; kind < lesson_kind_count; ++kind) {
    if (at < plan_.share[kind]) return static_cast<LessonKind>(kind);
    at -= plan_.share[kind];
  }
  for (int kind = lesson_kind_count - 1; kind > 0; --kind)
    if (plan_.share[kind] > 0) return static_cast<LessonKind>(kind);
  return LessonKind::generate;
}

// On the ramp, the easiest of several tasks: of many at its beginning, of one at its end. What is easy is short.
DrawnTask LessonStream::task_for(std::uint64_t index) const {
  DrawnTask easiest = stream_.task_at(index);
  if (index >= plan_.ramp) return easiest;
  const std::uint64_t others = ramp_candidates * (plan_.ramp - index) / plan_.ramp;
  std::size_t least = stream_.kernel_for(easiest, Level::naive, house_style).size();
  for (std::uint64_t other = 1; other <= others; ++other) {
    DrawnTask drawn = stream_.task_at(index + (other << 48));
    const std::size_t length = stream_.kernel_for(drawn, Level::naive, house_style).size();
    if (length >= least) continue;
    least = length;
    easiest = std::move(drawn);
  }
  return easiest;
}

Example LessonStream::generated(std::uint64_t index, Random& random, bool& named, std::uint64_t* written) const {
  Example example;
  example.drawn = task_for(index);
  const std::vector<Level> levels = levels_of(example.drawn.problem);
  named = chance(random, plan_.level_named);
  const bool plain = !named && chance(random, plan_.plain_unnamed);
  example.level = plain ? levels.front() : pick(random, levels);
  const std::uint64_t variant = house_variant(random, plan_.house_style).value_or(1);
  if (written != nullptr) *written = variant;
  example.kernel = stream_.kernel_for(example.drawn, example.level, variant);
  return example;
}

// The house style in this share of cases, and that with formulas as often as the plan says.
std::optional<std::uint64_t> LessonStream::house_variant(Random& random, double share) const {
  if (!chance(random, share)) return std::nullopt;
  return plan_.formulas > 0 && chance(random, plan_.formulas) ? formula_style : house_style;
}

// Written anew at the same level, where the task can still be drawn; else as it stands in the store.
std::string LessonStream::kernel_for(const JudgedTask& task, const JudgedKernel& like, Random& random) const {
  if (!task.drawn) return like.text;
  const auto house = house_variant(random, plan_.house_style);
  const std::uint64_t variant = house ? *house : static_cast<std::uint64_t>(random.integer(1, 63));
  return book_->stream().kernel_for(*task.drawn, like.level, variant);
}

std::optional<LessonStream::Improvement> LessonStream::unjudged_improvement(std::uint64_t index, Random& random) const {
  Improvement improvement;
  improvement.drawn = stream_.task_at(index);
  const Problem& problem = improvement.drawn.problem;
  const std::vector<Level> levels = levels_of(problem);
  const Level before = chance(random, 0.5) ? levels.front() : pick(random, levels);
  for (const Level after : book_->faster_levels(problem.family, before, lesson_gain)) {
    if (std::ranges::count(levels, after) == 0) continue;
    // The Generator's kernels are what an Optimizer gets.
    improvement.before = stream_.kernel_for(improvement.drawn, before, house_variant(random, 0.5).value_or(2));
    improvement.after =
        stream_.kernel_for(improvement.drawn, after, house_variant(random, plan_.house_style).value_or(1));
    return improvement;
  }
  return std::nullopt;
}

// Other kernels of the task that are no better than this one, as if the conversation had begun with them.
std::vector<TriedKernel> LessonStream::tried_before(JudgedBook::Place place, Random& random) const {
  std::vector<TriedKernel> tried;
  if (!chance(random, plan_.tried)) return tried;
  const JudgedTask& task = book_->task(place);
  const JudgedKernel& now = book_->kernel(place);
  const std::int64_t most = random.integer(1, 3);
  for (std::int64_t i = 0; i < most; ++i) {
    const JudgedKernel& other = pick(random, task.kernels);
    if (&other == &now) continue;
    const bool slower = other.verdict.time_us && now.verdict.time_us && *other.verdict.time_us >= *now.verdict.time_us;
    if (other.verdict.correct && now.verdict.correct && !slower) continue;
    tried.push_back({strategies_of(other.text), other.verdict.status, other.verdict.speedup_naive});
  }
  return tried;
}

Result<std::optional<Lesson>> LessonStream::at(std::uint64_t index, Scribe& scribe) const {
  Random random(plan_.seed ^ 0x6c6573736f6eu, index);
  Lesson lesson;
  lesson.kind = kind_of(index, random);
  lesson.index = index;
  PromptRequest request;
  request.role = role_of(lesson.kind);
  std::string said;
  bool drill = false;
  Example example;
  Verdict right;
  std::optional<Improvement> improvement;
  if (lesson.kind == LessonKind::optimise && chance(random, plan_.unjudged))
    improvement = unjudged_improvement(index, random);
  if (improvement) {
    right.status = VerdictStatus::correct;
    right.compiled = right.correct = true;
    right.summary = "right in all cases";
    request.task = &improvement->drawn.task;
    request.kernel = std::move(improvement->before);
    request.verdict = &right;
    said = std::move(improvement->after);
  } else if (lesson.kind == LessonKind::generate) {
    bool named = false;
    std::uint64_t variant = 0;
    example = generated(index, random, named, &variant);
    drill = variant == formula_style && plan_.drill > 0 && chance(random, plan_.drill);
    request.task = &example.drawn.task;
    if (named) request.level = name_of(example.level);
    said = std::move(example.kernel);
  } else {
    const auto& places = lesson.kind == LessonKind::optimise ? book_->improvable()
                         : lesson.kind == LessonKind::repair ? book_->broken()
                                                             : book_->all();
    const JudgedBook::Place place = pick(random, places);
    const JudgedTask& task = book_->task(place);
    const JudgedKernel& now = book_->kernel(place);
    request.task = &task.task;
    request.kernel = now.text;
    request.verdict = &now.verdict;
    if (request.role == AgentRole::optimizer) request.tried = tried_before(place, random);
    if (lesson.kind == LessonKind::optimise) {
      const auto faster = book_->faster_than(place, lesson_gain);
      said = kernel_for(task, chance(random, 0.8) ? *faster.front() : *pick(random, faster), random);
    } else if (lesson.kind == LessonKind::repair) {
      const JudgedKernel& original = *book_->original_of(place);
      said = chance(random, plan_.rewrite) ? kernel_for(task, original, random) : without_comments(original.text);
    } else {
      said = compact_verdict(now.verdict);
      request.verdict = nullptr;
    }
  }
  KW_TRY(lesson.tokens, scribe.prompt_ids(request));
  lesson.answer = static_cast<std::int64_t>(lesson.tokens.size());
  KW_TRY(std::vector<TokenId> answer, scribe.answer_ids(request.role, said, request.kernel));
  if (drill) {
    // As far as it is the beginning of the whole answer in tokens too.
    KW_TRY(const auto begin, scribe.answer_ids(request.role, until_kernel(said), request.kernel));
    answer.erase(std::ranges::mismatch(answer, begin).in1, answer.end());
  }
  if (lesson.answer + static_cast<std::int64_t>(answer.size()) > plan_.longest) return std::optional<Lesson>();
  lesson.tokens.insert(lesson.tokens.end(), answer.begin(), answer.end());
  return std::optional<Lesson>(std::move(lesson));
}

std::optional<Example> LessonStream::example_at(std::uint64_t index, std::uint64_t* variant) const {
  Random random(plan_.seed ^ 0x6c6573736f6eu, index);
  if (kind_of(index, random) != LessonKind::generate) return std::nullopt;
  bool named = false;
  return generated(index, random, named, variant);
}

std::vector<std::string> vocabulary_texts(const LessonPlan& plan, std::size_t count) {
  LessonPlan answers = plan;
  answers.ramp = 0;
  const LessonStream lessons(nullptr, answers);
  // Other lessons show kernels of every level, as various people write them.
  const bool shows_kernels = plan.share[1] + plan.share[2] + plan.share[3] > 0;
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i) {
    Random random(plan.seed ^ 0x766f636162u, i);
    bool named = false;
    Example example = lessons.generated(i, random, named);
    texts.push_back(compact_signature(example.drawn.task) + "\n" + compact_operation(example.drawn.task));
    texts.push_back(shows_kernels ? lessons.stream().example_at(i).kernel : std::move(example.kernel));
  }
  return texts;
}

}  // namespace kw
