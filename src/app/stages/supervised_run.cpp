#include "app/stages/supervised_run.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "agents/episode/agent_files.h"

#include "app/stages/supervised_examiner.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/text_curve.h"
#include "learn/data/audit.h"
#include "learn/learner/learner.h"
#include "learn/sft/conversation_lessons.h"
#include "model/decoder/presets.h"
#include "model/distributed/shared_run.h"
#include "model/tokenizer/tokenizer_json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<AgentRole> roles_of(const LessonPlan& plan) {
  std::vector<AgentRole> roles;
  for (int kind = 0; kind < lesson_kind_count; ++kind) {
    const AgentRole role = role_of(static_cast<LessonKind>(kind));
    if (plan.share[kind] > 0 && std::ranges::count(roles, role) == 0) roles.push_back(role);
  }
  return roles;
}

LessonPlan plan_of(const SftArguments& arguments) {
  LessonPlan plan = arguments.plan;
  plan.seed = arguments.seed;
  return plan;
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return Error{"cannot create this folder: " + failed.message(), "", {folder.string(), 0, 0}};
  return {};
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
  options.threads = threads_for(arguments.threads, arguments.ranks);
  options.ranks = arguments.ranks;
  options.train_base = arguments.method == "full" || arguments.method == "auto";
  options.quantised = arguments.method == "qlora";
  options.gpu_memory_bytes = static_cast<std::int64_t>(arguments.gpu_memory_gib * 1024) << 20;
  options.optimizer.eight_bit = arguments.eight_bit;
  if (!options.train_base) options.adapters = roles_of(plan);
  options.rank = arguments.rank;
  options.alpha = static_cast<float>(arguments.alpha);
  options.seed = arguments.seed;
  options.optimizer.learning_rate = arguments.training.peak_learning_rate;
  options.optimizer.weight_decay = arguments.weight_decay;
  options.optimizer.beta1 = arguments.beta1;
  options.optimizer.beta2 = arguments.beta2;
  options.optimizer.clip_norm = arguments.clip_norm;
  KW_TRY(options.optimizer.kind, optimizer_kind(arguments.optimizer));
  for (const std::string& text : arguments.adapters) {
    const std::size_t sign = text.find('=');
    const auto role = agent_role_from_string(text.substr(0, sign));
    if (!role || sign == std::string::npos) return Error{"'" + text + "' is not ROLE=FOLDER", "", {}};
    options.adapter_folders[*role] = text.substr(sign + 1);
  }
  return options;
}

// The CPU's trainer works on the blocks of a GGUF file; on a base that has none it would be lora by another name. A GPU
// has the base in NF4.
Result<void> check_quantised(const ModelFiles& files, const SftArguments& arguments) {
  KW_TRY(const std::optional<std::string> gpu, gpu_for(arguments.device));
  if (gpu) return {};
  using enum BlockFormat;
  const auto stored = files.blocks("model.layers.0.self_attn.o_proj.weight");
  if (!stored || stored->format == f32 || stored->format == f16 || stored->format == bf16)
    return Error{"qlora on the CPU needs a base that is stored in blocks (GGUF); this one is not", "--method lora", {}};
  return {};
}

// What training starts from.
struct Start {
  std::unique_ptr<Learner> learner;
  std::string base;                    // what agents.json names
  std::set<std::string> learned_from;  // benchmarks
};

Result<Start> make_start(const SftArguments& arguments, const LessonPlan& plan) {
  Start start;
  KW_TRY(LearnerOptions options, learner_options(arguments, plan));
  const auto names = preset_names();
  if (std::ranges::count(names, arguments.model) > 0 && arguments.model != "smollm2-135m") {
    if (!options.train_base) return Error{"a model from nothing has no base to freeze", "--method full", {}};
    KW_TRY(Tokenizer tokenizer, vocabulary_of(arguments, plan));
    KW_TRY(start.learner, Learner::from_preset(arguments.model, std::move(tokenizer), options));
    return start;
  }
  KW_TRY(const AgentFiles opened, open_agents(arguments.model));
  const AgentSet& agents = opened.set;
  if (arguments.method == "auto" && (!agents.adapters.empty() || !arguments.adapters.empty())) {
    options.train_base = false;
    options.adapters = roles_of(plan);
  }
  if (arguments.method == "qlora") KW_TRY_VOID(check_quantised(opened.base, arguments));
  start.base = base_name(agents);
  start.learned_from = agents.learned_from;
  if (!options.train_base) {
    options.adapter_folders.insert(agents.adapters.begin(), agents.adapters.end());
    // Who learns nothing here is still one of the agents that are saved.
    for (const auto& [role, folder] : agents.adapters)
      if (std::ranges::count(options.adapters, role) == 0) options.adapters.push_back(role);
  }
  for (const auto& [role, folder] : options.adapter_folders) {
    KW_TRY(auto benchmarks, learned_from_of_adapter(folder));
    start.learned_from.merge(benchmarks);
  }
  KW_TRY(start.learner, Learner::from_files(opened.base, options));
  return start;
}

// config.json of the run: what it was asked for, what its agents have seen, and how many steps the minutes were worth
// once that is known.
Json configuration_of(const SftArguments& arguments, const std::set<std::string>& learned_from,
                      std::int64_t steps = 0) {
  Configuration configuration = arguments.configuration;
  if (steps > 0 && arguments.training.minutes > 0) configuration.note_measured("sft.steps", steps);
  Json json = configuration.to_json();
  if (!learned_from.empty()) json["learned_from"] = learned_from;
  return json;
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

}  // namespace

Result<void> make_vocabulary(const SftArguments& arguments) {
  const LessonPlan plan = plan_of(arguments);
  KW_TRY_VOID(make_folder(arguments.out));
  KW_TRY([[maybe_unused]] const Tokenizer tokenizer, vocabulary_of(arguments, plan));
  return {};
}

namespace {

Result<std::shared_ptr<const JudgedBook>> book_of(const SftArguments& arguments) {
  if (arguments.store.empty()) return std::shared_ptr<const JudgedBook>();
  KW_TRY(JudgedBook loaded, JudgedBook::load(arguments.store, core_count()));
  if (is_first(arguments.ranks))
    std::cerr << fmt::format("{} judged tasks: {} kernels, {} can be improved, {} broken\n", loaded.tasks().size(),
                             loaded.all().size(), loaded.improvable().size(), loaded.broken().size());
  return std::make_shared<const JudgedBook>(std::move(loaded));
}

Result<std::unique_ptr<RunLog>> open_log(const SftArguments& arguments, const std::set<std::string>& learned_from,
                                         std::int64_t after) {
  if (!is_first(arguments.ranks)) return silent_log();
  const fs::path out = arguments.out;
  RunLogOptions options;
  options.folder = out;
  options.name = arguments.name.empty() ? fs::absolute(out).lexically_normal().filename().string() : arguments.name;
  options.kind = "sft";
  options.configuration = configuration_of(arguments, learned_from);
  options.resume_after_step = after;
  options.restart = after < 0;  // killed before its first checkpoint: nothing of it is left but what it logged
  return RunLog::open(options);
}

void show_progress(const SupervisedProgress& now) {
  const double left =
      now.step > 0 ? now.seconds / static_cast<double>(now.step) * static_cast<double>(now.steps - now.step) : 0;
  std::cerr << fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}  |g| {:.2f}  {:.2f} M tokens  {:.0f} tok/s  {} left\n",
                           now.step, now.steps, now.loss, now.learning_rate, now.gradient_norm,
                           static_cast<double>(now.tokens) / 1e6, now.tokens_per_s, duration_text(std::max(0.0, left)));
}

// Of the lessons that are trained on, some are judged in the background: are the teacher's kernels right?
std::function<void(const Lesson&)> audit_hook(StreamAudit& audit, const LessonStream& lessons, std::uint64_t seed,
                                              double share) {
  return [&audit, &lessons, seed, share](const Lesson& lesson) {
    if (lesson.kind != LessonKind::generate || !StreamAudit::chosen(seed, lesson.index, share)) return;
    std::uint64_t variant = 0;
    if (const auto example = lessons.example_at(lesson.index, &variant))
      audit.used(example->drawn.index, example->level, variant);
  };
}

// Lessons from the stream, and from conversations where there are some.
class SupervisedLessons {
 public:
  Result<const LessonSource*> mix(const SftArguments& arguments, const LessonStream& stream, std::int64_t longest,
                                  const Dialect& dialect) {
    if (arguments.conversations.empty()) return static_cast<const LessonSource*>(&stream);
    KW_TRY(const auto store, EpisodeStore::open(arguments.conversations));
    Scribe scribe(dialect);
    KW_TRY(conversations_, ConversationLessons::load(*store, arguments.seed, longest, scribe));
    mixed_.emplace(*conversations_, stream, arguments.own, arguments.seed);
    if (is_first(arguments.ranks)) say_what_is_learned();
    return static_cast<const LessonSource*>(&*mixed_);
  }
  std::set<std::string> benchmarks() const {
    return conversations_ ? conversations_->benchmarks() : std::set<std::string>();
  }

 private:
  void say_what_is_learned() const {
    std::cerr << fmt::format("{} of {} answers in these conversations are worth learning from{}\n",
                             conversations_->lessons().size(), conversations_->answers(),
                             conversations_->retold() > 0
                                 ? fmt::format(", {} of them told in this model's words", conversations_->retold())
                                 : "");
    if (conversations_->unreadable() > 0)
      std::cerr << fmt::format("{} conversations were passed over because their task cannot be read; the first: {}\n",
                               conversations_->unreadable(), conversations_->first_problem());
  }

  std::optional<ConversationLessons> conversations_;
  std::optional<MixedLessons> mixed_;
};

Result<SupervisedOptions> training_options(const SftArguments& arguments, const LessonPlan& plan, Learner& learner) {
  SupervisedOptions training = arguments.training;
  training.ranks = arguments.ranks;
  if (training.producers <= 0) training.producers = learner.on_gpu() ? std::max(1, core_count() / 2) : 1;
  KW_TRY(training.pass_tokens, learner.pass_tokens(std::max(training.pass_tokens, plan.longest), plan.longest));
  training.model = &learner.description();
  training.train_base = learner.trains_base();
  if (is_first(arguments.ranks)) {
    KW_TRY(training.peak_flops, learner.peak_flops());
    training.peak_flops *= rank_count(arguments.ranks);
  }
  return training;
}

Json result_of(const SftArguments& arguments, const SupervisedSummary& summary, const StreamAudit* audit) {
  Json result = {{"out", arguments.out},
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
  if (audit == nullptr) return result;
  const AuditReport seen = audit->report();
  result["audited"] = seen.all.judged;
  result["audit_wrong"] = seen.all.wrong;
  result["audit_error_rate_at_most"] = seen.error_rate_at_most();
  return result;
}

// The best of the evaluated states is what is kept.
Result<void> keep_agents(const SftArguments& arguments, const SupervisedSummary& summary,
                         const Checkpoints& checkpoints, const Start& start, Json& result) {
  Learner& learner = *start.learner;
  KW_TRY(const auto best, checkpoints.best());
  if (best && best->step != summary.last.step) {
    KW_TRY_VOID(learner.trainer().restore_state((best->folder / "trainer").string()));
    result["best_step"] = best->step;
  }
  const fs::path agents = fs::path(arguments.out) / "agents";
  KW_TRY_VOID(learner.save_agents(agents, start.base, ElementType::bf16, start.learned_from));
  result["agents"] = agents.string();
  return {};
}

}  // namespace

Result<Json> train_sft(const SftArguments& arguments) {
  LessonPlan plan = plan_of(arguments);
  const bool first = is_first(arguments.ranks);
  KW_TRY(Start start, first_then_others(arguments.ranks, [&]() -> Result<Start> {
           KW_TRY_VOID(make_folder(arguments.out));
           return make_start(arguments, plan);
         }));
  Learner* const learner = start.learner.get();
  KW_TRY_VOID(check_devices(arguments.ranks, *learner));
  KW_TRY(const auto book, book_of(arguments));
  plan.longest = std::min(plan.longest, learner->description().context);
  KW_TRY(const LessonStream lessons, LessonStream::make(learner->dialect(), book, plan));
  if (arguments.show > 0) return show_lessons(arguments, lessons, learner->dialect());
  SupervisedLessons all_lessons;
  KW_TRY(const LessonSource* source, all_lessons.mix(arguments, lessons, plan.longest, learner->dialect()));
  start.learned_from.merge(all_lessons.benchmarks());
  std::unique_ptr<SupervisedExaminer> examiner;
  if (first) {
    KW_TRY(examiner, SupervisedExaminer::make(arguments, plan, *learner));
  }
  KW_TRY(Checkpoints checkpoints, first_then_others(arguments.ranks, [&] {
           return Checkpoints::open(fs::path(arguments.out) / "checkpoints", {.keep_last = arguments.keep_checkpoints});
         }));
  std::int64_t after = -1;
  if (first) {
    KW_TRY(after, resume_step(checkpoints));
  }
  KW_TRY(const auto log, open_log(arguments, start.learned_from, after));
  if (first)
    std::cerr << fmt::format("{} on {}{}{}\n", arguments.model, learner->device(),
                             arguments.ranks != nullptr ? fmt::format(", {} ranks", arguments.ranks->size()) : "",
                             after >= 0 ? fmt::format(", going on after step {}", after) : "");

  SupervisedHooks hooks;
  std::optional<StreamAudit> audit;
  if (arguments.audit > 0 && plan.share[0] > 0 && first) {
    audit.emplace(examiner->service(), examiner->judge_options(), lessons.stream(),
                  AuditOptions{arguments.audit, 2000});
    hooks.lesson = audit_hook(*audit, lessons, plan.seed, arguments.audit);
  }
  std::vector<std::pair<std::int64_t, double>> losses;
  hooks.evaluate = [&](std::int64_t step) { return examiner->examine(step); };
  hooks.evaluated = [](std::int64_t step, const Evaluation& evaluation) {
    std::cerr << fmt::format("exam after step {}: {}\n", step, evaluation.line);
  };
  hooks.progress = [&](const SupervisedProgress& now) {
    losses.emplace_back(now.step, std::log10(std::max(now.loss, 1e-6)));
    show_progress(now);
  };
  hooks.decided = [&](std::int64_t steps) {
    return log->set_configuration(configuration_of(arguments, start.learned_from, steps));
  };
  KW_TRY(const SupervisedOptions training, training_options(arguments, plan, *learner));
  KW_TRY(const SupervisedSummary summary,
         train_supervised(
             learner->trainer(), *source, learner->dialect(), [&](AgentRole role) { return learner->adapter_of(role); },
             training, checkpoints, *log, hooks));

  Json result = result_of(arguments, summary, audit ? &*audit : nullptr);
  if (!first) return result;
  std::cerr << text_curve("log10 of the loss", losses);
  if (!summary.interrupted) KW_TRY_VOID(keep_agents(arguments, summary, checkpoints, start, result));
  KW_TRY_VOID(log->finish(summary.interrupted ? "interrupted" : "done", result));
  return result;
}

}  // namespace kw
