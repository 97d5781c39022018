#pragma once
// Moments of 8 bits on the device, in the program's order of elements: what lies on disk is what the CPU's trainer has.

#include <array>
#include <cstdint>
#include <vector>

#include "model/gpu/torch/operations.h"

namespace kw {

struct EightBitMoments {
  struct Piece {
    std::int64_t host = 0, device = 0, count = 0;
  };
  // `pieces`: ascending by host, without gaps.
  EightBitMoments(const std::vector<Piece>& pieces, at::Device device);

  std::int64_t size = 0;
  at::Tensor first_codes, second_codes;      // (size) uint8
  at::Tensor first_largest, second_largest;  // float, one for 256 elements
  at::Tensor table;                          // the map, and the middles between its values
  at::Tensor pieces;                         // (n, 2) int64: first in the program's order, first in the device's

  // Moves values (their `copy` too, unless none) and clears the gradient, all in the device's order.
  void move(const Operations& operations, const AdamWNumbers& numbers, at::Tensor& values, at::Tensor& gradient,
            at::Tensor& copy);
};

}  // namespace kw
