#include "model/gpu/torch/nf4_matrices.h"

#include <algorithm>
#include <cstring>

namespace kw {
namespace {

using at::Tensor;

// Loads of 16 bytes may begin at every part.
constexpr std::int64_t alignment = 16;
std::int64_t padded(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

const std::array<std::vector<Projection>, adapter_group_count>& projections_of_groups() {
  using enum Projection;
  static const std::array<std::vector<Projection>, adapter_group_count> groups = {{{q, k, v}, {o}, {gate, up}, {down}}};
  return groups;
}

// One buffer of each kind for the whole base: many small ones would waste what the allocator rounds up.
struct Buffers {
  std::int64_t codes = 0, absmax = 0, nested = 0, parts = 0;
};

template <class T>
Tensor on_host(const std::vector<T>& values, at::ScalarType type) {
  return at::from_blob(const_cast<T*>(values.data()), {static_cast<std::int64_t>(values.size())}, type);
}

}  // namespace

Nf4Matrices::Nf4Matrices(const Nf4Base& base, at::Device device) {
  Buffers size;
  for (const LayerLayout& layer : base.layout.layers) {
    for (const std::int64_t offset : layer.weight) {
      const Nf4Tensor& tensor = base.matrices.at(offset);
      size.codes += padded(static_cast<std::int64_t>(tensor.packed.size()));
      size.absmax += static_cast<std::int64_t>(tensor.absmax.size());
      size.nested += static_cast<std::int64_t>(tensor.nested_absmax.size());
      ++size.parts;
    }
  }
  const auto bytes = at::TensorOptions(device).dtype(at::kByte);
  const Tensor codes = at::zeros({size.codes}, bytes), absmax = at::empty({size.absmax}, bytes);
  const Tensor nested = at::empty({size.nested}, bytes.dtype(at::kFloat));
  const Tensor numbers = at::empty({size.parts, 257}, nested.options());
  std::vector<std::int32_t> firsts;
  std::vector<float> host_numbers;

  Buffers at;
  for (const LayerLayout& places : base.layout.layers) {
    auto& layer = layers_.emplace_back();
    for (int g = 0; g < adapter_group_count; ++g) {
      Nf4Matrix& matrix = layer[static_cast<std::size_t>(g)];
      const Buffers begin = at;
      for (const Projection projection : projections_of_groups()[static_cast<std::size_t>(g)]) {
        const Nf4Tensor& tensor = base.matrices.at(places.weight[static_cast<int>(projection)]);
        const auto count = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
        matrix.in = tensor.shape.at(1);
        matrix.parts.push_back({matrix.out, tensor.shape.at(0), at.codes - begin.codes, at.absmax - begin.absmax,
                                at.nested - begin.nested, places.weight[static_cast<int>(projection)]});
        matrix.out += tensor.shape.at(0);
        codes.narrow(0, at.codes, count(tensor.packed)).copy_(on_host(tensor.packed, at::kByte));
        absmax.narrow(0, at.absmax, count(tensor.absmax)).copy_(on_host(tensor.absmax, at::kByte));
        nested.narrow(0, at.nested, count(tensor.nested_absmax)).copy_(on_host(tensor.nested_absmax, at::kFloat));
        firsts.push_back(static_cast<std::int32_t>(matrix.parts.back().first_row));
        firsts.push_back(static_cast<std::int32_t>(matrix.parts.back().nested));
        host_numbers.push_back(tensor.nested_offset);
        host_numbers.insert(host_numbers.end(), tensor.nested_map.begin(), tensor.nested_map.end());
        at.codes += padded(count(tensor.packed));
        at.absmax += count(tensor.absmax);
        at.nested += count(tensor.nested_absmax);
        ++at.parts;
      }
      matrix.codes = codes.narrow(0, begin.codes, at.codes - begin.codes);
      matrix.absmax = absmax.narrow(0, begin.absmax, at.absmax - begin.absmax);
      matrix.nested = nested.narrow(0, begin.nested, at.nested - begin.nested);
      matrix.numbers = numbers.narrow(0, begin.parts, at.parts - begin.parts);
      largest_ = std::max(largest_, matrix.out * matrix.in);
    }
  }
  numbers.view({-1}).copy_(on_host(host_numbers, at::kFloat));
  const Tensor all_firsts = on_host(firsts, at::kInt).clone().to(device).view({size.parts, 2});
  std::int64_t part = 0;
  for (auto& layer : layers_) {
    for (Nf4Matrix& matrix : layer) {
      matrix.firsts = all_firsts.narrow(0, part, static_cast<std::int64_t>(matrix.parts.size()));
      part += static_cast<std::int64_t>(matrix.parts.size());
    }
  }
}

void Nf4Matrices::download(const Operations& operations, at::ScalarType type, std::span<float> into) const {
  for (const auto& layer : layers_) {
    for (const Nf4Matrix& matrix : layer) {
      Tensor weight = at::empty({matrix.out, matrix.in}, matrix.codes.options().dtype(type));
      operations.expand_nf4(matrix, weight);
      for (const Nf4Matrix::Part& part : matrix.parts) {
        Tensor host = at::from_blob(into.data() + part.host, {part.rows, matrix.in}, at::kFloat);
        host.copy_(weight.narrow(0, part.first_row, part.rows));
      }
    }
  }
}

Tensor Nf4Workspace::expand(const Operations& operations, const Nf4Matrix& matrix) {
  Tensor weight = space_.narrow(0, 0, matrix.out * matrix.in).view({matrix.out, matrix.in});
  operations.expand_nf4(matrix, weight);
  operations.stopwatch().mark("expanding");
  return weight;
}

}  // namespace kw
