#include "app/evaluate/conversation_exam.h"

#include <chrono>

#include "agents/reward/reward.h"

namespace kw {
namespace {

std::vector<EvaluatedAnswer> answers_of(const ExamQuestion& question, const Episode& episode, std::int64_t sample,
                                        const std::optional<RewardShape>& worth) {
  std::vector<EvaluatedAnswer> answers;
  for (const Turn& turn : episode.turns)
    for (const TurnSample& said : turn.samples) {
      EvaluatedAnswer answer;
      answer.task = question.task.name;
      answer.kind = kind_of(question);
      answer.group = question.group;
      answer.family = question.family;
      answer.tier = question.tier;
      answer.sample = sample;
      answer.turn = turn.index;
      answer.outcome = to_string(said.outcome);
      answer.tokens = static_cast<std::int64_t>(said.tokens.size());
      if (said.verdict) {
        add_verdict(answer, *said.verdict);
        answer.faster = made_faster(question, *said.verdict);
      }
      if (worth && answer.judged()) answer.reward = said.verdict ? reward_of(*said.verdict, *worth).total : 0;
      answers.push_back(std::move(answer));
    }
  return answers;
}

// A question that could not be asked is an answer without a kernel.
EvaluatedAnswer refused_answer(const ExamQuestion& question, std::int64_t sample) {
  EvaluatedAnswer answer;
  answer.task = question.task.name;
  answer.kind = kind_of(question);
  answer.group = question.group;
  answer.family = question.family;
  answer.tier = question.tier;
  answer.sample = sample;
  answer.outcome = "refused";
  return answer;
}

}  // namespace

Result<ConversationExam> hold_conversations(Rollout& rollout, const Dialect& dialect, Judge& judge,
                                            const std::vector<ExamQuestion>& questions,
                                            const std::function<std::int32_t(AgentRole)>& adapter_of, int turns,
                                            const ExamOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  EngineOptions engine_options;
  KW_TRY(engine_options.episode, episode_options());
  engine_options.episode.seed = options.seed;
  engine_options.episode.turns = turns;
  engine_options.episode.temperature = options.temperature;
  engine_options.episode.answer_tokens = options.max_tokens;
  engine_options.judge_workers = options.judge_workers;

  std::vector<EpisodeRequest> requests;
  for (const ExamQuestion& question : questions) {
    const auto task = std::make_shared<const Task>(question.task);
    for (std::int64_t sample = 0; sample < options.samples; ++sample) {
      EpisodeRequest request;
      request.number = requests.size();
      request.task = task;
      request.level = question.level;
      request.kernel = question.kernel;
      requests.push_back(std::move(request));
    }
  }
  const std::size_t all = requests.size() * static_cast<std::size_t>(turns);
  std::size_t done = 0;
  EpisodeHooks hooks;
  hooks.on_turn = [&](const Episode&) {
    if (options.progress) options.progress(++done, all);
  };
  KW_TRY(const auto engine, EpisodeEngine::make(rollout, dialect, judge, adapter_of, engine_options, hooks));
  ConversationExam exam;
  KW_TRY(exam.episodes, engine->run(std::move(requests)));
  for (std::size_t i = 0; i < exam.episodes.size(); ++i) {
    const Episode& episode = exam.episodes[i];
    const ExamQuestion& question = questions[i / static_cast<std::size_t>(options.samples)];
    const auto sample = static_cast<std::int64_t>(i) % options.samples;
    // Half a conversation would be compared with whole ones.
    if (episode.end == EpisodeEnd::unfinished) {
      exam.interrupted = true;
      continue;
    }
    for (EvaluatedAnswer& answer : answers_of(question, episode, sample, options.worth))
      exam.answers.push_back(std::move(answer));
    if (episode.turns.empty()) exam.answers.push_back(refused_answer(question, sample));
  }
  exam.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return exam;
}

}  // namespace kw
