#include "app/evaluate/exam.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "agents/episode/episode_engine.h"
#include "agents/reward/facts.h"
#include "base/random.h"

namespace kw {
namespace {

constexpr double modelled_gain = 1.02;  // by which a modelled time must be shorter to count as faster

// Ids that a model can sample and the vocabulary does not name (padding rows) say nothing.
std::string text_of(const Tokenizer& tokenizer, TokenId id) {
  const bool named = id >= 0 && static_cast<std::size_t>(id) < tokenizer.size() && !tokenizer.is_special(id);
  return named ? std::string(tokenizer.bytes_of(id)) : std::string();
}

// The product of the probabilities of the tokens that the first word is made of.
double first_word_probability(const Tokenizer& tokenizer, const TurnSample& sample) {
  double log_prob = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
    const std::string bytes = text_of(tokenizer, sample.tokens[i]);
    const bool begins_with_space = bytes.empty() || bytes.find_first_of(" \t\r\n") == 0;
    if (in_word && begins_with_space) break;
    log_prob += static_cast<double>(sample.log_probs[i]);
    const std::size_t word = bytes.find_first_not_of(" \t\r\n");
    in_word = in_word || word != std::string::npos;
    if (in_word && bytes.find_first_of(" \t\r\n", word == std::string::npos ? 0 : word) != std::string::npos) break;
  }
  return std::exp(log_prob);
}

std::size_t episodes_a_question(const ExamOptions& options) {
  return options.turns > 1 ? static_cast<std::size_t>(options.samples) : 1;
}

// Answers of one turn are samples of one episode, which read the question once; conversations part after the first.
std::vector<EpisodeRequest> requests_for(const std::vector<ExamQuestion>& questions, const ExamOptions& options) {
  std::vector<EpisodeRequest> requests;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const ExamQuestion& question = questions[i];
    EpisodeRequest request;
    request.task = std::make_shared<const Task>(question.task);
    request.level = question.level;
    request.kernel = question.kernel;
    request.to_predict = question.role == AgentRole::tester;
    if (question.verdict && !request.to_predict) request.verdict = std::make_shared<const Verdict>(*question.verdict);
    // As exams of one turn have always drawn theirs: papers of the same seed stay comparable.
    if (options.turns == 1) request.first_seed = Random(options.seed, i).next();
    for (std::size_t copy = 0; copy < episodes_a_question(options); ++copy) {
      request.number = requests.size();
      requests.push_back(request);
    }
  }
  return requests;
}

// Counts answers that are judged or have nothing to judge, and those that will never come.
EpisodeHooks counting_hooks(std::size_t& done, const std::function<void(std::size_t)>& report,
                            const ExamOptions& options) {
  EpisodeHooks hooks;
  hooks.on_answer = [&done, report](const Episode&, const Turn& turn, std::size_t sample) {
    if (turn.samples[sample].kernel.empty()) report(++done);
  };
  hooks.on_verdict = [&done, report](const Episode&, const Turn&, std::size_t) { report(++done); };
  hooks.on_end = [&done, report, &options](const Episode& episode) {
    const std::size_t missing = static_cast<std::size_t>(options.turns) - episode.turns.size();
    if (missing == 0) return;
    done += missing * static_cast<std::size_t>(options.turns > 1 ? 1 : options.samples);
    report(done);
  };
  return hooks;
}

Result<std::vector<Episode>> hold_episodes(AnswerSource& answers, const Dialect& dialect, Judge& judge,
                                           const std::vector<ExamQuestion>& questions,
                                           const std::function<std::int32_t(AgentRole)>& adapter_of,
                                           const ExamOptions& options) {
  std::vector<EpisodeRequest> requests = requests_for(questions, options);
  EngineOptions engine_options;
  KW_TRY(engine_options.episode, episode_options());
  EpisodeOptions& episode = engine_options.episode;
  episode.seed = options.seed;
  episode.turns = options.turns;
  episode.samples = options.turns > 1 ? 1 : options.samples;
  episode.temperature = options.temperature;
  episode.answer_tokens = options.max_tokens;
  episode.constrain = options.constrain;
  engine_options.judge_workers = options.judge_workers;
  engine_options.in_flight = std::max<std::size_t>(requests.size(), 1);
  std::size_t done = 0;
  const std::size_t all = questions.size() * static_cast<std::size_t>(options.samples * options.turns);
  const auto report = [&](std::size_t answers) {
    if (options.progress) options.progress(answers, all);
  };
  KW_TRY(const auto engine, EpisodeEngine::make(answers, dialect, judge, adapter_of, std::move(engine_options),
                                                counting_hooks(done, report, options)));
  return engine->run(std::move(requests));
}

ExamAnswer answer_from(const Tokenizer& tokenizer, AgentRole role, const TurnSample& said) {
  ExamAnswer answer;
  answer.answer.outcome = said.outcome;
  answer.answer.message = said.message;
  answer.answer.kernel = said.kernel;
  answer.answer.said = said.said;
  if (said.verdict) answer.verdict = *said.verdict;
  answer.text = said.text;
  answer.tokens = token_count(said.tokens, said.usage);
  answer.finish = said.finish;
  if (role != AgentRole::tester) return answer;
  if (const auto prediction = parse_prediction(said.text); prediction.ok()) {
    answer.prediction = *prediction;
    answer.prediction_probability = first_word_probability(tokenizer, said);
  }
  return answer;
}

ExamAnswer refused_answer(const Episode& episode) {
  ExamAnswer answer;
  answer.refused = true;
  answer.answer.message = episode.problem;
  answer.finish = FinishReason::context;
  return answer;
}

// `place`: of the episode.
void add_answers(const Dialect& dialect, const std::vector<ExamQuestion>& questions, const ExamOptions& options,
                 std::size_t place, ExamResult& result) {
  const Episode& episode = result.episodes[place];
  const std::size_t question = place / episodes_a_question(options);
  const auto conversation = static_cast<std::int64_t>(place % episodes_a_question(options));
  const auto add = [&](ExamAnswer answer, int turn, std::int64_t sample) {
    answer.question = question;
    answer.turn = turn;
    answer.sample = options.turns > 1 ? conversation : sample;
    result.answers.push_back(std::move(answer));
  };
  for (const Turn& turn : episode.turns)
    for (std::size_t i = 0; i < turn.samples.size(); ++i)
      add(answer_from(dialect.tokenizer(), questions[question].role, turn.samples[i]), turn.index,
          static_cast<std::int64_t>(i));
  if (!episode.turns.empty()) return;
  for (std::int64_t i = 0; i < (options.turns > 1 ? 1 : options.samples); ++i) add(refused_answer(episode), 0, i);
}

// A role that could answer nothing at all says more about how it was asked than about the model.
Result<void> check_refusals(const std::vector<ExamQuestion>& questions, const ExamOptions& options,
                            const std::vector<Episode>& episodes) {
  struct Counts {
    std::size_t asked = 0, refused = 0;
    std::string why;
  };
  std::map<AgentRole, Counts> by_role;
  for (std::size_t i = 0; i < episodes.size(); ++i) {
    Counts& counts = by_role[questions[i / episodes_a_question(options)].role];
    ++counts.asked;
    if (episodes[i].end != EpisodeEnd::refused || !episodes[i].turns.empty()) continue;
    if (counts.refused++ == 0) counts.why = episodes[i].problem;
  }
  for (const auto& [role, counts] : by_role)
    if (counts.refused == counts.asked) return Error{counts.why, "", {}};
  return {};
}

}  // namespace

Result<ExamResult> sit_exam(AnswerSource& source, const Dialect& dialect, Judge& judge,
                            const std::vector<ExamQuestion>& questions,
                            const std::function<std::int32_t(AgentRole)>& adapter_of, const ExamOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  ExamResult result;
  KW_TRY(result.episodes, hold_episodes(source, dialect, judge, questions, adapter_of, options));
  KW_TRY_VOID(check_refusals(questions, options, result.episodes));
  for (std::size_t i = 0; i < result.episodes.size(); ++i) {
    if (result.episodes[i].end == EpisodeEnd::unfinished) {
      result.interrupted = true;
    } else {
      add_answers(dialect, questions, options, i, result);
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

bool counts_as_correct(const Verdict& verdict) {
  const RewardFacts facts = facts_of(verdict);
  return facts.correct && facts.exploit.empty();
}

bool made_faster(const ExamQuestion& question, const Verdict& verdict) {
  if (!question.verdict || !question.verdict->correct || !counts_as_correct(verdict)) return false;
  const Verdict& shown = *question.verdict;
  if (!shown.time_us || !verdict.time_us || shown.time_source != verdict.time_source) return false;
  if (!verdict.ptx_fingerprint.empty() && verdict.ptx_fingerprint == shown.ptx_fingerprint) return false;
  if (verdict.time_source != "measured") return *verdict.time_us * modelled_gain < *shown.time_us;
  if (!verdict.speedup_interval) return false;
  // Speedups over naive are measured side by side with it; times of two measurements are not.
  const bool shown_is_naive = question.kernel == question.task.naive;
  return verdict.speedup_interval->low > (shown_is_naive ? 1.0 : shown.speedup_naive.value_or(1.0));
}

ExamScore score_of(const std::vector<ExamQuestion>& questions, const ExamResult& result, std::string_view group) {
  ExamScore score;
  double log_speedups = 0;
  std::int64_t timed = 0;
  for (const ExamAnswer& answer : result.answers) {
    const ExamQuestion& question = questions.at(answer.question);
    if (question.role == AgentRole::tester || (!group.empty() && question.group != group)) continue;
    if (answer.verdict && answer.verdict->status == VerdictStatus::internal_error) {
      ++score.unjudged;
      continue;
    }
    ++score.answers;
    const bool improve = question.role == AgentRole::optimizer && question.verdict && question.verdict->correct;
    const bool repair = question.role == AgentRole::optimizer && !improve;
    score.to_improve += improve;
    score.to_repair += repair;
    if (!answer.verdict) continue;
    const Verdict& verdict = *answer.verdict;
    ++score.kernels;
    score.compiled += verdict.compiled;
    score.unsupported += facts_of(verdict).status == VerdictStatus::unsupported;
    const bool correct = counts_as_correct(verdict);
    score.correct += correct;
    score.faster += improve && made_faster(question, verdict);
    score.repaired += repair && correct;
    if (correct && verdict.time_us && verdict.speedup_naive && *verdict.speedup_naive > 0) {
      log_speedups += std::log(*verdict.speedup_naive);
      ++timed;
    }
  }
  if (timed > 0) score.geometric_mean_speedup = std::exp(log_speedups / static_cast<double>(timed));
  return score;
}

}  // namespace kw
