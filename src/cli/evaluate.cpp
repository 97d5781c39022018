// `evaluate MODEL`: exams on held-out tasks. `evaluate --compare A.json B.json`: is B better?

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/judge_session.h"
#include "cli/model_load.h"
#include "episode/agent_model.h"
#include "evaluate/conversation_exam.h"
#include "evaluate/evaluation_page.h"
#include "evaluate/tester_score.h"
#include "task/task_file.h"

namespace kw::cli {
namespace {

constexpr std::size_t gallery_size = 12;

struct EvaluateArguments {
  std::string model;
  std::vector<std::string> splits{"composition", "novel"};
  std::vector<std::string> exams{"generator"};
  std::size_t tasks = 100;
  std::int64_t samples = 1;
  int turns = 1;
  double temperature = 0;
  std::uint64_t seed = 1;
  std::int64_t max_tokens = 1024;
  std::string device = "auto";
  JudgeSessionOptions judge;
  std::string out;
  std::string html;
  std::vector<std::string> compare;
  std::vector<int> first_turns;  // of A, and of B
};

// Shows how far an exam is.
class ExamProgress {
 public:
  ExamProgress(const std::string& what, std::size_t all) : progress_(what, all) {}
  void operator()(std::size_t done) {
    progress_.advance(done - shown_);
    shown_ = done;
  }

 private:
  Progress progress_;
  std::size_t shown_ = 0;
};

class Evaluating {
 public:
  explicit Evaluating(const EvaluateArguments& arguments) : arguments_(arguments) {}

  Result<void> run() {
    AgentModelOptions options;
    options.device = arguments_.device;
    KW_TRY(model_, AgentModel::open(arguments_.model, options));
    KW_TRY(judge_, JudgeSession::start(arguments_.judge));
    rollout_.emplace(model_->decoder(), &model_->dialect().tokenizer());
    EvaluationSettings& settings = evaluation.settings;
    settings.model = arguments_.model;
    settings.weights = model_->fingerprint();
    settings.device = model_->device();
    settings.judge = judge_->description();
    settings.samples = arguments_.samples;
    settings.turns = arguments_.turns;
    settings.temperature = arguments_.temperature;
    settings.seed = arguments_.seed;
    settings.max_tokens = arguments_.max_tokens;
    KW_TRY(const std::vector<ExamQuestion> questions, written_questions());
    if (questions.empty() && drawn_splits().empty())
      return Error{"the suite has questions for the Generator alone", "add --split composition", {}};
    if (!questions.empty()) KW_TRY_VOID(sit(questions));
    if (wants("tester") && !interrupted()) KW_TRY_VOID(test_the_tester());
    return {};
  }

  ModelEvaluation evaluation;
  std::optional<TesterScore> tester;
  std::vector<ReportConversation> gallery;

 private:
  bool wants(const char* exam) const {
    return std::find(arguments_.exams.begin(), arguments_.exams.end(), exam) != arguments_.exams.end();
  }

  std::vector<DataSplit> drawn_splits() const {
    std::vector<DataSplit> splits;
    for (const std::string& name : arguments_.splits)
      if (const auto split = split_from_name(name); split && *split != DataSplit::suite) splits.push_back(*split);
    return splits;
  }

  // Of Generator and Optimizer.
  Result<std::vector<ExamQuestion>> written_questions() {
    std::vector<ExamQuestion> questions;
    const auto add = [&](std::vector<ExamQuestion> more) {
      for (ExamQuestion& question : more) questions.push_back(std::move(question));
    };
    if (wants("generator")) {
      for (const DataSplit split : drawn_splits()) add(drawn_questions(split, arguments_.seed, arguments_.tasks));
      if (std::find(arguments_.splits.begin(), arguments_.splits.end(), "suite") != arguments_.splits.end()) {
        KW_TRY(const std::filesystem::path suite, suite_folder());
        KW_TRY(auto more, suite_questions(suite));
        if (more.size() > arguments_.tasks) more.resize(arguments_.tasks);
        add(std::move(more));
      }
    }
    if (wants("optimizer"))
      for (const DataSplit split : drawn_splits()) {
        std::cerr << fmt::format("judging the kernels that the Optimizer is shown ({})\n", name_of(split));
        KW_TRY(auto more,
               optimizer_questions(judge_->judge(), split, arguments_.seed, arguments_.tasks, arguments_.tasks));
        add(std::move(more));
      }
    return questions;
  }

  ExamOptions exam_options(ExamProgress& progress) const {
    ExamOptions options;
    options.samples = arguments_.samples;
    options.temperature = static_cast<float>(arguments_.temperature);
    options.seed = arguments_.seed;
    options.max_tokens = arguments_.max_tokens;
    options.judge_workers = arguments_.judge.workers;
    options.progress = [&progress](std::size_t done, std::size_t) { progress(done); };
    return options;
  }

  std::function<std::int32_t(AgentRole)> adapter_of() const {
    return [this](AgentRole role) { return model_->adapter_of(role); };
  }

  Result<void> sit(const std::vector<ExamQuestion>& questions) {
    const std::size_t attempts = questions.size() * static_cast<std::size_t>(arguments_.samples);
    ExamProgress progress(arguments_.turns > 1 ? "turns" : "answers",
                          attempts * static_cast<std::size_t>(arguments_.turns));
    if (arguments_.turns > 1) {
      KW_TRY(ConversationExam exam, hold_conversations(*rollout_, model_->dialect(), judge_->judge(), questions,
                                                       adapter_of(), arguments_.turns, exam_options(progress)));
      for (const std::size_t i : gallery_of(exam.episodes, gallery_size))
        gallery.push_back(report_conversation(exam.episodes[i]));
      evaluation.answers = std::move(exam.answers);
      evaluation.seconds = exam.seconds;
      evaluation.interrupted = exam.interrupted;
      return {};
    }
    KW_TRY(const ExamResult result,
           sit_exam(*rollout_, model_->dialect(), judge_->judge(), questions, adapter_of(), exam_options(progress)));
    for (const std::size_t i : gallery_of(result.answers, gallery_size))
      gallery.push_back(report_conversation(questions[result.answers[i].question], result.answers[i]));
    evaluation.answers = evaluated_answers(questions, result);
    evaluation.seconds = result.seconds;
    evaluation.interrupted = result.interrupted;
    return {};
  }

  Result<void> test_the_tester() {
    std::vector<ExamQuestion> questions;
    for (const DataSplit split : drawn_splits()) {
      std::cerr << fmt::format("judging the kernels that the Tester reads ({})\n", name_of(split));
      KW_TRY(auto more, tester_questions(judge_->judge(), split, arguments_.seed, arguments_.tasks));
      for (ExamQuestion& question : more) questions.push_back(std::move(question));
    }
    ExamProgress progress("predictions", questions.size() * static_cast<std::size_t>(arguments_.samples));
    KW_TRY(const ExamResult result,
           sit_exam(*rollout_, model_->dialect(), judge_->judge(), questions, adapter_of(), exam_options(progress)));
    tester = tester_score(predictions_of(questions, result));
    evaluation.interrupted = evaluation.interrupted || result.interrupted;
    return {};
  }

  const EvaluateArguments& arguments_;
  std::unique_ptr<AgentModel> model_;
  std::unique_ptr<JudgeSession> judge_;
  std::optional<Rollout> rollout_;
};

Json whole_json(const Evaluating& evaluating) {
  Json json = to_json(evaluating.evaluation);
  json["summary"] = summary_json(evaluating.evaluation);
  if (evaluating.tester) json["tester"] = to_json(*evaluating.tester);
  return json;
}

ReportFacts facts_of_settings(const EvaluationSettings& settings) {
  return {{"model", settings.model},
          {"weights", settings.weights},
          {"generated on", settings.device},
          {"judge", settings.judge},
          {"attempts a task", std::to_string(settings.samples)},
          {"turns", std::to_string(settings.turns)},
          {"temperature", fmt::format("{}", settings.temperature)},
          {"seed", std::to_string(settings.seed)},
          {"longest answer", fmt::format("{} tokens", settings.max_tokens)}};
}

Result<void> write_page(const std::string& path, const Evaluating& evaluating) {
  HtmlReport report;
  const EvaluationSettings& settings = evaluating.evaluation.settings;
  report.title = settings.model + " on tasks that it never saw";
  report.subtitle = fmt::format("{} answers; kernels are {}", evaluating.evaluation.answers.size(), settings.judge);
  add_evaluations(report, {{settings.model, &evaluating.evaluation}});
  report.conversations = evaluating.gallery;
  report.machine = facts_of_settings(settings);
  return write_file_atomic(path, html_report(report));
}

void run_evaluation(Context& context, const EvaluateArguments& arguments) {
  if (arguments.samples > 1 && arguments.temperature == 0)
    return fail(context, Error{"with temperature 0 all samples are the same", "give a --temperature such as 0.8", {}});
  Evaluating evaluating(arguments);
  const auto done = evaluating.run();
  if (!done.ok()) {
    fail(context, done.error());
    if (interrupted()) context.exit_code = exit_interrupted;
    return;
  }
  const Json json = whole_json(evaluating);
  if (!arguments.out.empty()) {
    const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (const auto written = write_file_atomic(arguments.out, text); !written.ok())
      return fail(context, written.error());
  }
  if (!arguments.html.empty())
    if (const auto written = write_page(arguments.html, evaluating); !written.ok())
      return fail(context, written.error());
  if (context.json) {
    Json shown = json;
    if (!arguments.out.empty()) shown.erase("answers");  // they are in the file
    print_json(shown);
  } else {
    if (!evaluating.evaluation.answers.empty()) std::cout << evaluation_text(evaluating.evaluation);
    if (evaluating.tester) std::cout << "\nTester\n" << tester_text(*evaluating.tester);
  }
  context.exit_code = interrupted() ? static_cast<int>(exit_interrupted) : static_cast<int>(exit_good);
}

// One file, or several of models that differ by their seed alone.
Result<ModelEvaluation> read_side(const EvaluateArguments& arguments, std::size_t side) {
  std::vector<ModelEvaluation> parts;
  std::stringstream names(arguments.compare[side]);
  for (std::string name; std::getline(names, name, ',');) {
    KW_TRY(ModelEvaluation part, read_evaluation(name));
    parts.push_back(std::move(part));
  }
  KW_TRY(ModelEvaluation joined, join_evaluations(std::move(parts)));
  if (arguments.first_turns.empty()) return joined;
  return first_turns(std::move(joined), arguments.first_turns[std::min(side, arguments.first_turns.size() - 1)]);
}

void run_comparison(Context& context, const EvaluateArguments& arguments) {
  const auto a = read_side(arguments, 0), b = read_side(arguments, 1);
  for (const auto* read : {&a, &b})
    if (!read->ok()) return fail(context, read->error());
  const auto comparisons = compare_evaluations(*a, *b);
  if (!comparisons.ok()) return fail(context, comparisons.error());
  if (!arguments.html.empty()) {
    HtmlReport report;
    report.title = fmt::format("{} against {}", b->settings.model, a->settings.model);
    const std::string name_a = "A: " + a->settings.model, name_b = "B: " + b->settings.model;
    add_comparisons(report, name_a, name_b, *comparisons);
    add_evaluations(report, {{name_a, &*a}, {name_b, &*b}});
    report.machine = facts_of_settings(b->settings);
    if (const auto written = write_file_atomic(arguments.html, html_report(report)); !written.ok())
      return fail(context, written.error());
  }
  if (!context.json) {
    std::cout << comparison_text(*a, *b, *comparisons);
    return;
  }
  Json json = Json::array();
  for (const PairedComparison& comparison : *comparisons) json.push_back(to_json(comparison));
  print_json({{"a", a->settings.model}, {"b", b->settings.model}, {"comparisons", json}});
}

}  // namespace

void add_evaluate_command(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("evaluate", "How good a model is on tasks that it never saw; compares two results");
  auto arguments = std::make_shared<EvaluateArguments>();
  add_json_flag(*command, context);
  command->add_option("MODEL", arguments->model, "tiny, smollm2, a folder with agents.json, or a model");
  command->add_option("--split", arguments->splits, "what is asked for; may be given several times")
      ->check(CLI::IsMember({"composition", "novel", "suite"}))
      ->capture_default_str();
  command
      ->add_option("--exam", arguments->exams,
                   "who is examined; optimizer: kernels to improve and as many to repair; may be given several times")
      ->check(CLI::IsMember({"generator", "optimizer", "tester"}))
      ->capture_default_str();
  command->add_option("--tasks", arguments->tasks, "of each split")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command->add_option("--samples", arguments->samples, "attempts at each task")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--turns", arguments->turns, "of a conversation; 1: no conversation")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  command->add_option("--temperature", arguments->temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "chooses the tasks and the samples")->capture_default_str();
  command->add_option("--max-tokens", arguments->max_tokens, "of an answer")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  add_device_option(*command, arguments->device);
  add_judge_options(*command, arguments->judge);
  command->add_option("--out", arguments->out, "writes everything as JSON, for --compare");
  command->add_option("--html", arguments->html, "writes a page with tables, speedups and conversations");
  command
      ->add_option("--compare", arguments->compare,
                   "two files of --out: paired tests over their common tasks; each may be "
                   "several files with commas between, of other seeds of training")
      ->expected(2);
  command
      ->add_option("--first-turns", arguments->first_turns,
                   "with --compare: only so many turns of each conversation count; two numbers: of A, and of B")
      ->expected(1, 2)
      ->check(CLI::Range(1, 20));
  command->footer(
      "Examples:\n"
      "  kernelwright evaluate tiny --tasks 200 --out tiny.json\n"
      "  kernelwright evaluate tiny --exam optimizer --split composition\n"
      "  kernelwright evaluate tiny --samples 4 --turns 2 --temperature 0.8 --out turns.json --html turns.html\n"
      "  kernelwright evaluate --compare before.json after.json\n"
      "  kernelwright evaluate --compare s1/exams/step-00000000.json,s2/exams/step-00000000.json "
      "s1/exams/step-00000030.json,s2/exams/step-00000030.json --first-turns 1");
  command->callback([&context, arguments] {
    if (arguments->model.empty() == arguments->compare.empty())
      return fail(context,
                  Error{"a MODEL is needed, or --compare with two files", "see kernelwright evaluate --help", {}});
    if (arguments->compare.empty()) return run_evaluation(context, *arguments);
    run_comparison(context, *arguments);
  });
}

}  // namespace kw::cli
