// kernelwright plan-cluster: what a training step would cost on more GPUs than there are here.

#include <fmt/format.h>

#include <iostream>

#include "app/cli/command.h"
#include "app/cluster_plan/cluster_plan.h"
#include "base/table.h"
#include "model/decoder/presets.h"

namespace kw::cli {
namespace {

constexpr std::int64_t own_vocabulary = 2048;

struct ClusterArguments {
  std::string model = "qwen2.5-coder-1.5b";
  int adapter_rank = 0;
  PlannedStep step;
  PlannedCluster cluster;
  int gpus = 64;
  std::string links = "nvlink+ib400";
};

Result<PlannedModel> planned_model(const ClusterArguments& arguments) {
  KW_TRY(const ModelDescription shape, preset_description(arguments.model, own_vocabulary));
  PlannedModel model;
  model.parameters = model.trained = ParameterLayout(shape).size;
  model.layers = shape.layers;
  model.hidden = shape.hidden;
  model.kv_width = shape.kv_heads * shape.head_dim;
  if (arguments.adapter_rank == 0) return model;
  model.adapters = true;
  model.trained = 0;
  for (int i = 0; i < projection_count; ++i) {
    const ProjectionShape projection = projection_shape(shape, static_cast<Projection>(i));
    model.trained += shape.layers * arguments.adapter_rank * (projection.in + projection.out);
  }
  return model;
}

Json json_of(const StepCost& cost) {
  return {{"gpus", cost.gpus},
          {"total_s", cost.total_s},
          {"rollout_s", cost.rollout_s},
          {"judge_bound", cost.judge_bound},
          {"compute_s", cost.compute_s},
          {"optimizer_s", cost.optimizer_s},
          {"reduce_s", cost.reduce_s},
          {"gather_s", cost.gather_s},
          {"exposed_s", cost.exposed_s},
          {"bytes_each_way", cost.bytes_each_way},
          {"state_bytes", cost.state_bytes},
          {"efficiency", cost.efficiency}};
}

void print_plan(const ClusterArguments& arguments, const PlannedModel& model, const std::vector<StepCost>& costs) {
  const PlannedStep& step = arguments.step;
  std::cout << fmt::format(
      "{}, {:.0f} M parameters, {:.1f} M trained; {} conversations of {} turns, {} + {} tokens each\n", arguments.model,
      static_cast<double>(model.parameters) / 1e6, static_cast<double>(model.trained) / 1e6, step.conversations,
      step.turns, step.prompt_tokens, step.answer_tokens);
  std::cout << fmt::format(
      "{} GPUs a node; {:.0f} GB/s each way inside, {:.1f} GB/s a GPU between nodes; parts measured on one {}\n",
      arguments.cluster.gpus_per_node, arguments.cluster.inside.bytes_per_s / 1e9,
      arguments.cluster.between.bytes_per_s / 1e9, measured_h200().name);
  Table table({"GPUs", "step s", "rollout s", "bound by", "update s", "travel s", "not hidden s", "GB each way",
               "state GB", "efficiency"},
              {Align::right, Align::right, Align::right, Align::left, Align::right, Align::right, Align::right,
               Align::right, Align::right, Align::right});
  bool fits = true;
  for (const StepCost& cost : costs) {
    fits = fits && cost.state_bytes < measured_h200().memory_bytes;
    table.add({std::to_string(cost.gpus), fmt::format("{:.2f}", cost.total_s), fmt::format("{:.2f}", cost.rollout_s),
               cost.judge_bound ? "judge" : "generation", fmt::format("{:.3f}", cost.compute_s + cost.optimizer_s),
               fmt::format("{:.3f}", cost.reduce_s + cost.gather_s), fmt::format("{:.3f}", cost.exposed_s),
               fmt::format("{:.2f}", cost.bytes_each_way / 1e9), fmt::format("{:.1f}", cost.state_bytes / 1e9),
               fmt::format("{:.0f} %", 100 * cost.efficiency)});
  }
  std::cout << table.text();
  if (!fits) std::cout << "where the state is above 141 GB, it does not fit into an H200's memory\n";
  std::cout << "a model on paper, not a measurement: docs/cluster-model.md has its formulas and what it leaves out\n";
}

void run_plan_cluster(Context& context, const ClusterArguments& arguments) {
  ClusterArguments asked = arguments;
  if (const auto links = set_links(asked.links, asked.cluster); !links.ok()) return fail(context, links.error());
  const auto model = planned_model(asked);
  if (!model.ok()) return fail(context, model.error());
  const auto costs = plan_cluster(measured_h200(), *model, asked.step, asked.cluster, asked.gpus);
  if (!context.json) return print_plan(asked, *model, costs);
  Json json{
      {"model", asked.model}, {"parameters", model->parameters}, {"trained", model->trained}, {"links", asked.links}};
  for (const StepCost& cost : costs) json["steps"].push_back(json_of(cost));
  print_json(json);
}

}  // namespace

void add_plan_cluster_command(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ClusterArguments>();
  auto* command = app.add_subcommand("plan-cluster", "What a training step would cost on 1 to 512 GPUs, on paper");
  add_json_flag(*command, context);
  command->add_option("--model", arguments->model, "a shape: smollm2-135m, qwen2.5-coder-0.5b to -7b, tiny-6m ...")
      ->capture_default_str();
  command->add_option("--rank", arguments->adapter_rank, "train adapters of this rank; 0: all weights")
      ->capture_default_str()
      ->check(CLI::Range(0, 256));
  command->add_option("--batch", arguments->step.conversations, "conversations of a step, on all GPUs together")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--turns", arguments->step.turns, "turns of a conversation")
      ->capture_default_str()
      ->check(CLI::Range(1, 20));
  command->add_option("--prompt-tokens", arguments->step.prompt_tokens, "of a turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 131072));
  command->add_option("--answer-tokens", arguments->step.answer_tokens, "of a turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 131072));
  command->add_option("--epochs", arguments->step.epochs, "updates with the same conversations")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--gpus", arguments->gpus, "the largest number in the table")
      ->capture_default_str()
      ->check(CLI::Range(1, 512));
  command->add_option("--gpus-per-node", arguments->cluster.gpus_per_node, "that the faster link connects")
      ->capture_default_str()
      ->check(CLI::Range(1, 512));
  command
      ->add_option("--link", arguments->links,
                   "inside a node nvlink, pcie5 or pcie4, + between nodes ib400, ib200, eth100 or eth25")
      ->capture_default_str();
  command->add_option("--overlap", arguments->cluster.overlap, "share of backward in which gradients may travel")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--judged-elsewhere", arguments->cluster.judges_elsewhere,
                   "kernels a second that services judge (docs/judges.md); 0: the GPUs judge")
      ->check(CLI::Range(0.0, 1e9));
  command->footer(
      "Examples:\n"
      "  kernelwright plan-cluster --model qwen2.5-coder-1.5b --batch 1024 --gpus 64\n"
      "  kernelwright plan-cluster --model qwen2.5-coder-7b --rank 16 --gpus 512 --link nvlink+eth100 --json");
  command->callback([&context, arguments] { run_plan_cluster(context, *arguments); });
}

}  // namespace kw::cli
