#include "kernel/performance/fit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "kernel/performance/model_errors.h"
#include "kernel/performance/profile_text.h"
#include "kernel/performance/test_plan.h"

namespace kw {
namespace {

// A launch that streams `mib` through DRAM and runs `instructions` in each of its blocks.
PlanCounts made_counts(double blocks, double mib, double instructions, int launches) {
  KernelCounts kernel;
  kernel.grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  kernel.blocks = blocks;
  kernel.occupancy.blocks_per_sm = 8;
  kernel.resident_blocks = std::min(8.0, std::ceil(blocks / 132));
  kernel.issue_slots = instructions;
  kernel.pipe_lanes[static_cast<std::size_t>(Pipe::fp32)] = 16 * instructions;
  kernel.l2_load_sectors = mib * 1048576 / 32 / blocks;
  kernel.allocations[0] = {static_cast<std::uint64_t>(mib * 1048576), {kernel.l2_load_sectors, 0}, {0, 0, 0}};
  kernel.chain_l2.cycles = kernel.chain_dram.cycles = 1000;
  for (std::size_t i = 0; i < chain_constants.size(); ++i) kernel.chain_base[i] = test_profile().*chain_constants[i];
  PlanCounts plan;
  plan.kernels.push_back(kernel);
  for (int i = 0; i < launches; ++i) {
    PlanStep step;
    step.kernel = 0;
    plan.steps.push_back(step);
  }
  return plan;
}

// Times by a device that differs from the starting profile.
std::vector<MeasuredPlan> made_measurements(const DeviceProfile& truth) {
  std::vector<MeasuredPlan> plans;
  for (int i = 0; i < 60; ++i) {
    MeasuredPlan plan;
    plan.task = "task" + std::to_string(i / 2);
    plan.kernel = i % 2 == 0 ? "naive" : "optimised";
    plan.size = "n=1";
    plan.counts = made_counts(132.0 * (1 + i % 7), 4.0 + 40 * (i % 5), 100.0 * (1 + (i * i) % 23), 1 + i % 3);
    plan.measured_us = plan_us(truth, plan.counts);
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<const MeasuredPlan*> pointers(const std::vector<MeasuredPlan>& plans) {
  std::vector<const MeasuredPlan*> all;
  for (const MeasuredPlan& plan : plans) all.push_back(&plan);
  return all;
}

DeviceProfile other_device() {
  DeviceProfile truth = test_profile();
  truth.launch_us *= 0.6;
  truth.next_launch_us *= 1.5;
  truth.dram_gb_per_s *= 0.8;
  return truth;
}

TEST(Fit, FindsTheConstantsThatMadeTheTimes) {
  const DeviceProfile truth = other_device();
  const auto plans = made_measurements(truth);
  const DeviceProfile fitted = fit(test_profile(), test_profile(), pointers(plans));
  EXPECT_NEAR(fitted.launch_us / truth.launch_us, 1, 0.1);
  EXPECT_NEAR(fitted.next_launch_us / truth.next_launch_us, 1, 0.1);
  for (const MeasuredPlan& plan : plans) EXPECT_NEAR(plan_us(fitted, plan.counts) / plan.measured_us, 1, 0.05);
  // What no measurement depends on stays.
  EXPECT_DOUBLE_EQ(fitted.atomic_line_ns, test_profile().atomic_line_ns);
}

TEST(Fit, OneWrongTimeBendsLittle) {
  const DeviceProfile truth = other_device();
  auto plans = made_measurements(truth);
  plans[7].measured_us *= 30;
  const DeviceProfile fitted = fit(test_profile(), test_profile(), pointers(plans));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const double ratio = plan_us(fitted, plans[i].counts) / plans[i].measured_us;
    EXPECT_NEAR(ratio, i == 7 ? 1.0 / 30 : 1, 0.12) << i;
  }
}

TEST(Fit, HeldOutTasksAreNotSeen) {
  const auto plans = made_measurements(other_device());
  auto changed = plans;
  for (MeasuredPlan& plan : changed)
    if (plan.task == "task3") plan.measured_us *= 5;
  const auto before = cross_validate(test_profile(), plans, 3, 2),
             after = cross_validate(test_profile(), changed, 3, 1);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (fold_of(plans[i].task, 3) != fold_of("task3", 3)) continue;
    EXPECT_DOUBLE_EQ(before[i], after[i]) << plans[i].task;
  }
  EXPECT_LT(model_errors(plans, before).mean_percent, 5);
}

TEST(Fit, BoundsHold) {
  auto plans = made_measurements(test_profile());
  for (MeasuredPlan& plan : plans) plan.measured_us *= 1000;
  DeviceProfile start = test_profile(), fitted = fit(start, start, pointers(plans));
  for (const FittedConstant& each : fitted_constants()) {
    EXPECT_GE(each.of(fitted) / each.of(start), 0.999 * each.lowest) << each.key;
    EXPECT_LE(each.of(fitted) / each.of(start), 1.001 * each.highest) << each.key;
  }
}

// Counts once, times with other constants: the same as counting anew with them.
TEST(Fit, CountsServeChangedConstants) {
  TestPlan plan(R"(
__global__ void rows(const float* x, float* y, int columns) {
  __shared__ float sums[64];
  int r = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int c = 0; c < columns; ++c) sum += x[(long long)r * columns + c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  y[r] = sums[63 - threadIdx.x];
}
)");
  plan.launch("rows", {128, 1, 1}, {64, 1, 1}, plan.input(4ull * 8192 * 1001), plan.output(4 * 8192), 1001);
  EstimateOptions options;
  options.chain_slopes = true;
  const auto counts = count_plan(test_profile(), plan.plan, options);
  ASSERT_TRUE(counts.ok());
  DeviceProfile changed = test_profile();
  changed.dram_latency_cycles *= 1.3;
  changed.l1_latency_cycles *= 0.8;
  changed.l1_lines_per_cycle *= 1.2;
  changed.barrier_cycles *= 3;
  changed.block_start_cycles *= 2;
  const auto recounted = count_plan(changed, plan.plan, options);
  ASSERT_TRUE(recounted.ok());
  const double changed_us = plan_us(changed, *counts);
  EXPECT_NEAR(changed_us, plan_us(changed, *recounted), 0.02 * changed_us);
  EXPECT_GT(changed_us, 1.05 * plan_us(test_profile(), *counts));
}

TEST(ModelErrors, Figures) {
  std::vector<MeasuredPlan> plans(4);
  const double measured[] = {10, 20, 40, 80}, modelled[] = {12, 10, 40, 160};
  for (std::size_t i = 0; i < 4; ++i) {
    plans[i].task = i < 2 ? "a" : "b";
    plans[i].size = "n=1";
    plans[i].measured_us = measured[i];
  }
  plans[3].kind = "small";
  const ModelErrors errors = model_errors(plans, {modelled, modelled + 4});
  EXPECT_EQ(errors.times, 4u);
  EXPECT_EQ(errors.pairs, 2u);
  EXPECT_EQ(errors.pairs_right, 1u);
  EXPECT_NEAR(errors.mean_percent, (20 + 50 + 0 + 100) / 4.0, 1e-9);
  EXPECT_NEAR(errors.kendall, (5 - 1) / 6.0, 1e-9);
  EXPECT_NEAR(errors.spearman, 0.8, 1e-9);
  EXPECT_NEAR(errors.median_factor, 1.6, 1e-9);
  EXPECT_EQ(model_errors(plans, {modelled, modelled + 4}, true).times, 3u);
  EXPECT_EQ(farthest_off(plans, {modelled, modelled + 4}, 2), (std::vector<std::size_t>{1, 3}));
}

TEST(ProfileText, NumbersChangeAndCommentsStay) {
  const std::string yaml = "# head\nlaunch_us: 3.9   # events\nlanes_per_cycle:  # of an SM\n  fp32: 128\nname: x: y\n";
  FitNote note{"times.jsonl", "2024-01-02", 5, {}};
  const std::string once = with_changes(yaml, {{"launch_us", 3.9, 1.23456}, {"lanes_per_cycle.fp32", 128, 100}}, note);
  EXPECT_NE(once.find("# head\nlaunch_us: 1.235  # fitted, was 3.9; events\nlanes_per_cycle:  # of an SM\n  fp32: 100  "
                      "# fitted, was 128\nname: x: y\nfitted:"),
            std::string::npos)
      << once;
  // A second fit replaces what the first one said.
  const std::string twice = with_changes(once, {{"launch_us", 1.235, 2}}, note);
  EXPECT_NE(twice.find("launch_us: 2  # fitted, was 1.235; events\n"), std::string::npos) << twice;
  EXPECT_EQ(twice.find("fitted:"), twice.rfind("fitted:"));
  EXPECT_EQ(number_text(12345.6), "12346");
  EXPECT_EQ(number_text(0.061234), "0.06123");
}

TEST(ProfileText, KnowsEveryFittedConstant) {
  const auto text = read_profile_text(std::string(KW_SOURCE_ROOT) + "/profiles/h200.yaml");
  ASSERT_TRUE(text.ok());
  std::vector<ProfileChange> changes;
  for (const FittedConstant& each : fitted_constants()) changes.push_back({each.key, 1, 123.25});
  const std::string changed = with_changes(*text, changes, {});
  std::size_t found = 0;
  for (std::size_t at = changed.find(": 123.2"); at != std::string::npos; at = changed.find(": 123.2", at + 1)) ++found;
  EXPECT_EQ(found, fitted_constants().size());
}

}  // namespace
}  // namespace kw
