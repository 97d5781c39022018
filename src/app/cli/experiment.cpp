// kernelwright experiment: two or more sets of agents share the users, and what is worse is taken back by itself.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "app/cli/command.h"
#include "app/cli/terminal_text.h"
#include "app/experiment/experiment_report.h"
#include "app/experiment/live_experiment.h"
#include "app/experiment/simulate.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/run_log/run_log.h"
#include "base/table.h"

namespace kw::cli {
namespace {

struct ExperimentArguments {
  std::string store, file, name, arm, reason;
  bool start = false;
  int experiments = 2000;
  std::uint64_t seed = 1;
};

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Who the trail names.
std::string person() {
  const char* user = std::getenv("USER");
  return fmt::format("{} (command line)", user == nullptr || *user == 0 ? "somebody" : user);
}

Result<ExperimentStore> open_experiments(const ExperimentArguments& arguments, bool to_write) {
  const std::filesystem::path file =
      arguments.store.empty() ? runs_folder() / "experiments.db" : std::filesystem::path(arguments.store);
  if (!to_write && !std::filesystem::exists(file))
    return Error{"there are no experiments in " + file.string(), "--store names another file", {}};
  return ExperimentStore::open(file, {.read_only = !to_write, .durability = Durability::power_loss});
}

std::string metric_text(const Json& value, Metric metric) {
  if (!value.is_number()) return "-";
  const double number = value.get<double>();
  return describe(metric).kind == MetricKind::rate ? fmt::format("{:.1f} %", 100 * number)
                                                   : fmt::format("{:.4g}", number);
}

std::string gain_text(const Json& value) {
  return value.is_number() ? fmt::format("{:+.1f} %", 100 * value.get<double>()) : "-";
}

std::string minute_text(double since_1970_s) {
  if (!(since_1970_s >= 0 && since_1970_s < 4e9)) return "?";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(since_1970_s)));
}

void print_arms(const Json& report) {
  std::vector<std::string> headings = {"arm", "agents", "weight", "users", "requests"};
  std::vector<Align> alignment = {Align::left, Align::left};
  for (const auto& one : all_metrics()) headings.emplace_back(one.name);
  alignment.resize(headings.size(), Align::right);
  Table table(headings, alignment);
  for (const Json& arm : report["arms"]) {
    const std::string stopped = arm["stopped"].get<bool>() ? " (stopped)" : "";
    std::vector<std::string> row = {
        terminal_text(arm["name"].get<std::string>()) + stopped, terminal_text(arm["agents"].get<std::string>()),
        fmt::format("{:.3g}", arm["weight"].get<double>()), arm["users"].dump(), arm["requests"].dump()};
    for (const auto& one : all_metrics()) row.push_back(metric_text(arm["metrics"][std::string(one.name)], one.metric));
    table.add(std::move(row));
  }
  std::cout << table.text();
}

void print_comparisons(const Json& report) {
  Table table({"candidate", "metric", "pairs", "better by", "at least", "at most", "guardrail"},
              {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  for (const Json& one : report["comparisons"]) {
    std::string note = one["is_goal"].get<bool>() ? "goal" : "";
    if (one.contains("guardrail"))
      note += fmt::format("{}rolls back beyond {:g} %, {:.0f} % of the way", note.empty() ? "" : "; ",
                          -100 * one["guardrail"]["tolerance"].get<double>(),
                          100 * one["guardrail"]["way_to_rollback"].get<double>());
    table.add({terminal_text(one["arm"].get<std::string>()), one["metric"].get<std::string>(), one["pairs"].dump(),
               gain_text(one["gain"]), gain_text(one["gain_low"]), gain_text(one["gain_high"]), note});
  }
  std::cout << table.text();
}

Result<void> show_experiment(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(ExperimentStore store, open_experiments(arguments, false));
  KW_TRY(const LiveExperiment live, LiveExperiment::open(store, arguments.name));
  KW_TRY(const auto trail, store.audit(live.record().id));
  KW_TRY(const std::int64_t open_requests, store.exposures_without_outcome(live.record().id));
  Json report = report_of(live, trail);
  report["requests_without_outcome"] = open_requests;
  if (context.json) {
    print_json(report);
    return {};
  }
  std::cout << terminal_text(live.definition().name) << ": " << to_string(live.standing().state);
  if (is_active(live.standing().state))
    std::cout << fmt::format(", {:g} % of the users take part", report["percent"].get<double>());
  else
    std::cout << ", everybody gets " << terminal_text(report["everybody_gets"].get<std::string>());
  std::cout << fmt::format("; {} requests have no outcome yet\n\n", open_requests);
  print_arms(report);
  std::cout << "\n";
  print_comparisons(report);
  const double confidence = 100 * (1 - live.definition().false_alarm);
  std::cout << fmt::format("Intervals hold with {:g} %, each at all times together. ", confidence)
            << (report["sample_ratio"]["off"].get<bool>() ? "SAMPLE RATIO MISMATCH.\n\n"
                                                          : "The sample ratio is as it should be.\n\n");
  Table audit({"when (UTC)", "who", "what", "state", "stage", "reason"});
  for (const auto& row : trail)
    audit.add({minute_text(row.time_s), terminal_text(row.actor), terminal_text(row.action),
               terminal_text(row.to_state), std::to_string(row.stage), terminal_text(row.reason)});
  std::cout << audit.text();
  return {};
}

Result<void> list_experiments(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(ExperimentStore store, open_experiments(arguments, false));
  KW_TRY(const auto all, store.list());
  Table table({"experiment", "state", "stage", "arms", "updated (UTC)"});
  Json rows = Json::array();
  for (const auto& one : all) {
    std::string arms;
    for (const auto& arm : one.definition.arms) arms += (arms.empty() ? "" : ", ") + arm.name;
    const double percent = one.definition.ramp_percent[one.standing.stage];
    rows.push_back({{"name", one.definition.name},
                    {"state", to_string(one.standing.state)},
                    {"stage", one.standing.stage},
                    {"percent", percent},
                    {"created_s", one.created_s},
                    {"updated_s", one.updated_s}});
    table.add({terminal_text(one.definition.name), std::string(to_string(one.standing.state)),
               fmt::format("{:g} %", percent), terminal_text(arms), minute_text(one.updated_s)});
  }
  if (context.json)
    print_json({{"experiments", std::move(rows)}});
  else
    std::cout << table.text();
  return {};
}

void say(const Context& context, const LiveExperiment& live) {
  const auto state = to_string(live.standing().state);
  if (context.json)
    print_json({{"name", live.definition().name}, {"state", state}});
  else
    std::cout << terminal_text(live.definition().name) << " is " << (state == "draft" ? "a draft" : state) << "\n";
}

Result<void> create_experiment(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(const ExperimentDefinition definition, load_experiment(arguments.file));
  KW_TRY(ExperimentStore store, open_experiments(arguments, true));
  KW_TRY(const ExperimentRecord record, store.create(definition, person(), seconds_since_1970()));
  KW_TRY(LiveExperiment live, LiveExperiment::open(store, record.definition.name));
  if (arguments.start) KW_TRY_VOID(live.start(person(), seconds_since_1970()));
  say(context, live);
  return {};
}

Result<void> start_experiment(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(ExperimentStore store, open_experiments(arguments, true));
  KW_TRY(LiveExperiment live, LiveExperiment::open(store, arguments.name));
  KW_TRY_VOID(live.start(person(), seconds_since_1970()));
  say(context, live);
  return {};
}

Result<void> promote_arm(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(ExperimentStore store, open_experiments(arguments, true));
  KW_TRY(LiveExperiment live, LiveExperiment::open(store, arguments.name));
  KW_TRY_VOID(live.promote(arguments.arm, person(), arguments.reason, seconds_since_1970()));
  say(context, live);
  return {};
}

Result<void> abort_experiment(const Context& context, const ExperimentArguments& arguments) {
  KW_TRY(ExperimentStore store, open_experiments(arguments, true));
  KW_TRY(LiveExperiment live, LiveExperiment::open(store, arguments.name));
  KW_TRY_VOID(live.abort(person(), arguments.reason, seconds_since_1970()));
  say(context, live);
  return {};
}

std::string promise_text(const SimulationScenario& scenario) {
  if (scenario.share_at_least > 0) return fmt::format("at least {:g} %", 100 * scenario.share_at_least);
  if (scenario.share_at_most < 1) return fmt::format("at most {:g} %", 100 * scenario.share_at_most);
  return "-";
}

std::string_view counted_text(SimulationCount count) {
  switch (count) {
    case SimulationCount::any_decision:
      return "decided, {} requests";
    case SimulationCount::z_test:
      return "difference found, {} requests";
    case SimulationCount::rolled_back:
      return "rolled back, {} requests";
    case SimulationCount::rolled_back_own:
      return "rolled back, {} of its own";
    case SimulationCount::promoted:
      return "promoted, {} requests";
    case SimulationCount::ratio_mismatch:
      return "alarm, {} exposures";
  }
  return "";
}

// Exit code 1 when a promise is not kept.
Result<void> simulate_experiments(Context& context, const ExperimentArguments& arguments) {
  const auto scenarios = simulation_scenarios();
  Progress progress("experiments", scenarios.size() * static_cast<std::uint64_t>(arguments.experiments));
  Table table(
      {"scenario", "counted, within", "experiments", "share", "promised", "median", "95 % by", "kept"},
      {Align::left, Align::left, Align::right, Align::right, Align::left, Align::right, Align::right, Align::left});
  Json rows = Json::array();
  for (const auto& scenario : scenarios) {
    const SimulationResult result = simulate(scenario, arguments.experiments, arguments.seed, [&] {
      progress.advance();
      return !interrupted();
    });
    if (interrupted()) {
      context.exit_code = exit_interrupted;
      break;
    }
    const std::string promise = promise_text(scenario);
    const bool kept = keeps_promise(scenario, result);
    if (!kept) context.exit_code = exit_not_good;
    const std::string counted = fmt::format(fmt::runtime(counted_text(scenario.count)), scenario.within);
    table.add({std::string(scenario.name), counted, std::to_string(result.experiments),
               fmt::format("{:.2f} %", 100 * result.share()), promise,
               result.counted == 0 ? "-" : fmt::format("{:.0f}", result.median_requests),
               result.counted == 0 ? "-" : fmt::format("{:.0f}", result.most_requests),
               promise == "-" ? "-"
               : kept         ? "yes"
                              : "NO"});
    rows.push_back({{"scenario", scenario.name},
                    {"counted", counted},
                    {"experiments", result.experiments},
                    {"share", result.share()},
                    {"promised", promise},
                    {"median_requests", result.median_requests},
                    {"kept", kept}});
  }
  progress.finish();
  if (context.json)
    print_json({{"seed", arguments.seed}, {"scenarios", std::move(rows)}});
  else
    std::cout << table.text();
  return {};
}

using ExperimentAction = std::function<Result<void>(Context&, const ExperimentArguments&)>;

}  // namespace

void add_experiment_command(CLI::App& app, Context& context) {
  auto* experiment =
      app.add_subcommand("experiment", "A/B rollout: sets of agents share the users; what is worse is taken back");
  experiment->require_subcommand(1);
  auto arguments = std::make_shared<ExperimentArguments>();
  const auto add = [&](const char* name, const char* what, const ExperimentAction& action) {
    auto* command = experiment->add_subcommand(name, what);
    add_json_flag(*command, context);
    command->callback([&context, arguments, action] {
      const auto result = action(context, *arguments);
      if (!result.ok()) fail(context, result.error());
    });
    return command;
  };
  auto* create = add("create", "Make an experiment of a YAML or JSON file", create_experiment);
  create->add_option("FILE", arguments->file, "the definition: see docs/experiments.md")->required();
  create->add_flag("--start", arguments->start, "and start it; otherwise it is a draft");
  auto* start = add("start", "Let users take part in a draft", start_experiment);
  auto* status = add("status", "Where an experiment stands: arms, comparisons, trail", show_experiment);
  auto* list = add("list", "All experiments, the newest last", list_experiments);
  auto* promote = add("promote", "Everybody gets this arm", promote_arm);
  auto* abort = add("abort", "Everybody gets the control", abort_experiment);
  for (auto* command : {start, status, promote, abort})
    command->add_option("NAME", arguments->name, "name of the experiment")->required();
  promote->add_option("ARM", arguments->arm, "name of the arm")->required();
  for (auto* command : {promote, abort}) command->add_option("--reason", arguments->reason, "kept in the trail");
  for (auto* command : {create, start, status, list, promote, abort})
    command->add_option("--store", arguments->store, "SQLite file; otherwise experiments.db where the runs are");
  auto* simulate = add("simulate", "How often the decisions are wrong, and how soon right, with made-up users",
                       simulate_experiments);
  simulate->add_option("--experiments", arguments->experiments, "for each scenario")->check(CLI::Range(1, 1'000'000));
  simulate->add_option("--seed", arguments->seed, "for the same figures again");
  experiment->footer(
      "Examples:\n"
      "  kernelwright experiment create night.yaml --start\n"
      "  kernelwright experiment status night\n"
      "  kernelwright experiment promote night candidate --reason \"not worse, and cheaper\"\n"
      "  kernelwright experiment simulate --experiments 200");
}

}  // namespace kw::cli
