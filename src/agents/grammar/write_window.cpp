// Pooling, and what depthwise convolutions do alike: a window slides over one or two axes.

#include <fmt/format.h>

#include <utility>

#include "agents/grammar/window_writer.h"

namespace kw {

std::string WindowWriter::naive() {
  const std::string i = d_.names.pick({"i", "idx", "tid", "index"});
  std::string split = fmt::format("{} {} = {} % {};\n", d_.local("int"), ox_, i, ow_);
  std::string above = ow_;
  if (two_) {
    split += fmt::format("{} {} = {} / {} % {};\n", d_.local("int"), oy_, i, ow_, oh_);
    above = "(" + ow_ + " * " + oh_ + ")";
  }
  split += fmt::format("{} {} = {} / {} % {};\n", d_.local("int"), oc_, i, above, out_channels_);
  const std::string whole =
      two_ ? fmt::format("({} * {} * {})", ow_, oh_, out_channels_) : fmt::format("({} * {})", ow_, out_channels_);
  split += fmt::format("{} {} = {} / {};\n", d_.local("int"), b_, i, whole);
  const std::string body = fill(d_, R"(
// One thread for each element of the output.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $total) return;
  $split
  $core
  $store
}
)",
                                {{"params", d_.parameters(sizes())},
                                 {"i", i},
                                 {"index", d_.thread_index()},
                                 {"total", total()},
                                 {"split", split},
                                 {"core", core()},
                                 {"store", store(result(), oc_)}});
  const std::string n = d_.names.pick({"total", "outputs", "work"});
  const std::string lines = setup() + fmt::format("{} {} = {};\n", d_.local("int"), n, total());
  return d_.finish(body, d_.launch_over(n, d_.block_size({256, 256, 128}), sizes(), lines));
}

std::string WindowWriter::planes() {
  const std::string block = d_.block_size({256, 256, 128});
  const std::string i = two_ ? d_.names.pick({"i", "idx", "pixel"}) : ox_;
  const std::string count = two_ ? oh_ + " * " + ow_ : ow_;
  const std::string split =
      two_ ? fmt::format("{0} {1} = {2} / {3};\n{0} {4} = {2} % {3};\n", d_.local("int"), oy_, i, ow_, ox_) : "";
  const std::string body = fill(d_, R"(
// A row of blocks for each image and channel: only the place within a plane has to be taken apart.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $count) return;
  $split
  $head
  $core
  $store
}
)",
                                {{"params", d_.parameters(sizes())},
                                 {"i", i},
                                 {"index", d_.thread_index()},
                                 {"count", count},
                                 {"split", split},
                                 {"head", plane_head(out_channels_, "y")},
                                 {"core", core()},
                                 {"store", store(result(), oc_)}});
  const std::string grid = fmt::format("dim3({}, {} * {})", d_.ceil_div(count, block), batch_, out_channels_);
  return d_.finish(body, d_.launch_grid(grid, block, sizes(), setup()));
}

// Windows that overlap: a value that is read serves all of a thread's rows.
std::string WindowWriter::several_rows() {
  const Fold fold = maximum() ? Fold::maximum : Fold::sum;
  const std::string r = d_.names.pick({"r", "dr", "in_row"}), u = d_.names.pick({"u", "q", "k"});
  const std::string v = d_.names.pick({"v", "xv", "value"}), row = d_.names.pick({"row", "y_u", "out_row"});
  const std::string start = fold_start(d_, fold);
  const std::string step = p_.stride == 1 ? u : fmt::format("{} * {}", u, p_.stride);
  const auto read = convolution_ ? Draft::Element{"", d_.load(0, input_place(oc_))}
                                 : d_.element(p_.pre, [&](const Operand&) { return input_place(oc_); });
  std::string term = v;
  if (depthwise_)
    term += " * " + d_.load(1, fmt::format("({} * {} + {} - {}) * {} + {}", oc_, window_, r, step, window_, kx_));
  const std::string sum = sum_ + "[" + u + "]";
  const std::string first_row = std::exchange(oy_, row);
  const std::string stored =
      store(maximum() || convolution_ ? sum : fmt::format("{} / {}.0f", sum, p_.window * p_.window), oc_);
  oy_ = first_row;
  const auto guard = [&](const std::string& at, const std::string& limit) {
    return fmt::format("if ({0}{1} >= {2}) continue;\n", p_.padding > 0 ? at + " < 0 || " : "", at, limit);
  };
  const std::string body = fill(d_, R"(
// Four rows of the output a thread: a value that is read serves every window that holds it.
__global__ void $kernel($params) {
  $int $ox = $x;
  $int $oy = ($y) * 4;
  $head
  if ($outside) return;
  float $sum[4] = {$starts};
#pragma unroll
  for (int $r = 0; $r < $rows; ++$r) {
    $int $iy = $iy_place;
    $guard
#pragma unroll
    for (int $kx = 0; $kx < $window; ++$kx) {
      $int $ix = $ix_place;
      $side
      $lines
      $val $v = $value;
#pragma unroll
      for (int $u = 0; $u < 4; ++$u) {
        if ($r >= $step && $r < $step + $window) {
          $fold
        }
      }
    }
  }
#pragma unroll
  for (int $u = 0; $u < 4; ++$u) {
    $int $row = $oy + $u;
    if ($row < $oh) {
      $store
    }
  }
}
)",
                                {{"params", d_.parameters(sizes())},
                                 {"x", d_.thread_index("x")},
                                 {"y", d_.thread_index("y")},
                                 {"ox", ox_},
                                 {"oy", oy_},
                                 {"oh", oh_},
                                 {"head", plane_head(out_channels_)},
                                 {"outside", outside()},
                                 {"sum", sum_},
                                 {"starts", maximum() ? fmt::format("{0}, {0}, {0}, {0}", start) : ""},
                                 {"r", r},
                                 {"rows", std::to_string(3 * p_.stride + p_.window)},
                                 {"iy", iy_},
                                 {"iy_place", position(oy_, r)},
                                 {"guard", guard(iy_, height_)},
                                 {"kx", kx_},
                                 {"window", window_},
                                 {"ix", ix_},
                                 {"ix_place", position(ox_, kx_)},
                                 {"side", p_.padding > 0 ? guard(ix_, width_) : ""},
                                 {"lines", read.lines},
                                 {"v", v},
                                 {"value", read.value},
                                 {"u", u},
                                 {"step", step},
                                 {"fold", fold_step(d_, fold, sum, term)},
                                 {"row", row},
                                 {"store", stored}});
  const std::string grid =
      fmt::format("dim3({}, {}, {} * {})", d_.ceil_div(ow_, "32"), d_.ceil_div(oh_, "16"), batch_, out_channels_);
  return d_.finish(body, d_.launch_grid(grid, "dim3(32, 4)", sizes(), setup()));
}

// Pooling along one axis: what a block's windows cover, read once.
std::string WindowWriter::shared_line() {
  const int threads = 128;
  const int span = (threads - 1) * p_.stride + p_.window;
  const std::string line = d_.names.pick({"line_s", "seg", "tile", "cache"});
  const Fold fold = maximum() ? Fold::maximum : Fold::sum;
  const std::string first = fmt::format("blockIdx.x * {} - {}", threads * p_.stride, p_.padding);
  const auto value = d_.element(p_.pre, [&](const Operand&) { return input_place(oc_); });
  const std::string local =
      p_.stride == 1 ? "threadIdx.x + " + kx_ : fmt::format("threadIdx.x * {} + {}", p_.stride, kx_);
  const std::string body = fill(d_, R"(
// The stretch that a block's windows cover goes through shared memory once.
__global__ void $kernel($params) {
  __shared__ float $line[$span];
  $int $ox = blockIdx.x * 128 + threadIdx.x;
  $head
  $int first = $first;
  for (int q = threadIdx.x; q < $span; q += 128) {
    $int $ix = first + q;
    $line[q] = $start;
    if ($ix >= 0 && $ix < $width) {
      $lines
      $line[q] = $value;
    }
  }
  __syncthreads();
  if ($ox >= $ow) return;
  float $sum = $start;
  for (int $kx = 0; $kx < $window; $inc) {
    $step
  }
  $store
}
)",
                                {{"params", d_.parameters(sizes())},
                                 {"line", line},
                                 {"span", std::to_string(span)},
                                 {"ox", ox_},
                                 {"ow", ow_},
                                 {"head", plane_head(out_channels_)},
                                 {"first", first},
                                 {"ix", ix_},
                                 {"width", width_},
                                 {"start", fold_start(d_, fold)},
                                 {"lines", value.lines},
                                 {"value", value.value},
                                 {"sum", sum_},
                                 {"kx", kx_},
                                 {"window", window_},
                                 {"inc", d_.increment(kx_)},
                                 {"step", fold_step(d_, fold, sum_, line + "[" + local + "]")},
                                 {"store", store(result(), oc_)}});
  return d_.finish(body, d_.launch_grid(grid(batch_ + " * " + out_channels_), block(), sizes(), setup()));
}

std::string write_pooling(Draft& draft) { return WindowWriter(draft).write(); }

}  // namespace kw
