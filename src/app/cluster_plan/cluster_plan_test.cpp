#include "app/cluster_plan/cluster_plan.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kw {
namespace {

constexpr PlannedModel half_billion{494'032'768, 494'032'768, false, 24, 896, 128};
constexpr PlannedModel smollm2{134'515'008, 134'515'008, false, 30, 576, 192};
constexpr PlannedModel one_and_a_half{1'543'714'304, 1'543'714'304, false, 28, 1536, 256};

PlannedCluster cluster_of(std::string_view links) {
  PlannedCluster cluster;
  EXPECT_TRUE(set_links(links, cluster).ok());
  return cluster;
}

// The recorded milliseconds of bench/results/model_gpu.md at a context of 1024.
TEST(ClusterPlan, DecodingMeetsWhatWasMeasuredWithinAFifth) {
  const struct {
    PlannedModel model;
    double rows, ms;
  } measured[] = {{smollm2, 1, 0.719},        {smollm2, 64, 1.525},        {smollm2, 256, 3.120},
                  {half_billion, 1, 0.831},   {half_billion, 64, 1.450},   {half_billion, 256, 2.486},
                  {one_and_a_half, 1, 1.554}, {one_and_a_half, 64, 2.549}, {one_and_a_half, 256, 4.950}};
  for (const auto& each : measured)
    EXPECT_NEAR(1000 * decode_s(measured_h200(), each.model, each.rows, 1024), each.ms, 0.2 * each.ms)
        << each.model.parameters << " " << each.rows;
}

// 138,647 and 149,634 tokens a second, the same page.
TEST(ClusterPlan, OneGpuTrainsAsMeasured) {
  PlannedStep step;
  step.conversations = 8;
  step.turns = 1;
  step.prompt_tokens = 2000;
  step.answer_tokens = 48;
  const StepCost full = step_cost(measured_h200(), half_billion, step, cluster_of("nvlink"), 1);
  EXPECT_NEAR(8 * 2048 / (full.compute_s + full.optimizer_s), 138'647, 1'400);
  PlannedModel adapters = half_billion;
  adapters.adapters = true;
  adapters.trained = 8'798'208;
  const StepCost lora = step_cost(measured_h200(), adapters, step, cluster_of("nvlink"), 1);
  EXPECT_NEAR(8 * 2048 / (lora.compute_s + lora.optimizer_s), 149'634, 1'500);
  EXPECT_EQ(full.exposed_s, 0);
  EXPECT_EQ(full.bytes_each_way, 0);
}

TEST(ClusterPlan, BytesTimesAndStateFollowFromTheNumberOfGpus) {
  const PlannedCluster cluster = cluster_of("nvlink+ib400");
  PlannedStep step;
  step.conversations = 4096;
  const auto costs = plan_cluster(measured_h200(), one_and_a_half, step, cluster, 512);
  ASSERT_EQ(costs.size(), 10u);
  EXPECT_EQ(costs.back().gpus, 512);
  const double parameters = static_cast<double>(one_and_a_half.parameters);
  for (const StepCost& cost : costs) {
    // 4 bytes of gradients and 2 of parameters, all but one's own share.
    EXPECT_DOUBLE_EQ(cost.bytes_each_way, 6 * parameters * (cost.gpus - 1) / cost.gpus);
    EXPECT_DOUBLE_EQ(cost.state_bytes, parameters * (2 + 4 + 12.0 / cost.gpus));
    EXPECT_GE(cost.total_s, cost.rollout_s + cost.compute_s);
    EXPECT_LE(cost.exposed_s, cost.reduce_s + cost.gather_s + 1e-12);
    EXPECT_LE(cost.efficiency, 1 + 1e-9);
  }
  for (std::size_t i = 1; i < costs.size(); ++i) EXPECT_LT(costs[i].total_s, costs[i - 1].total_s);
  // From the second node on the slower link decides.
  EXPECT_GT(costs[4].gather_s, 4 * costs[3].gather_s);
}

TEST(ClusterPlan, WorseLinksAndLessOverlapCostMore) {
  PlannedStep step;
  step.conversations = 512;
  const auto total = [&](std::string_view links, double overlap) {
    PlannedCluster cluster = cluster_of(links);
    cluster.overlap = overlap;
    return step_cost(measured_h200(), one_and_a_half, step, cluster, 64).total_s;
  };
  EXPECT_LT(total("nvlink+ib400", 0.8), total("nvlink+ib200", 0.8));
  EXPECT_LT(total("nvlink+ib200", 0.8), total("nvlink+eth25", 0.8));
  EXPECT_LE(total("nvlink+ib200", 0.8), total("nvlink+ib200", 0));
  PlannedModel adapters = one_and_a_half;
  adapters.adapters = true;
  adapters.trained = 18'000'000;
  EXPECT_LT(step_cost(measured_h200(), adapters, step, cluster_of("nvlink+eth25"), 64).exposed_s, 0.5)
      << "adapters need no network worth the name";
}

TEST(ClusterPlan, JudgesElsewhereLiftTheirBound) {
  PlannedStep step;
  PlannedCluster cluster = cluster_of("nvlink");
  const StepCost here = step_cost(measured_h200(), smollm2, step, cluster, 1);
  EXPECT_TRUE(here.judge_bound);
  EXPECT_NEAR(here.rollout_s, 16, 0.1) << "512 kernels at 32 a second, as in bench/results/reinforce.md";
  cluster.judges_elsewhere = 1e6;
  EXPECT_FALSE(step_cost(measured_h200(), smollm2, step, cluster, 1).judge_bound);
}

TEST(ClusterPlan, UnknownLinksAreRefusedByName) {
  PlannedCluster cluster;
  for (const char* name : {"", "carrier-pigeon", "nvlink+", "nvlink+pcie4", "ib400"})
    EXPECT_FALSE(set_links(name, cluster).ok()) << name;
}

}  // namespace
}  // namespace kw
