#include "learn/sft/conversation_lessons.h"

#include <algorithm>
#include <numeric>

#include "base/bounded_json.h"
#include "learn/sft/retold_conversation.h"

namespace kw {
namespace {

constexpr double worth_learning = 1.02;  // gain below which a faster time may be the model's own error

// Families of tasks that are a benchmark's questions: whoever learned from them is not scored there.
constexpr std::string_view benchmarks[] = {"kernelbench"};

// Of the conversation's task; empty: none. The store's text of a task is JSON; one that cannot be read is told of
// later.
std::string benchmark_of(const StoredEpisode& episode) {
  const auto task = parse_bounded_json(episode.task_text);
  if (!task.ok() || !task->is_object()) return "";
  const auto family = task->find("family");
  if (family == task->end() || !family->is_string()) return "";
  const std::string name = family->get<std::string>();
  return std::ranges::count(benchmarks, name) > 0 ? name : "";
}

}  // namespace

bool worked(const Turn& turn, const TurnSample& sample, const Verdict* given) {
  if (!sample.verdict || !sample.verdict->correct || sample.finish != FinishReason::stop_token) return false;
  if (turn.role != AgentRole::optimizer || given == nullptr || !given->correct) return true;
  return given->time_us && sample.verdict->time_us && *sample.verdict->time_us * worth_learning <= *given->time_us;
}

Result<ConversationLessons> ConversationLessons::load(EpisodeStore& store, std::uint64_t seed, std::int64_t longest,
                                                      Scribe& scribe) {
  ConversationLessons found;
  found.seed_ = seed;
  found.longest_ = longest;
  KW_TRY(const std::vector<StoredSummary> all, store.list());
  for (const StoredSummary& summary : all) {
    if (summary.end == EpisodeEnd::unfinished) continue;
    KW_TRY(const auto episode, store.find(summary.identity));
    if (episode) KW_TRY_VOID(found.add(*episode, scribe));
  }
  found.seen_.clear();
  if (found.lessons_.empty())
    return Error{"no answer in these conversations worked",
                 found.unreadable_ > 0 ? "the task of some cannot be read: " + found.first_problem_ : "",
                 {}};
  return found;
}

Result<void> ConversationLessons::add(const StoredEpisode& episode, Scribe& scribe) {
  std::optional<RetoldConversation> retold;
  const std::string benchmark = benchmark_of(episode);
  for (const Turn& turn : episode.turns) {
    const Verdict* given = episode.given_verdict.get();
    if (turn.given_turn >= 0)
      given = chosen_sample(episode.turns[static_cast<std::size_t>(turn.given_turn)]).verdict.get();
    for (const TurnSample& sample : turn.samples) {
      ++answers_;
      if (!worked(turn, sample, given)) continue;
      const bool of_another = sample.tokens.empty();
      RetoldConversation::Retold told{turn.prompt, sample.tokens};
      if (of_another) {
        if (!retold) {
          auto readable = RetoldConversation::from(episode);
          if (!readable.ok()) {
            if (unreadable_++ == 0) first_problem_ = to_string(readable.error());
            return {};
          }
          retold = std::move(readable).value();
        }
        auto words = retold->tell(turn, sample, scribe);
        if (!words.ok()) continue;  // it does not fit into this model's prompts
        told = std::move(words).value();
      }
      Lesson lesson;
      lesson.kind = turn.role == AgentRole::generator     ? LessonKind::generate
                    : given != nullptr && !given->correct ? LessonKind::repair
                                                          : LessonKind::optimise;
      lesson.answer = static_cast<std::int64_t>(told.prompt.size());
      lesson.tokens = std::move(told.prompt);
      lesson.tokens.insert(lesson.tokens.end(), told.answer.begin(), told.answer.end());
      if (static_cast<std::int64_t>(lesson.tokens.size()) > longest_ || !seen_.insert(lesson.tokens).second) continue;
      lessons_.push_back(std::move(lesson));
      if (!benchmark.empty()) benchmarks_.insert(benchmark);
      retold_ += of_another;
    }
  }
  return {};
}

Result<std::optional<Lesson>> ConversationLessons::at(std::uint64_t index, Scribe&) const {
  const std::uint64_t count = lessons_.size(), round = index / count;
  // Place i of a round is drawn from what the places before it left (Fisher and Yates), by steps that depend on the
  // round alone.
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed_ ^ 0x726f756e64u, round);
  for (std::uint64_t i = 0; i <= index % count; ++i)
    std::swap(order[i], order[static_cast<std::size_t>(
                            random.integer(static_cast<std::int64_t>(i), static_cast<std::int64_t>(count) - 1))]);
  Lesson lesson = lessons_[order[index % count]];
  lesson.index = index;
  return std::optional<Lesson>(std::move(lesson));
}

Result<std::optional<Lesson>> MixedLessons::at(std::uint64_t index, Scribe& scribe) const {
  Random random(seed_ ^ 0x6d6978u, index);
  return random.uniform() < share_ ? first_.at(index, scribe) : second_.at(index, scribe);
}

}  // namespace kw
