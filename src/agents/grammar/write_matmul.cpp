// Matrix products: one thread an element, tiles in shared memory, several results a thread, tensor cores.

#include <fmt/format.h>

#include "agents/grammar/writers.h"

namespace kw {
namespace {

class ProductWriter {
 public:
  explicit ProductWriter(Draft& draft) : d_(draft), p_(draft.problem) {
    const auto& out = p_.output_shape;
    lead_ = std::vector<std::string>(out.begin(), out.end() - 2);
    m_ = out[out.size() - 2];
    n_ = out.back();
    left_turned_ = p_.family == Family::matmul_tn;
    right_turned_ = p_.family == Family::matmul_nt || p_.family == Family::attention_scores;
    const auto& left = p_.operands[0].shape;
    k_ = left_turned_ ? left[left.size() - 2] : left.back();
    for (const char* taken : {"u", "w"}) d_.names.reserve(taken);  // loops over the results of a thread
    row_ = d_.names.pick({"row", "r", "i"});
    col_ = d_.names.pick({"col", "c", "j"});
    kk_ = d_.names.pick({"kk", "e", "step"});
    sum_ = d_.names.pick({"sum", "acc", "total", "s"});
  }

  std::string write() {
    switch (d_.level) {
      case Level::naive:
        return naive();
      case Level::shared:
        return tiled();
      case Level::tensor:
        return tensor();
      default:
        return blocked();
    }
  }

 private:
  // Of a batch every layer of blocks has one product: its pointers are moved there.
  std::string z_line() const {
    if (lead_.empty()) return "";
    const auto moved = [](const std::string& name, const std::string& height, const std::string& width) {
      return fmt::format("{} += blockIdx.z * {} * {};\n", name, height, width);
    };
    std::string lines = moved(d_.in[0], m_, k_) + moved(d_.in[1], k_, n_);
    for (std::size_t i = 2; i < p_.operands.size(); ++i)
      if (p_.operands[i].label == "full") lines += moved(d_.in[i], m_, n_);
    return lines + moved(d_.out, m_, n_);
  }
  std::string z_count() const {
    std::string text;
    for (const std::string& dim : lead_) text += (text.empty() ? "" : " * ") + dim;
    return text;
  }
  // Brackets are for factors, not for what is added.
  static std::string addend(const std::string& text) {
    return text.front() == '(' ? text.substr(1, text.size() - 2) : text;
  }
  std::string left(const std::string& row, const std::string& k) const {
    const std::string place = left_turned_ ? fmt::format("{} * {} + {}", k, m_, addend(row))
                                           : fmt::format("{} * {} + {}", row, k_, addend(k));
    return d_.load(0, place);
  }
  std::string right(const std::string& k, const std::string& col) const {
    const std::string place = right_turned_ ? fmt::format("{} * {} + {}", col, k_, addend(k))
                                            : fmt::format("{} * {} + {}", k, n_, addend(col));
    return d_.load(1, place);
  }

  // The epilogue and the store of `value` at (row, col).
  std::string store(const std::string& value, const std::string& row, const std::string& col) {
    Names::Scope scope(d_.names);
    const std::string place = fmt::format("{} * {} + {}", row, n_, col);
    auto code = d_.element(p_.post, [&](const Operand& o) { return o.label == "row" ? col : place; }, value);
    if (p_.causal) code.value = fmt::format("{} <= {} ? {} : {}", col, row, code.value, d_.zero());
    return code.lines + fmt::format("{}[{}] = {};\n", d_.out, place, d_.to_output(code.value));
  }

  std::vector<std::string> sizes() const { return size_order(p_); }
  std::string grid(const std::string& across, const std::string& down) {
    std::string text = "dim3(" + d_.ceil_div(n_, across) + ", " + d_.ceil_div(m_, down);
    return text + (lead_.empty() ? ")" : ", " + z_count() + ")");
  }

  // The fields of one text, and those that every product has.
  Fields with_common(Fields fields) const {
    const Fields common{{"params", d_.parameters(sizes())},
                        {"z", z_line()},
                        {"col", col_},
                        {"row", row_},
                        {"m", m_},
                        {"n", n_},
                        {"k", k_},
                        {"kk", kk_},
                        {"inc", d_.increment(kk_)},
                        {"sum", sum_}};
    fields.insert(fields.end(), common.begin(), common.end());
    return fields;
  }

  std::string naive() {
    const int height = d_.random.uniform() < 0.6 ? 16 : 8;
    const int width = height == 16 ? 16 : 32;
    const std::string body = fill(d_, R"(
// One thread for each element of the product.
__global__ void $kernel($params) {
  $int $col = $x;
  $int $row = $y;
  $z
  if ($row >= $m || $col >= $n) return;
  $acc $sum = $zero;
  for (int $kk = 0; $kk < $k; $inc) {
    $sum += $left * $right;
  }
  $store
}
)",
                                  with_common({{"x", d_.thread_index("x")},
                                               {"y", d_.thread_index("y")},
                                               {"left", left(row_, kk_)},
                                               {"right", right(kk_, col_)},
                                               {"store", store(sum_, row_, col_)}}));
    return d_.finish(body, d_.launch_grid(grid(std::to_string(width), std::to_string(height)),
                                          fmt::format("dim3({}, {})", width, height), sizes()));
  }

  // A tile's element by this thread, so that neighbouring threads read neighbouring elements: turned factors are turned
  // on the way into shared memory.
  std::string read_left(const std::string& tile_name, const std::string& tile, const std::string& tx,
                        const std::string& ty, const std::string& start) const {
    if (!left_turned_)
      return fmt::format("{0}[{2}][{1}] = {3} < {4} && {5} + {1} < {6} ? {7} : {8};", tile_name, tx, ty, row_, m_,
                         start, k_, left(row_, "(" + start + " + " + tx + ")"), d_.zero());
    const std::string row = fmt::format("blockIdx.y * {} + {}", tile, tx);
    return fmt::format("{0}[{1}][{2}] = {3} < {4} && {5} + {2} < {6} ? {7} : {8};", tile_name, tx, ty, row, m_, start,
                       k_, left("(" + row + ")", "(" + start + " + " + ty + ")"), d_.zero());
  }
  std::string read_right(const std::string& tile_name, const std::string& tile, const std::string& tx,
                         const std::string& ty, const std::string& start) const {
    if (!right_turned_)
      return fmt::format("{0}[{2}][{1}] = {5} + {2} < {6} && {3} < {4} ? {7} : {8};", tile_name, tx, ty, col_, n_,
                         start, k_, right("(" + start + " + " + ty + ")", col_), d_.zero());
    const std::string col = fmt::format("blockIdx.x * {} + {}", tile, ty);
    return fmt::format("{0}[{1}][{2}] = {5} + {1} < {6} && {3} < {4} ? {7} : {8};", tile_name, tx, ty, col, n_, start,
                       k_, right("(" + start + " + " + tx + ")", "(" + col + ")"), d_.zero());
  }

  std::string tiled() {
    const int size = d_.random.uniform() < 0.6 ? 16 : 32;
    std::string tile = std::to_string(size);
    if (d_.style.block_constant || d_.random.uniform() < 0.5) {
      tile = d_.names.pick_for_file({"TILE", "kTile", "TILE_SIZE", "BLOCK"});
      const bool macro = tile != "kTile" && d_.random.uniform() < 0.45;
      d_.add_helper(macro ? fmt::format("#define {} {}\n", tile, size)
                          : fmt::format("constexpr int {} = {};\n", tile, size));
    }
    const std::string a = d_.names.pick({"As", "tile_a", "left_tile", "sa"});
    const std::string b = d_.names.pick({"Bs", "tile_b", "right_tile", "sb"});
    const std::string start = d_.names.pick({"k0", "start", "base_k"});
    const std::string tx = d_.names.pick({"tx", "lx", "x_t"}), ty = d_.names.pick({"ty", "ly", "y_t"});
    const std::string body = fill(d_, R"(
// Square tiles of both factors in shared memory.
__global__ void $kernel($params) {
  __shared__ $acc $a[$tile][$tile$$left_pad];
  __shared__ $acc $b[$tile][$tile$$pad];
  $int $tx = threadIdx.x;
  $int $ty = threadIdx.y;
  $int $row = blockIdx.y * $tile + $ty;
  $int $col = blockIdx.x * $tile + $tx;
  $z
  $acc $sum = $zero;
  for (int $start = 0; $start < $k; $start += $tile) {
    $read_left
    $read_right
    __syncthreads();
#pragma unroll
    for (int $kk = 0; $kk < $tile; $inc) {
      $sum += $a[$ty][$kk] * $b[$kk][$tx];
    }
    __syncthreads();
  }
  if ($row < $m && $col < $n) {
    $store
  }
}
)",
                                  with_common({{"tile", tile},
                                               {"pad", right_turned_ || d_.random.uniform() < 0.3 ? " + 1" : ""},
                                               {"left_pad", left_turned_ ? " + 1" : ""},
                                               {"read_left", read_left(a, tile, tx, ty, start)},
                                               {"read_right", read_right(b, tile, tx, ty, start)},
                                               {"a", a},
                                               {"b", b},
                                               {"tx", tx},
                                               {"ty", ty},
                                               {"start", start},
                                               {"store", store(sum_, row_, col_)}}));
    return d_.finish(body, d_.launch_grid(grid(tile, tile), fmt::format("dim3({0}, {0})", tile), sizes()));
  }

  std::string blocked() {
    const int thread_rows = 4, thread_cols = 4;
    const int tile = d_.random.uniform() < 0.7 ? 64 : 32;
    const int depth = tile == 64 ? 16 : 8;
    const int threads = tile / thread_rows * (tile / thread_cols);
    const std::string tm = d_.names.pick_for_file({"TILE", "BM", "kTile"});
    const std::string td = d_.names.pick_for_file({"DEPTH", "BK", "kDepth"});
    d_.add_helper(fmt::format("constexpr int {} = {};\nconstexpr int {} = {};\n", tm, tile, td, depth));
    const std::string body = fill(
        d_, R"(
// $tile x $tile results a block, 4 x 4 of them in the registers of each thread.
__global__ void $kernel($params) {
  __shared__ $acc As[$td][$tm + 1];
  __shared__ $acc Bs[$td][$tm + 1];
  $int t = threadIdx.x;
  $int first_row = blockIdx.y * $tm;
  $int first_col = blockIdx.x * $tm;
  $int my_row = t / ($tm / 4) * 4;
  $int my_col = t % ($tm / 4) * 4;
  $z
  $acc sums[4][4] = {};
  for (int k0 = 0; k0 < $k; k0 += $td) {
    for (int slot = t; slot < $tm * $td; slot += $threads) {
      $left_place
      As[ka][ra] = first_row + ra < $m && k0 + ka < $k ? $left : $zero;
      $right_place
      Bs[kb][cb] = k0 + kb < $k && first_col + cb < $n ? $right : $zero;
    }
    __syncthreads();
#pragma unroll
    for (int $kk = 0; $kk < $td; $inc) {
#pragma unroll
      for (int u = 0; u < 4; ++u) {
#pragma unroll
        for (int w = 0; w < 4; ++w) sums[u][w] += As[$kk][my_row + u] * Bs[$kk][my_col + w];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int u = 0; u < 4; ++u) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      $int $row = first_row + my_row + u;
      $int $col = first_col + my_col + w;
      if ($row < $m && $col < $n) {
        $store
      }
    }
  }
}
)",
        with_common(
            {{"tile", std::to_string(tile)},
             {"tm", tm},
             {"td", td},
             {"threads", std::to_string(threads)},
             // Neighbouring threads read neighbouring elements of each factor.
             {"left_place", left_turned_ ? fmt::format("{0} ra = slot % {1}, ka = slot / {1};", d_.local("int"), tm)
                                         : fmt::format("{0} ra = slot / {1}, ka = slot % {1};", d_.local("int"), td)},
             {"right_place", right_turned_ ? fmt::format("{0} cb = slot / {1}, kb = slot % {1};", d_.local("int"), td)
                                           : fmt::format("{0} cb = slot % {1}, kb = slot / {1};", d_.local("int"), tm)},
             {"left", left("(first_row + ra)", "(k0 + ka)")},
             {"right", right("(k0 + kb)", "(first_col + cb)")},
             {"store", store("sums[u][w]", row_, col_)}}));
    return d_.finish(body, d_.launch_grid(grid(tm, tm), std::to_string(threads), sizes()));
  }

  std::string tensor() {
    const auto raw = [&](int operand, const std::string& text) {
      const std::string whole =
          operand == 0 ? left("(first_row + r)", "(k0 + c)") : right("(k0 + r)", "(first_col + c)");
      return text +
             whole.substr(std::string("__half2float(").size(), whole.size() - std::string("__half2float()").size());
    };
    const std::string body = fill(d_, R"(
using namespace nvcuda;

// 64 x 64 results a block of four warps; each warp has 2 x 2 fragments of 16 x 16 on the tensor cores.
__global__ void $kernel($params) {
  __shared__ __half As[64][24];
  __shared__ __half Bs[16][72];
  __shared__ float Cs[64][68];
  $int t = threadIdx.x;
  $int warp = t / 32;
  $int first_row = blockIdx.y * 64;
  $int first_col = blockIdx.x * 64;
  $int warp_row = warp / 2 * 32;
  $int warp_col = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
  for (int u = 0; u < 2; ++u)
    for (int w = 0; w < 2; ++w) wmma::fill_fragment(sums[u][w], 0.0f);
  for (int k0 = 0; k0 < $k; k0 += 16) {
    for (int slot = t; slot < 64 * 16; slot += 128) {
      $int r = slot / 16, c = slot % 16;
      As[r][c] = first_row + r < $m && k0 + c < $k ? $left : __float2half(0.0f);
    }
    for (int slot = t; slot < 16 * 64; slot += 128) {
      $right_place
      Bs[r][c] = k0 + r < $k && first_col + c < $n ? $right : __float2half(0.0f);
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[2];
    for (int u = 0; u < 2; ++u) {
      wmma::load_matrix_sync(a[u], &As[warp_row + u * 16][0], 24);
      wmma::load_matrix_sync(b[u], &Bs[0][warp_col + u * 16], 72);
    }
    for (int u = 0; u < 2; ++u)
      for (int w = 0; w < 2; ++w) wmma::mma_sync(sums[u][w], a[u], b[w], sums[u][w]);
    __syncthreads();
  }
  for (int u = 0; u < 2; ++u)
    for (int w = 0; w < 2; ++w)
      wmma::store_matrix_sync(&Cs[warp_row + u * 16][warp_col + w * 16], sums[u][w], 68, wmma::mem_row_major);
  __syncthreads();
  for (int slot = t; slot < 64 * 64; slot += 128) {
    $int $row = first_row + slot / 64;
    $int $col = first_col + slot % 64;
    if ($row < $m && $col < $n) {
      $store
    }
  }
}
)",
                                  {{"params", d_.parameters(sizes())},
                                   {"m", m_},
                                   {"n", n_},
                                   {"k", k_},
                                   {"row", row_},
                                   {"col", col_},
                                   {"left", raw(0, "")},
                                   {"right", raw(1, "")},
                                   {"right_place", right_turned_ ? d_.local("int") + " r = slot % 16, c = slot / 16;"
                                                                 : d_.local("int") + " r = slot / 64, c = slot % 64;"},
                                   {"store", store("Cs[slot / 64][slot % 64]", row_, col_)}});
    return d_.finish(body, d_.launch_grid(grid("64", "64"), "128", sizes()));
  }

  Draft& d_;
  const Problem& p_;
  std::vector<std::string> lead_;
  std::string m_, n_, k_, row_, col_, kk_, sum_;
  bool left_turned_ = false, right_turned_ = false;
};

}  // namespace

std::string write_matmul(Draft& draft) { return ProductWriter(draft).write(); }

}  // namespace kw
