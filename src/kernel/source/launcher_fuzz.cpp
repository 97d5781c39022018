// Arbitrary launchers for one fixed task: the interpreter gives a plan within its limits or an error with a message.
// Input that has no launcher of its own is tried as the body of one, behind a few kernels and helpers to play with.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include "base/check.h"
#include "kernel/source/interpreter.h"
#include "kernel/source/plan_print.h"

namespace {

kw::Task row_task() {
  kw::Task task;
  task.name = "rows";
  kw::TensorSpec x;
  x.name = "x";
  x.shape = {kw::Expression::parse("rows").value(), kw::Expression::parse("cols").value()};
  task.inputs = {x};
  kw::TensorSpec y = x;
  y.name = "y";
  task.outputs = {y};
  task.size_names = {"rows", "cols"};
  return task;
}

constexpr std::string_view prelude = R"(
template <int N, class T> __global__ void k(const T* x, T* y, int n, float s = 1) {}
__global__ void r(const float* x, float* y, int rows, int cols) {}
struct P { int a = 1; float b; int f(int n) const { return a * n; } };
template <int N> struct C { static constexpr int v = N * 2; using T = float; };
enum E { e0, e1 = 5 };
constexpr int d(int a, int b) { return (a + b - 1) / b; }
template <class T> T t(T a) { return a > 1 ? t(a / 2) + 1 : a; }
#define L(n) k<n><<<d(rows, n), n, 0, stream>>>(x, y, cols)
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
)";

// The same for PyTorch's extension dialect.
constexpr std::string_view extension_prelude = R"(
#include <torch/extension.h>
template <int N, class T> __global__ void k(const T* x, T* y, int n, float s = 1) {}
__global__ void r(const float* x, float* y, long n) {}
torch::Tensor h(const torch::Tensor& a, c10::optional<torch::Tensor> b = c10::nullopt) { return b ? *b : a; }
#define CHECK(a) TORCH_CHECK(a.is_cuda() && a.is_contiguous(), #a)
torch::Tensor forward(torch::Tensor x) {
  std::vector<int64_t> s = {1, 2};
  auto y = torch::empty_like(x);
)";

void try_text(const std::string& text, const kw::Task& task) {
  const auto file = kw::read_kernel_file(text, "fuzz.cu");
  if (!file.ok()) return;
  kw::PlanLimits limits;
  limits.max_steps = 3000;
  limits.max_launches = 100;
  limits.max_array_elements = 2000;
  limits.max_variables = 2000;
  const auto plan = kw::make_launch_plan(*file, task, {{"rows", 7}, {"cols", 129}}, limits);
  if (!plan.ok()) {
    KW_CHECK(!plan.error().message.empty());
    return;
  }
  KW_CHECK(plan->steps.size() <= 100);
  for (const kw::KernelLaunch* launch : plan->launches()) {
    KW_CHECK(std::uint64_t{launch->block.x} * launch->block.y * launch->block.z <= 1024);
    KW_CHECK(launch->grid.x > 0 && launch->grid.y > 0 && launch->grid.z > 0);
  }
  KW_CHECK(!kw::to_json(*plan).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).empty());
  KW_CHECK(kw::to_table(*plan).size() >= plan->steps.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const kw::Task task = row_task();
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find("launch") != std::string::npos && text.find("cudaStream_t") != std::string::npos) {
    try_text(text, task);
  } else if (text.find("#include <torch/") != std::string::npos) {
    try_text(text, task);
  } else if (text.find("return") != std::string::npos) {
    try_text(std::string(extension_prelude) + text + "\n}\n", task);
  } else {
    try_text(std::string(prelude) + text + "\n}\n", task);
  }
  return 0;
}
