#include "kernel/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernel/task/task_file.h"

namespace kw {
namespace {

// A task with x, w: [rows, cols] float32, scalar alpha, index: [rows] int32, and one output.
Task task_with(const std::string& pytorch, const std::string& output = "{dtype: float32, shape: [rows, cols]}") {
  std::string indented;
  std::istringstream lines(pytorch);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  const auto task = parse_task(R"(
name: probe
tier: 0
inputs:
  x: {dtype: float32, shape: [rows, cols], values: positive}
  w: {dtype: float16, shape: [cols]}
  alpha: {dtype: float32, shape: [], values: {uniform: [2, 2]}}
  index: {dtype: int32, shape: [rows], values: {integers: [0, "cols - 1"]}}
outputs:
  y: )" + output + R"(
sizes: {small: [{rows: 5, cols: 7}], train: [{rows: 50, cols: 70}], holdout: [{rows: 6, cols: 8}]}
pytorch: |
)" + indented,
                               "probe.yaml");
  EXPECT_TRUE(task.ok()) << to_string(task.error());
  return *task;
}

Result<std::vector<OutputTensor>> run(const Task& task, Precision precision = Precision::truth) {
  KW_TRY(auto reference, make_reference(task));
  KW_TRY(const auto inputs, make_inputs(task, task.sizes_small[0], 3));
  return reference->run(inputs, task.sizes_small[0], precision);
}

template <class T>
T element(const std::string& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(Reference, RunsInFloat64AndInTheTasksType) {
  const Task task = task_with("def reference(x, alpha):\n    return torch.exp(x) * alpha");
  const auto inputs = make_inputs(task, task.sizes_small[0], 3);
  const auto truth = run(task);
  ASSERT_TRUE(truth.ok()) << to_string(truth.error());
  const auto narrow = run(task, Precision::task_dtype);
  ASSERT_EQ((*truth)[0].dtype, Dtype::float64);
  ASSERT_EQ((*narrow)[0].dtype, Dtype::float32);
  for (std::size_t i = 0; i < 35; ++i) {
    const double right = std::exp(static_cast<double>(element<float>((*inputs)[0].bytes, i))) * 2;
    EXPECT_NEAR(element<double>((*truth)[0].bytes, i), right, 1e-14 * right);
    EXPECT_NEAR(element<float>((*narrow)[0].bytes, i), right, 1e-6 * right);
  }
}

// Ordinary PyTorch text must work as it is.
TEST(Reference, KnowsOrdinaryPyTorch) {
  for (const std::string body : {
           "return torch.nn.functional.softmax(x, dim=-1)",
           "return F.gelu(x, approximate='tanh')",
           "return F.layer_norm(x, [x.size(1)], eps=1e-5)",
           "return F.normalize(x, dim=1)",
           "return torch.zeros_like(x).to(torch.float32) + math.pi * x",
           "return x * math.sqrt(2.0) + torch.pi",
           "return (x.to(torch.int64) % 3).to(x.dtype)",
           "return torch.where(x > 1, x, torch.zeros(1))",
           "return x + torch.arange(7)",
           "return F.one_hot(index.long(), 7).to(x.dtype) * x",
           "return torch.einsum('rc,c->rc', x, w.to(x.dtype))",
           "return torch.cumsum(x, dim=1)",
           "return x / torch.linalg.vector_norm(x, dim=1, keepdim=True)",
           "return F.silu(x) * F.sigmoid(x) + F.relu(x) - F.elu(x) + F.softplus(x) + F.hardtanh(x)",
           "return torch.sort(x, dim=1)[0]",
           "return torch.topk(x, 7, dim=1)[0]",
           "return x.masked_fill(x > 1, float('-inf')).clamp(min=-1e4)",
           "return F.pad(x, [1, 0])[:, :7]",
           "return torch.stack([x, x]).sum(0)",
           "return torch.special.expit(x)",
           "return F.dropout(x, 0.5, False)",
           "return torch.where(torch.ones(7, 7).tril()[:5] == 0, torch.inf, x).clamp(max=9.0)",
       }) {
    const auto answer = run(task_with("def reference(x, w, index):\n    " + body));
    EXPECT_TRUE(answer.ok()) << body << "\n" << to_string(answer.error());
  }
}

TEST(Reference, KnowsLossesWithPythonsSignatures) {
  for (const std::string body : {
           "return F.cross_entropy(x, index, reduction='none')",
           "return F.nll_loss(torch.log_softmax(x, 1), index, reduction='none')",
           "return F.mse_loss(x, x * 2, reduction='none').mean(1)",
           "return F.kl_div(x.log(), x, reduction='none').sum(1)",
           "return F.huber_loss(x, x * 2, reduction='none', delta=0.5).sum(1)",
           "return F.binary_cross_entropy_with_logits(x, x, reduction='none').sum(1)",
       }) {
    const auto answer = run(task_with("def reference(x, index):\n    " + body, "{dtype: float32, shape: [rows]}"));
    EXPECT_TRUE(answer.ok()) << body << "\n" << to_string(answer.error());
  }
}

TEST(Reference, TakesImportsHelpersSizesAndNumbers) {
  const auto answer = run(task_with(R"(import torch
import torch.nn.functional as F
from typing import List

def helper(t, n: int):
    return t * n

def reference(x, cols: int, alpha: float):
    return helper(x, cols) + alpha)"));
  EXPECT_TRUE(answer.ok()) << to_string(answer.error());
}

TEST(Reference, CastsWholeNumbersAndScalarsOfShapeOne) {
  const auto argmax = run(task_with("def reference(x):\n    return x.argmax(1)", "{dtype: int32, shape: [rows]}"));
  ASSERT_TRUE(argmax.ok()) << to_string(argmax.error());
  EXPECT_EQ((*argmax)[0].bytes.size(), 5 * 4u);
  EXPECT_TRUE(run(task_with("def reference(x):\n    return x.sum()", "{dtype: float32, shape: [1]}")).ok());
}

TEST(Reference, ErrorsSayWhatIsWrong) {
  const auto message = [](const std::string& text,
                          const std::string& output = "{dtype: float32, shape: [rows, cols]}") {
    const auto answer = run(task_with(text, output));
    return answer.ok() ? "no error" : to_string(answer.error());
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(message("def reference(x):\n    return torch.no_such(x)"), "no_such"));
  EXPECT_TRUE(has(message("def reference(x:\n    return x"), "does not compile"));
  EXPECT_TRUE(has(message("def other(x):\n    return x"), "no function called reference"));
  EXPECT_TRUE(has(message("def reference(z):\n    return z"), "'z' is neither an input nor a size"));
  EXPECT_TRUE(has(message("def reference(x):\n    return x.sum(1)"), "has the shape [5]"));
  EXPECT_TRUE(has(message("def reference(x):\n    return x, x"), "returns 2 values"));
  EXPECT_TRUE(has(message("def reference(x, w):\n    return x @ w @ w"), "failed at"));
  EXPECT_TRUE(has(message("def reference(x):\n    return torch.nn.Linear(3, 4)(x)"), "module class"));
}

// Every reference of the suite at its small sizes: in its own type it must stay near the truth.
TEST(ReferenceSlow, SuiteAgreesWithItsTruth) {
  const auto suite = load_suite(std::string(KW_SOURCE_ROOT) + "/tasks");
  ASSERT_TRUE(suite.ok());
  ASSERT_GE(suite->size(), 80u);
  for (const SuiteEntry& entry : *suite) {
    ASSERT_TRUE(entry.task.ok()) << to_string(entry.task.error());
    const Task& task = *entry.task;
    auto reference = make_reference(task);
    ASSERT_TRUE(reference.ok()) << to_string(reference.error());
    for (const Sizes& sizes : task.sizes_small) {
      const auto inputs = make_inputs(task, sizes, 11);
      const auto truth = (*reference)->run(*inputs, sizes, Precision::truth);
      ASSERT_TRUE(truth.ok()) << to_string(truth.error());
      const auto narrow = (*reference)->run(*inputs, sizes, Precision::task_dtype);
      ASSERT_TRUE(narrow.ok()) << to_string(narrow.error());
      for (std::size_t i = 0; i < truth->size(); ++i) {
        EXPECT_EQ((*truth)[i].shape, (*narrow)[i].shape);
        if ((*narrow)[i].dtype != Dtype::float32) continue;
        double squares = 0, errors = 0;
        const std::size_t count = (*narrow)[i].bytes.size() / 4;
        for (std::size_t k = 0; k < count; ++k) {
          const double right = element<double>((*truth)[i].bytes, k);
          squares += right * right;
          errors += std::pow(element<float>((*narrow)[i].bytes, k) - right, 2);
        }
        EXPECT_TRUE(std::isfinite(squares)) << task.name;
        EXPECT_LE(std::sqrt(errors), 1e-4 * std::sqrt(squares) + 1e-12) << task.name << " " << (*truth)[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace kw
