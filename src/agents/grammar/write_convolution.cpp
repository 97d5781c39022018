// Convolutions whose weights lie in shared memory.

#include <fmt/format.h>

#include "agents/grammar/window_writer.h"

namespace kw {

std::string WindowWriter::shared_weights() {
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

// Several output channels a thread: each input value is read once for all of them, their weights lie in shared
// memory (zero beyond the last channel, so that the loops need no guard).
std::string WindowWriter::several_channels() {
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
std::string WindowWriter::with_shared(std::string launcher, const std::string& bytes) {
  const std::string before = ", 0, stream>>>";
  launcher.replace(launcher.find(before), before.size(), ", " + bytes + ", stream>>>");
  return launcher;
}

std::string write_convolution(Draft& draft) { return WindowWriter(draft).write(); }

}  // namespace kw
