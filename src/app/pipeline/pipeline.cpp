#include "app/pipeline/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "agents/episode/agent_set.h"
#include "app/pipeline/pipeline_plan.h"
#include "app/run_report/training_report.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/run_log/run_log.h"
#include "model/distributed/shared_run.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t keys_named = 8;

struct Stage {
  std::string name;
  std::string title;
  double minutes = 0;  // that it is to take; 0: not known
  std::function<Result<Json>()> run;
};

Error something_else(const fs::path& folder) {
  return {"this folder holds something else than a training run", "name another one", {folder.string(), 0, 0}};
}

class Pipeline {
 public:
  Pipeline(fs::path folder, Configuration configuration, const PipelineHooks& hooks)
      : folder_(std::move(folder)), configuration_(std::move(configuration)), hooks_(hooks) {}

  Result<PipelineOutcome> run() {
    KW_TRY_VOID(settle(configuration_));
    KW_TRY(plan_, pipeline_plan(configuration_, folder_));
    for (auto* stage : {&plan_.sft, &plan_.compatibility})
      if (*stage) (*stage)->ranks = hooks_.ranks;
    if (plan_.rl) plan_.rl->rl.ranks = hooks_.ranks;
    if (!is_first(hooks_.ranks)) return follow();
    KW_TRY_VOID(prepare());
    add_stages();
    KW_TRY_VOID(take_up_record());
    if (record_.finished()) std::cerr << folder_.string() << " is finished: this is how it ended\n";
    KW_TRY_VOID(write_record(folder_, record_));
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (record_.stages[i].state == StageState::done) continue;
      if (interrupted()) return ended("interrupted");
      auto done = run_stage(i);
      if (!done.ok()) {
        static_cast<void>(log_->finish("failed", {{"error", to_string(done.error())}}));
        return done.error();
      }
      if (!*done) return ended("interrupted");
    }
    return ended("done");
  }

 private:
  // Of ranks other than 0: they train when rank 0 does.
  Result<PipelineOutcome> follow() {
    for (;;) {
      const Communicator::Patience patience(hooks_.ranks, alone_s);
      KW_TRY(const std::string stage, hooks_.ranks->broadcast(""));
      PipelineOutcome end;
      end.interrupted = stage == "interrupted";
      if (stage == "done" || end.interrupted) return end;
      if (stage == "sft" && plan_.sft) {
        KW_TRY([[maybe_unused]] const Json trained, train_sft(*plan_.sft));
      } else if (stage == "compatibility" && plan_.compatibility) {
        KW_TRY([[maybe_unused]] const Json trained, train_sft(*plan_.compatibility));
      } else if (stage == "rl" && plan_.rl) {
        KW_TRY([[maybe_unused]] const Json trained, train_rl(*plan_.rl));
      } else {
        return Error{"rank 0 is at the stage '" + stage + "', which this rank does not have",
                     "start all ranks with the same arguments",
                     {}};
      }
    }
  }

  Result<void> announce(const std::string& stage) {
    if (hooks_.ranks == nullptr) return {};
    KW_TRY([[maybe_unused]] const std::string said, hooks_.ranks->broadcast(stage));
    return {};
  }

  Result<void> prepare() {
    KW_TRY(const auto before, run_configuration(folder_));
    if (before) {
      if (const auto keys = differing_keys(*before, configuration_); !keys.empty()) return other_configuration(keys);
      for (const auto& [key, value] : before->measured()) configuration_.note_measured(key, value);
    }
    RunLogOptions options;
    options.folder = folder_;
    options.name = folder_.filename().string();
    options.kind = "pipeline";
    options.configuration = configuration_.to_json();
    // What it logs is read from the evaluations each time. A new run may have the name of one that was put aside.
    options.restart = true;
    KW_TRY(log_, RunLog::open(options));
    return {};
  }

  Error other_configuration(const std::vector<std::string>& keys) const {
    std::string named;
    for (std::size_t i = 0; i < std::min(keys.size(), keys_named); ++i) named += (i > 0 ? ", " : "") + keys[i];
    if (keys.size() > keys_named) named += fmt::format(" and {} more", keys.size() - keys_named);
    return {"this run has another configuration: " + named,
            fmt::format("kernelwright train --resume {} resumes it as it was configured; or name another folder",
                        folder_.string()),
            {folder_.string(), 0, 0}};
  }

  void add_stages() {
    const auto add = [this](const char* name, const char* title, double minutes, auto step) {
      stages_.push_back({name, title, minutes, [this, step] { return (this->*step)(); }});
    };
    if (plan_.data) add("data", "judged kernels to learn from", 0, &Pipeline::make_data);
    if (plan_.vocabulary) add("tokenizer", "a vocabulary", 0, &Pipeline::make_tokenizer);
    if (plan_.sft) add("sft", "supervised training", plan_.sft->training.minutes, &Pipeline::train_supervised);
    if (plan_.compatibility)
      add("compatibility", "training on the agents' own conversations", plan_.compatibility->training.minutes,
          &Pipeline::train_on_conversations);
    if (plan_.rl) add("rl", "reinforcement learning", plan_.rl->rl.minutes, &Pipeline::reinforce_agents);
    if (plan_.evaluation) add("evaluation", "what was learned", 0, &Pipeline::evaluate);
    if (plan_.report) add("report", "everything on one page", 0, &Pipeline::write_report);
  }

  // The stages of a configuration are always the same; a record of others is of another program.
  Result<void> take_up_record() {
    if (fs::exists(record_file(folder_))) {
      KW_TRY(record_, read_record(folder_));
      const auto same = [](const Stage& stage, const StageRecord& record) { return stage.name == record.name; };
      if (!std::ranges::equal(stages_, record_.stages, same))
        return Error{"this run was started with other stages than this program has",
                     "finish it with the program that "
                     "began it, or begin another one",
                     {record_file(folder_).string(), 0, 0}};
      return {};
    }
    for (const Stage& stage : stages_) record_.stages.push_back({.name = stage.name});
    return {};
  }

  // False: interrupted.
  Result<bool> run_stage(std::size_t i) {
    const Stage& stage = stages_[i];
    StageRecord& record = record_.stages[i];
    std::cerr << fmt::format("\nstage {} of {}: {}{}{}\n", i + 1, stages_.size(), stage.title,
                             stage.minutes > 0 ? ", about " + duration_text(stage.minutes * 60) : "",
                             record.state == StageState::waiting ? "" : ", going on");
    record.state = StageState::running;
    KW_TRY_VOID(write_record(folder_, record_));
    if (hooks_.stage_begins) hooks_.stage_begins(stage.name);
    const Clock::time_point start = Clock::now();
    auto result = stage.run();
    record.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    // A stage that was interrupted may see that as an error: of half an exam, for example.
    const bool stopped = interrupted() && (!result.ok() || result->value("interrupted", false));
    if (stopped) {
      record.state = StageState::interrupted;
    } else if (!result.ok()) {
      record.state = StageState::failed;
      record.results = {{"error", to_string(result.error())}};
    } else {
      record.state = StageState::done;
      record.results = std::move(*result);
      record.results.erase("interrupted");
    }
    KW_TRY_VOID(write_record(folder_, record_));
    if (!stopped && !result.ok()) return result.error();
    return !stopped;
  }

  Result<Json> make_data() {
    KW_TRY(const auto session, JudgeSession::start(plan_.judge));
    StoreOptions options = *plan_.data;
    options.workers = session->workers();
    KW_TRY(const StoreSummary summary, make_store(session->service(), session->judge().options(), options));
    return Json{{"tasks", summary.tasks + summary.tasks_known},
                {"kept", summary.kept},
                {"dropped", summary.dropped},
                {"interrupted", summary.interrupted}};
  }

  Result<Json> make_tokenizer() {
    KW_TRY_VOID(make_vocabulary(*plan_.sft));
    return Json{{"vocabulary", plan_.sft->vocabulary}};
  }

  Result<Json> train_supervised() {
    KW_TRY_VOID(announce("sft"));
    KW_TRY(Json trained, train_sft(*plan_.sft));
    KW_TRY_VOID(note_steps("sft", trained));
    return trained;
  }

  // For whoever repeats the run: how many steps the minutes were worth.
  Result<void> note_steps(const std::string& stage, const Json& result) {
    const double minutes = configuration_.number(stage + ".minutes");
    if (configuration_.whole(stage + ".steps") > 0 || minutes <= 0 || result.value("interrupted", false)) return {};
    configuration_.note_measured(stage + ".steps", result.at("step").get<std::int64_t>());
    // By minutes the learning rate of reinforcement learning stays where it is.
    if (stage == "rl") configuration_.note_measured("rl.last_lr", 1);
    return log_->set_configuration(configuration_.to_json());
  }

  Result<Json> train_on_conversations() {
    std::error_code failed;
    fs::create_directories(fs::path(plan_.gather->store).parent_path(), failed);
    if (failed) return Error{"cannot create the folder: " + failed.message(), "", {plan_.gather->store, 0, 0}};
    KW_TRY(const Json gathered, gather(*plan_.gather));
    if (gathered.value("interrupted", false)) return gathered;
    // Nothing to learn from is no reason to stop: the agents stay as they are.
    if (gathered.at("worked") == 0) {
      KW_TRY_VOID(hand_on_agents(plan_.compatibility->model, plan_.supervised));
      return gathered;
    }
    KW_TRY_VOID(announce("compatibility"));
    KW_TRY(Json trained, train_sft(*plan_.compatibility));
    KW_TRY_VOID(note_steps("compatibility", trained));
    trained["conversations"] = gathered.at("conversations");
    trained["answers"] = gathered.at("answers");
    trained["worked"] = gathered.at("worked");
    return trained;
  }

  // agents.json that names the weights of another stage.
  static Result<void> hand_on_agents(const fs::path& from, const fs::path& to) {
    KW_TRY(const AgentSet agents, find_agents(from.string()));
    std::error_code failed;
    fs::create_directories(to, failed);
    if (failed) return Error{"cannot create the folder: " + failed.message(), "", {to.string(), 0, 0}};
    std::map<AgentRole, std::string> adapters;
    for (const auto& [role, path] : agents.adapters) adapters[role] = path.lexically_relative(to).string();
    const fs::path base = agents.base.lexically_relative(to);
    return write_agents_file(to, base.empty() ? agents.base.string() : base.string(), adapters);
  }

  Result<Json> reinforce_agents() {
    KW_TRY_VOID(announce("rl"));
    KW_TRY(Json trained, train_rl(*plan_.rl));
    KW_TRY_VOID(note_steps("rl", trained));
    return trained;
  }

  // Who sits the exam.
  std::vector<std::pair<std::string, std::string>> examined() const {
    std::vector<std::pair<std::string, std::string>> agents;
    if (!plan_.start.empty()) agents.emplace_back("start", plan_.start);
    if (plan_.sft) agents.emplace_back("sft", plan_.supervised);
    if (plan_.rl) agents.emplace_back("rl", plan_.last);
    return agents;
  }

  fs::path evaluation_file(const std::string& stage) const { return folder_ / "evaluation" / (stage + ".json"); }

  Result<Json> evaluate() {
    std::error_code failed;
    fs::create_directories(folder_ / "evaluation", failed);
    if (failed) return Error{"cannot create the folder: " + failed.message(), "", {folder_.string(), 0, 0}};
    for (const auto& [stage, agents] : examined()) {
      const fs::path file = evaluation_file(stage);
      if (fs::exists(file) && read_evaluation(file).ok()) continue;
      EvaluateArguments arguments = *plan_.evaluation;
      arguments.model = agents;
      std::cerr << fmt::format(
          "evaluating the agents {}\n",
          stage == "start" ? "as they were" : "after " + std::string(stage == "sft" ? "SFT" : "RL"));
      KW_TRY(const FinishedEvaluation finished, evaluate_agents(arguments));
      if (finished.evaluation.interrupted || interrupted()) return Json{{"interrupted", true}};
      KW_TRY_VOID(write_file_atomic(file, to_json(finished).dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                                    Durability::power_loss));
    }
    KW_TRY(const std::vector<StageOutcomeRow> rows, outcome());
    Json results = Json::array();
    for (const StageOutcomeRow& row : rows) results.push_back(to_json(row));
    return Json{{"outcome", results}};
  }

  Result<Json> write_report() {
    KW_TRY_VOID(write_training_report(folder_, folder_ / "report.html"));
    return Json{{"file", (folder_ / "report.html").string()}};
  }

  // From the files of those evaluations that are there.
  Result<std::vector<StageOutcomeRow>> outcome() const {
    std::vector<StageEvaluation> stages;
    for (const auto& [stage, agents] : examined()) {
      if (!plan_.evaluation || !fs::exists(evaluation_file(stage))) continue;
      KW_TRY(ModelEvaluation evaluation, read_evaluation(evaluation_file(stage)));
      stages.push_back({stage, std::move(evaluation)});
    }
    return outcome_rows(stages);
  }

  // For `runs list`: stages are steps.
  Result<void> log_outcome(const std::vector<StageOutcomeRow>& rows) {
    std::map<std::string, std::int64_t> steps;
    for (const StageOutcomeRow& row : rows) {
      const std::int64_t step = steps.emplace(row.stage, static_cast<std::int64_t>(steps.size())).first->second;
      const std::string prefix = row.turns > 1 ? "exam/turns/" : "exam/";
      KW_TRY_VOID(log_->metrics(step, {{prefix + "compiled", row.compiled.estimate.value},
                                       {prefix + "correct", row.correct.estimate.value},
                                       {prefix + "reward", row.reward.estimate.value},
                                       {prefix + "speedup_gmean", row.speedup.estimate.value}}));
    }
    return {};
  }

  Result<PipelineOutcome> ended(const std::string& status) {
    KW_TRY_VOID(announce(status));
    PipelineOutcome end;
    end.interrupted = status == "interrupted";
    end.record = record_;
    if (!end.interrupted) {
      end.agents = plan_.last;
      KW_TRY(end.outcome, outcome());
      KW_TRY_VOID(log_outcome(end.outcome));
    }
    KW_TRY_VOID(log_->finish(status, to_json(end)));
    return end;
  }

  fs::path folder_;
  Configuration configuration_;
  const PipelineHooks& hooks_;
  PipelinePlan plan_;
  std::vector<Stage> stages_;
  PipelineRecord record_;
  std::unique_ptr<RunLog> log_;
};

}  // namespace

Result<std::optional<Configuration>> run_configuration(const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(folder, failed)) return std::optional<Configuration>();
  if (!fs::is_directory(folder, failed)) return something_else(folder);
  const fs::path file = folder / "config.json";
  if (!fs::exists(file, failed)) {
    if (fs::is_empty(folder, failed) && !failed) return std::optional<Configuration>();
    return something_else(folder);
  }
  // A stage's own folder has a config.json too.
  if (fs::exists(folder / "checkpoints", failed) && !fs::exists(record_file(folder), failed))
    return something_else(folder);
  KW_TRY(const std::string text, read_file(file, max_configuration_bytes));
  Configuration configuration;
  const auto merged = configuration.merge(text, file.string(), "config.json");
  if (!merged.ok()) {
    Error error = something_else(folder);
    error.advice = to_string(merged.error());
    return error;
  }
  KW_TRY_VOID(configuration.complete());
  // The values are all there; the preset is only remembered by name.
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("preset") && json["preset"].is_string())
    configuration.set_preset(json["preset"].get<std::string>());
  return std::optional(std::move(configuration));
}

Result<PipelineOutcome> run_pipeline(const fs::path& folder, const Configuration& configuration,
                                     const PipelineHooks& hooks) {
  fs::path whole = fs::absolute(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  return Pipeline(whole, configuration, hooks).run();
}

Json to_json(const PipelineOutcome& outcome) {
  Json json = to_json(outcome.record);
  json.erase("format");
  json["interrupted"] = outcome.interrupted;
  if (!outcome.agents.empty()) json["agents"] = outcome.agents;
  Json rows = Json::array();
  for (const StageOutcomeRow& row : outcome.outcome) rows.push_back(to_json(row));
  if (!rows.empty()) json["outcome"] = rows;
  return json;
}

}  // namespace kw
