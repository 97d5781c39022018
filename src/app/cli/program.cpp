#include "agents/program/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>

#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "app/cli/command.h"
#include "kernel/reference/reference.h"

namespace kw::cli {
namespace {

using namespace program;

struct ProgramArguments {
  std::string task;
  bool write = false;
  bool check = false;
};

double element_of(const OutputTensor& tensor, std::size_t place) {
  const auto as = [&]<class Element>(Element element) {
    std::memcpy(&element, tensor.bytes.data() + place * sizeof(Element), sizeof(Element));
    return static_cast<double>(element);
  };
  switch (tensor.dtype) {
    case Dtype::float64:
      return as(double{});
    case Dtype::float32:
      return as(float{});
    case Dtype::int64:
      return as(std::int64_t{});
    case Dtype::int32:
      return as(std::int32_t{});
    case Dtype::int8:
      return as(std::int8_t{});
    default:
      return as(std::uint8_t{});
  }
}

// The largest difference of a result from the reference's, as a share of the tensor's largest value (at least 1).
Result<double> difference(const EvaluatedTensor& ours, const OutputTensor& truth) {
  const std::size_t count = ours.real.size() + ours.whole.size();
  if (truth.bytes.size() != count * bytes_of(truth.dtype))
    return Error{fmt::format("the graph's {} has another number of elements than the reference's", truth.name), "", {}};
  double largest = 1, worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = element_of(truth, i);
    if (std::isfinite(wanted)) largest = std::max(largest, std::fabs(wanted));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = element_of(truth, i);
    const double found = ours.real.empty() ? static_cast<double>(ours.whole[i]) : ours.real[i];
    if (found == wanted || (std::isnan(found) && std::isnan(wanted))) continue;
    if (!std::isfinite(found) || !std::isfinite(wanted)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, std::fabs(found - wanted) / largest);
  }
  return worst;
}

struct CheckedSize {
  Sizes sizes;
  double difference = 0;
};

// Both in double precision, at every small size.
Result<std::vector<CheckedSize>> check(const Task& task, const Graph& graph) {
  constexpr std::uint64_t seed = 7;
  KW_TRY(const auto reference, make_reference(task));
  std::vector<CheckedSize> made;
  for (const Sizes& sizes : task.sizes_small) {
    KW_TRY(const auto inputs, make_inputs(task, sizes, seed));
    KW_TRY(const auto truth, reference->run(inputs, sizes, Precision::truth));
    KW_TRY(const auto ours, evaluate_graph(graph, sizes, inputs));
    CheckedSize checked{sizes, 0};
    for (std::size_t i = 0; i < ours.size(); ++i) {
      KW_TRY(const double worst, difference(ours[i], truth.at(i)));
      checked.difference = std::max(checked.difference, worst);
    }
    made.push_back(std::move(checked));
  }
  return made;
}

void show_check(Context& context, const Task& task, const std::vector<CheckedSize>& checked) {
  constexpr double equal = 1e-6;
  bool good = true;
  Json sizes = Json::array();
  for (const CheckedSize& each : checked) {
    good = good && each.difference <= equal;
    sizes.push_back({{"sizes", to_json(each.sizes)}, {"difference", each.difference}});
    if (!context.json)
      std::cout << fmt::format("{}: largest difference {:.1e}\n", to_string(each.sizes), each.difference);
  }
  if (context.json) print_json({{"task", task.name}, {"equal", good}, {"sizes", sizes}});
  if (!context.json) std::cout << (good ? "the graph equals the reference\n" : "the graph is not the reference\n");
  if (!good) context.exit_code = exit_not_good;
}

void run_program(Context& context, const ProgramArguments& arguments) {
  const auto task = task_from_argument(arguments.task);
  if (!task.ok()) return fail(context, task.error());
  const auto graph = read_program(*task);
  if (!graph.ok()) return fail(context, graph.error(), exit_not_good);
  if (arguments.check) {
    const auto checked = check(*task, *graph);
    if (!checked.ok()) return fail(context, checked.error());
    return show_check(context, *task, *checked);
  }
  if (!arguments.write) {
    if (context.json)
      print_json({{"task", task->name}, {"graph", to_text(*graph)}});
    else
      std::cout << to_text(*graph);
    return;
  }
  const auto kernel = write_program(*task, *graph);
  if (!kernel.ok()) return fail(context, kernel.error(), exit_not_good);
  if (context.json)
    print_json({{"task", task->name}, {"kernel", *kernel}, {"writer", "library"}});
  else
    std::cout << *kernel;
}

}  // namespace

void add_program_command(CLI::App& app, Context& context) {
  auto* program = app.add_subcommand("program", "What a task computes, as a graph; a plain kernel for it");
  auto arguments = std::make_shared<ProgramArguments>();
  add_json_flag(*program, context);
  program
      ->add_option("TASK", arguments->task,
                   "a task of the suite by name, a task's folder, a YAML file, or a KernelBench file")
      ->required();
  auto* write = program->add_flag("--write", arguments->write, "print the library's kernel");
  program->add_flag("--check", arguments->check, "compare the graph with the reference at the task's small sizes")
      ->excludes(write);
  program->footer(
      "Example:\n  kernelwright program softmax --write > softmax.cu\n  kernelwright judge softmax softmax.cu");
  program->callback([&context, arguments] { run_program(context, *arguments); });
}

}  // namespace kw::cli
