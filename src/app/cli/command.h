#pragma once
// What the subcommands share. Each subcommand is one file with one add_..._command function that registers it.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::cli {

// What every command returns to the shell.
enum ExitCode : int {
  exit_good = 0,
  exit_not_good = 1,  // judged, and not good
  exit_usage = 2,     // bad usage or input
};

struct Context {
  bool json = false;
  int exit_code = exit_good;
};

using Json = nlohmann::ordered_json;

void add_doctor_command(CLI::App& app, Context& context);
void add_tasks_command(CLI::App& app, Context& context);
void add_compile_command(CLI::App& app, Context& context);
void add_plan_command(CLI::App& app, Context& context);
void add_plan_cluster_command(CLI::App& app, Context& context);
void add_program_command(CLI::App& app, Context& context);
void add_export_command(CLI::App& app, Context& context);
void add_judge_command(CLI::App& app, Context& context);
void add_calibrate_command(CLI::App& app, Context& context);
void add_model_command(CLI::App& app, Context& context);
void add_bench_command(CLI::App& app, Context& context);
void add_reward_command(CLI::App& app, Context& context);
void add_agent_commands(CLI::App& app, Context& context);  // prompt, answer
void add_package_command(CLI::App& app, Context& context);
void add_report_command(CLI::App& app, Context& context);
void add_data_command(CLI::App& app, Context& context);
void add_converse_commands(CLI::App& app, Context& context);  // generate, optimize
void add_evaluate_command(CLI::App& app, Context& context);
void add_runs_command(CLI::App& app, Context& context);
void add_experiment_command(CLI::App& app, Context& context);
void add_serve_command(CLI::App& app, Context& context);
void add_config_command(CLI::App& app, Context& context);
void add_train_command(CLI::App& app, Context& context);
void add_train_sft_command(CLI::App& train, Context& context);
void add_train_gather_command(CLI::App& train, Context& context);
void add_train_rl_command(CLI::App& train, Context& context);

// `--gpu N`, for a command that uses a GPU: see kernel/gpu/gpu_choice.h.
void add_gpu_option(CLI::App& command);

// `--json`, for a command that prints a result.
void add_json_flag(CLI::App& command, Context& context);

// Prints the error on standard error (as JSON on standard output with --json) and sets the exit code.
void fail(Context& context, const Error& error, ExitCode code = exit_usage);

void print_json(const Json& json);
// What `train sft` and `train rl` end with; {"interrupted": ...} decides the exit code.
void show_training_result(Context& context, const Json& result);
Json to_json(const Error& error);
Json to_json(const Sizes& sizes);

// TASK on the command line: a name of the suite, a folder, a YAML file, or a Python file in KernelBench's form, which
// is imported.
Result<Task> task_from_argument(const std::string& name_or_path);

}  // namespace kw::cli
