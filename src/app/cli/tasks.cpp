#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iostream>
#include <map>

#include "app/cli/command.h"
#include "app/cli/task_answer.h"
#include "app/cli/task_check.h"
#include "base/interrupt.h"
#include "base/parallel_for.h"
#include "base/progress.h"
#include "base/table.h"
#include "kernel/task/task_file.h"

namespace kw::cli {
namespace {

std::string dtypes_text(const Task& task) {
  std::string text;
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      const std::string name(name_of(tensor.dtype));
      if (text.find(name) == std::string::npos) text += (text.empty() ? "" : " ") + name;
    }
  }
  return text;
}

const char* split_text(const Task& task) { return task.split == Split::train ? "train" : "holdout"; }

Json tensors_json(const std::vector<TensorSpec>& tensors) {
  Json json = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json shape = Json::array();
    for (const Expression& entry : tensor.shape) shape.push_back(entry.text());
    json[tensor.name] = {{"dtype", name_of(tensor.dtype)}, {"shape", shape}};
  }
  return json;
}

Json task_json(const Task& task, bool whole) {
  Json json{{"name", task.name},
            {"tier", task.tier},
            {"family", task.family},
            {"split", split_text(task)},
            {"summary", task.summary},
            {"launcher", task.launcher_declaration()},
            {"inputs", tensors_json(task.inputs)},
            {"outputs", tensors_json(task.outputs)}};
  for (const auto& [key, list] : {std::pair("small", &task.sizes_small), std::pair("train", &task.sizes_train),
                                  std::pair("holdout", &task.sizes_holdout)}) {
    for (const Sizes& sizes : *list) json["sizes"][key].push_back(to_json(sizes));
  }
  if (whole) {
    json["pytorch"] = task.pytorch;
    json["naive"] = task.naive;
    json["file"] = task.file;
  }
  return json;
}

Result<std::vector<SuiteEntry>> load_own_suite() {
  KW_TRY(const std::filesystem::path folder, suite_folder());
  return load_suite(folder);
}

void list_tasks(Context& context, int tier, const std::string& split) {
  const auto suite = load_own_suite();
  if (!suite.ok()) return fail(context, suite.error());
  Table table({"task", "tier", "split", "family", "types", "what"}, {Align::left, Align::right});
  Json json = Json::array();
  int broken = 0;
  std::size_t shown = 0;
  std::map<std::string, int> count;
  for (const SuiteEntry& entry : *suite) {
    if (!entry.task.ok()) {
      std::fprintf(stderr, "kernelwright: %s\n", to_string(entry.task.error()).c_str());
      ++broken;
      continue;
    }
    const Task& task = *entry.task;
    if ((tier >= 0 && task.tier != tier) || (!split.empty() && split != split_text(task))) continue;
    ++shown;
    ++count[split_text(task)];
    table.add({task.name, std::to_string(task.tier), split_text(task), task.family, dtypes_text(task), task.summary});
    json.push_back(task_json(task, false));
  }
  if (context.json) {
    print_json(json);
  } else {
    std::cout << table.text()
              << fmt::format("{} tasks: {} for training, {} held out\n", shown, count["train"], count["holdout"]);
  }
  if (broken > 0) context.exit_code = exit_not_good;
}

void show_task(Context& context, const std::string& name) {
  const auto task = task_from_argument(name);
  if (!task.ok()) return fail(context, task.error());
  if (context.json) return print_json(task_json(*task, true));
  std::cout << fmt::format("{} (tier {}, {}, {}): {}\n\n{}\n\nPyTorch:\n{}\n", task->name, task->tier, task->family,
                           split_text(*task), task->summary, task->launcher_declaration(), task->pytorch);
  for (const auto& [label, list] : {std::pair("small", &task->sizes_small), std::pair("train", &task->sizes_train),
                                    std::pair("held out", &task->sizes_holdout)}) {
    for (const Sizes& sizes : *list) std::cout << fmt::format("{:>9}: {}\n", label, to_string(sizes));
  }
  std::cout << "\nNaive kernel:\n" << (task->naive.empty() ? "(none)" : task->naive) << "\n";
}

void check_tasks(Context& context, const std::vector<std::string>& names) {
  std::vector<SuiteEntry> entries;
  if (names.empty()) {
    auto suite = load_own_suite();
    if (!suite.ok()) return fail(context, suite.error());
    entries = std::move(suite).value();
  }
  for (const std::string& name : names) entries.push_back({name, task_from_argument(name)});

  const TaskChecker checker;
  std::vector<TaskCheck> checks(entries.size());
  std::atomic<std::size_t> done{0};
  Progress progress("tasks", entries.size());
  // The compiler is a pool of processes; a thread for each core keeps it busy.
  parallel_for(entries.size(), core_count(), [&](std::size_t at) {
    if (interrupted()) return;
    const auto& task = entries[at].task;
    checks[at] = task.ok() ? checker.check(*task) : TaskCheck::unreadable(task.error());
    ++done;
    progress.advance(1, entries[at].name);
  });

  Table table({"task", "reference", "plan", "compile", "problem"});
  Json json = Json::array();
  std::size_t bad = 0;
  for (std::size_t i = 0; i < entries.size() && !interrupted(); ++i) {
    json.push_back(to_json(entries[i].name, checks[i]));
    if (checks[i].passed()) continue;
    ++bad;
    table.add({entries[i].name, word(checks[i].reference), word(checks[i].plan), word(checks[i].compile),
               to_string(checks[i].problem)});
  }
  progress.finish();
  if (interrupted()) {
    fail(context,
         Error{
             "interrupted after " + std::to_string(done) + " of " + std::to_string(entries.size()) + " tasks", "", {}});
    context.exit_code = exit_interrupted;
    return;
  }
  if (context.json) {
    print_json(json);
  } else {
    if (bad > 0) std::cout << table.text();
    std::cout << fmt::format("{} of {} tasks pass: reference runs, launch plans at every size, naive kernel compiles\n",
                             entries.size() - bad, entries.size());
  }
  context.exit_code = bad > 0 ? exit_not_good : exit_good;
}

struct AnswerArguments {
  std::vector<std::string> tasks;
  std::string folder;
  std::string sizes;
  std::string precision = "task";
  std::uint64_t seed = 1;
};

void answer_tasks(Context& context, const AnswerArguments& arguments) {
  Json json = Json::array();
  for (const std::string& name : arguments.tasks) {
    const auto task = task_from_argument(name);
    if (!task.ok()) return fail(context, task.error());
    std::vector<Sizes> sizes = task->sizes_small;
    if (!arguments.sizes.empty()) {
      const auto own = parse_sizes(arguments.sizes);
      if (!own.ok()) return fail(context, own.error());
      if (const auto checked = task->check_sizes(*own); !checked.ok()) return fail(context, checked.error());
      sizes = {*own};
    }
    const auto written = write_answers(*task, sizes, arguments.seed,
                                       arguments.precision == "truth" ? Precision::truth : Precision::task_dtype,
                                       std::filesystem::path(arguments.folder) / task->name);
    json.push_back({{"task", task->name}, {"passed", written.ok()}});
    if (!written.ok()) {
      json.back()["problem"] = to_json(written.error());
      context.exit_code = exit_not_good;
      if (!context.json) std::fprintf(stderr, "kernelwright: %s\n", to_string(written.error()).c_str());
    } else if (!context.json) {
      std::cout << (std::filesystem::path(arguments.folder) / task->name).string() << "\n";
    }
  }
  if (context.json) print_json(json);
}

void add_answer_command(CLI::App& tasks, Context& context) {
  auto* answer = tasks.add_subcommand("answer", "What the reference says: inputs and outputs as files for numpy");
  add_json_flag(*answer, context);
  auto arguments = std::make_shared<AnswerArguments>();
  answer->add_option("TASK", arguments->tasks, "tasks to answer")->required();
  answer->add_option("--out", arguments->folder, "folder for OUT/TASK/SIZE/NAME.npy")->required();
  answer->add_option("--size", arguments->sizes, "sizes such as rows=7,cols=129 (default: the task's small sizes)");
  answer->add_option("--seed", arguments->seed, "of the inputs");
  answer->add_option("--precision", arguments->precision, "the task's types, or float64 for floating point")
      ->check(CLI::IsMember({"task", "truth"}));
  answer->callback([&context, arguments] { answer_tasks(context, *arguments); });
}

}  // namespace

void add_tasks_command(CLI::App& app, Context& context) {
  auto* tasks = app.add_subcommand("tasks", "The task suite: list, show, check, answer");
  tasks->require_subcommand(1);
  tasks->footer(
      "Examples:\n  kernelwright tasks list --tier 2\n  kernelwright tasks show softmax\n  kernelwright tasks check "
      "softmax "
      "my_task.yaml");

  auto* list = tasks->add_subcommand("list", "All tasks, one a line");
  add_json_flag(*list, context);
  auto tier = std::make_shared<int>(-1);
  auto split = std::make_shared<std::string>();
  list->add_option("--tier", *tier, "only this tier")->check(CLI::Range(0, 3));
  list->add_option("--split", *split, "only tasks of this split")->check(CLI::IsMember({"train", "holdout"}));
  list->callback([&context, tier, split] { list_tasks(context, *tier, *split); });

  auto* show = tasks->add_subcommand("show", "One task: signature, reference, sizes, naive kernel");
  add_json_flag(*show, context);
  auto name = std::make_shared<std::string>();
  show->add_option("TASK", *name, "a task of the suite by name, a task's folder, or a YAML file")->required();
  show->callback([&context, name] { show_task(context, *name); });

  auto* check = tasks->add_subcommand("check", "Runs the references; plans and compiles the naive kernels");
  add_json_flag(*check, context);
  auto names = std::make_shared<std::vector<std::string>>();
  check->add_option("TASK", *names, "tasks to check (default: all)");
  check->callback([&context, names] { check_tasks(context, *names); });
  add_answer_command(*tasks, context);
}

}  // namespace kw::cli
