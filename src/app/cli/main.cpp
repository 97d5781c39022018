// kernelwright: one program, one subcommand a file.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "app/cli/command.h"
#include "app/cli/python_command.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "kernel/judge/worker.h"
#include "kernel/sandbox/container_process.h"

namespace {

// `--sandbox` and `--sandbox-image`, for a command that judges and the subcommands that it has.
void add_sandbox_options(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--sandbox",
          [](const std::string& kind) {
            if (const auto chosen = kw::choose_sandbox(kind); !chosen.ok())
              throw CLI::ValidationError("--sandbox", chosen.error().message);
          },
          "what is around compilers and references: namespaces, or docker (a container each, without network)")
      ->check(CLI::IsMember({"namespaces", "docker"}));
  command.add_option_function<std::string>(
      "--sandbox-image", [](const std::string& image) { ::setenv(kw::sandbox_image_variable, image.c_str(), 1); },
      std::string("with --sandbox docker: the image that holds this program; default ") + kw::default_sandbox_image);
  for (CLI::App* below : command.get_subcommands({})) add_sandbox_options(*below);
}

int run(int argc, char** argv) {
  using namespace kw::cli;
  CLI::App app{"Kernelwright: judge and train agents that write CUDA kernels."};
  app.name("kernelwright");
  app.set_version_flag("--version", "kernelwright " KW_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);

  std::string log_level = "warn", log_format = "human";
  app.add_option("--log", log_level, "log level on standard error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
  app.add_option("--log-format", log_format, "human lines or one JSON object a line")
      ->check(CLI::IsMember({"human", "json"}));
  app.parse_complete_callback([&] {
    kw::configure_logging(log_format == "json" ? kw::LogFormat::json : kw::LogFormat::human,
                          kw::log_level_from(log_level));
  });

  Context context;
  add_doctor_command(app, context);
  add_tasks_command(app, context);
  add_plan_command(app, context);
  add_plan_cluster_command(app, context);
  add_program_command(app, context);
  add_export_command(app, context);
  add_judge_command(app, context);
  add_compile_command(app, context);
  add_calibrate_command(app, context);
  add_model_command(app, context);
  add_bench_command(app, context);
  add_reward_command(app, context);
  add_agent_commands(app, context);
  add_report_command(app, context);
  add_package_command(app, context);
  add_data_command(app, context);
  add_converse_commands(app, context);
  add_evaluate_command(app, context);
  add_runs_command(app, context);
  add_experiment_command(app, context);
  add_serve_command(app, context);
  add_config_command(app, context);
  add_train_command(app, context);
  add_task_command(app, context);
  add_kernelbench_command(app, context);

  for (const char* name : {"doctor", "generate", "optimize", "evaluate", "train", "bench", "serve"})
    add_gpu_option(*app.get_subcommand(name));
  for (const char* name : {"judge", "generate", "optimize", "evaluate", "train", "serve"})
    add_sandbox_options(*app.get_subcommand(name));
  for (const char* name : {"chat", "generate"}) add_gpu_option(*app.get_subcommand("model")->get_subcommand(name));

  // Last: subcommands take over the footer that stands when they are added.
  app.footer(
      "Examples:\n"
      "  kernelwright doctor                                     what works on this machine\n"
      "  kernelwright tasks list                                 the task suite\n"
      "  kernelwright program softmax --write                    what a task computes; a plain kernel for it\n"
      "  kernelwright plan softmax my.cu --size rows=7,cols=129  what the launcher would launch\n"
      "  kernelwright compile softmax my.cu                      compile, with diagnostics and resources\n"
      "  kernelwright judge softmax my.cu                        is it correct, how fast is it, what limits it\n"
      "  kernelwright reward verdict.json                        the reward of a verdict, term by term\n"
      "  kernelwright prompt softmax                             what an agent is told\n"
      "  kernelwright generate softmax                           an agent writes a kernel\n"
      "  kernelwright optimize softmax --kernel my.cu            agents repair and improve it, turn by turn\n"
      "  kernelwright data show --family softmax --count 3       tasks and kernels to learn from\n"
      "  kernelwright config --preset laptop                     every key of a training run, with its meaning\n"
      "  kernelwright train --preset quickstart                  data, training, evaluation and report in one command\n"
      "  kernelwright runs list                                  what was trained, and how it went\n"
      "  kernelwright serve                                      agents and judge over HTTP, with a web page\n"
      "  kernelwright experiment status night                    A/B rollout of agents: which set is better\n"
      "  kernelwright report runs/night                          a run as one HTML page\n"
      "  kernelwright package night -o agents.kwz                all agents of a run in one file\n"
      "  kernelwright calibrate --measured times.jsonl           fit a device profile to measured times\n"
      "  kernelwright model info smollm2-135m                    what a model is; also fetch, convert, quantize, chat\n"
      "  kernelwright evaluate tiny                              how good a model is on tasks that it never saw\n"
      "  kernelwright task import my_model.py                    a PyTorch module in a file becomes a task\n"
      "  kernelwright kernelbench import KernelBench/            a whole folder of such files\n"
      "  kernelwright bench train tiny-1m                        speed of training and generation on this machine\n"
      "Exit codes: 0 good, 1 judged and not good, 2 bad usage or input.");

  kw::install_interrupt_handling();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? exit_good : exit_usage;
  }
  return context.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  // The worker processes are this program again.
  if (const auto code = kw::run_if_worker(argc, argv)) return *code;
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "kernelwright: internal error: %s\n", problem.what());
    return 70;  // EX_SOFTWARE: a bug of ours, not a verdict
  }
}
