#pragma once
// What the interpreter's tests share: a task with two tensors, and plans of launchers given by their body.

#include <gtest/gtest.h>

#include <string>

#include "kernel/source/interpreter.h"
#include "kernel/source/plan_print.h"

namespace kw {

// x and y of rows x cols, as most launchers in the tests answer it.
inline Task row_task() {
  Task task;
  task.name = "rows";
  TensorSpec x;
  x.name = "x";
  x.shape = {Expression::parse("rows").value(), Expression::parse("cols").value()};
  task.inputs = {x};
  TensorSpec y = x;
  y.name = "y";
  task.outputs = {y};
  task.size_names = {"rows", "cols"};
  return task;
}

inline const std::string row_signature =
    "extern \"C\" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream)";

inline Result<LaunchPlan> plan_text(const std::string& text, const PlanLimits& limits = {},
                                    const Sizes& sizes = {{"rows", 7}, {"cols", 129}}) {
  const auto file = read_kernel_file(text, "a.cu");
  if (!file.ok()) return file.error();
  return make_launch_plan(*file, row_task(), sizes, limits);
}

// The body starts on line 3, behind a kernel `k` and a kernel template `t`.
inline Result<LaunchPlan> plan_body(const std::string& body, const PlanLimits& limits = {}) {
  return plan_text(
      "__global__ void k(const float* x, float* y, int n) {} template <int N> __global__ void t(float* y) {}\n" +
          row_signature + " {\n" + body + "\n}\n",
      limits);
}

// The value of an expression as the launcher would pass it to a kernel; `before` is put in front.
inline std::string value_of(const std::string& type, const std::string& expression, const std::string& before = "",
                            const std::string& declarations = "") {
  const auto plan = plan_text(declarations + "\n__global__ void v(" + type + " a) {}\n" + row_signature + " { " +
                              before + " v<<<1, 1>>>(" + expression + "); }");
  if (!plan.ok()) return to_string(plan.error());
  const auto launches = plan->launches();
  return print(launches.back()->arguments.at(0), *plan);
}

inline std::string refusal(const std::string& body, const PlanLimits& limits = {}) {
  const auto plan = plan_body(body, limits);
  return plan.ok() ? "accepted" : to_string(plan.error());
}

}  // namespace kw
