// How fast a small model learns from nothing, by optimizer: loss on the answers to held-out tasks at equal numbers of
// tokens, and the CPU time that they took.
//   optimizer_bench [PRESET] [OPTIMIZER] [LEARNING RATE] [TOKENS OF A STEP] [MILLION TOKENS] [THREADS] [SEED]
// Every run has its own cosine over its tokens. `exact`: share of held-out tasks whose house-style kernel a greedy
// answer surely is, as each of its tokens has more than half of the probability.

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "learn/lesson/lesson.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/presets.h"
#include "model/decoder/schedule.h"

namespace {

using namespace kw;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void append(PackedBatch& batch, const Lesson& lesson) {
  if (batch.starts.empty()) batch.starts.push_back(0);
  batch.tokens.insert(batch.tokens.end(), lesson.tokens.begin(), lesson.tokens.end());
  for (std::size_t i = 0; i < lesson.tokens.size(); ++i) {
    batch.scored.push_back(static_cast<std::int64_t>(i) >= lesson.answer ? 1 : 0);
  }
  batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
}

struct Measured {
  double loss = 0, exact = 0;
};

Result<Measured> measure(Trainer& trainer, const std::vector<Lesson>& lessons) {
  Measured measured;
  std::size_t tokens = 0;
  for (const Lesson& lesson : lessons) {
    PackedBatch batch;
    append(batch, lesson);
    KW_TRY(const TokenScores scores, trainer.score(batch));
    bool sure = true;
    for (const float log_prob : scores.log_prob) {
      measured.loss -= static_cast<double>(log_prob);
      sure = sure && log_prob > -0.693f;
    }
    tokens += scores.log_prob.size();
    measured.exact += sure ? 1 : 0;
  }
  measured.loss /= static_cast<double>(tokens);
  measured.exact /= static_cast<double>(lessons.size());
  return measured;
}

Result<std::vector<Lesson>> held_out(const Dialect& dialect, LessonPlan plan, std::size_t count) {
  plan.split = DataSplit::composition;
  plan.seed = 1000;
  KW_TRY(const LessonStream stream, LessonStream::make(dialect, nullptr, plan));
  Scribe scribe(dialect);
  std::vector<Lesson> lessons;
  for (std::uint64_t i = 0; lessons.size() < count; ++i) {
    KW_TRY(auto lesson, stream.at(i, scribe));
    if (lesson) lessons.push_back(std::move(*lesson));
  }
  return lessons;
}

Result<void> run(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) { return std::string(argc > i ? argv[i] : otherwise); };
  const std::string preset = argument(1, "tiny-1m");
  OptimizerOptions optimizer;
  KW_TRY(optimizer.kind, optimizer_kind(argument(2, "adamw")));
  const double rate = std::stod(argument(3, "2e-3"));
  const std::int64_t step_tokens = std::stoll(argument(4, "4096"));
  const double all_tokens = 1e6 * std::stod(argument(5, "1"));
  ThreadTeam team(std::stoi(argument(6, "1")));
  const std::uint64_t seed = std::stoull(argument(7, "1"));

  LessonPlan plan;
  plan.seed = seed;
  plan.house_style = 1;
  plan.level_named = 1;
  plan.longest = 1024;
  const std::vector<std::string> texts = vocabulary_texts(plan, 2000);
  KW_TRY(Tokenizer tokenizer, train_compact_tokenizer({texts.begin(), texts.end()}, 2048));
  KW_TRY(const Dialect dialect, Dialect::make(std::move(tokenizer)));
  KW_TRY(const std::vector<Lesson> exam, held_out(dialect, plan, 150));
  KW_TRY(const LessonStream stream, LessonStream::make(dialect, nullptr, plan));
  KW_TRY(const ModelDescription description, preset_description(preset, 2048));
  KW_TRY(const auto trainer, make_cpu_trainer(team, initial_parameters(team, description, seed), {}, {}, optimizer));

  Scribe scribe(dialect);
  std::uint64_t next = 0;
  double tokens = 0, reported = 0, cpu_s = 0, train_loss = 0, train_tokens = 0;
  const auto steps = static_cast<std::int64_t>(std::ceil(all_tokens / (static_cast<double>(step_tokens) * 1.03)));
  const Schedule schedule{ScheduleShape::cosine, rate, std::max<std::int64_t>(10, steps / 50), steps, 0.02};
  for (std::int64_t step = 0; step < steps; ++step) {
    const double start = cpu_seconds();
    PackedBatch batch;
    while (static_cast<std::int64_t>(batch.tokens.size()) < step_tokens) {
      KW_TRY(const auto lesson, stream.at(next++, scribe));
      if (lesson) append(batch, *lesson);
    }
    KW_TRY(const TokenScores scores, trainer->forward(batch));
    const auto count = static_cast<float>(scores.log_prob.size());
    for (const float log_prob : scores.log_prob) train_loss -= static_cast<double>(log_prob);
    train_tokens += static_cast<double>(count);
    ScoreGradients gradients;
    gradients.log_prob.assign(scores.log_prob.size(), -1 / count);
    KW_TRY_VOID(trainer->backward(gradients));
    KW_TRY([[maybe_unused]] const StepReport report, trainer->step(learning_rate_at(schedule, step)));
    cpu_s += cpu_seconds() - start;
    tokens += static_cast<double>(batch.tokens.size());
    if (tokens < reported + all_tokens / 4 && step + 1 < steps) continue;
    reported = tokens;
    KW_TRY(const Measured measured, measure(*trainer, exam));
    fmt::print(
        "{} {} lr {} batch {}: {:.2f} M tokens, {:.0f} s of CPU, loss {:.4f} in training, {:.4f} held out, exact "
        "{:.1f} %\n",
        preset, to_string(optimizer.kind), rate, step_tokens, tokens / 1e6, cpu_s, train_loss / train_tokens,
        measured.loss, 100 * measured.exact);
    std::fflush(stdout);
    train_loss = train_tokens = 0;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto done = run(argc, argv);
  if (!done.ok()) fmt::print(stderr, "{}\n", to_string(done.error()));
  return done.ok() ? 0 : 1;
}
