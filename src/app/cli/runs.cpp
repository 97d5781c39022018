// kernelwright runs: what was run, with what outcome, and how runs differ.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iostream>
#include <set>

#include "app/cli/command.h"
#include "base/progress.h"
#include "base/run_log/run_headline.h"
#include "base/run_log/run_log.h"
#include "base/run_log/run_store.h"
#include "base/table.h"
#include "base/text_curve.h"

namespace kw::cli {
namespace {

struct RunsArguments {
  std::string folder;
  std::string kind;
  std::vector<std::string> runs;
  std::vector<std::string> metrics;
  bool steps = false;
};

struct MetricFacts {
  MetricSeries series;
  double first = std::nan(""), last = std::nan(""), low = std::nan(""), high = std::nan("");
};

struct ShownRun {
  RunRecord record;
  std::map<std::string, MetricFacts> metrics;
};

// A store may be anybody's: nothing in it steers the terminal.
std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string status_of(const RunRecord& run) { return printable(status_now(run)); }

std::string time_text(double since_1970_s) {
  if (!std::isfinite(since_1970_s) || since_1970_s < 0 || since_1970_s > 4e9) return "?";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(since_1970_s)));
}

MetricFacts facts_of(MetricSeries series) {
  MetricFacts facts;
  for (const auto& [step, value] : series) {
    if (std::isnan(value)) continue;
    if (std::isnan(facts.first)) facts.first = facts.low = facts.high = value;
    facts.low = std::min(facts.low, value);
    facts.high = std::max(facts.high, value);
    facts.last = value;
  }
  facts.series = std::move(series);
  return facts;
}

Result<ShownRun> load_run(RunStore& store, const std::string& name) {
  KW_TRY(RunRecord record, store.named(name));
  ShownRun run{std::move(record), {}};
  KW_TRY(const auto names, store.metric_names(run.record.id));
  for (const auto& metric : names) {
    KW_TRY(MetricSeries series, store.series(run.record.id, metric));
    run.metrics.emplace(metric, facts_of(std::move(series)));
  }
  return run;
}

Result<RunStore> open_store(const RunsArguments& arguments) {
  const std::filesystem::path folder =
      arguments.folder.empty() ? runs_folder() : std::filesystem::path(arguments.folder);
  if (!std::filesystem::exists(folder / "runs.db"))
    return Error{"there are no runs in " + folder.string(), "--folder or KERNELWRIGHT_RUNS name another place", {}};
  return RunStore::open(folder, {.read_only = true});
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(short_number(value)); }

Json record_json(const RunRecord& run) {
  return {{"name", run.name},
          {"kind", run.kind},
          {"status", status_of(run)},
          {"folder", run.folder.string()},
          {"started_s", number_json(run.started_s)},
          {"updated_s", number_json(run.updated_s)},
          {"busy_s", number_json(run.busy_s)},
          {"last_step", run.last_step}};
}

Json metric_json(const MetricFacts& facts, bool steps) {
  Json json = {{"first", number_json(facts.first)},
               {"last", number_json(facts.last)},
               {"lowest", number_json(facts.low)},
               {"highest", number_json(facts.high)}};
  if (!steps) return json;
  Json series = Json::array();
  for (const auto& [step, value] : facts.series) series.push_back({step, number_json(value)});
  json["steps"] = std::move(series);
  return json;
}

Result<void> list_runs(const Context& context, const RunsArguments& arguments) {
  KW_TRY(RunStore store, open_store(arguments));
  KW_TRY(const auto all, store.list());
  Table table(
      {"run", "kind", "status", "step", "started (UTC)", "ran for", "metric", "latest", "curve"},
      {Align::left, Align::left, Align::left, Align::right, Align::left, Align::right, Align::left, Align::right});
  Json rows = Json::array();
  for (const RunRecord& run : all) {
    if (!arguments.kind.empty() && run.kind != arguments.kind) continue;
    KW_TRY(const auto names, store.metric_names(run.id));
    const auto headline = arguments.metrics.empty() ? headline_metric(names) : std::optional(arguments.metrics.front());
    MetricFacts facts;
    if (headline) {
      KW_TRY(MetricSeries series, store.series(run.id, *headline));
      facts = facts_of(std::move(series));
    }
    Json row = record_json(run);
    if (headline) row["metric"] = {{"name", *headline}, {"last", number_json(facts.last)}};
    rows.push_back(std::move(row));
    table.add({printable(run.name), printable(run.kind), status_of(run),
               run.last_step < 0 ? "-" : std::to_string(run.last_step), time_text(run.started_s),
               duration_text(run.busy_s), printable(headline.value_or("-")),
               facts.series.empty() ? "-" : short_number(facts.last), sparkline(facts.series, 16)});
  }
  if (context.json)
    print_json({{"runs", std::move(rows)}});
  else
    std::cout << table.text();
  return {};
}

// "rl.kl" -> 0.02 for each leaf.
void flatten(const Json& json, const std::string& prefix, std::map<std::string, std::string>& into) {
  if (json.is_object() && !json.empty()) {
    for (const auto& [key, value] : json.items()) flatten(value, prefix.empty() ? key : prefix + "." + key, into);
    return;
  }
  into[prefix] = json.is_string() ? json.get<std::string>() : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<std::string>> metrics_to_plot(const RunsArguments& arguments,
                                                 const std::vector<std::string>& names) {
  for (const auto& metric : arguments.metrics)
    if (std::ranges::find(names, metric) == names.end())
      return Error{fmt::format("there is no metric '{}'", metric), "the table of runs show names them", {}};
  if (!arguments.metrics.empty()) return arguments.metrics;
  const auto headline = headline_metric(names);
  return headline ? std::vector{*headline} : std::vector<std::string>{};
}

Result<void> show_run(const Context& context, const RunsArguments& arguments) {
  KW_TRY(RunStore store, open_store(arguments));
  KW_TRY(const ShownRun run, load_run(store, arguments.runs.front()));
  std::vector<std::string> names;
  for (const auto& [name, facts] : run.metrics) names.push_back(name);
  KW_TRY(const auto plotted, metrics_to_plot(arguments, names));
  if (context.json) {
    Json json = record_json(run.record);
    json["configuration"] = run.record.configuration;
    json["machine"] = run.record.machine;
    json["summary"] = run.record.summary;
    for (const auto& [name, facts] : run.metrics) json["metrics"][name] = metric_json(facts, arguments.steps);
    print_json(json);
    return {};
  }
  Table about({"", ""});
  about.add({"run", printable(run.record.name + " (" + run.record.kind + "), ") + status_of(run.record)});
  about.add({"started", time_text(run.record.started_s) + " UTC, ran for " + duration_text(run.record.busy_s)});
  about.add({"folder", printable(run.record.folder.string())});
  for (const auto& [title, json] :
       {std::pair("machine.", run.record.machine), std::pair("summary.", run.record.summary)}) {
    std::map<std::string, std::string> leaves;
    flatten(json, "", leaves);
    for (const auto& [key, value] : leaves)
      if (!key.empty()) about.add({printable(title + key), printable(value.substr(0, 100))});
  }
  std::cout << about.text() << "\n";
  Table table({"metric", "first", "last", "lowest", "highest", "curve"},
              {Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const auto& [name, facts] : run.metrics)
    table.add({printable(name), short_number(facts.first), short_number(facts.last), short_number(facts.low),
               short_number(facts.high), sparkline(facts.series)});
  std::cout << table.text();
  for (const auto& name : plotted) std::cout << "\n" << text_curve(printable(name), run.metrics.at(name).series);
  return {};
}

Json differing_configuration(const std::vector<ShownRun>& runs) {
  std::vector<std::map<std::string, std::string>> flat(runs.size());
  std::set<std::string> keys;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    flatten(runs[i].record.configuration, "", flat[i]);
    for (const auto& [key, value] : flat[i]) keys.insert(key);
  }
  Json differing = Json::object();
  for (const auto& key : keys) {
    Json values = Json::array();
    for (const auto& one : flat) values.push_back(one.contains(key) ? Json(one.at(key)) : Json());
    const bool differs = std::ranges::any_of(values, [&](const Json& value) { return value != values.front(); });
    if (differs) differing[key] = std::move(values);
  }
  return differing;
}

Result<void> compare_runs(const Context& context, const RunsArguments& arguments) {
  KW_TRY(RunStore store, open_store(arguments));
  std::vector<ShownRun> runs;
  std::set<std::string> all_names;
  for (const auto& name : arguments.runs) {
    KW_TRY(ShownRun run, load_run(store, name));
    for (const auto& [metric, facts] : run.metrics) all_names.insert(metric);
    runs.push_back(std::move(run));
  }
  const std::vector<std::string> names(all_names.begin(), all_names.end());
  KW_TRY(const auto plotted, metrics_to_plot(arguments, names));
  const Json differing = differing_configuration(runs);
  if (context.json) {
    Json json = {{"runs", Json::array()}, {"configuration", differing}, {"metrics", Json::object()}};
    for (const auto& run : runs) {
      json["runs"].push_back(record_json(run.record));
      for (const auto& [name, facts] : run.metrics)
        json["metrics"][name][run.record.name] = metric_json(facts, arguments.steps);
    }
    print_json(json);
    return {};
  }
  std::vector<std::string> headings = {"configuration"};
  std::vector<Align> alignment = {Align::left};
  for (const auto& run : runs) {
    headings.push_back(printable(run.record.name));
    alignment.push_back(Align::right);
  }
  Table configuration(headings, alignment);
  for (const auto& [key, values] : differing.items()) {
    std::vector<std::string> row = {printable(key)};
    for (const Json& value : values)
      row.push_back(value.is_string() ? printable(value.get<std::string>().substr(0, 40)) : "-");
    configuration.add(std::move(row));
  }
  if (!differing.empty()) std::cout << configuration.text() << "\n";
  headings[0] = "metric, latest";
  Table metrics(headings, alignment);
  for (const auto& name : names) {
    std::vector<std::string> row = {printable(name)};
    for (const auto& run : runs)
      row.push_back(run.metrics.contains(name) ? short_number(run.metrics.at(name).last) : "-");
    metrics.add(std::move(row));
  }
  std::cout << metrics.text();
  for (const auto& name : plotted)
    for (const auto& run : runs)
      if (run.metrics.contains(name))
        std::cout << "\n"
                  << text_curve(printable(run.record.name + ": " + name), run.metrics.at(name).series,
                                {.width = 64, .height = 5});
  return {};
}

using Action = Result<void> (*)(const Context&, const RunsArguments&);

void run_action(Context& context, const RunsArguments& arguments, Action action) {
  const auto result = action(context, arguments);
  if (!result.ok()) fail(context, result.error());
}

}  // namespace

void add_runs_command(CLI::App& app, Context& context) {
  auto* runs = app.add_subcommand("runs", "Runs: list, show, compare");
  runs->require_subcommand(1);
  auto arguments = std::make_shared<RunsArguments>();
  const auto add = [&](const char* name, const char* what, Action action) {
    auto* command = runs->add_subcommand(name, what);
    add_json_flag(*command, context);
    command->add_option("--folder", arguments->folder, "folder of the runs (default: KERNELWRIGHT_RUNS or runs/)");
    command->callback([&context, arguments, action] { run_action(context, *arguments, action); });
    return command;
  };
  auto* list = add("list", "All runs, the newest last", list_runs);
  list->add_option("--kind", arguments->kind, "only of this kind: sft, rl, pipeline, evaluate");
  list->add_option("--metric", arguments->metrics, "which metric to show")->expected(1);
  auto* show = add("show", "One run: outcome, metrics, curves", show_run);
  show->add_option("RUN", arguments->runs, "a run's name, or its beginning")->required()->expected(1);
  auto* compare = add("compare", "Several runs: what differs in configuration and outcome", compare_runs);
  compare->add_option("RUN", arguments->runs, "names of two runs, or their beginnings")->required()->expected(2, 8);
  for (auto* command : {show, compare}) {
    command->add_option("--metric", arguments->metrics, "curve of this metric; may be repeated")
        ->expected(1)
        ->take_all();
    command->add_flag("--steps", arguments->steps, "with --json: every step of every metric");
  }
  runs->footer(
      "Examples:\n"
      "  kernelwright runs list\n"
      "  kernelwright runs show night --metric sft/loss --metric perf/tokens_per_s\n"
      "  kernelwright runs compare night-1 night-2 --json");
}

}  // namespace kw::cli
