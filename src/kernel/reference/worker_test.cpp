// References in processes of their own: what they may not do, how they die, and that everything else goes on.

#include "kernel/reference/worker.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "kernel/reference/fault_injection.h"
#include "kernel/reference/instruction_set.h"
#include "kernel/reference/message.h"
#include "kernel/reference/reference_service.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

Task task_with(const std::string& pytorch) {
  std::string indented;
  std::istringstream lines(pytorch);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  const auto task = parse_task(R"(
name: probe
tier: 0
inputs: {x: {dtype: float32, shape: [n]}}
outputs: {y: {dtype: float32, shape: [n]}}
sizes: {small: [{n: 5}], train: [{n: 50}], holdout: [{n: 6}]}
pytorch: |
)" + indented,
                               "probe.yaml");
  EXPECT_TRUE(task.ok()) << to_string(task.error());
  return *task;
}

Result<std::vector<OutputTensor>> run(const std::string& pytorch) {
  const Task task = task_with(pytorch);
  KW_TRY(auto reference, make_reference(task));
  KW_TRY(const auto inputs, make_inputs(task, task.sizes_small[0], 3));
  return reference->run(inputs, task.sizes_small[0], Precision::truth);
}

void expect_doubling_works() {
  const auto outputs = run("def reference(x):\n    return 2 * x");
  ASSERT_TRUE(outputs.ok()) << to_string(outputs.error());
  EXPECT_EQ((*outputs)[0].bytes.size(), 5 * sizeof(double));
}

// Other limits or faults for one test. Whatever runs with the old ones is left alone and not used again.
class WithFaults {
 public:
  explicit WithFaults(const std::string& faults) {
    ::setenv(fault_variable, faults.c_str(), 1);
    ReferenceService::instance().forget_workers();
  }
  ~WithFaults() {
    ::unsetenv(fault_variable);
    ReferenceService::instance().forget_workers();
  }
};

class WithLimits {
 public:
  explicit WithLimits(const ReferenceLimits& limits) : before_(ReferenceService::instance().limits()) {
    ReferenceService::instance().set_limits(limits);
  }
  ~WithLimits() { ReferenceService::instance().set_limits(before_); }

 private:
  ReferenceLimits before_;
};

TEST(ReferenceWorker, OnlyComputes) {
  for (const std::string body : {
           "print('hello')\n    return x",
           "torch.save(x, '/tmp/kernelwright_was_here')\n    return x",
           "return torch.from_file('/etc/passwd', size=5)",
           "return torch.rand_like(x)",
           "return x + torch.randn(5)",
           "return torch.bernoulli(x.abs().clamp(0, 1))",
           "torch.manual_seed(3)\n    return x",
           "return x.set_(x)",
           "return x.resize_(1 << 40)",
           "return torch.ops.aten._cudnn_init_dropout_state(0.5, True, 3)",
           "y = torch.jit.fork(torch.relu, x)\n    return torch.jit.wait(y)",
           "import os\n    return x",
           "return open('/etc/passwd').read()",
           "return torch.load('/etc/passwd')",
       }) {
    SCOPED_TRACE(body);
    const auto outputs = run("def reference(x):\n    " + body);
    EXPECT_FALSE(outputs.ok());
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/kernelwright_was_here"));
  expect_doubling_works();
}

TEST(ReferenceWorker, SaysWhichOperatorIsNotAllowed) {
  const auto outputs = run("def reference(x):\n    return x + torch.rand(5)");
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.error().message.find("aten::rand in line 2"), std::string::npos) << outputs.error().message;
  EXPECT_NE(outputs.error().message.find("random"), std::string::npos) << outputs.error().message;
}

// Neither takes this program with it, and the next text is answered.
TEST(ReferenceWorker, EndsWhatDoesNotEnd) {
  ReferenceLimits limits;
  limits.cpu_seconds = 1;
  const WithLimits shorter(limits);
  const Task task = task_with("def reference(x):\n    while bool(x.numel() > 0):\n        x = x + 1\n    return x");
  auto reference = make_reference(task);
  ASSERT_TRUE(reference.ok());
  const auto inputs = make_inputs(task, task.sizes_small[0], 3);
  for (int i = 0; i < 20; ++i) {  // the first one only takes its time
    const auto outputs = (*reference)->run(*inputs, task.sizes_small[0], Precision::truth);
    ASSERT_FALSE(outputs.ok());
    EXPECT_NE(outputs.error().message.find("CPU time"), std::string::npos) << outputs.error().message;
  }
  expect_doubling_works();
}

// Less than a user's texts get: touching all of it must not take the CPU time that they get.
TEST(ReferenceWorker, HasLittleMemory) {
  ReferenceLimits limits;
  limits.memory_bytes = std::uint64_t{512} << 20;
  const WithLimits less(limits);
  const auto at_once = run("def reference(x):\n    return torch.ones(1 << 34).sum() * x");
  ASSERT_FALSE(at_once.ok());
  EXPECT_NE(at_once.error().message.find("memory"), std::string::npos) << at_once.error().message;
  const auto bit_by_bit =
      run("def reference(x):\n    kept = [x]\n    for i in range(1000000):\n        kept.append(torch.ones(1 << 22))\n"
          "    return x + len(kept)");
  ASSERT_FALSE(bit_by_bit.ok());
  EXPECT_NE(bit_by_bit.error().message.find("memory"), std::string::npos) << bit_by_bit.error().message;
  expect_doubling_works();
}

TEST(ReferenceWorker, DiesOfDeepRecursionAlone) {
  std::string nested = "x";
  for (int i = 0; i < 100'000; ++i) nested = "(" + nested + ")";
  EXPECT_FALSE(run("def reference(x):\n    return " + nested).ok());
  const auto endless = run("def f(x):\n    return f(x) + 1\ndef reference(x):\n    return f(x)");
  EXPECT_FALSE(endless.ok());
  expect_doubling_works();
}

TEST(ReferenceWorker, DeathsAreSurvived) {
  const WithFaults faults("ill=0.05,segv=0.05,memory=0.05");
  int answered = 0;
  for (int i = 0; i < 30; ++i) answered += run("def reference(x):\n    return x * 2").ok() ? 1 : 0;
  EXPECT_GE(answered, 29);  // four deaths in a row are given up: one request in 2,000
}

TEST(ReferenceWorker, OneThatStallsIsReplaced) {
  ReferenceLimits limits;
  limits.wall = std::chrono::milliseconds(1500);
  const WithLimits shorter(limits);
  const WithFaults faults("stall=0.2");
  int answered = 0;
  for (int i = 0; i < 10; ++i) answered += run("def reference(x):\n    return x").ok() ? 1 : 0;
  EXPECT_GE(answered, 5);  // two stalls in a row are given up, which happens to one in twelve
}

TEST(ReferenceWorker, OneThatAlwaysDiesIsAnError) {
  const WithFaults faults("segv=1");
  const auto outputs = run("def reference(x):\n    return x");
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.error().message.find("SIGSEGV"), std::string::npos) << outputs.error().message;
}

// A CPU that announces more than its system allows.
TEST(ReferenceWorker, DoesWithFewerInstructions) {
  for (const std::string faults : {"trap=1", "trap=2", "refuse=1", "refuse=3"}) {
    SCOPED_TRACE(faults);
    const WithFaults trapped(faults);
    expect_doubling_works();
    const auto facts = reference_facts();
    ASSERT_TRUE(facts.ok()) << to_string(facts.error());
    EXPECT_EQ(facts->instruction_set, static_cast<std::size_t>(faults.back() - '0'));
  }
  const WithFaults hopeless("trap=4");
  EXPECT_FALSE(run("def reference(x):\n    return x").ok());
}

// Every set computes: half-precision products and convolutions too.
TEST(ReferenceWorker, EverySetOfInstructionsComputesSlow) {
  for (std::size_t number = 0; number < instruction_sets().size(); ++number) {
    SCOPED_TRACE(instruction_sets()[number].name);
    const WithFaults trapped("trap=" + std::to_string(number));
    const auto facts = reference_facts();
    ASSERT_TRUE(facts.ok()) << to_string(facts.error());
    EXPECT_EQ(facts->instruction_set, number);
    for (const std::string type : {"float16", "bfloat16", "float32"}) {
      const auto outputs = run("def reference(x):\n    a = torch.ones(32, 64, dtype=torch." + type +
                               ")\n    y = F.conv1d(a.unsqueeze(0), torch.ones(8, 32, 3, dtype=torch." + type +
                               "))\n    return x * 0 + torch.matmul(a, a.t()).double().sum() + y.double().sum()");
      ASSERT_TRUE(outputs.ok()) << to_string(outputs.error());
      double first = 0;
      std::memcpy(&first, (*outputs)[0].bytes.data(), sizeof first);
      EXPECT_NEAR(first, 32 * 32 * 64 + 8 * 62 * 96, 1e-6);
    }
  }
}

TEST(ReferenceWorker, IsInTheSandbox) {
  const auto facts = reference_facts();
  ASSERT_TRUE(facts.ok()) << to_string(facts.error());
  EXPECT_TRUE(facts->protection.syscall_filter);
  EXPECT_TRUE(facts->protection.limits);
  EXPECT_EQ(facts->protection.full(), probe_protection().full());
}

TEST(ReferenceWorker, ManyTasksNeedFewProcesses) {
  std::vector<std::unique_ptr<Reference>> kept;
  const Task task = task_with("def reference(x):\n    return 3 * x");
  const auto inputs = make_inputs(task, task.sizes_small[0], 3);
  for (int i = 0; i < 40; ++i) {
    auto reference = make_reference(task);
    ASSERT_TRUE(reference.ok());
    kept.push_back(std::move(*reference));
  }
  for (const auto& reference : kept)  // those whose process has gone get another
    EXPECT_TRUE(reference->run(*inputs, task.sizes_small[0], Precision::truth).ok());
}

TEST(ReferenceMessage, SurvivesTheWay) {
  ReferenceRequest request;
  request.command = ReferenceCommand::define;
  request.text = task_with("def reference(x):\n    return x");
  request.tensors = {{"x", Dtype::bfloat16, {3, 4}, 64, 24}};
  request.sizes = {{"n", 7}};
  request.room_bytes = 99;
  const auto decoded = decode_reference_request(encode(request));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->text->pytorch, request.text->pytorch);
  EXPECT_EQ(decoded->text->outputs[0].shape[0].text(), "n");
  EXPECT_EQ(decoded->tensors[0].shape, request.tensors[0].shape);
  EXPECT_EQ(decoded->sizes, request.sizes);
  EXPECT_EQ(decoded->room_bytes, 99u);
}

TEST(ReferenceMessage, RefusesDamagedOnes) {
  ReferenceReply reply;
  reply.outputs = {{"y", Dtype::float64, {5}, 0, 40}};
  reply.whole_shapes = {{5}};
  reply.times.trials_us = {1, 2, 3};
  const std::string whole = encode(reply);
  ASSERT_TRUE(decode_reference_reply(whole).ok());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decode_reference_reply(std::string_view(whole).substr(0, length)).ok());
  EXPECT_FALSE(decode_reference_reply(whole + "x").ok());
}

}  // namespace
}  // namespace kw
