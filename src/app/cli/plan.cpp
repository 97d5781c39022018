#include <iostream>

#include "app/cli/command.h"
#include "app/cli/kernel_argument.h"
#include "kernel/source/interpreter.h"
#include "kernel/source/plan_print.h"

namespace kw::cli {
namespace {

struct PlanArguments {
  std::string task;
  std::string kernel;
  std::string sizes;
};

void run_plan(Context& context, const PlanArguments& arguments) {
  const auto task = task_from_argument(arguments.task);
  if (!task.ok()) return fail(context, task.error());
  std::vector<Sizes> wanted = task->sizes_small;
  wanted.insert(wanted.end(), task->sizes_train.begin(), task->sizes_train.end());
  if (!arguments.sizes.empty()) {
    const auto sizes = parse_sizes(arguments.sizes);
    if (!sizes.ok()) return fail(context, sizes.error());
    const auto checked = task->check_sizes(*sizes);
    if (!checked.ok()) return fail(context, checked.error());
    wanted = {*sizes};
  }
  const auto text = read_kernel_argument(arguments.kernel);
  if (!text.ok()) return fail(context, text.error());
  const auto file = read_kernel_file(*text, arguments.kernel);
  if (!file.ok()) return fail(context, file.error(), exit_not_good);

  Json json = Json::array();
  for (const Sizes& sizes : wanted) {
    const auto plan = make_launch_plan(*file, *task, sizes);
    if (!plan.ok()) return fail(context, plan.error(), exit_not_good);
    if (context.json) {
      json.push_back({{"sizes", to_json(sizes)}, {"plan", kw::to_json(*plan)}});
    } else {
      std::cout << to_string(sizes) << "\n" << to_table(*plan) << "\n";
    }
  }
  if (context.json) print_json({{"task", task->name}, {"kernel_file", arguments.kernel}, {"plans", json}});
}

}  // namespace

void add_plan_command(CLI::App& app, Context& context) {
  auto* plan = app.add_subcommand("plan", "What the launcher would launch (the launcher is interpreted, not run)");
  auto arguments = std::make_shared<PlanArguments>();
  add_json_flag(*plan, context);
  plan->add_option("TASK", arguments->task, "a task of the suite by name, a task's folder, or a YAML file")->required();
  plan->add_option("KERNEL.cu", arguments->kernel, "the kernel file; - reads standard input")->required();
  plan->add_option("--size", arguments->sizes,
                   "sizes such as rows=7,cols=129 (default: the task's small and train sizes)");
  plan->footer("Example:\n  kernelwright plan softmax examples/softmax_shared.cu --size rows=7,cols=129");
  plan->callback([&context, arguments] { run_plan(context, *arguments); });
}

}  // namespace kw::cli
