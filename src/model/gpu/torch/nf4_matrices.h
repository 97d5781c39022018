#pragma once
// A frozen base in NF4 on the device: the packed matrices of the linear layers, those that read the same input one
// below the other, as they are elsewhere (model_tensors.h).

#include <array>
#include <vector>

#include "model/decoder/nf4_base.h"
#include "model/gpu/torch/adapter_tensors.h"
#include "model/gpu/torch/torch_headers.h"

namespace kw {

// (out, in). Parts were quantised each on its own: q, k, v; gate, up.
struct Nf4Matrix {
  std::int64_t out = 0, in = 0;
  at::Tensor codes, absmax;  // uint8: two elements a byte; one for 64 elements
  at::Tensor nested;         // float: one for 256 of those
  at::Tensor numbers;        // float (parts, 257): offset, map
  at::Tensor firsts;         // int32 (parts, 2): first row, first of `nested`
  struct Part {
    std::int64_t first_row = 0, rows = 0;
    std::int64_t codes = 0, absmax = 0, nested = 0;  // where they begin
    std::int64_t host = 0;                           // offset in the program's layout
  };
  std::vector<Part> parts;

  // Rows are whole blocks: a few rows of x are multiplied without expanding it.
  bool has_whole_rows() const { return in % nf4_block == 0; }
};

class Nf4Matrices {
 public:
  Nf4Matrices(const Nf4Base& base, at::Device device);

  const Nf4Matrix& at(std::int64_t layer, AdapterGroup group) const {
    return layers_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(group)];
  }
  std::int64_t largest() const { return largest_; }  // elements of the largest: what a workspace must hold
  // What is computed with, into the program's layout.
  void download(const Operations& operations, at::ScalarType type, std::span<float> into) const;

 private:
  std::vector<std::array<Nf4Matrix, adapter_group_count>> layers_;
  std::int64_t largest_ = 0;
};

// Where one matrix at a time is expanded for the products of many rows. Uses of one workspace are on one stream.
class Nf4Workspace {
 public:
  Nf4Workspace(const Nf4Matrices& matrices, at::ScalarType type, at::Device device)
      : space_(at::empty({matrices.largest()}, at::TensorOptions(device).dtype(type))) {}
  // Valid until the next call.
  at::Tensor expand(const Operations& operations, const Nf4Matrix& matrix);

 private:
  at::Tensor space_;
};

}  // namespace kw
