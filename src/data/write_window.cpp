// Pooling and small convolutions: a window slides over one or two axes.

#include <fmt/format.h>

#include "data/row_phases.h"
#include "data/writers.h"

namespace kw {
namespace {

class WindowWriter {
 public:
  explicit WindowWriter(Draft& draft) : d_(draft), p_(draft.problem) {
    const auto& shape = p_.operands.front().shape;
    two_ = shape.size() == 4;
    batch_ = shape[0];
    channels_ = shape[1];
    height_ = two_ ? shape[2] : "";
    width_ = shape.back();
    convolution_ = p_.family == Family::conv1d || p_.family == Family::conv2d || p_.family == Family::depthwise_conv2d;
    depthwise_ = p_.family == Family::depthwise_conv2d;
    out_channels_ = p_.output_shape[1];
    oh_ = two_ ? d_.names.pick({"out_h", "oh", "H_out", "out_height"}) : "";
    ow_ = d_.names.pick({"out_w", "ow", "W_out", "out_len"});
    oy_ = two_ ? d_.names.pick({"oy", "out_y", "py"}) : "";
    ox_ = d_.names.pick({"ox", "out_x", "px"});
    b_ = d_.names.pick({"img", "b", "sample"});
    oc_ = d_.names.pick({"oc", "ch", "map"});
    sum_ = d_.names.pick({"sum", "acc", "total", "s"});
    ic_ = d_.names.pick({"ic", "ci", "in_c"});
    ky_ = d_.names.pick({"ky", "dy", "kh"});
    kx_ = d_.names.pick({"kx", "dx", "kw"});
    iy_ = d_.names.pick({"iy", "in_y", "yy"});
    ix_ = d_.names.pick({"ix", "in_x", "xx"});
    window_ = std::to_string(p_.window);
  }

  std::string write() {
    switch (d_.level) {
      case Level::naive:
        return naive();
      case Level::coalesced:
        return planes();
      case Level::shared:
        return convolution_ ? shared_weights() : shared_line();
      default:
        return several_channels();
    }
  }

 private:
  // Output sizes are computed once, by the launcher.
  std::string setup() const {
    std::string lines;
    if (two_) lines += fmt::format("{} {} = {};\n", d_.local("int"), oh_, p_.output_shape[2]);
    return lines + fmt::format("{} {} = {};\n", d_.local("int"), ow_, p_.output_shape.back());
  }
  std::vector<std::string> sizes() const {
    std::vector<std::string> all = size_order(p_);
    if (two_) all.push_back(oh_);
    all.push_back(ow_);
    return all;
  }

  std::string input_place(const std::string& channel) const {
    const std::string plane = fmt::format("{} * {} + {}", b_, channels_, channel);
    if (two_) return fmt::format("(({}) * {} + {}) * {} + {}", plane, height_, iy_, width_, ix_);
    return fmt::format("({}) * {} + {}", plane, width_, ix_);
  }
  std::string output_place(const std::string& channel) const {
    const std::string plane = fmt::format("{} * {} + {}", b_, out_channels_, channel);
    if (two_) return fmt::format("(({}) * {} + {}) * {} + {}", plane, oh_, oy_, ow_, ox_);
    return fmt::format("({}) * {} + {}", plane, ow_, ox_);
  }
  std::string weight_place(const std::string& channel) const {
    if (depthwise_) return fmt::format("({} * {} + {}) * {} + {}", channel, window_, ky_, window_, kx_);
    if (two_)
      return fmt::format("(({} * {} + {}) * {} + {}) * {} + {}", channel, channels_, ic_, window_, ky_, window_, kx_);
    return fmt::format("({} * {} + {}) * {} + {}", channel, channels_, ic_, window_, kx_);
  }

  std::string position(const std::string& out, const std::string& k) const {
    const std::string scaled = p_.stride == 1 ? out : fmt::format("{} * {}", out, p_.stride);
    return p_.padding == 0 ? fmt::format("{} + {}", scaled, k) : fmt::format("{} + {} - {}", scaled, k, p_.padding);
  }

  // Loops over the window around `lines`.
  std::string window(const std::string& lines) const {
    const auto axis = [&](const std::string& k, const std::string& at, const std::string& out, const std::string& limit,
                          const std::string& inner) {
      const std::string guard =
          p_.padding > 0 ? fmt::format("if ({0} < 0 || {0} >= {1}) continue;\n", at, limit) : std::string();
      return fill("for (int $k = 0; $k < $window; $inc) {\n  $int $at = $place;\n  $guard\n  $inner\n}\n",
                  Fields{{"k", k},
                         {"window", window_},
                         {"inc", d_.increment(k)},
                         {"int", d_.local("int")},
                         {"at", at},
                         {"place", position(out, k)},
                         {"guard", guard},
                         {"inner", inner}});
    };
    const std::string inner = axis(kx_, ix_, ox_, width_, lines);
    return two_ ? axis(ky_, iy_, oy_, height_, inner) : inner;
  }

  std::string over_channels(const std::string& lines) const {
    if (depthwise_) return lines;
    return fill("for (int $c = 0; $c < $channels; $inc) {\n  $lines\n}\n",
                Fields{{"c", ic_}, {"channels", channels_}, {"inc", d_.increment(ic_)}, {"lines", lines}});
  }

  // What the window gives, without the post expression; `weight` overrides how a weight is read.
  std::string core(const std::string& weight = "") {
    if (convolution_) {
      const std::string w = weight.empty() ? d_.load(1, weight_place(oc_)) : weight;
      const std::string x = d_.load(0, input_place(depthwise_ ? oc_ : ic_));
      return fmt::format("float {} = 0.0f;\n", sum_) +
             over_channels(window(fmt::format("{} += {} * {};\n", sum_, x, w)));
    }
    const Fold fold = maximum() ? Fold::maximum : Fold::sum;
    const auto value = d_.element(p_.pre, [&](const Operand&) { return input_place(oc_); });
    return fmt::format("float {} = {};\n", sum_, fold_start(d_, fold)) +
           window(value.lines + fold_step(d_, fold, sum_, value.value));
  }

  bool maximum() const { return p_.family == Family::max_pool1d || p_.family == Family::max_pool2d; }

  std::string result() const {
    if (convolution_ || maximum()) return sum_;
    const int count = two_ ? p_.window * p_.window : p_.window;
    return fmt::format("{} / {}.0f", sum_, count);
  }

  std::string store(const std::string& value, const std::string& channel) {
    Names::Scope scope(d_.names);
    std::string lines, name = value;
    if (value.find(' ') != std::string::npos && !p_.post.trivial()) {
      name = d_.names.pick({"avg", "mean_v", "m_v"});
      lines = fmt::format("{} {} = {};\n", d_.local("float"), name, value);
    }
    const std::string place = output_place(channel);
    const auto code =
        d_.element(p_.post, [&](const Operand& o) { return o.label == "channel" ? channel : place; }, name);
    return lines + code.lines + fmt::format("{}[{}] = {};\n", d_.out, place, d_.to_output(code.value));
  }

  std::string total() const {
    std::string text = batch_ + " * " + out_channels_;
    if (two_) text += " * " + oh_;
    return text + " * " + ow_;
  }

  std::string naive() {
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

  std::string plane_head(const std::string& channels) const {
    const std::string axis = two_ ? "z" : "y";
    return fmt::format("{0} {1} = blockIdx.{2} / {3};\n{0} {4} = blockIdx.{2} % {3};\n", d_.local("int"), b_, axis,
                       channels, oc_);
  }
  std::string coordinates() const {
    std::string lines = fmt::format("{} {} = {};\n", d_.local("int"), ox_, d_.thread_index("x"));
    if (two_) lines += fmt::format("{} {} = {};\n", d_.local("int"), oy_, d_.thread_index("y"));
    return lines;
  }
  std::string outside() const {
    return two_ ? fmt::format("{} >= {} || {} >= {}", ox_, ow_, oy_, oh_) : ox_ + " >= " + ow_;
  }
  std::string grid(const std::string& planes) {
    if (!two_) return fmt::format("dim3({}, {})", d_.ceil_div(ow_, "128"), planes);
    return fmt::format("dim3({}, {}, {})", d_.ceil_div(ow_, "32"), d_.ceil_div(oh_, "8"), planes);
  }
  std::string block() const { return two_ ? "dim3(32, 8)" : "128"; }

  std::string planes() {
    const std::string body = fill(d_, R"(
// One layer of blocks for each image and channel: no index has to be taken apart.
__global__ void $kernel($params) {
  $coordinates
  $head
  if ($outside) return;
  $core
  $store
}
)",
                                  {{"params", d_.parameters(sizes())},
                                   {"coordinates", coordinates()},
                                   {"head", plane_head(out_channels_)},
                                   {"outside", outside()},
                                   {"core", core()},
                                   {"store", store(result(), oc_)}});
    return d_.finish(body, d_.launch_grid(grid(batch_ + " * " + out_channels_), block(), sizes(), setup()));
  }

  std::string shared_weights() {
    const std::string filter = d_.names.pick({"filter_s", "ws", "taps", "weights_s"});
    const std::string taps = two_ ? window_ + " * " + window_ : window_;
    const std::string count = depthwise_ ? taps : channels_ + " * " + taps;
    const std::string thread = two_ ? "threadIdx.y * blockDim.x + threadIdx.x" : "threadIdx.x";
    const std::string inner = two_ ? fmt::format("{} * {} + {}", ky_, window_, kx_) : kx_;
    const std::string place = depthwise_ ? inner
                              : two_     ? fmt::format("({} * {} + {}) * {} + {}", ic_, window_, ky_, window_, kx_)
                                         : fmt::format("{} * {} + {}", ic_, window_, kx_);
    const std::string body = fill(d_, R"(
// The filter of a block's output channel is read once into shared memory.
__global__ void $kernel($params) {
  extern __shared__ float $filter[];
  $coordinates
  $head
#pragma unroll 1
  for (int q = $thread; q < $count; q += blockDim.x$rows) {
    $filter[q] = $read;
  }
  __syncthreads();
  if ($outside) return;
  $core
  $store
}
)",
                                  {{"params", d_.parameters(sizes())},
                                   {"filter", filter},
                                   {"coordinates", coordinates()},
                                   {"head", plane_head(out_channels_)},
                                   {"thread", thread},
                                   {"count", count},
                                   {"rows", two_ ? " * blockDim.y" : ""},
                                   {"read", d_.load(1, fmt::format("{} * {} + q", oc_, count))},
                                   {"outside", outside()},
                                   {"core", core(filter + "[" + place + "]")},
                                   {"store", store(result(), oc_)}});
    const std::string bytes = d_.names.pick({"bytes", "shared_bytes", "smem"});
    const std::string lines = setup() + fmt::format("{} {} = {} * sizeof(float);\n", d_.local("int"), bytes, count);
    const std::string launcher = d_.launch_grid(grid(batch_ + " * " + out_channels_), block(), sizes(), lines);
    return d_.finish(body, with_shared(launcher, bytes));
  }

  // Pooling along one axis: what a block's windows cover, read once.
  std::string shared_line() {
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

  // Several output channels a thread: each input value is read once for all of them, their weights lie in shared
  // memory (zero beyond the last channel, so that the loops need no guard).
  std::string several_channels() {
    // 64 channels of 5 x 5 weights for eight outputs would pass 48 KB.
    const int count = p_.window > 3 || d_.random.uniform() < 0.7 ? 4 : 8;
    const std::string group = d_.names.pick({"first_oc", "oc0", "base_oc"});
    const std::string groups = d_.names.pick({"groups", "oc_groups", "channel_groups"});
    const std::string u = d_.names.pick({"u", "k_oc", "lane_oc"});
    const std::string channel = group + " + " + u;
    const std::string x = d_.names.pick({"xv", "v", "in_value"});
    const std::string filter = d_.names.pick({"filter_s", "ws", "taps", "weights_s"});
    const std::string taps = channels_ + " * " + window_ + (two_ ? " * " + window_ : "");
    const std::string place = two_ ? fmt::format("({} * {} + {}) * {} + {}", ic_, window_, ky_, window_, kx_)
                                   : fmt::format("{} * {} + {}", ic_, window_, kx_);
    const std::string lines = fill(d_, R"(
$val $x = $read;
#pragma unroll
for (int $u = 0; $u < $count; ++$u) $sum[$u] += $x * $filter[($place) * $count + $u];
)",
                                   {{"x", x},
                                    {"read", d_.load(0, input_place(ic_))},
                                    {"u", u},
                                    {"count", std::to_string(count)},
                                    {"sum", sum_},
                                    {"filter", filter},
                                    {"place", place}});
    const std::string axis = two_ ? "z" : "y";
    const std::string body = fill(d_, R"(
// $count output channels a thread, their sums in registers and their weights side by side in shared memory.
__global__ void $kernel($params) {
  extern __shared__ float $filter[];
  $coordinates
  $int $groups = ($channels + $less) / $count;
  $int $b = blockIdx.$axis / $groups;
  $int $group = blockIdx.$axis % $groups * $count;
  $int taps_all = $taps;
  for (int q = $thread; q < taps_all * $count; q += blockDim.x$rows) {
    $int $u = q % $count;
    $filter[q] = $channel < $channels ? $weight : 0.0f;
  }
  __syncthreads();
  if ($outside) return;
  float $sum[$count] = {};
  $loops
#pragma unroll
  for (int $u = 0; $u < $count; ++$u) {
    if ($channel < $channels) {
      $int $oc = $channel;
      $store
    }
  }
}
)",
                                  {{"params", d_.parameters(sizes())},
                                   {"filter", filter},
                                   {"taps", taps},
                                   {"thread", two_ ? "threadIdx.y * blockDim.x + threadIdx.x" : "threadIdx.x"},
                                   {"rows", two_ ? " * blockDim.y" : ""},
                                   {"weight", d_.load(1, fmt::format("({}) * taps_all + q / {}", channel, count))},
                                   {"coordinates", coordinates()},
                                   {"groups", groups},
                                   {"channels", out_channels_},
                                   {"less", std::to_string(count - 1)},
                                   {"count", std::to_string(count)},
                                   {"b", b_},
                                   {"axis", axis},
                                   {"group", group},
                                   {"outside", outside()},
                                   {"sum", sum_},
                                   {"loops", over_channels(window(lines))},
                                   {"u", u},
                                   {"channel", channel},
                                   {"oc", oc_},
                                   {"store", store(sum_ + "[" + u + "]", oc_)}});
    const std::string planes = fmt::format("{} * (({} + {}) / {})", batch_, out_channels_, count - 1, count);
    const std::string bytes = d_.names.pick({"bytes", "shared_bytes", "smem"});
    const std::string lines_host =
        setup() + fmt::format("{} {} = {} * {} * sizeof(float);\n", d_.local("int"), bytes, count, taps);
    return d_.finish(body, with_shared(d_.launch_grid(grid(planes), block(), sizes(), lines_host), bytes));
  }

  // The launcher with dynamic shared memory.
  static std::string with_shared(std::string launcher, const std::string& bytes) {
    const std::string before = ", 0, stream>>>";
    launcher.replace(launcher.find(before), before.size(), ", " + bytes + ", stream>>>");
    return launcher;
  }

  Draft& d_;
  const Problem& p_;
  bool two_ = false, convolution_ = false, depthwise_ = false;
  std::string batch_, channels_, height_, width_, out_channels_, oh_, ow_, oy_, ox_, b_, oc_, sum_, ic_, ky_, kx_, iy_,
      ix_, window_;
};

}  // namespace

std::string write_pooling(Draft& draft) { return WindowWriter(draft).write(); }
std::string write_convolution(Draft& draft) { return WindowWriter(draft).write(); }

}  // namespace kw
