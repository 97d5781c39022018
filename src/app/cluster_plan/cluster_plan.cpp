#include "app/cluster_plan/cluster_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace kw {
namespace {

constexpr double bf16_bytes = 2, float_bytes = 4;
constexpr double masters_and_moments = 3;  // floats a trained parameter: master, two moments of AdamW

struct NamedLink {
  std::string_view name;
  Link link;
};
// Data sheets, each way, for each GPU. NVLink 4: 18 links of 25 GB/s. One network card of 400 Gbit/s a GPU is what DGX
// and HGX machines have; eth100 and eth25 are one card for a node of eight.
constexpr NamedLink inside_links[] = {{"nvlink", {450e9, 3e-6}}, {"pcie5", {63e9, 6e-6}}, {"pcie4", {31.5e9, 6e-6}}};
constexpr NamedLink between_links[] = {
    {"ib400", {50e9, 6e-6}}, {"ib200", {25e9, 6e-6}}, {"eth100", {12.5e9 / 8, 25e-6}}, {"eth25", {3.125e9 / 8, 30e-6}}};

template <class Links>
const NamedLink* find(const Links& links, std::string_view name) {
  const auto found = std::ranges::find(links, name, &NamedLink::name);
  return found == std::end(links) ? nullptr : &*found;
}

// Forward and backward of a token: 2 flops a parameter forward, 4 backward (2 with a frozen base), and causal attention
// (Kaplan et al., arXiv 2001.08361, section 2.1; PaLM, arXiv 2204.02311, appendix B).
double flops_per_token(const PlannedModel& model, double context) {
  const double weights = (model.adapters ? 4 : 6) * static_cast<double>(model.parameters);
  return weights + 6 * static_cast<double>(model.layers) * static_cast<double>(model.hidden) * context;
}

// Reduce-scatter, or all-gather, of so many bytes. Each GPU sends all but its own share (Patarasuk and Yuan 2009;
// "bus bandwidth" of NCCL's tests); the slowest link that is crossed decides. Messages: around the GPUs of a node, and
// as many rounds between nodes as a tree has levels.
double collective_s(const PlannedCluster& cluster, double bytes, int gpus) {
  if (gpus <= 1) return 0;
  const int here = std::min(gpus, cluster.gpus_per_node);
  const int nodes = (gpus + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  const double share = static_cast<double>(gpus - 1) / gpus;
  const double slowest =
      nodes > 1 ? std::min(cluster.inside.bytes_per_s, cluster.between.bytes_per_s) : cluster.inside.bytes_per_s;
  const double buckets = std::ceil(bytes / cluster.bucket_bytes);
  const double rounds_s =
      (here - 1) * cluster.inside.latency_s + std::ceil(std::log2(nodes)) * cluster.between.latency_s;
  return share * bytes / slowest + buckets * rounds_s;
}

}  // namespace

// bench/results/model_gpu.md: qwen2.5-coder-0.5b, 8 sequences of 2048: full 118.2 ms a step, 17.496 ms / 4 of them
// AdamW; LoRA 109.5 ms. Decoding: fitted to batches of 1, 64 and 256 of three models there, which it meets within a
// fifth. bench/results/reinforce.md: about 32 kernels a second while the same GPU generates.
const MeasuredGpu& measured_h200() {
  static constexpr double tokens = 8 * 2048, parameters = 494.03e6, attention = 6.0 * 24 * 896 * 2048;
  static constexpr double optimizer_s = 17.496e-3 / 4;
  static constexpr MeasuredGpu h200{"NVIDIA H200",
                                    tokens * (6 * parameters + attention) / (118.2e-3 - optimizer_s),
                                    tokens * (4 * parameters + attention) / 109.5e-3,
                                    optimizer_s / parameters,
                                    4.8e12,
                                    0.75,
                                    0.49,
                                    24e-6,
                                    32,
                                    141e9};
  return h200;
}

Result<void> set_links(std::string_view name, PlannedCluster& cluster) {
  const std::size_t plus = name.find('+');
  const NamedLink* inside = find(inside_links, name.substr(0, plus));
  const NamedLink* between =
      plus == std::string_view::npos ? &between_links[0] : find(between_links, name.substr(plus + 1));
  if (inside == nullptr || between == nullptr)
    return Error{fmt::format("the links '{}' are not known", name.substr(0, 80)),
                 "inside a node nvlink, pcie5 or pcie4, then + and between nodes ib400, ib200, eth100 or eth25: "
                 "nvlink+ib400",
                 {}};
  cluster.inside = inside->link;
  cluster.between = between->link;
  return {};
}

double decode_s(const MeasuredGpu& gpu, const PlannedModel& model, double rows, double context) {
  const double weights_s =
      bf16_bytes * static_cast<double>(model.parameters) / (gpu.memory_bytes_per_s * gpu.weights_share);
  const double cache_bytes = 2 * bf16_bytes * static_cast<double>(model.layers * model.kv_width) * context;
  return static_cast<double>(model.layers) * gpu.layer_s + weights_s +
         rows * cache_bytes / (gpu.memory_bytes_per_s * gpu.cache_share);
}

StepCost step_cost(const MeasuredGpu& gpu, const PlannedModel& model, const PlannedStep& step,
                   const PlannedCluster& cluster, int gpus) {
  StepCost cost;
  cost.gpus = gpus;
  // Whole conversations: the GPU that has most of them decides.
  const double rows = std::ceil(static_cast<double>(step.conversations) / gpus);
  const double context = static_cast<double>(step.prompt_tokens + step.answer_tokens);
  const double generate_s =
      step.turns * static_cast<double>(step.answer_tokens) *
      decode_s(gpu, model, rows,
               static_cast<double>(step.prompt_tokens) + 0.5 * static_cast<double>(step.answer_tokens));
  const double prefill_s = step.turns * rows * static_cast<double>(step.prompt_tokens) * 2 *
                           static_cast<double>(model.parameters) / gpu.train_flops_per_s;
  const double kernels = static_cast<double>(step.conversations) * step.turns;
  const double judge_s =
      cluster.judges_elsewhere > 0 ? kernels / cluster.judges_elsewhere : rows * step.turns / gpu.kernels_per_s;
  cost.judge_bound = judge_s > generate_s + prefill_s;
  cost.rollout_s = std::max(judge_s, generate_s + prefill_s);

  const double rate = model.adapters ? gpu.adapter_flops_per_s : gpu.train_flops_per_s;
  const double tokens = rows * step.turns * context * step.epochs;
  cost.compute_s = tokens * flops_per_token(model, context) / rate;
  cost.optimizer_s = static_cast<double>(model.trained) / gpus * gpu.optimizer_s_per_parameter * step.epochs;

  const double trained = static_cast<double>(model.trained);
  const double gradient_bytes = float_bytes * trained,
               parameter_bytes = (model.adapters ? float_bytes : bf16_bytes) * trained;
  cost.reduce_s = collective_s(cluster, gradient_bytes, gpus) * step.epochs;
  cost.gather_s = collective_s(cluster, parameter_bytes, gpus) * step.epochs;
  // Gradients travel while earlier layers are differentiated, the last bucket cannot; parameters are needed at once.
  const double backward_s = cost.compute_s * (model.adapters ? 1.0 / 2 : 2.0 / 3);
  const double last_s = collective_s(cluster, std::min(gradient_bytes, cluster.bucket_bytes), gpus) * step.epochs;
  cost.exposed_s = std::max(cost.reduce_s - cluster.overlap * backward_s, last_s) + cost.gather_s;
  cost.bytes_each_way = (gpus - 1.0) / gpus * (gradient_bytes + parameter_bytes) * step.epochs;
  cost.state_bytes = bf16_bytes * static_cast<double>(model.parameters) + float_bytes * trained +
                     masters_and_moments * float_bytes * trained / gpus;
  cost.total_s = cost.rollout_s + cost.compute_s + cost.optimizer_s + cost.exposed_s;
  return cost;
}

std::vector<StepCost> plan_cluster(const MeasuredGpu& gpu, const PlannedModel& model, const PlannedStep& step,
                                   const PlannedCluster& cluster, int gpus) {
  std::vector<StepCost> costs;
  for (int count = 1; count < gpus; count *= 2) costs.push_back(step_cost(gpu, model, step, cluster, count));
  costs.push_back(step_cost(gpu, model, step, cluster, gpus));
  for (StepCost& cost : costs) cost.efficiency = costs.front().total_s / (cost.total_s * cost.gpus);
  return costs;
}

}  // namespace kw
