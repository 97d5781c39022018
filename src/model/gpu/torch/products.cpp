#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/gpu/torch/operations.h"
#include "model/gpu/torch/tensor_address.h"

namespace kw {
namespace {

using at::Tensor;

cudaDataType_t cublas_type(const Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

// KERNELWRIGHT_LOW_RANK=cublas: the general product.
bool adds_low_rank_itself() {
  static const bool wanted = [] {
    const char* given = std::getenv("KERNELWRIGHT_LOW_RANK");
    return given == nullptr || std::string_view(given) != "cublas";
  }();
  return wanted;
}

}  // namespace

// cuBLAS counts columns first: what it sees is out^T = op(b)^T op(a)^T, and a row-major matrix is its own transpose.
void Operations::product(Tensor& out, const Tensor& a, bool transpose_a, const Tensor& b, bool transpose_b, double beta,
                         double alpha) const {
  if (!out.is_cuda()) {
    const Tensor left = transpose_a ? a.t() : a, right = transpose_b ? b.t() : b;
    if (beta == 0 && alpha == 1 && out.scalar_type() == a.scalar_type()) {
      at::mm_out(out, left, right);
    } else {
      // As cuBLAS does: with beta 0, what was there does not matter, even if it is not a number.
      const Tensor result = at::mm(left.to(at::kFloat), right.to(at::kFloat)) * alpha;
      out.copy_(beta == 0 ? result : result + out.to(at::kFloat) * beta);
    }
    return;
  }
  const int m = as_int(out.size(0)), n = as_int(out.size(1)), k = as_int(transpose_a ? a.size(0) : a.size(1));
  if (m == 0 || n == 0) return;
  const float alpha32 = static_cast<float>(alpha), beta32 = static_cast<float>(beta);
  const cublasStatus_t status =
      cublasGemmEx(at::cuda::getCurrentCUDABlasHandle(), transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                   transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &alpha32, address(b), cublas_type(b),
                   as_int(b.stride(0)), address(a), cublas_type(a), as_int(a.stride(0)), &beta32, address(out),
                   cublas_type(out), as_int(out.stride(0)), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error("a matrix product (" + std::to_string(m) + ", " + std::to_string(k) + ") x (" +
                             std::to_string(k) + ", " + std::to_string(n) +
                             ") failed: " + cublasGetStatusString(status));
  }
}

void Operations::low_rank_add(Tensor& y, const Tensor& x, const Tensor& weights, bool transposed, double scale) const {
  const std::int64_t rows = y.size(0), columns = y.size(1), inner = x.size(1);
  const bool aligned = (y.stride(0) | x.stride(0) | y.storage_offset() | x.storage_offset()) % 8 == 0;
  if (!has_kernels() || y.scalar_type() != at::kBFloat16 || inner % 16 != 0 || inner > 64 || columns % 32 != 0 ||
      !aligned || !adds_low_rank_itself()) {
    product(y, x, false, weights, transposed, 1, scale);
    return;
  }
  constexpr std::int64_t height = 256;
  const int by_column = as_int(transposed ? weights.stride(0) : weights.stride(1));
  const int by_k = as_int(transposed ? weights.stride(1) : weights.stride(0));
  kernels_->launch("low_rank_add_" + std::to_string(inner / 16),
                   {{(columns + 127) / 128, (rows + height - 1) / height, 1}, 128, 0},
                   {y, as_int(y.stride(0)), x, as_int(x.stride(0)), weights, by_column, by_k, as_int(rows),
                    as_int(columns), static_cast<float>(scale), as_int(height)});
}

void Operations::single_row(const Tensor& x, const Tensor& weight, const SingleRow& extras, Tensor& y) const {
  const std::int64_t in = weight.size(1), out = extras.pairs ? weight.size(0) / 2 : weight.size(0);
  const std::int64_t work = extras.pairs ? out : (out + 1) / 2;  // warps, if each did one piece
  // A warp takes four loads for each lane at a time; a longer row of few outputs is divided between warps.
  const std::int64_t at_a_time = 4 * 32 * 16 / x.element_size();
  const bool shared = in > at_a_time && work < 132 * 16;
  // Few outputs: smaller blocks, so that they spread evenly.
  const int threads = shared ? (in > 2 * at_a_time ? 128 : 64) : (out < 8192 ? 64 : 128);
  const std::int64_t of_block = shared ? 1 : threads / 32;
  // A block reads the row first; beyond what the GPU holds at once, blocks would only read it again.
  const std::int64_t blocks = std::min<std::int64_t>((work + of_block - 1) / of_block, 132 * 16);
  const std::string kernel = y.scalar_type() == at::kFloat && x.scalar_type() == at::kBFloat16
                                 ? std::string("single_row_logits_bf16")
                                 : typed("single_row", x);
  kernels_->launch(kernel, {{blocks, 1, 1}, threads, in * x.element_size()},
                   {x, extras.norm, static_cast<float>(extras.epsilon), weight, extras.bias, extras.residual, y,
                    as_int(in), as_int(out), extras.pairs ? 1 : 0, shared ? 1 : 0});
}

}  // namespace kw
