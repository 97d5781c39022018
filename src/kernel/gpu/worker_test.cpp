// Workers over the emulated driver: what is loaded is what was meant, and nothing that a worker is told can harm the
// pool.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "kernel/compile/service.h"
#include "kernel/gpu/cubin_variables.h"
#include "kernel/gpu/helper_kernels.h"
#include "kernel/gpu/pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

// Only for a worker that never answers.
constexpr milliseconds patience = 10min;

CompileResult compiled(const std::string& source, std::vector<std::string> kernels, bool cubin) {
  static CompileService service;
  CompileRequest request;
  request.source = source;
  request.kernels = std::move(kernels);
  request.want_cubin = cubin;
  return service.compile(request);
}

std::unique_ptr<GpuWorker> started_worker() {
  ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
  auto worker = GpuWorker::start(1u << 30);
  EXPECT_TRUE(worker.ok()) << to_string(worker.error());
  std::vector<std::string> names;
  for (const std::string_view name : helper_kernel_names) names.emplace_back(name);
  const CompileResult helpers = compiled(std::string(helper_kernel_source), names, false);
  EXPECT_TRUE(helpers.ok()) << helpers.explanation;
  std::vector<std::string> symbols;
  for (const CompiledKernel& kernel : helpers.kernels) symbols.push_back(kernel.symbol);
  const auto loaded = (*worker)->load_module({0, &helpers.ptx, &symbols}, patience);
  EXPECT_TRUE(loaded.done()) << loaded.text;
  return std::move(worker).value();
}

// A plan that copies its input to its output.
GpuPlan copying(std::uint64_t bytes) {
  GpuPlan plan;
  plan.buffers = {{Buffer::Kind::input, bytes}, {Buffer::Kind::output, bytes}};
  plan.steps.emplace_back(GpuCopy{{0, 1, 0}, {0, 0, 0}, bytes});
  return plan;
}

TEST(GpuWorker, DrawsTheBytesThatTheHostDraws) {
  const auto worker = started_worker();
  const std::string empty_image = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::vector<std::string> none;
  ASSERT_TRUE(worker->load_module({7, &empty_image, &none}, patience).done());
  struct Sample {
    DrawRecipe::Kind kind;
    std::uint64_t element_bytes;
    bool has_range;
    std::uint64_t line_elements = 0, parts = 1, steady_parts = 0;
  };
  std::uint64_t key = 99;
  for (const Sample& sample :
       {Sample{DrawRecipe::Kind::words, 1, false}, Sample{DrawRecipe::Kind::words, 2, false},
        Sample{DrawRecipe::Kind::words, 4, false}, Sample{DrawRecipe::Kind::words, 8, false},
        Sample{DrawRecipe::Kind::floats, 4, false}, Sample{DrawRecipe::Kind::floats, 4, true},
        Sample{DrawRecipe::Kind::doubles, 8, true}, Sample{DrawRecipe::Kind::words, 2, false, 100, 4, 5},
        Sample{DrawRecipe::Kind::floats, 4, true, 33, 8, 2}}) {
    DrawRecipe recipe{
        sample.kind,  sample.element_bytes, 256, ++key, sample.has_range, 0.25, 0.75, sample.line_elements,
        sample.parts, sample.steady_parts};
    std::string table;
    for (int i = 0; i < 256; ++i) {
      const double value = i == 5 ? 0 : 0.25 + i / 512.0;
      const auto single = static_cast<float>(value);
      const std::uint64_t word = 0x0123456789abcdefull * static_cast<std::uint64_t>(i + 1);
      const void* from = sample.kind == DrawRecipe::Kind::floats    ? static_cast<const void*>(&single)
                         : sample.kind == DrawRecipe::Kind::doubles ? static_cast<const void*>(&value)
                                                                    : &word;
      table.append(static_cast<const char*>(from), sample.element_bytes);
    }
    std::string expected(sample.element_bytes * 5003, '\0');
    draw(recipe, table, expected);
    const auto pack = InputPack::make({{table, expected.size(), recipe}});
    ASSERT_TRUE(worker->load_inputs(*pack, patience).done());
    RunRequest request;
    request.slot = 7;
    request.inputs = pack->id();
    request.plan = copying(expected.size());
    const auto ran = worker->run({request}, patience);
    ASSERT_TRUE(ran.done()) << ran.text;
    EXPECT_TRUE(ran.value.at(0).outputs.at(0) == expected)
        << "kind " << static_cast<int>(sample.kind) << " of " << sample.element_bytes << " bytes";
    EXPECT_FALSE(ran.value.at(0).memory.inputs_changed);
    EXPECT_LT(ran.value.at(0).memory.overrun_buffer, 0);
  }
}

TEST(GpuWorker, RefusesWhatMakesNoSenseAndGoesOn) {
  const auto worker = started_worker();
  RunRequest request;
  request.slot = 55;
  EXPECT_EQ(worker->run({request}, patience).end, GpuEnd::refused);  // no such module
  const std::string image = "this is no module";
  const std::vector<std::string> none;
  EXPECT_EQ(worker->load_module({3, &image, &none}, patience).end, GpuEnd::refused);
  const std::string fine = ".version 8.0\n.target sm_80\n.address_size 64\n";
  ASSERT_TRUE(worker->load_module({4, &fine, &none}, patience).done());
  const auto pack = InputPack::make({{"12345678", 8, std::nullopt}});
  ASSERT_TRUE(worker->load_inputs(*pack, patience).done());
  request.slot = 4;
  request.inputs = pack->id();
  request.plan = copying(16);  // the input has 8
  EXPECT_EQ(worker->run({request}, patience).end, GpuEnd::refused);
  request.plan = copying(8);
  request.plan.steps.emplace_back(GpuCopy{{0, 1, 4}, {0, 0, 0}, 8});  // beyond the output
  EXPECT_EQ(worker->run({request}, patience).end, GpuEnd::refused);
  request.plan = copying(8);
  request.plan.steps.emplace_back(GpuLaunch{});  // there are no kernels
  EXPECT_EQ(worker->run({request}, patience).end, GpuEnd::refused);
  request.plan = copying(8);
  const auto ran = worker->run({request}, patience);
  ASSERT_TRUE(ran.done()) << ran.text;
  EXPECT_EQ(ran.value.at(0).outputs.at(0), "12345678");
}

// A timing has two steps, and nothing may come between them: what was laid out may not lie there any more.
TEST(GpuWorker, TimesOnlyWhatWasLaidOutJustBefore) {
  const auto worker = started_worker();
  const std::string empty_image = ".version 8.0\n.target sm_80\n.address_size 64\n";
  const std::vector<std::string> none;
  ASSERT_TRUE(worker->load_module({7, &empty_image, &none}, patience).done());
  const std::string bytes(4096, 'x');
  const auto pack = InputPack::make({{bytes, bytes.size(), std::nullopt}});
  ASSERT_TRUE(worker->load_inputs(*pack, patience).done());
  TimeRequest timing;
  timing.inputs = pack->id();
  timing.candidate = {7, copying(bytes.size())};
  timing.least_rounds = timing.most_rounds = 2;
  EXPECT_EQ(worker->time(patience).end, GpuEnd::refused);
  ASSERT_TRUE(worker->lay_out_timing(timing, patience).done());
  const auto timed = worker->time(patience);
  ASSERT_TRUE(timed.done()) << timed.text;
  EXPECT_EQ(timed.value.candidate_us.size(), 2u);
  ASSERT_FALSE(timed.value.candidate_outputs.empty());
  EXPECT_EQ(timed.value.candidate_outputs[0], bytes);
  EXPECT_EQ(worker->time(patience).end, GpuEnd::refused);

  ASSERT_TRUE(worker->lay_out_timing(timing, patience).done());
  RunRequest run;
  run.slot = 7;
  run.inputs = pack->id();
  run.plan = copying(bytes.size());
  ASSERT_TRUE(worker->run({run}, patience).done());
  EXPECT_EQ(worker->time(patience).end, GpuEnd::refused);

  timing.inputs = 12345;
  EXPECT_EQ(worker->lay_out_timing(timing, patience).end, GpuEnd::refused);
  EXPECT_EQ(worker->time(patience).end, GpuEnd::refused);
  EXPECT_TRUE(worker->is_usable());
}

TEST(GpuPool, LendsFreshWorkersAndReplacesThoseThatAreKilled) {
  ::setenv("KERNELWRIGHT_LIBCUDA", KW_EMULATED_DRIVER, 1);
  GpuPoolOptions options;
  options.workers = 1;
  auto pool = GpuPool::start(options);
  ASSERT_TRUE(pool.ok()) << to_string(pool.error());
  EXPECT_EQ((*pool)->facts().capability, 90);
  pid_t first = 0;
  {
    auto lease = (*pool)->borrow();
    ASSERT_TRUE(lease.ok());
    first = (*lease)->pid();
    ::kill(first, SIGKILL);
    RunRequest request;
    EXPECT_EQ((*lease)->run({request}, patience).end, GpuEnd::lost);
    EXPECT_FALSE((*lease)->is_usable());
  }
  auto lease = (*pool)->borrow(GpuPool::Wanted::fresh);
  ASSERT_TRUE(lease.ok());
  EXPECT_NE((*lease)->pid(), first);
  EXPECT_TRUE((*lease)->is_fresh());
  EXPECT_EQ((*pool)->counts().lost, 1u);
}

TEST(GpuTurns, TimingIsAloneAndNobodyStarves) {
  GpuTurns turns("");
  std::atomic<int> sharing{0}, alone{0}, checks{0}, timings{0};
  std::atomic<bool> disturbed{false}, stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const SharedTurn turn(turns);
        ++sharing;
        if (alone > 0) disturbed = true;
        std::this_thread::sleep_for(200us);
        --sharing;
        ++checks;
      }
    });
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const AloneTurn turn(turns);
        if (++alone > 1 || sharing > 0) disturbed = true;
        std::this_thread::sleep_for(200us);
        --alone;
        ++timings;
      }
    });
  // Until both kinds have had many turns, which who starves never has.
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while ((checks <= 30 || timings <= 30) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(disturbed);
  EXPECT_GT(checks, 30);
  EXPECT_GT(timings, 30);
}

TEST(CubinVariables, FindsEveryKindOfVariableInBothForms) {
  const std::string source = R"(
__device__ int plain;
static __device__ float hidden[3];
namespace inner { __device__ double nested = 2; }
__constant__ int fixed[4] = {1, 2, 3, 4};
extern "C" __global__ void k(float* y) {
  static __device__ int inside;
  __shared__ float shared[8];
  shared[threadIdx.x] = y[0];
  y[0] = plain++ + hidden[threadIdx.x] + inner::nested + inside++ + fixed[threadIdx.x] + shared[1];
  hidden[1] = 1;
  inner::nested = 3;
}
)";
  const CompileResult result = compiled(source, {"k"}, true);
  ASSERT_TRUE(result.ok()) << result.explanation;
  for (const std::string* image : {&result.cubin, &result.ptx}) {
    const auto names = global_variables(*image);
    EXPECT_EQ(names.size(), 4u) << testing::PrintToString(names);
    for (const char* part : {"plain", "hidden", "nested", "inside"})
      EXPECT_EQ(std::count_if(names.begin(), names.end(),
                              [&](const std::string& name) { return name.find(part) != std::string::npos; }),
                1)
          << part << " in " << testing::PrintToString(names);
  }
  // Damaged files have no variables, and nothing worse.
  for (std::size_t cut = 0; cut < result.cubin.size(); cut += 97) global_variables(result.cubin.substr(0, cut));
  std::string damaged = result.cubin;
  for (std::size_t i = 40; i < damaged.size(); i += 13) damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
  global_variables(damaged);
}

TEST(GpuMessages, SurviveTheirJourneyAndDamage) {
  RunReply reply;
  reply.outputs = {"abc", std::string(1000, 'x')};
  reply.memory = {true, 3, true};
  reply.time_us = 1.5;
  const std::string bytes = encode(std::vector<RunReply>{reply});
  const auto read = decode_run_replies(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at(0).outputs, reply.outputs);
  EXPECT_EQ(read->at(0).memory.overrun_buffer, 3);
  EXPECT_TRUE(read->at(0).memory.state_left);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(decode_run_replies(bytes.substr(0, cut)).ok());
  TimeRequest request;
  request.candidate = {3, copying(64)};
  request.baseline = TimedPlan{4, copying(64)};
  request.samples = {{64, {0, 64}}};
  const std::string asked = encode(request);
  const auto again = decode_time_request(asked);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(encode(*again), asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::string damaged = asked;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    static_cast<void>(decode_time_request(damaged));  // an error or another request, never a crash
  }
}

}  // namespace
}  // namespace kw
