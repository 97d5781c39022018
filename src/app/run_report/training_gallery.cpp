#include "app/run_report/training_gallery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agents/episode/conversation_page.h"
#include "agents/episode/episode_store.h"
#include "app/run_report/exam_paper.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t most_stores = 2;      // the last ones
constexpr std::size_t most_episodes = 512;  // of a store

struct Ranked {
  std::size_t index = 0;
  double rank = 0;
  std::string task;
};

// The best of each list in turn; a task that is there already only when nothing else is left.
std::vector<Pick> taken_in_turn(const std::vector<std::pair<std::string, std::vector<Ranked>>>& lists,
                                std::size_t most) {
  std::vector<Pick> picks;
  std::set<std::string> tasks;
  std::set<std::size_t> taken;
  for (const bool again : {false, true})
    for (bool any = true; any && picks.size() < most;) {
      any = false;
      for (const auto& [why, list] : lists) {
        if (picks.size() >= most) break;
        const auto next = std::find_if(list.begin(), list.end(), [&](const Ranked& one) {
          return !taken.contains(one.index) && (again || !tasks.contains(one.task));
        });
        if (next == list.end()) continue;
        any = true;
        tasks.insert(next->task);
        taken.insert(next->index);
        picks.push_back({next->index, why});
      }
    }
  // What is alike stands together.
  std::stable_sort(picks.begin(), picks.end(), [&](const Pick& a, const Pick& b) {
    const auto place = [&](const Pick& pick) {
      return std::find_if(lists.begin(), lists.end(), [&](const auto& list) { return list.first == pick.why; });
    };
    return place(a) < place(b);
  });
  return picks;
}

void sort_down(std::vector<Ranked>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; });
}

// Those in the middle first.
void sort_typical(std::vector<Ranked>& list) {
  if (list.empty()) return;
  std::vector<double> ranks;
  for (const Ranked& one : list) ranks.push_back(one.rank);
  const double middle = median(std::move(ranks));
  for (Ranked& one : list) one.rank = -std::abs(one.rank - middle);
  sort_down(list);
}

// A store may say anything: every kernel that a turn refers to must be there.
bool is_whole(const Episode& episode) {
  for (const Turn& turn : episode.turns) {
    if (turn.role != AgentRole::optimizer) continue;
    if (turn.given_turn < -1) return false;
    const Verdict* given = turn.given_turn < 0
                               ? episode.given_verdict.get()
                               : chosen_sample(episode.turns[static_cast<std::size_t>(turn.given_turn)]).verdict.get();
    if (given == nullptr) return false;
  }
  return !episode.turns.empty();
}

KernelTurn best_of(const Episode& episode) {
  KernelTurn best;
  std::optional<KernelRank> rank;
  for (const Turn& turn : episode.turns) {
    const auto& verdict = chosen_sample(turn).verdict;
    if (!verdict || !rank_of(*verdict).right || (rank && !(rank_of(*verdict) > *rank))) continue;
    rank = rank_of(*verdict);
    best = turn.index;
  }
  return best;
}

// "wrong, then 2.10 x": what each turn came to.
std::string course_of(const Episode& episode) {
  std::string text;
  for (const Turn& turn : episode.turns) {
    const TurnSample& sample = chosen_sample(turn);
    if (!text.empty()) text += " \u2192 ";
    if (!sample.verdict)
      text += sample.skipped ? std::string_view("skipped") : to_string(sample.outcome);
    else if (const KernelRank rank = rank_of(*sample.verdict); rank.right && rank.speedup > 0)
      text += fmt::format("{:.2f} \u00d7 naive", rank.speedup);
    else
      text += to_string(sample.verdict->status);
  }
  return text;
}

// What the agent was asked, in the words that it read.
std::optional<Tokenizer> tokenizer_of(const StageParts& stage) {
  for (const fs::path& file : {stage.folder / "agents" / "tokenizer.json", stage.folder / "tokenizer.json"}) {
    std::error_code failed;
    if (!fs::exists(file, failed)) continue;
    if (auto tokenizer = load_tokenizer_json(file); tokenizer.ok()) return std::move(tokenizer).value();
  }
  return {};
}

Result<std::vector<Episode>> episodes_of(const fs::path& file, const std::optional<Tokenizer>& tokenizer) {
  KW_TRY(const auto store, EpisodeStore::open(file, {.read_only = true}));
  KW_TRY(const std::vector<StoredSummary> all, store->list());
  std::vector<Episode> episodes;
  for (const StoredSummary& summary : all) {
    if (episodes.size() == most_episodes) break;
    if (summary.end == EpisodeEnd::unfinished) continue;
    KW_TRY(auto stored, store->find(summary.identity));
    if (!stored) continue;
    Episode episode;
    episode.given_verdict = std::move(stored->given_verdict);
    episode.turns = std::move(stored->turns);
    episode.end = stored->end;
    episode.problem = std::move(stored->problem);
    auto task = std::make_shared<Task>();
    task->name = summary.task;
    if (tokenizer && !episode.turns.empty())
      if (auto asked = tokenizer->decode(episode.turns.front().prompt, true); asked.ok())
        task->pytorch = std::move(asked).value();
    episode.request.task = std::move(task);
    if (!is_whole(episode)) continue;
    episode.best = best_of(episode);
    episodes.push_back(std::move(episode));
  }
  return episodes;
}

std::vector<ReportConversation> from_stores(const StageParts& stage, std::size_t most,
                                            std::vector<std::string>& missing) {
  const std::optional<Tokenizer> tokenizer = tokenizer_of(stage);
  std::vector<Episode> episodes;
  const std::size_t count = stage.conversations.size();
  for (std::size_t i = count - std::min(count, most_stores); i < count; ++i) {
    auto read = episodes_of(stage.conversations[i], tokenizer);
    if (!read.ok()) {
      missing.push_back(
          fmt::format("conversations/{}: {}", stage.conversations[i].filename().string(), read.error().message));
      continue;
    }
    for (Episode& episode : *read) episodes.push_back(std::move(episode));
  }
  std::vector<ReportConversation> gallery;
  for (const Pick& pick : chosen_conversations(episodes, most)) {
    gallery.push_back(report_conversation(episodes[pick.index]));
    gallery.back().why = pick.why;
    gallery.back().outcome = course_of(episodes[pick.index]);
  }
  return gallery;
}

std::vector<ReportConversation> from_paper(const StageParts& stage, std::size_t most,
                                           std::vector<std::string>& missing) {
  const auto answers = read_exam_paper(stage.papers.back());
  if (!answers.ok()) {
    missing.push_back(fmt::format("exams/{}: {}", stage.papers.back().filename().string(), answers.error().message));
    return {};
  }
  std::vector<Ranked> fast, typical, failed;
  for (std::size_t i = 0; i < answers->size(); ++i) {
    const PaperAnswer& answer = (*answers)[i];
    const Ranked one{i, answer.speedup.value_or(0), answer.family};
    if (!answer.correct())
      failed.push_back(one);
    else
      fast.push_back(one), typical.push_back(one);
  }
  sort_down(fast);
  sort_typical(typical);
  std::vector<ReportConversation> gallery;
  for (const Pick& pick : taken_in_turn({{"fastest", fast}, {"typical", typical}, {"failed", failed}}, most)) {
    gallery.push_back(report_conversation((*answers)[pick.index]));
    gallery.back().why = pick.why;
  }
  return gallery;
}

}  // namespace

std::vector<Pick> chosen_conversations(const std::vector<Episode>& episodes, std::size_t most) {
  std::vector<Ranked> gained, repaired, typical, failed;
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    const Episode& episode = episodes[i];
    const std::string& task = episode.request.task->name;
    const auto& first = chosen_sample(episode.turns.front()).verdict;
    if (!episode.best) {
      failed.push_back({i, static_cast<double>(episode.turns.size()), task});
      continue;
    }
    const double best = rank_of(verdict_of(episode, *episode.best)).speedup;
    const KernelRank began = first ? rank_of(*first) : KernelRank{};
    typical.push_back({i, best, task});
    if (!began.right)
      repaired.push_back({i, best, task});
    else if (began.speedup > 0 && best > 1.02 * began.speedup)
      gained.push_back({i, best / began.speedup, task});
  }
  sort_down(gained);
  sort_down(repaired);
  sort_down(failed);
  sort_typical(typical);
  return taken_in_turn({{"largest gain", gained}, {"repaired", repaired}, {"typical", typical}, {"failed", failed}},
                       most);
}

std::vector<ReportConversation> training_gallery(const RunParts& parts, std::size_t most,
                                                 std::vector<std::string>& missing) {
  // Of the last stage that has kept any.
  for (auto stage = parts.stages.rbegin(); stage != parts.stages.rend(); ++stage) {
    std::vector<ReportConversation> gallery;
    if (!stage->conversations.empty()) gallery = from_stores(*stage, most, missing);
    if (gallery.empty() && !stage->papers.empty()) gallery = from_paper(*stage, most, missing);
    if (!gallery.empty()) return gallery;
  }
  if (!parts.stages.empty()) missing.emplace_back("conversations: none were kept (--keep-conversations)");
  return {};
}

}  // namespace kw
