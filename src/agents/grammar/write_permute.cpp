// Axes in another order.

#include <fmt/format.h>

#include "agents/grammar/writers.h"

namespace kw {
namespace {

using Texts = std::vector<std::string>;

std::string product(const Texts& dims) {
  std::string text = dims[0];
  for (std::size_t i = 1; i < dims.size(); ++i) text += " * " + dims[i];
  return text;
}

std::string flat(const Texts& names, const Texts& dims) {
  std::string text = names[0];
  for (std::size_t i = 1; i < names.size(); ++i)
    text = (i == 1 ? text : "(" + text + ")") + " * " + dims[i] + " + " + names[i];
  return text;
}

class PermuteWriter {
 public:
  explicit PermuteWriter(Draft& draft) : d_(draft), p_(draft.problem), shape_(p_.operands.front().shape) {
    const std::string prefix = pick_one(d_.random, {"i", "k", "at", "pos"});
    for (std::size_t i = 0; i < shape_.size(); ++i) at_.push_back(prefix + std::to_string(i));
    for (int axis : p_.permutation) out_at_.push_back(at_[static_cast<std::size_t>(axis)]);
    i_ = d_.names.pick({"i", "idx", "tid", "index"});
    from_ = d_.names.pick({"from", "src_index", "in_at"});
  }

  std::string write() {
    switch (d_.level) {
      case Level::naive:
        return naive();
      case Level::shared:
        return tiles();
      default:
        return vectors();
    }
  }

 private:
  // `number` taken apart into indices along these axes, the innermost first.
  std::string split(const std::string& number, const Texts& names, const Texts& dims, bool is_variable) {
    if (names.size() == 1) return fmt::format("{} {} = {};\n", d_.local("int"), names[0], number);
    if (names.size() == 2)
      return fmt::format("{0} {1} = {2} / {3};\n{0} {4} = {2} % {3};\n", d_.local("int"), names[0], number, dims[1],
                         names[1]);
    std::string rest = number, lines;
    if (!is_variable) {
      rest = d_.names.pick({"rest", "rem", "left"});
      lines = fmt::format("int {} = {};\n", rest, number);
    }
    for (std::size_t k = names.size(); k-- > 1;)
      lines += fmt::format("{0} {1} = {2} % {3};\n{2} /= {3};\n", d_.local("int"), names[k], rest, dims[k]);
    return lines + fmt::format("{} {} = {};\n", d_.local("int"), names[0], rest);
  }

  std::string from_line(const std::string& place) const {
    return fmt::format("{} {} = {};\n", d_.local("int"), from_, place);
  }
  Draft::Element value() {
    return d_.element(p_.pre, [&](const Operand&) { return from_; });
  }

  std::string naive() {
    const std::string block = d_.block_size({256, 256, 128});
    const auto code = value();
    const std::string body = fill(d_, R"(
// One thread for each element of the output, which finds its place in the input.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $total) return;
  $split
  $from
  $lines
  $out[$i] = $value;
}
)",
                                  {{"params", d_.parameters(size_order(p_))},
                                   {"i", i_},
                                   {"index", d_.thread_index()},
                                   {"total", product(shape_)},
                                   {"split", split(i_, out_at_, p_.output_shape, false)},
                                   {"from", from_line(flat(at_, shape_))},
                                   {"lines", code.lines},
                                   {"value", d_.to_output(code.value)}});
    return d_.finish(body, d_.launch_over(product(shape_), block, size_order(p_)));
  }

  // The last axis moves: a tile of it and of the axis that becomes the last one is turned in shared memory.
  std::string tiles() {
    const std::size_t last = shape_.size() - 1, new_last = static_cast<std::size_t>(p_.permutation.back());
    Texts other_at, other_dims;
    for (std::size_t k = 0; k < last; ++k) {
      if (k == new_last) continue;
      other_at.push_back(at_[k]);
      other_dims.push_back(shape_[k]);
    }
    const auto code = value();
    const std::string tile = d_.names.pick({"tile", "block_tile", "buf", "staging"});
    const std::string body = fill(d_, R"(
// Tiles go through shared memory, so that loads and stores are both coalesced.
__global__ void $kernel($params) {
  __shared__ $acc $tile[32][33];
  $others
#pragma unroll
  for (int j = threadIdx.y; j < 32; j += 8) {
    $int $new = blockIdx.y * 32 + j;
    $int $last = blockIdx.x * 32 + threadIdx.x;
    if ($new < $new_dim && $last < $last_dim) {
      $from
      $lines
      $tile[j][threadIdx.x] = $value;
    }
  }
  __syncthreads();
#pragma unroll
  for (int j = threadIdx.y; j < 32; j += 8) {
    $int $new = blockIdx.y * 32 + threadIdx.x;
    $int $last = blockIdx.x * 32 + j;
    if ($new < $new_dim && $last < $last_dim) {
      $out[$to] = $result;
    }
  }
}
)",
                                  {{"params", d_.parameters(size_order(p_))},
                                   {"tile", tile},
                                   {"others", split("blockIdx.z", other_at, other_dims, false)},
                                   {"new", at_[new_last]},
                                   {"last", at_[last]},
                                   {"new_dim", shape_[new_last]},
                                   {"last_dim", shape_[last]},
                                   {"from", from_line(flat(at_, shape_))},
                                   {"lines", code.lines},
                                   {"value", code.value},
                                   {"to", flat(out_at_, p_.output_shape)},
                                   {"result", d_.to_output(tile + "[threadIdx.x][j]")}});
    const std::string grid = fmt::format("dim3({}, {}, {})", d_.ceil_div(shape_[last], "32"),
                                         d_.ceil_div(shape_[new_last], "32"), product(other_dims));
    return d_.finish(body, d_.launch_grid(grid, "dim3(32, 8)", size_order(p_)));
  }

  // The last axis stays: neighbours in the input are neighbours in the output.
  std::string vectors() {
    const std::string place = d_.names.pick_for_file({"source_index", "input_index", "find_source"});
    std::string params, args;
    for (std::size_t k = 1; k < shape_.size(); ++k) {
      params += ", int " + shape_[k];
      args += ", " + shape_[k];
    }
    // The first axis of the output need not be the first of the input: its size is then wanted too.
    if (p_.permutation.front() != 0) {
      params = ", int " + shape_[0] + params;
      args = ", " + shape_[0] + args;
    }
    d_.add_helper(fill(d_, R"(
$device int $place(int $i$$params) {
  $split
  return $from;
}
)",
                       {{"place", place},
                        {"i", i_},
                        {"params", params},
                        {"split", split(i_, out_at_, p_.output_shape, true)},
                        {"from", flat(at_, shape_)}}));
    const std::string block = d_.block_size({256, 256, 128});
    const VectorType vector = vector_type(d_);
    const std::string w = std::to_string(vector.width), width = shape_.back();
    const std::string single = d_.names.pick({"k", "j", "e"});
    const std::string lines = vector_lines(
        d_, vector, i_ + " / " + w, [&](const Operand&) { return from_ + " / " + w; },
        [](const Operand&) { return std::string(); });
    d_.style.function_form = true;
    const auto code = value();
    const std::string total = d_.names.pick({"total", "count", "n"});
    const std::string body = fill(d_, R"(
// $w neighbours a thread: in one access where the last axis is a multiple of $w.
__global__ void $kernel($params) {
  $int $i = ($index) * $w;
  $int $total = $all;
  if ($i >= $total) return;
  if ($width % $w == 0) {
    $int $from = $place($i$$args);
    $lines
    return;
  }
  for (int $k = $i; $k < $i + $w && $k < $total; $inc) {
    $int $from = $place($k$$args);
    $more
    $out[$k] = $value;
  }
}
)",
                                  {{"params", d_.parameters(size_order(p_))},
                                   {"i", i_},
                                   {"index", d_.thread_index()},
                                   {"w", w},
                                   {"total", total},
                                   {"all", product(shape_)},
                                   {"width", width},
                                   {"from", from_},
                                   {"place", place},
                                   {"args", args},
                                   {"lines", lines},
                                   {"k", single},
                                   {"inc", d_.increment(single)},
                                   {"more", code.lines},
                                   {"value", d_.to_output(code.value)}});
    const std::string setup = fmt::format("{} work = {};\n", d_.local("int"), d_.ceil_div(product(shape_), w));
    return d_.finish(body, d_.launch_over("work", block, size_order(p_), setup));
  }

  Draft& d_;
  const Problem& p_;
  const Texts shape_;
  Texts at_, out_at_;  // indices along the axes of the input, and in the output's order
  std::string i_, from_;
};

}  // namespace

std::string write_permute(Draft& draft) { return PermuteWriter(draft).write(); }

}  // namespace kw
