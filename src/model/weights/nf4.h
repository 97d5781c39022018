#pragma once
// NF4 with double quantisation, as bitsandbytes stores it: blocks of 64 elements share a largest magnitude (absmax);
// the absmax, less their mean, are quantised to 8 bits in blocks of 256 with its dynamic map. 4.127 bits an element.
// QLoRA (arXiv 2305.14314), sections 3 and 3.1; bitsandbytes/functional.py: quantize_4bit, create_dynamic_map.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/safetensors_writer.h"
#include "model/weights/tensor.h"

namespace kw {

inline constexpr std::int64_t nf4_block = 64;
inline constexpr std::int64_t nf4_nested_block = 256;

// The 16 values, ascending; a nibble is an index into it.
const std::array<float, 16>& nf4_codebook();
// bitsandbytes' signed 8-bit dynamic map: 256 values, ascending.
const std::array<float, 256>& dynamic_map();

struct Nf4Tensor {
  Shape shape;
  ElementType type = ElementType::f32;  // what it was before, and what it is computed in
  std::vector<std::uint8_t> packed;     // two elements a byte, the first in the high nibble
  std::vector<std::uint8_t> absmax;     // one for each block of 64: index into nested_map
  std::vector<float> nested_absmax;     // one for each 256 of those
  float nested_offset = 0;              // mean of the absmax before quantisation
  std::array<float, 256> nested_map = dynamic_map();

  friend bool operator==(const Nf4Tensor&, const Nf4Tensor&) = default;
};

// Nearest value, ties to the smaller; the absmax likewise. (bitsandbytes' CUDA kernels do so; its CPU library takes a
// neighbour for about one absmax in a thousand, from a table of limited resolution.)
Nf4Tensor quantise_nf4(std::span<const float> values, const Shape& shape, ElementType type);

// `out` has one float for each element; values are not yet rounded to tensor.type.
void dequantise_nf4(const Nf4Tensor& tensor, std::span<float> out);

// The tensors NAME, NAME.absmax, NAME.quant_map, NAME.nested_absmax, NAME.nested_quant_map and
// NAME.quant_state.bitsandbytes__nf4. `tensor` must outlive them.
std::vector<OutgoingTensor> outgoing_nf4(const std::string& name, const Nf4Tensor& tensor);

using FindTensor = std::function<const TensorView*(std::string_view name)>;
Result<Nf4Tensor> read_nf4(const FindTensor& find, const std::string& name);

}  // namespace kw
