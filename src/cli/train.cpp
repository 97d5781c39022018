// `train`: teaching a model. `train sft` is the supervised part.

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/table.h"
#include "base/text_curve.h"
#include "cli/command.h"
#include "cli/model_load.h"
#include "compile/service.h"
#include "data/audit.h"
#include "episode/agent_set.h"
#include "evaluate/exam.h"
#include "learner/learner.h"
#include "model/model_name.h"
#include "model/presets.h"
#include "model_gpu/model_gpu.h"
#include "supervised/conversation_lessons.h"
#include "supervised/supervised.h"
#include "tokenizer/tokenizer_json.h"

namespace kw::cli {
namespace {

namespace fs = std::filesystem;

struct SftArguments {
  std::string out;
  std::string model = "tiny-6m";
  std::string method = "full";
  std::vector<std::string> adapters;  // ROLE=FOLDER
  std::size_t vocabulary = 2048;
  std::size_t vocabulary_tasks = 20000;
  std::string store;
  std::vector<std::string> lessons;  // KIND=SHARE
  LessonPlan plan;
  SupervisedOptions training;
  std::string optimizer = "adamw";
  double weight_decay = 0.01;
  std::int64_t rank = 16;
  double alpha = 32;
  std::string device = "auto";
  int threads = 0;
  std::size_t exam = 64;
  std::size_t optimizer_exam = 24;
  std::uint64_t exam_seed = 7001;
  std::int64_t answer_tokens = 1024;
  int judge_workers = 0;
  std::uint64_t seed = 1;
  std::uint64_t show = 0;
  double audit = 0.01;
  std::string conversations;
  double own = 0.5;
};

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

Result<void> set_shares(const std::vector<std::string>& texts, LessonPlan& plan) {
  if (texts.empty()) return {};
  std::ranges::fill(plan.share, 0.0);
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    bool known = false;
    for (int kind = 0; kind < lesson_kind_count; ++kind) {
      if (text.substr(0, sign) != to_string(static_cast<LessonKind>(kind))) continue;
      known = true;
      char* end = nullptr;
      const std::string number = sign == std::string::npos ? "1" : text.substr(sign + 1);
      plan.share[kind] = std::strtod(number.c_str(), &end);
      if (number.empty() || *end != '\0')
        return Error{"'" + number + "' is no share", "as in --lessons generate=0.6", {}};
    }
    if (!known)
      return Error{
          "there is no kind of lesson '" + text.substr(0, sign) + "'", "generate, optimise, repair, report", {}};
  }
  return {};
}

std::vector<AgentRole> roles_of(const LessonPlan& plan) {
  std::vector<AgentRole> roles;
  for (int kind = 0; kind < lesson_kind_count; ++kind) {
    const AgentRole role = role_of(static_cast<LessonKind>(kind));
    if (plan.share[kind] > 0 && std::ranges::count(roles, role) == 0) roles.push_back(role);
  }
  return roles;
}

// The vocabulary of a run is made once and lies beside it.
Result<Tokenizer> vocabulary_of(const SftArguments& arguments, const LessonPlan& plan) {
  const fs::path file = fs::path(arguments.out) / "tokenizer.json";
  if (fs::exists(file)) return load_tokenizer_json(file);
  std::cerr << fmt::format("training a vocabulary of {} tokens on {} tasks\n", arguments.vocabulary,
                           arguments.vocabulary_tasks);
  const std::vector<std::string> texts = vocabulary_texts(plan, arguments.vocabulary_tasks);
  KW_TRY(Tokenizer tokenizer,
         train_compact_tokenizer(std::vector<std::string_view>(texts.begin(), texts.end()), arguments.vocabulary));
  KW_TRY_VOID(write_file_atomic(file, to_tokenizer_json(tokenizer.spec())));
  return tokenizer;
}

Result<LearnerOptions> learner_options(const SftArguments& arguments, const LessonPlan& plan) {
  LearnerOptions options;
  options.device = arguments.device;
  options.threads = arguments.threads;
  options.train_base = arguments.method == "full";
  if (!options.train_base) options.adapters = roles_of(plan);
  options.rank = arguments.rank;
  options.alpha = static_cast<float>(arguments.alpha);
  options.seed = arguments.seed;
  options.optimizer.learning_rate = arguments.training.peak_learning_rate;
  options.optimizer.weight_decay = arguments.weight_decay;
  KW_TRY(options.optimizer.kind, optimizer_kind(arguments.optimizer));
  for (const std::string& text : arguments.adapters) {
    const std::size_t sign = text.find('=');
    const auto role = agent_role_from_string(text.substr(0, sign));
    if (!role || sign == std::string::npos) return Error{"'" + text + "' is not ROLE=FOLDER", "", {}};
    options.adapter_folders[*role] = text.substr(sign + 1);
  }
  return options;
}

// Only the CPU's trainer works on the blocks of a file; elsewhere, or on a base that has none, it would be lora by
// another name.
Result<void> check_quantised(const ModelFiles& files, const SftArguments& arguments) {
  using enum BlockFormat;
  const auto stored = files.blocks("model.layers.0.self_attn.o_proj.weight");
  if (!stored || stored->format == f32 || stored->format == f16 || stored->format == bf16)
    return Error{"qlora needs a base that is stored in blocks (GGUF); this one is not", "--method lora", {}};
  if (arguments.device != "cpu" && model_gpu_name().ok())
    return Error{"the GPU's trainer keeps the base in bf16", "--method lora, or --device cpu", {}};
  return {};
}

Result<std::unique_ptr<Learner>> make_learner(const SftArguments& arguments, const LessonPlan& plan,
                                              std::string& base) {
  KW_TRY(LearnerOptions options, learner_options(arguments, plan));
  const auto names = preset_names();
  if (std::ranges::count(names, arguments.model) > 0 && arguments.model != "smollm2-135m") {
    if (arguments.method != "full") return Error{"a model from nothing has no base to freeze", "--method full", {}};
    KW_TRY(Tokenizer tokenizer, vocabulary_of(arguments, plan));
    return Learner::from_preset(arguments.model, std::move(tokenizer), options);
  }
  KW_TRY(const AgentSet agents, find_agents(arguments.model));
  KW_TRY(const ModelFiles files, ModelFiles::open(agents.base));
  if (arguments.method == "qlora") KW_TRY_VOID(check_quantised(files, arguments));
  base = agents.base == smollm2_file() ? std::string(smollm2_name) : fs::absolute(agents.base).string();
  if (!options.train_base) options.adapter_folders.insert(agents.adapters.begin(), agents.adapters.end());
  return Learner::from_files(files, options);
}

// The exam during training: held-out tasks, answered and judged for real.
class Examiner {
 public:
  static Result<std::unique_ptr<Examiner>> make(const SftArguments& arguments, const LessonPlan& plan,
                                                Learner& learner) {
    std::unique_ptr<Examiner> examiner(new Examiner(arguments, learner));
    ServiceOptions service;
    service.pool.workers = arguments.judge_workers > 0 ? arguments.judge_workers : cores();
    examiner->service_.emplace(service);
    JudgeOptions judge;
    KW_TRY(judge.profile, load_profile("h200"));
    examiner->judge_.emplace(*examiner->service_, judge);
    if (plan.share[0] > 0)
      examiner->questions_ = drawn_questions(DataSplit::composition, arguments.exam_seed, arguments.exam);
    if (plan.share[1] + plan.share[2] > 0 && arguments.optimizer_exam > 0) {
      const std::size_t improve = plan.share[1] > 0 ? arguments.optimizer_exam : 0;
      const std::size_t repair = plan.share[2] > 0 ? arguments.optimizer_exam : 0;
      KW_TRY(auto more,
             optimizer_questions(*examiner->judge_, DataSplit::composition, arguments.exam_seed + 1, improve, repair));
      for (ExamQuestion& question : more) examiner->questions_.push_back(std::move(question));
    }
    // The loss on answers to tasks that training never shows.
    LessonPlan held_out = plan;
    held_out.split = DataSplit::composition;
    held_out.seed = arguments.exam_seed;
    std::ranges::fill(held_out.share, 0.0);
    held_out.share[0] = 1;
    held_out.ramp = 0;
    held_out.drill = 0;
    KW_TRY(const LessonStream stream, LessonStream::make(learner.dialect(), nullptr, held_out));
    Scribe scribe(learner.dialect());
    examiner->loss_batch_.starts = {0};
    for (std::uint64_t i = 0; i < 64; ++i) {
      KW_TRY(const auto lesson, stream.at(i, scribe));
      if (!lesson) continue;
      PackedBatch& batch = examiner->loss_batch_;
      batch.tokens.insert(batch.tokens.end(), lesson->tokens.begin(), lesson->tokens.end());
      for (std::size_t at = 0; at < lesson->tokens.size(); ++at)
        batch.scored.push_back(static_cast<std::int64_t>(at) >= lesson->answer);
      batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
      batch.adapter.push_back(learner.adapter_of(AgentRole::generator));
    }
    return examiner;
  }

  CompileService& service() { return *service_; }
  const JudgeOptions& judge_options() const { return judge_->options(); }

  Result<Evaluation> examine(std::int64_t step) {
    Evaluation evaluation;
    KW_TRY(const TokenScores scores, learner_.trainer().score(loss_batch_));
    double loss = 0;
    for (const float log_prob : scores.log_prob) loss -= log_prob;
    loss /= static_cast<double>(std::max<std::size_t>(1, scores.log_prob.size()));
    evaluation.metrics = {{"exam/loss", loss}};
    evaluation.score = -loss;
    evaluation.line = fmt::format("held-out loss {:.4f}", loss);
    if (questions_.empty()) return evaluation;
    KW_TRY(Decoder* const decoder, learner_.decoder());
    Rollout rollout(*decoder, &learner_.dialect().tokenizer());
    ExamOptions options;
    options.max_tokens = arguments_.answer_tokens;
    options.judge_workers = arguments_.judge_workers;
    KW_TRY(const ExamResult result, sit_exam(
                                        rollout, learner_.dialect(), *judge_, questions_,
                                        [this](AgentRole role) { return learner_.adapter_of(role); }, options));
    KW_TRY_VOID(keep(result, step));
    evaluation.score = 0;
    int parts = 0;
    const auto rate = [](std::int64_t part, std::int64_t all) {
      return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
    };
    const auto add = [&](const std::string& name, std::int64_t part, std::int64_t all, bool counts) {
      if (all == 0) return;
      evaluation.metrics.emplace_back("exam/" + name, rate(part, all));
      evaluation.line += fmt::format(", {} {:.1f} %", name, 100 * rate(part, all));
      if (counts) {
        evaluation.score += rate(part, all);
        ++parts;
      }
    };
    const ExamScore writes = score_for(result, AgentRole::generator);
    add("compiled", writes.compiled, writes.answers, false);
    add("correct", writes.correct, writes.answers, true);
    const ExamScore improves = score_for(result, AgentRole::optimizer);
    add("faster", improves.faster, improves.to_improve, true);
    add("repaired", improves.repaired, improves.to_repair, true);
    if (parts > 0) evaluation.score /= parts;
    evaluation.line += fmt::format(" ({} answers in {:.0f} s)", result.answers.size(), result.seconds);
    return evaluation;
  }

 private:
  Examiner(const SftArguments& arguments, Learner& learner) : arguments_(arguments), learner_(learner) {}

  // The paper, for people to read: what was asked, what was said, what the judge thinks of it.
  Result<void> keep(const ExamResult& result, std::int64_t step) const {
    std::string lines;
    for (const ExamAnswer& answer : result.answers) {
      const ExamQuestion& question = questions_[answer.question];
      Json line = {{"role", to_string(question.role)},
                   {"family", question.family},
                   {"signature", compact_signature(question.task)},
                   {"operation", compact_operation(question.task)},
                   {"outcome", to_string(answer.answer.outcome)},
                   {"status", answer.verdict ? Json(to_string(answer.verdict->status)) : Json()},
                   {"summary", answer.verdict ? answer.verdict->summary : answer.answer.message},
                   {"tokens", answer.tokens},
                   {"text", answer.text}};
      if (answer.verdict && answer.verdict->speedup_naive) line["speedup_naive"] = *answer.verdict->speedup_naive;
      if (question.verdict) {
        line["given"] = question.kernel;
        line["given_verdict"] = compact_verdict(*question.verdict);
      }
      lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    const fs::path folder = fs::path(arguments_.out) / "exams";
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    return write_file_atomic(folder / fmt::format("step-{:08}.jsonl", step), lines);
  }

  ExamScore score_for(const ExamResult& result, AgentRole role) const {
    ExamResult part;
    for (const ExamAnswer& answer : result.answers)
      if (questions_[answer.question].role == role) part.answers.push_back(answer);
    return score_of(questions_, part);
  }

  const SftArguments& arguments_;
  Learner& learner_;
  std::optional<CompileService> service_;
  std::optional<Judge> judge_;
  std::vector<ExamQuestion> questions_;
  PackedBatch loss_batch_;
};

Json configuration_of(const SftArguments& arguments, const LessonPlan& plan) {
  Json shares = Json::object();
  for (int kind = 0; kind < lesson_kind_count; ++kind)
    shares[std::string(to_string(static_cast<LessonKind>(kind)))] = plan.share[kind];
  const SupervisedOptions& training = arguments.training;
  return {{"model", arguments.model},
          {"method", arguments.method},
          {"vocabulary", arguments.vocabulary},
          {"lessons", shares},
          {"seed", arguments.seed},
          {"steps", training.steps},
          {"minutes", training.minutes},
          {"batch_tokens", training.batch_tokens},
          {"optimizer", arguments.optimizer},
          {"learning_rate", training.peak_learning_rate},
          {"weight_decay", arguments.weight_decay},
          {"rank", arguments.rank},
          {"house_style", plan.house_style},
          {"formulas", plan.formulas},
          {"drill", plan.drill},
          {"ramp", plan.ramp},
          {"device", arguments.device}};
}

// Lessons as the model reads them, and how long they are.
Result<Json> show_lessons(const SftArguments& arguments, const LessonStream& lessons, const Dialect& dialect) {
  Scribe scribe(dialect);
  Json lengths = Json::array();
  std::map<std::string, std::vector<std::int64_t>> tokens;
  for (std::uint64_t i = 0; i < arguments.show; ++i) {
    KW_TRY(const auto lesson, lessons.at(i, scribe));
    if (!lesson) {
      tokens["too long"].push_back(0);
      continue;
    }
    const std::span all(lesson->tokens);
    const auto at = static_cast<std::size_t>(lesson->answer);
    KW_TRY(const std::string prompt, dialect.tokenizer().decode(all.first(at)));
    KW_TRY(const std::string answer, dialect.tokenizer().decode(all.subspan(at)));
    if (i < 20)
      std::cout << fmt::format("=== {} {}: {} + {} tokens\n{}\n--- answer\n{}\n\n", i, to_string(lesson->kind), at,
                               all.size() - at, prompt, answer);
    tokens[std::string(to_string(lesson->kind))].push_back(static_cast<std::int64_t>(all.size()));
  }
  Json result = {{"interrupted", false}};
  for (auto& [kind, sizes] : tokens) {
    std::ranges::sort(sizes);
    result[kind] = fmt::format("{} lessons, {} tokens in the middle, at most {}", sizes.size(), sizes[sizes.size() / 2],
                               sizes.back());
  }
  return result;
}

Result<Json> train_sft(const SftArguments& arguments) {
  if (arguments.show == 0 && (arguments.training.steps > 0) == (arguments.training.minutes > 0))
    return Error{"how long is it to train?", "--steps or --minutes", {}};
  LessonPlan plan = arguments.plan;
  plan.seed = arguments.seed;
  KW_TRY_VOID(set_shares(arguments.lessons, plan));
  const fs::path out = arguments.out;
  std::error_code failed;
  fs::create_directories(out, failed);
  if (failed) return Error{"cannot make this folder: " + failed.message(), "", {out.string(), 0, 0}};

  std::string base;
  KW_TRY(const auto learner, make_learner(arguments, plan, base));
  std::shared_ptr<const JudgedBook> book;
  if (!arguments.store.empty()) {
    KW_TRY(JudgedBook loaded, JudgedBook::load(arguments.store, cores()));
    std::cerr << fmt::format("{} judged tasks: {} kernels, {} can be improved, {} broken\n", loaded.tasks().size(),
                             loaded.all().size(), loaded.improvable().size(), loaded.broken().size());
    book = std::make_shared<const JudgedBook>(std::move(loaded));
  }
  plan.longest = std::min(plan.longest, learner->description().context);
  KW_TRY(const LessonStream lessons, LessonStream::make(learner->dialect(), book, plan));
  if (arguments.show > 0) return show_lessons(arguments, lessons, learner->dialect());
  KW_TRY(const auto examiner, Examiner::make(arguments, plan, *learner));

  KW_TRY(Checkpoints checkpoints, Checkpoints::open(out / "checkpoints"));
  KW_TRY(const std::int64_t after, resume_step(checkpoints));
  RunLogOptions log_options;
  log_options.folder = out;
  log_options.name = fs::absolute(out).lexically_normal().filename().string();
  log_options.kind = "sft";
  log_options.configuration = configuration_of(arguments, plan);
  log_options.resume_after_step = after;
  log_options.restart = after < 0;  // killed before its first checkpoint: nothing of it is left but what it logged
  KW_TRY(const auto log, RunLog::open(log_options));
  std::cerr << fmt::format("{} on {}{}\n", arguments.model, learner->device(),
                           after >= 0 ? fmt::format(", going on after step {}", after) : "");

  std::optional<StreamAudit> audit;
  if (arguments.audit > 0 && plan.share[0] > 0)
    audit.emplace(examiner->service(), examiner->judge_options(), lessons.stream(),
                  AuditOptions{arguments.audit, 2000});
  std::vector<std::pair<std::int64_t, double>> losses;
  SupervisedHooks hooks;
  if (audit)
    hooks.lesson = [&](const Lesson& lesson) {
      if (lesson.kind != LessonKind::generate || !StreamAudit::chosen(plan.seed, lesson.index, arguments.audit)) return;
      std::uint64_t variant = 0;
      if (const auto example = lessons.example_at(lesson.index, &variant))
        audit->used(example->drawn.index, example->level, variant);
    };
  hooks.evaluate = [&](std::int64_t step) { return examiner->examine(step); };
  hooks.evaluated = [&](std::int64_t step, const Evaluation& evaluation) {
    std::cerr << fmt::format("exam after step {}: {}\n", step, evaluation.line);
  };
  hooks.progress = [&](const SupervisedProgress& now) {
    losses.emplace_back(now.step, std::log10(std::max(now.loss, 1e-6)));
    const double left = now.steps > 0 && now.step > 0
                            ? now.seconds / static_cast<double>(now.step) * static_cast<double>(now.steps - now.step)
                            : arguments.training.minutes * 60 - now.seconds;
    std::cerr << fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}  |g| {:.2f}  {:.2f} M tokens  {:.0f} tok/s  {} left\n",
                             now.step, now.steps > 0 ? std::to_string(now.steps) : "?", now.loss, now.learning_rate,
                             now.gradient_norm, static_cast<double>(now.tokens) / 1e6, now.tokens_per_s,
                             duration_text(std::max(0.0, left)));
  };
  std::optional<ConversationLessons> conversations;
  std::optional<MixedLessons> mixed;
  const LessonSource* source = &lessons;
  if (!arguments.conversations.empty()) {
    KW_TRY(const auto store, EpisodeStore::open(arguments.conversations));
    KW_TRY(conversations, ConversationLessons::load(*store, arguments.seed, plan.longest));
    mixed.emplace(*conversations, lessons, arguments.own, arguments.seed);
    source = &*mixed;
    std::cerr << fmt::format("{} of {} answers of the agents themselves are worth learning from\n",
                             conversations->lessons().size(), conversations->answers());
  }
  SupervisedOptions training = arguments.training;
  if (training.producers <= 0) training.producers = learner->on_gpu() ? std::max(1, cores() / 2) : 1;
  training.pass_tokens = std::max(training.pass_tokens, plan.longest);
  KW_TRY(const SupervisedSummary summary,
         train_supervised(
             learner->trainer(), *source, learner->dialect(), [&](AgentRole role) { return learner->adapter_of(role); },
             training, checkpoints, *log, hooks));

  std::cerr << text_curve("log10 of the loss", losses);
  Json result = {{"out", out.string()},
                 {"step", summary.last.step},
                 {"steps", summary.last.steps},
                 {"tokens", summary.last.tokens},
                 {"answer_tokens", summary.last.answer_tokens},
                 {"lessons", summary.lessons},
                 {"too_long", summary.too_long},
                 {"loss", summary.last.loss},
                 {"seconds", summary.last.seconds},
                 {"interrupted", summary.interrupted}};
  if (summary.evaluation)
    for (const auto& [name, value] : summary.evaluation->metrics) result[name] = value;
  if (audit) {
    const AuditReport seen = audit->report();
    result["audited"] = seen.all.judged;
    result["audit_wrong"] = seen.all.wrong;
    result["audit_error_rate_at_most"] = seen.error_rate_at_most();
  }
  if (!summary.interrupted) {
    // The best of the evaluated states is what is kept.
    KW_TRY(const auto best, checkpoints.best());
    if (best && best->step != summary.last.step) {
      KW_TRY_VOID(learner->trainer().restore_state((best->folder / "trainer").string()));
      result["best_step"] = best->step;
    }
    KW_TRY_VOID(learner->save_agents(out / "agents", base, ElementType::bf16));
    result["agents"] = (out / "agents").string();
  }
  KW_TRY_VOID(log->finish(summary.interrupted ? "interrupted" : "done", result));
  return result;
}

}  // namespace

void show_training_result(Context& context, const Json& result) {
  if (context.json) {
    print_json(result);
  } else {
    Table table({"", ""}, {Align::left, Align::right});
    for (const auto& [name, value] : result.items())
      table.add({name, value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                       : value.is_string()     ? value.get<std::string>()
                                               : value.dump()});
    std::cout << table.text();
  }
  if (result.at("interrupted").get<bool>()) context.exit_code = exit_interrupted;
}

void add_train_command(CLI::App& app, Context& context) {
  auto* train = app.add_subcommand("train", "Teaches a model to write kernels");
  train->require_subcommand(1);
  add_train_gather_command(*train, context);
  add_train_rl_command(*train, context);
  auto* sft = train->add_subcommand("sft",
                                    "Supervised training on generated tasks and judged kernels; goes on where it "
                                    "was stopped");
  auto arguments = std::make_shared<SftArguments>();
  SupervisedOptions& training = arguments->training;
  training.producers = 0;
  LessonPlan& plan = arguments->plan;
  sft->add_option("OUT", arguments->out, "the run's folder: checkpoints, metrics, and `agents` at the end")->required();
  sft->add_option("--model", arguments->model,
                  "a preset to start from nothing (tiny-1m, tiny-3m, tiny-6m, small-30m ...), a fetched name, a GGUF "
                  "file or a Hugging Face folder")
      ->capture_default_str();
  sft->add_option("--method", arguments->method,
                  "full: all weights; lora: an adapter for each role; qlora: the same on the CPU, the base stays in "
                  "the 4-bit blocks of its GGUF file")
      ->capture_default_str()
      ->check(CLI::IsMember({"full", "lora", "qlora"}));
  sft->add_option("--adapter", arguments->adapters, "ROLE=FOLDER: an adapter to start from");
  sft->add_option("--rank", arguments->rank, "of adapters")->capture_default_str()->check(CLI::Range(1, 256));
  sft->add_option("--alpha", arguments->alpha, "scale of adapters is alpha / rank")->capture_default_str();
  sft->add_option("--vocabulary", arguments->vocabulary, "tokens of a new vocabulary")
      ->capture_default_str()
      ->check(CLI::Range(512, 65536));
  sft->add_option("--store", arguments->store, "judged kernels (data make), for all lessons but generate");
  sft->add_option("--lessons", arguments->lessons, "KIND=SHARE of generate, optimise, repair, report [generate=1]")
      ->delimiter(',');
  sft->add_option("--conversations", arguments->conversations,
                  "a store of conversations (train gather): their answers that worked are lessons too");
  sft->add_option("--own-share", arguments->own, "of lessons from conversations")->capture_default_str();
  sft->add_option("--house-style", plan.house_style, "share of answers in one style")->capture_default_str();
  sft->add_option("--formulas", plan.formulas,
                  "share of generate's answers in that style that write expressions as the task does")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--drill", plan.drill,
                  "share of those that stop where the kernel begins: more expressions in less time")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--ramp", plan.ramp, "lessons over which generate's tasks grow from short ones to all")
      ->capture_default_str();
  sft->add_option("--rewrite", plan.rewrite, "share of repairs that write the kernel anew")->capture_default_str();
  sft->add_option("--level-named", plan.level_named, "share of prompts that ask for a level")->capture_default_str();
  sft->add_option("--plain", plan.plain_unnamed, "share of naive kernels where no level is asked for")
      ->capture_default_str();
  sft->add_option("--longest", plan.longest, "tokens of a lesson; longer ones are left out")->capture_default_str();
  auto* steps = sft->add_option("--steps", training.steps, "gradient steps")->check(CLI::PositiveNumber);
  sft->add_option("--minutes", training.minutes, "instead: as many steps as fit into this time")
      ->check(CLI::PositiveNumber)
      ->excludes(steps);
  sft->add_option("--batch", training.batch_tokens, "tokens of a step")->capture_default_str();
  sft->add_option("--pass", training.pass_tokens, "tokens that are in memory at once")->capture_default_str();
  sft->add_option("--optimizer", arguments->optimizer, "muon: for the matrices of a model that is trained as a whole")
      ->capture_default_str()
      ->check(CLI::IsMember({"adamw", "muon"}));
  sft->add_option("--lr", training.peak_learning_rate, "peak learning rate")->capture_default_str();
  sft->add_option("--warm-up", training.warm_up_share, "share of the steps")->capture_default_str();
  sft->add_option("--last-lr", training.last_share, "share of the peak at the end")->capture_default_str();
  sft->add_option("--weight-decay", arguments->weight_decay)->capture_default_str();
  sft->add_option("--evaluations", training.evaluations, "spread over the run")->capture_default_str();
  sft->add_option("--checkpoint-every", training.checkpoint_every, "steps, besides those with an evaluation");
  sft->add_option("--log-every", training.log_every, "steps")->capture_default_str()->check(CLI::PositiveNumber);
  sft->add_option("--exam", arguments->exam, "held-out tasks of an evaluation")->capture_default_str();
  sft->add_option("--optimizer-exam", arguments->optimizer_exam, "kernels to improve, and as many to repair")
      ->capture_default_str();
  sft->add_option("--exam-seed", arguments->exam_seed)->capture_default_str();
  sft->add_option("--answer-tokens", arguments->answer_tokens, "longest answer in an exam")->capture_default_str();
  sft->add_option("--judge-workers", arguments->judge_workers, "0: one for each core");
  sft->add_option("--producers", training.producers, "threads that make lessons; 0: as the machine allows");
  sft->add_option("--threads", arguments->threads, "of the CPU's trainer; 0: all cores");
  sft->add_option("--seed", arguments->seed)->capture_default_str();
  sft->add_option("--audit", arguments->audit, "share of generated kernels that are judged in the background")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--show", arguments->show, "instead of training: so many lessons, the first of them in full");
  add_device_option(*sft, arguments->device);
  add_json_flag(*sft, context);
  sft->footer(
      "Examples:\n"
      "  kernelwright train sft runs/tiny --model tiny-6m --minutes 15\n"
      "  kernelwright train sft runs/smollm2 --model smollm2-135m --method lora --store data/store "
      "--lessons generate=0.6,optimise=0.25,repair=0.15 --lr 1e-3 --minutes 8");
  sft->callback([&context, arguments] {
    install_interrupt_handling();
    const auto result = train_sft(*arguments);
    if (!result.ok()) return fail(context, result.error());
    show_training_result(context, *result);
  });
}

}  // namespace kw::cli
