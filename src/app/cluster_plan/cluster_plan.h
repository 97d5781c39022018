#pragma once
// What a step of reinforcement learning would cost on a cluster that we do not have: parts that were measured on one
// GPU, divided by the number of GPUs, plus what the links add. Formulas, sources and what is left out are in
// docs/cluster-model.md. No machine is touched.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

// What of a model the cost depends on.
struct PlannedModel {
  std::int64_t parameters = 0;
  std::int64_t trained = 0;  // of them, or of adapters beside them
  bool adapters = false;     // the base is frozen: no gradients of its weights
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t kv_width = 0;  // kv heads * head dim
};

struct PlannedStep {
  std::int64_t conversations = 256;
  int turns = 2;
  std::int64_t prompt_tokens = 600;  // of a turn
  std::int64_t answer_tokens = 300;  // of a turn
  int epochs = 1;
};

// One GPU, as it was measured.
struct MeasuredGpu {
  std::string_view name;
  double train_flops_per_s;          // reached by forward and backward, optimizer not counted
  double adapter_flops_per_s;        // the same with a frozen base
  double optimizer_s_per_parameter;  // AdamW over float32 masters
  double memory_bytes_per_s;         // of the data sheet
  double weights_share;              // of it, that reading weights for one token reaches
  double cache_share;                // of it, that reading keys and values reaches
  double layer_s;                    // of a decoding step, besides memory
  double kernels_per_s;              // judged and timed on the GPU that also generates
  double memory_bytes;
};
const MeasuredGpu& measured_h200();

// Bytes a second that a GPU sends while it receives as many, and the time of one message.
struct Link {
  double bytes_per_s = 0;
  double latency_s = 0;
};
struct PlannedCluster {
  int gpus_per_node = 8;
  Link inside;                  // a node
  Link between;                 // nodes, for each GPU
  double overlap = 0.8;         // of the backward pass, in which gradients may travel
  double bucket_bytes = 25e6;   // of gradients that travel together
  double judges_elsewhere = 0;  // kernels a second that services judge; 0: the GPUs judge
};
// "nvlink+ib400": inside a node, and between nodes. Parts: nvlink, pcie4, pcie5; ib400, ib200, eth100, eth25.
Result<void> set_links(std::string_view name, PlannedCluster& cluster);

struct StepCost {
  int gpus = 1;
  double rollout_s = 0;  // generation, with the judge beside it: whichever takes longer
  bool judge_bound = false;
  double compute_s = 0;  // forward, backward
  double optimizer_s = 0;
  double reduce_s = 0;   // gradients, all of it
  double gather_s = 0;   // parameters
  double exposed_s = 0;  // of both, what no computation hides
  double total_s = 0;
  double bytes_each_way = 0;  // that each GPU sends, and receives
  double efficiency = 1;      // of one GPU's conversations a second, times GPUs
  double state_bytes = 0;     // weights, gradients, masters and moments on each GPU
};

// Of one decoding step.
double decode_s(const MeasuredGpu& gpu, const PlannedModel& model, double rows, double context);
StepCost step_cost(const MeasuredGpu& gpu, const PlannedModel& model, const PlannedStep& step,
                   const PlannedCluster& cluster, int gpus);
// 1, 2, 4 ... up to `gpus`, and `gpus` itself.
std::vector<StepCost> plan_cluster(const MeasuredGpu& gpu, const PlannedModel& model, const PlannedStep& step,
                                   const PlannedCluster& cluster, int gpus);

}  // namespace kw
