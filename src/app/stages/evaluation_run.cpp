#include "app/stages/evaluation_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "agents/episode/agent_model.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

constexpr std::size_t gallery_size = 12;

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

  Result<FinishedEvaluation> run() {
    AgentModelOptions options;
    options.device = arguments_.device;
    options.threads = arguments_.threads;
    KW_TRY(model_, AgentModel::open(arguments_.model, options));
    KW_TRY(judge_, JudgeSession::start(arguments_.judge));
    KW_TRY(answers_, model_->make_answers());
    EvaluationSettings& settings = finished_.evaluation.settings;
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
    return std::move(finished_);
  }

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
    const std::size_t shown = arguments_.optimizer_tasks > 0 ? arguments_.optimizer_tasks : arguments_.tasks;
    if (wants("optimizer"))
      for (const DataSplit split : drawn_splits()) {
        std::cerr << fmt::format("judging the kernels that the Optimizer is shown ({})\n", name_of(split));
        KW_TRY(auto more, optimizer_questions(judge_->judge(), split, arguments_.seed, shown, shown));
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
    options.constrain = arguments_.constrain;
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
    ExamOptions options = exam_options(progress);
    options.turns = arguments_.turns;
    KW_TRY(const ExamResult result,
           sit_exam(*answers_, model_->dialect(), judge_->judge(), questions, adapter_of(), options));
    if (arguments_.turns > 1) {
      for (const std::size_t i : gallery_of(result.episodes, gallery_size))
        finished_.gallery.push_back(report_conversation(result.episodes[i]));
    } else {
      for (const std::size_t i : gallery_of(result.answers, gallery_size))
        finished_.gallery.push_back(report_conversation(questions[result.answers[i].question], result.answers[i]));
    }
    finished_.evaluation.answers = evaluated_answers(questions, result, arguments_.worth);
    finished_.evaluation.seconds = result.seconds;
    finished_.evaluation.interrupted = result.interrupted;
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
           sit_exam(*answers_, model_->dialect(), judge_->judge(), questions, adapter_of(), exam_options(progress)));
    finished_.tester = tester_score(predictions_of(questions, result));
    finished_.evaluation.interrupted = finished_.evaluation.interrupted || result.interrupted;
    return {};
  }

  const EvaluateArguments& arguments_;
  std::unique_ptr<AgentModel> model_;
  std::unique_ptr<JudgeSession> judge_;
  std::unique_ptr<AnswerSource> answers_;
  FinishedEvaluation finished_;
};

}  // namespace

Result<FinishedEvaluation> evaluate_agents(const EvaluateArguments& arguments) {
  if (arguments.samples > 1 && arguments.temperature == 0)
    return Error{"with temperature 0 all samples are the same", "give a temperature such as 0.8", {}};
  return Evaluating(arguments).run();
}

nlohmann::ordered_json to_json(const FinishedEvaluation& finished) {
  nlohmann::ordered_json json = to_json(finished.evaluation);
  json["summary"] = summary_json(finished.evaluation);
  if (finished.tester) json["tester"] = to_json(*finished.tester);
  return json;
}

}  // namespace kw
