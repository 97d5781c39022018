#include "kernel/reference/torch/warm_up.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <functional>

#include "kernel/reference/torch/torch_headers.h"
#include "kernel/reference/torch_message.h"

namespace kw {
namespace {

struct Product {
  const char* name;
  std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)> compute;
};

// Values that every type holds exactly, with sums that float32 holds exactly and the half types nearly.
at::Tensor small_numbers(std::vector<std::int64_t> shape, std::int64_t stride) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return ((at::arange(count, at::kLong) * stride) % 7 - 3).to(at::kDouble).mul(0.25).reshape(shape);
}

// Odd sizes: full vectors and their tails.
constexpr std::int64_t rows = 33, inner = 70, columns = 45;

std::vector<Product> products() {
  return {
      {"a product of matrices", [](const at::Tensor& a, const at::Tensor& b) { return at::matmul(a, b); }},
      {"a linear layer", [](const at::Tensor& a, const at::Tensor& b) { return at::linear(a, b.t()); }},
      {"a batch of products",
       [](const at::Tensor& a, const at::Tensor& b) {
         return at::bmm(a.unsqueeze(0).repeat({3, 1, 1}), b.unsqueeze(0).repeat({3, 1, 1}));
       }},
      {"a product with a vector", [](const at::Tensor& a, const at::Tensor& b) { return at::mv(a, b.select(1, 0)); }},
      {"a convolution",
       [](const at::Tensor& a, const at::Tensor& b) {
         const auto image = a.narrow(0, 0, 32).reshape({2, 4, 8, 35}).contiguous();
         return at::conv2d(image, b.flatten().narrow(0, 0, 5 * 4 * 9).reshape({5, 4, 3, 3}).contiguous(), {}, 1, 1);
       }},
      {"a transposed convolution",
       [](const at::Tensor& a, const at::Tensor& b) {
         const auto image = a.narrow(0, 0, 32).reshape({2, 4, 8, 35}).contiguous();
         return at::conv_transpose2d(image, b.flatten().narrow(0, 0, 4 * 5 * 9).reshape({4, 5, 3, 3}).contiguous());
       }},
      {"a norm of rows", [](const at::Tensor& a, const at::Tensor&) { return at::layer_norm(a, {inner}); }},
      {"a softmax", [](const at::Tensor& a, const at::Tensor&) { return at::softmax(a, 1); }},
      {"a gelu", [](const at::Tensor& a, const at::Tensor&) { return at::gelu(a); }},
      {"sums of rows", [](const at::Tensor& a, const at::Tensor&) { return a.sum(1); }},
      {"a pool", [](const at::Tensor& a, const at::Tensor&) { return at::max_pool2d(a.unsqueeze(0), {3, 3}); }},
  };
}

double tolerance_of(c10::ScalarType type) {
  if (type == c10::kDouble) return 1e-12;
  if (type == c10::kFloat) return 1e-4;
  return type == c10::kHalf ? 0.02 : 0.1;
}

// The truth in float64, which no half-precision unit has a hand in, is compared with plain sums first.
Result<void> check_doubles(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor product = at::matmul(a, b);
  for (const std::int64_t i : {std::int64_t{0}, rows - 1}) {
    for (const std::int64_t j : {std::int64_t{0}, columns - 1}) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k) sum += a[i][k].item<double>() * b[k][j].item<double>();
      if (std::abs(product[i][j].item<double>() - sum) > 1e-9)
        return Error{"libtorch computes wrong products in float64", "", {}};
    }
  }
  return {};
}

}  // namespace

Result<void> compute_every_product() {
  at::set_num_threads(1);
  try {
    const c10::InferenceMode no_gradients;
    const at::Tensor a = small_numbers({rows, inner}, 5), b = small_numbers({inner, columns}, 3);
    KW_TRY_VOID(check_doubles(a, b));
    for (const Product& product : products()) {
      const at::Tensor truth = product.compute(a, b);
      for (const c10::ScalarType type : {c10::kFloat, c10::kHalf, c10::kBFloat16}) {
        const at::Tensor found = product.compute(a.to(type), b.to(type)).to(c10::kDouble);
        const double error = (found - truth).abs().max().item<double>();
        const double size = truth.abs().max().item<double>();
        if (!(error <= tolerance_of(type) * size))
          return Error{std::string("libtorch computes wrong: ") + product.name + " in " + c10::toString(type), "", {}};
      }
    }
  } catch (const std::exception& problem) {
    return Error{first_lines(problem.what(), 2), "", {}};
  }
  return {};
}

}  // namespace kw
