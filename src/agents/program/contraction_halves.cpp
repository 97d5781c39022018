// Contractions of 16-bit types, as text.

#include <string_view>

#include "agents/program/contraction.h"

namespace kw::program {
namespace {

constexpr std::string_view float16_text =
    R"(__device__ void multiply(CUDA_TYPE, float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.PTX_TYPE.PTX_TYPE.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
)";

constexpr std::string_view fragment_text =
    R"(// Four pieces of 8 x 8, each lane's address one line of 8 elements; `turned`: transposed on their way.
template <bool turned>
__device__ void read(unsigned (&r)[4], const void* at) {
  const unsigned from = (unsigned)__cvta_generic_to_shared(at);
  if (turned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}
)";

constexpr std::string_view halves_text =
    R"(// Where lines are no whole pieces: 16 bits are too few for an asynchronous copy.
template <class T, bool by_k, int lines, int depth, int threads>
struct Copied<T, by_k, lines, depth, threads, false> {
  const T* from;
  int step, count;

  __device__ void go_to(int first, int k) {
    from += by_k ? (long long)k * step + first : (long long)first * step + k;
    count -= first;
  }
  __device__ void begin(T* tile, int left) {
#pragma unroll 16
    for (unsigned i = threadIdx.x; i < lines * depth; i += threads) {
      const int line = by_k ? i % lines : i / depth, k = by_k ? i / lines : i % depth;
      const T* source = from + (by_k ? (long long)k * step + line : (long long)line * step + k);
      tile[place_of<T, by_k, lines, depth>(line, k)] = line < count && k < left ? *source : (T)0.0f;
    }
    from += by_k ? (long long)depth * step : depth;
  }
  __device__ void finish(T*) const {}
};

template <class T, int tile_m, int tile_n, int tile_k, int warps_m, int warps_n, int stages, bool left_by_k,
          bool right_by_k, class Left, class Right, class Finish>
__device__ void contract(const Block& block, Left& left, Right& right, const Finish& finish) {
  constexpr int down = tile_m / warps_m / 16, across = tile_n / warps_n / 16, slices = tile_k / 16;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = lane / 8 % 2, other = lane / 16;
  const int warp_row = warp % warps_m * (16 * down), warp_col = warp / warps_m * (16 * across);
  float sum[down][2 * across][4] = {};
  for_each_tile<T, tile_m, tile_n, tile_k, stages>(block, left, right, [&](const T* a, const T* b) {
    unsigned u[2][down][4], v[2][across][4];
    const auto fetch = [&](int s) {
#pragma unroll
      for (int i = 0; i < down; ++i) {
        const int line = warp_row + 16 * i + 8 * half + (left_by_k ? 0 : lane % 8);
        const int k = 16 * s + 8 * other + (left_by_k ? lane % 8 : 0);
        read<left_by_k>(u[s % 2][i], a + place_of<T, left_by_k, tile_m, tile_k>(line, k));
      }
#pragma unroll
      for (int j = 0; j < across; ++j) {
        const int line = warp_col + 16 * j + 8 * other + (right_by_k ? 0 : lane % 8);
        const int k = 16 * s + 8 * half + (right_by_k ? lane % 8 : 0);
        read<right_by_k>(v[s % 2][j], b + place_of<T, right_by_k, tile_n, tile_k>(line, k));
      }
    };
    fetch(0);
#pragma unroll
    for (int s = 0; s < slices; ++s) {
      if (s + 1 < slices) fetch(s + 1);
#pragma unroll
      for (int j = 0; j < 2 * across; ++j) {
#pragma unroll
        for (int i = 0; i < down; ++i)
          multiply(T(), sum[i][j], u[s % 2][i], v[s % 2][j / 2][j % 2 * 2], v[s % 2][j / 2][j % 2 * 2 + 1]);
      }
    }
  });
#pragma unroll
  for (int i = 0; i < down; ++i) {
#pragma unroll
    for (int r = 0; r < 4; r += 2) {
#pragma unroll
      for (int j = 0; j < 2 * across; ++j) {
        const float two[2] = {sum[i][j][r], sum[i][j][r + 1]};
        finish(block.row + warp_row + 16 * i + 4 * r + lane / 4, block.col + warp_col + 8 * j + lane % 4 * 2, two);
      }
    }
  }
}
)";

}  // namespace

std::string with_type(std::string_view text, Arithmetic arithmetic) {
  std::string made(text);
  const auto put = [&](std::string_view name, std::string_view by) {
    for (std::size_t at = made.find(name); at != std::string::npos; at = made.find(name))
      made.replace(at, name.size(), by);
  };
  put("PTX_TYPE", arithmetic == Arithmetic::float16 ? "f16" : "bf16");
  put("CUDA_TYPE", cuda_type_of(type_of(arithmetic)));
  return made;
}

std::string half_products(const std::set<Arithmetic>& used) {
  std::string made;
  for (const Arithmetic arithmetic : used)
    if (type_of(arithmetic) != Dtype::float32) made += with_type(float16_text, arithmetic) + "\n";
  return made.empty() ? made : made + std::string(fragment_text) + "\n";
}

std::string half_functions() { return std::string(halves_text); }

}  // namespace kw::program
