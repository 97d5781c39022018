#include "kernel/judge/floor.h"

#include <gtest/gtest.h>

#include "kernel/judge/needed_products.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

// Square: every size has the same value.
std::string sizes_text(const std::string& names, int value) {
  std::string text;
  for (const char name : names)
    text += (text.empty() ? "" : ", ") + std::string(1, name) + ": " + std::to_string(value);
  return "[{" + text + "}]";
}

Task task_of(const std::string& pytorch, const std::string& inputs, const std::string& outputs,
             const std::string& size_names) {
  const std::string text =
      "name: probe\ntier: 1\nfamily: matmul\nsplit: train\nsummary: probe\npytorch: |\n  def " + pytorch +
      "\ninputs:\n" + inputs + "outputs:\n" + outputs + "sizes:\n  small: " + sizes_text(size_names, 3) +
      "\n  train: " + sizes_text(size_names, 1024) + "\n  holdout: " + sizes_text(size_names, 5) + "\n";
  auto task = parse_task(text, "probe.yaml");
  if (!task.ok()) ADD_FAILURE() << to_string(task.error());
  return std::move(task).value();
}

const std::string two_matrices =
    "  a: {dtype: float16, shape: [m, k], values: normal}\n  b: {dtype: float16, shape: [k, n], values: normal}\n";
const std::string product = "  c: {dtype: float16, shape: [m, n]}\n";
const Sizes cube{{"m", 1024}, {"k", 1024}, {"n", 1024}};
const std::string cube_text = "mkn";
constexpr double half_cube = 0.5 * 1024 * 1024 * 1024;

TEST(NeededProducts, ProductsOfInputsAreFound) {
  const auto of = [](const std::string& body, const std::string& outputs = product) {
    return needed_products(task_of("reference(a, b):\n      return " + body, two_matrices, outputs, cube_text), cube)
        .multiply_adds;
  };
  EXPECT_EQ(of("torch.matmul(a, b)"), half_cube);
  EXPECT_EQ(of("torch.relu(torch.mm(a.float(), b.float()) + 1)"), half_cube);
  EXPECT_EQ(of("torch.matmul(a, b.t())"), half_cube);
  EXPECT_EQ(of("F.linear(a, b)"), half_cube);
  EXPECT_EQ(of("torch.matmul(a, a.t())"), half_cube / 2);
  // What need not be computed, or is not understood.
  EXPECT_LT(of("torch.tril(torch.matmul(a, b))"), 0.3 * half_cube);
  EXPECT_EQ(of("torch.matmul(torch.eye(1024), b)"), 0);
  EXPECT_EQ(of("torch.matmul(a * 2, b)"), 0);
  EXPECT_EQ(of("a + b"), 0);
  EXPECT_LT(of("torch.matmul(a, b).sum(1)", "  c: {dtype: float16, shape: [m]}\n"), 2 * half_cube / 1024);
}

TEST(NeededProducts, ANameThatIsGivenAnotherValueIsNoInput) {
  const Task task = task_of("reference(a, b):\n      a = torch.zeros_like(a)\n      return torch.matmul(a, b)",
                            two_matrices, product, cube_text);
  EXPECT_EQ(needed_products(task, cube).multiply_adds, 0);
}

TEST(Floor, BytesOverBandwidth) {
  const Task task = task_of("reference(x):\n      return x * 2", "  x: {dtype: float32, shape: [n], values: normal}\n",
                            "  y: {dtype: float32, shape: [n]}\n", "n");
  const DeviceCeiling ceiling{1000, 0, 0};
  const double bytes = 4.0 * 1048576;
  EXPECT_NEAR(floor_of(task, {{"n", 1048576}}, ceiling, 1).us, 2 * bytes / 1e6, 1e-9);
  EXPECT_NEAR(floor_of(task, {{"n", 1048576}}, ceiling, 0.5).us, 1.5 * bytes / 1e6, 1e-9);
  EXPECT_NEAR(floor_of(task, {{"n", 1048576}}, ceiling, 1e300).us, 2 * bytes / 1e6, 1e-9);
  EXPECT_NEAR(floor_of(task, {{"n", 1048576}}, ceiling, -1).us, bytes / 1e6, 1e-9);
  // Outputs may stay in the cache.
  EXPECT_NEAR(floor_of(task, {{"n", 1048576}}, {1000, 1e9, 0}, 1).us, bytes / 1e6, 1e-9);
  EXPECT_EQ(floor_of(task, {{"n", 1048576}}, {}, 1).us, 0);
}

TEST(Floor, ProductsOverTensorCores) {
  const Task task = task_of("reference(a, b):\n      return torch.matmul(a, b)", two_matrices, product, cube_text);
  const Floor floor = floor_of(task, cube, {1e9, 0, 1000}, 1);
  EXPECT_NEAR(floor.us, half_cube / 1000 * 1e-3, 1e-6);
  EXPECT_NE(floor.what.find("float16"), std::string::npos);
}

TEST(Floor, OfADeviceThatNoProfileKnows) {
  GpuFacts facts;
  facts.capability = 90;
  facts.multiprocessors = 132;
  facts.clock_khz = 1980000;
  facts.memory_clock_khz = 3201000;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = 60 << 20;
  const DeviceCeiling ceiling = ceiling_of(facts);
  EXPECT_NEAR(ceiling.dram_gb_per_s, 4917, 10);
  EXPECT_NEAR(ceiling.multiply_adds_per_ns, 535265, 10);
  EXPECT_EQ(ceiling_of(GpuFacts{}).dram_gb_per_s, 0);
}

}  // namespace
}  // namespace kw
