#include "kernel/counters/ncu.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kw {
namespace {

const std::string first_columns =
    R"CSV("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",)CSV";

// As ncu 2025 prints it, with the program's own output around the table.
const std::string two_kernels =
    R"CSV(==PROF== Connected to process 4711 (/opt/bench/add)
warming up, "please" wait
==PROF== Profiling "vector_add" - 0: 0%....50%....100% - 13 passes
==PROF== Profiling "transpose" - 1: 0%....50%....100% - 14 passes
done
==PROF== Disconnected from process 4711
)CSV" +
    first_columns +
    R"CSV("dram__bytes_read.sum","gpu__time_duration.sum","l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio","launch__registers_per_thread","sm__warps_active.avg.pct_of_peak_sustained_active","smsp__inst_executed.sum"
"","","","","","","","","","","","Mbyte","us","sector/request","register/thread","%","inst"
"0","4711","add","127.0.0.1","vector_add(const float *, const float *, float *, int)","1","7","(256, 1, 1)","(65536, 1, 1)","0","9.0","134.22","51.30","4","16","84.72","9,961,472"
"1","4711","add","127.0.0.1","void transpose<float, 32>(T1 *, ""odd name"")","1","7","(32, 8, 1)","(128, 128, 1)","0","9.0","1,067.5","n/a","","40","1.2e1","1,000"
)CSV";

TEST(Ncu, ReadsTwoKernels) {
  const auto report = parse_ncu_csv(two_kernels, {"gpu__time_duration.sum", "lts__t_sector_hit_rate.pct"});
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(report->source, "ncu");
  EXPECT_EQ(report->passes, 14u);
  ASSERT_EQ(report->kernels.size(), 2u);
  const KernelCounters& add = report->kernels[0];
  EXPECT_EQ(add.kernel, "vector_add(const float *, const float *, float *, int)");
  EXPECT_DOUBLE_EQ(add.dram_bytes_read, 134.22e6);
  EXPECT_DOUBLE_EQ(add.duration_us, 51.3);
  EXPECT_DOUBLE_EQ(add.sectors_per_request_load, 4);
  EXPECT_DOUBLE_EQ(add.achieved_occupancy, 0.8472);
  EXPECT_DOUBLE_EQ(add.instructions, 9'961'472);
  const KernelCounters& transpose = report->kernels[1];
  EXPECT_EQ(transpose.kernel, "void transpose<float, 32>(T1 *, \"odd name\")");
  EXPECT_DOUBLE_EQ(transpose.dram_bytes_read, 1067.5e6);
  EXPECT_FALSE(measured(transpose.duration_us));
  EXPECT_FALSE(measured(transpose.sectors_per_request_load));
  EXPECT_DOUBLE_EQ(transpose.achieved_occupancy, 0.12);
  EXPECT_EQ(report->missing_metrics, std::vector<std::string>{"lts__t_sector_hit_rate.pct"});
  EXPECT_TRUE(report->notes.empty());
}

std::string table(const std::string& unit, const std::string& value) {
  const std::string units = R"CSV("","","","","","","","","","","",")CSV" + unit + "\"\r\n";
  const std::string kernel = R"CSV("0","1","p","h","k","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0",")CSV";
  return first_columns + "\"gpu__time_duration.sum\"\n" + units + kernel + value + "\"\r\n";
}

TEST(Ncu, Units) {
  for (const auto& [unit, us] : {std::pair{"ns", 1.5e-3},
                                 {"nsecond", 1.5e-3},
                                 {"us", 1.5},
                                 {"usecond", 1.5},
                                 {"ms", 1500.0},
                                 {"s", 1.5e6},
                                 {"second", 1.5e6}}) {
    const auto report = parse_ncu_csv(table(unit, "1.5"));
    ASSERT_TRUE(report.ok());
    EXPECT_DOUBLE_EQ(report->kernels[0].duration_us, us) << unit;
  }
}

TEST(Ncu, WhatIsNoNumberIsNotMeasured) {
  for (const char* value : {"n/a", "", "nan", "inf", "-", "12 (3; 4)", "1.2.3", "0x10", ",,,", "1e999", "(1, 1, 1)"}) {
    const auto report = parse_ncu_csv(table("us", value));
    ASSERT_TRUE(report.ok()) << value;
    EXPECT_FALSE(measured(report->kernels[0].duration_us)) << value;
  }
}

TEST(Ncu, EveryPrefixOfATableIsHarmless) {
  std::size_t complete = 0;
  for (std::size_t size = 0; size <= two_kernels.size(); ++size) {
    const auto report = parse_ncu_csv(std::string_view(two_kernels).substr(0, size));
    if (report.ok()) complete = std::max(complete, report->kernels.size());
  }
  EXPECT_EQ(complete, 2u);
  // Cut in the second kernel: the first one is still there.
  const auto cut = parse_ncu_csv(std::string_view(two_kernels).substr(0, two_kernels.size() - 30));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->kernels.size(), 1u);
  EXPECT_EQ(cut->notes, std::vector<std::string>{"1 damaged rows were left out"});
}

TEST(Ncu, HostileTables) {
  EXPECT_FALSE(parse_ncu_csv("").ok());
  EXPECT_FALSE(parse_ncu_csv("Segmentation fault\n").ok());
  EXPECT_FALSE(parse_ncu_csv(std::string(1 << 20, '"')).ok());
  EXPECT_FALSE(parse_ncu_csv(std::string(1 << 20, '\0')).ok());
  EXPECT_FALSE(parse_ncu_csv("\"ID\",\"Kernel Name\"" + std::string(1 << 20, ',') + "\n").ok());
  EXPECT_FALSE(parse_ncu_csv("\"ID\",\"Metric Name\"\n\"0\",\"x\"\n").ok());
  // The program prints rows that look like the table's.
  const std::string fake = table("us", "2") + "\"x\",\"y\"\n\"unfinished\n\"1\",\"2\"\n=nonsense\n";
  const auto report = parse_ncu_csv(fake);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kernels.size(), 1u);
  EXPECT_EQ(report->notes.size(), 1u);
}

TEST(Ncu, TooManyKernelsAndLongNames) {
  const std::string row = "\"7\",\"" + std::string(2 * max_ncu_name_bytes, 'k') + "\"\n";
  std::string text = "\"ID\",\"Kernel Name\"\n";
  for (std::size_t i = 0; i < max_ncu_kernels + 3; ++i) text += i == 0 ? row : "\"7\",\"k\"\n";
  const auto report = parse_ncu_csv(text);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kernels.size(), max_ncu_kernels);
  EXPECT_EQ(report->kernels[0].kernel.size(), max_ncu_name_bytes);
  EXPECT_EQ(report->notes, std::vector<std::string>{"3 launches beyond the first 4096 were left out"});
}

TEST(Ncu, FailuresSayWhatToDo) {
  const auto refused = parse_ncu_csv(
      "==PROF== Connected to process 1 (/x)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
      "NVIDIA GPU Performance Counters on the target device 0.\n");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("ERR_NVGPUCTRPERM"), std::string::npos);
  EXPECT_NE(refused.error().advice.find("root"), std::string::npos);
  const auto nothing = parse_ncu_csv("==PROF== Connected\n==WARNING== No kernels were profiled.\n");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().advice, "No kernels were profiled.");
}

TEST(Ncu, Command) {
  const std::vector<std::string> command = ncu_command({"./bench", "--n", "5"}, {"/opt/ncu", CounterDetail::brief, {}});
  EXPECT_EQ(command.front(), "/opt/ncu");
  EXPECT_EQ(std::vector<std::string>(command.end() - 3, command.end()),
            (std::vector<std::string>{"./bench", "--n", "5"}));
  const auto metrics = std::find(command.begin(), command.end(), "--metrics");
  ASSERT_NE(metrics, command.end());
  EXPECT_EQ(std::count((metrics + 1)->begin(), (metrics + 1)->end(), ','), 19);
  EXPECT_NE(std::find(command.begin(), command.end(), "--clock-control"), command.end());
}

TEST(Ncu, MissingProgramIsAnError) {
  const auto report = run_ncu({"true"}, {"/no/such/ncu", CounterDetail::brief, std::chrono::minutes(10)});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().advice.find("nsight-compute"), std::string::npos) << to_string(report.error());
  EXPECT_FALSE(run_ncu({}).ok());
}

TEST(Ncu, RunsAProgramAndReadsItsTable) {
  // A stand-in that prints what it was asked, so that the whole way is walked without a GPU.
  NcuOptions options{"echo", CounterDetail::brief, std::chrono::minutes(10)};
  const auto no_table = run_ncu({"program"}, options);
  ASSERT_FALSE(no_table.ok());
  EXPECT_EQ(no_table.error().message, "the output of ncu has no table");
  options.ncu = "false";
  const auto failed = run_ncu({"program"}, options);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("ended with code 1"), std::string::npos) << to_string(failed.error());
}

}  // namespace
}  // namespace kw
