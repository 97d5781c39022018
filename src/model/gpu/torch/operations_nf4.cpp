// Products with matrices in NF4: expanded as a whole, or in registers.

#include <algorithm>
#include <stdexcept>

#include "model/gpu/torch/nf4_matrices.h"
#include "model/gpu/torch/tensor_address.h"

namespace kw {
namespace {

using at::Tensor;

// The slow twin, in the order of dequantise_nf4().
Tensor expanded_part(const Nf4Matrix& matrix, std::size_t index) {
  const Nf4Matrix::Part& part = matrix.parts[index];
  const std::int64_t count = part.rows * matrix.in, blocks = (count + nf4_block - 1) / nf4_block;
  const Tensor packed = matrix.codes.narrow(0, part.codes, (count + 1) / 2).to(at::kLong);
  const Tensor nibbles = at::stack({packed.bitwise_right_shift(4), packed.bitwise_and(15)}, 1).flatten();
  const Tensor numbers = matrix.numbers[static_cast<std::int64_t>(index)];
  const Tensor map = numbers.narrow(0, 1, 256);
  const Tensor nested_blocks = at::arange(blocks, at::kLong).floor_divide(nf4_nested_block) + part.nested;
  const Tensor scale = map.index_select(0, matrix.absmax.narrow(0, part.absmax, blocks).to(at::kLong)) *
                           matrix.nested.index_select(0, nested_blocks) +
                       numbers[0];
  const auto& codebook = nf4_codebook();
  const Tensor values = at::tensor(std::vector<float>(codebook.begin(), codebook.end()));
  const Tensor plain = values.index_select(0, nibbles.narrow(0, 0, count));
  return plain * scale.repeat_interleave(nf4_block).narrow(0, 0, count);
}

constexpr std::int64_t rows_at_once = 8;  // columns of the matrix instruction

}  // namespace

void Operations::expand_nf4(const Nf4Matrix& matrix, Tensor& out) const {
  for (std::size_t i = 0; i < matrix.parts.size(); ++i) {
    const Nf4Matrix::Part& part = matrix.parts[i];
    const std::int64_t count = part.rows * matrix.in;
    Tensor into = out.narrow(0, part.first_row, part.rows);
    if (!has_kernels()) {
      into.copy_(expanded_part(matrix, i).view({part.rows, matrix.in}));
      continue;
    }
    constexpr std::int64_t of_block = 8 * 1024;  // eight warps
    const std::int64_t blocks = std::min<std::int64_t>((count + of_block - 1) / of_block, 132 * 8);
    kernels_->launch(typed("nf4_expand", out), {{blocks, 1, 1}, 256, 0},
                     {matrix.codes.narrow(0, part.codes, (count + 1) / 2),
                      matrix.absmax.narrow(0, part.absmax, (count + nf4_block - 1) / nf4_block),
                      matrix.nested.narrow(0, part.nested, matrix.nested.size(0) - part.nested),
                      matrix.numbers[static_cast<std::int64_t>(i)], into, static_cast<std::uint64_t>(count)});
  }
}

bool Operations::has_nf4_rows(const Nf4Matrix& matrix, const Tensor& x) const {
  if (matrix.out > INT32_MAX / std::max<std::int64_t>(matrix.in / 2, 1)) return false;  // the kernel's numbers
  return has_kernels() && x.scalar_type() == at::kBFloat16 && matrix.has_whole_rows() && x.size(0) <= most_nf4_rows &&
         x.stride(0) % 8 == 0;
}

void Operations::nf4_rows(const Tensor& x, const Nf4Matrix& matrix, const SingleRow& extras, bool exact,
                          Tensor& y) const {
  const std::int64_t out = extras.pairs ? matrix.out / 2 : matrix.out, tiles = (out + 15) / 16;
  // Few outputs: more warps divide a row, so that enough loads are under way; as long as the GPU holds them all at
  // once.
  const int threads = tiles <= 132 * 2 ? 512 : 256;
  const std::int64_t at_once = 132 * (threads == 512 ? 2 : 4), rounds = (tiles + at_once - 1) / at_once;
  const auto parts = static_cast<std::int64_t>(matrix.parts.size());
  const std::int64_t bytes = 256 * 32 * 4 + parts * 256 * 4 + threads / 32 * 128 * 4;
  constexpr std::int64_t most_staged = 64 << 10;
  for (std::int64_t begin = 0; begin < x.size(0); begin += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, x.size(0) - begin);
    const std::int64_t x_bytes = rows * (matrix.in + 8) * 2;
    const bool staged = x_bytes <= most_staged;
    if (!staged && extras.norm.defined()) throw std::runtime_error("rows are too long to be normed in a product");
    const Tensor own_x = x.narrow(0, begin, rows);
    const Tensor own_y = y.narrow(0, begin, rows);
    const Tensor residual = extras.residual.defined() ? extras.residual.narrow(0, begin, rows) : Tensor();
    kernels_->launch(
        exact ? "nf4_rows_exact" : "nf4_rows_rounded",
        {{(tiles + rounds - 1) / rounds, 1, 1}, threads, bytes + (staged ? x_bytes : 0)},
        {own_x, as_int(x.stride(0)), as_int(rows), extras.norm, static_cast<float>(extras.epsilon), matrix.codes,
         matrix.absmax, matrix.nested, matrix.firsts, matrix.numbers, as_int(parts), extras.bias, residual, own_y,
         as_int(y.stride(0)), as_int(matrix.in), as_int(out), extras.pairs ? 1 : 0, staged ? 1 : 0});
  }
}

}  // namespace kw
