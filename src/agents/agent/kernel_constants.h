#pragma once
// Numbers of a kernel that a person would tune: named constants (`constexpr int tile = 64;`, `#define BLOCK 256`), and
// plain numbers of a launch (`<<<grid, 256>>>`, `dim3 block(16, 16)`, `tile_kernel<64, 8><<<...>>>`, `#pragma unroll
// 4`, `(channels + 3) / 4`). They are found in the tokens, and changed in the text: everything else stays as it is, to
// the byte.
//
// Nothing here knows whether a changed kernel is right: it is a proposal, and the judge judges it. A text may be
// anybody's; time is linear in it, and what is found is bounded.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw {

// A number as it stands in the text.
struct ConstantPlace {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::int64_t more = 0;  // than the constant: -1 for the 255 of (n + 255) / 256, 1 for the padded tile[32][33]
  std::string suffix = {};
};

struct KernelConstant {
  std::string name;  // "tile"; of a plain number its place and value: "block 256", "block 256 of the launcher"
  std::int64_t value = 0;
  bool threads = false;                 // of a block: multiples of a warp; else powers of two
  std::vector<ConstantPlace> places{};  // in order; all are changed together
};

inline constexpr std::size_t max_tuned_kernel_bytes = std::size_t{64} << 10;
inline constexpr std::size_t most_kernel_constants = 32;
inline constexpr std::int64_t most_constant_value = 4096;

// In the order of their first places. Empty for a text without any, and for one that is too long.
std::vector<KernelConstant> kernel_constants(std::string_view kernel);

// Other values to try, the nearest first; never the present one.
std::vector<std::int64_t> other_values(const KernelConstant& constant);

// The text with these constants changed. Where two of them share a place, the first one has it.
using ConstantChange = std::pair<const KernelConstant*, std::int64_t>;
std::string with_values(std::string_view kernel, const std::vector<ConstantChange>& changes);

// "tile 64 -> 128, stages 2 -> 3"
std::string to_string(const std::vector<ConstantChange>& changes);

}  // namespace kw
