#include "kernel/counters/counters.h"

#include <gtest/gtest.h>

#include <set>

namespace kw {
namespace {

TEST(Counters, MetricListsHaveNoDoubles) {
  const std::vector<std::string> brief = counter_metrics(CounterDetail::brief);
  const std::vector<std::string> full = counter_metrics(CounterDetail::full);
  const std::set<std::string> distinct(full.begin(), full.end());
  EXPECT_EQ(distinct.size(), full.size());
  EXPECT_EQ(brief.size(), 20u);
  EXPECT_EQ(full.size(), 36u);
  for (const std::string& metric : brief) EXPECT_TRUE(distinct.contains(metric)) << metric;
}

TEST(Counters, MetricsBecomeCountersInTheirUnits) {
  const KernelCounters counters =
      counters_from_metrics("add", {{"gpu__time_duration.sum", 52'000},
                                    {"sm__warps_active.avg.pct_of_peak_sustained_active", 87.5},
                                    {"dram__bytes_read.sum", 134'217'728},
                                    {"smsp__thread_inst_executed_per_inst_executed.ratio", 16},
                                    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 300},
                                    {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 400},
                                    {"sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", 20},
                                    {"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", 60},
                                    {"smsp__average_warp_latency_per_inst_issued.ratio", 40},
                                    {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 4},
                                    {"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 30},
                                    {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
                                     std::numeric_limits<double>::infinity()},
                                    {"unheard__of.sum", 1}});
  EXPECT_EQ(counters.kernel, "add");
  EXPECT_DOUBLE_EQ(counters.duration_us, 52);
  EXPECT_DOUBLE_EQ(counters.achieved_occupancy, 0.875);
  EXPECT_DOUBLE_EQ(counters.dram_bytes_read, 134'217'728);
  EXPECT_DOUBLE_EQ(counters.warp_efficiency, 0.5);
  EXPECT_DOUBLE_EQ(counters.shared_bank_conflict_share, 0.75);
  EXPECT_EQ(counters.pipes, (std::vector<NamedShare>{{"fp32 pipe", 0.6}, {"int pipe", 0.2}}));
  EXPECT_EQ(counters.stalls, (std::vector<NamedShare>{{"long_scoreboard", 0.75}, {"barrier", 0.1}}));
  EXPECT_FALSE(measured(counters.sectors_per_request_load));
  EXPECT_FALSE(measured(counters.l2_throughput));
}

TEST(Counters, WithoutSharedMemoryThereAreNoConflicts) {
  const KernelCounters counters = counters_from_metrics("k", {{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0},
                                                              {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 0}});
  EXPECT_EQ(counters.shared_bank_conflict_share, 0);
}

TEST(Counters, JsonRoundTrip) {
  CounterReport report;
  report.source = "ncu";
  report.passes = 13;
  report.missing_metrics = {"some__metric.sum"};
  report.notes = {"2 damaged rows were left out"};
  KernelCounters kernel;
  kernel.kernel = "void add<float>(const float*, \"quoted\")";
  kernel.duration_us = 51.25;
  kernel.l2_hit_rate = 0.5;
  kernel.pipes = {{"fp32 pipe", 0.25}};
  kernel.stalls = {{"long_scoreboard", 0.75}, {"wait", 0.125}};
  report.kernels = {kernel, KernelCounters{}};
  const nlohmann::ordered_json json = to_json(report);
  EXPECT_TRUE(json["kernels"][0]["dram_bytes_read"].is_null());
  const auto back = counter_report_from_json(nlohmann::ordered_json::parse(json.dump()));
  ASSERT_TRUE(back.ok()) << to_string(back.error());
  EXPECT_EQ(to_json(*back), json);
  EXPECT_FALSE(measured(back->kernels[0].dram_bytes_read));
  EXPECT_EQ(back->kernels[0].stalls, kernel.stalls);
}

TEST(Counters, WrongJsonIsAnError) {
  for (const char* text :
       {"[]", R"({"kernel": 1})", R"({"duration_us": "fast"})", R"({"pipes": {}})", R"({"stalls": [{"name": "x"}]})"}) {
    EXPECT_FALSE(counters_from_json(nlohmann::ordered_json::parse(text)).ok()) << text;
  }
  for (const char* text : {"1", R"({"passes": -1})", R"({"kernels": [1]})", R"({"notes": [1]})", R"({"source": []})"})
    EXPECT_FALSE(counter_report_from_json(nlohmann::ordered_json::parse(text)).ok()) << text;
  EXPECT_TRUE(counters_from_json(nlohmann::ordered_json::parse("{}")).ok());
}

}  // namespace
}  // namespace kw
