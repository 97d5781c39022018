// Convolutions: one factor is read through a window. The places of its sum are put in another order, a window's place
// for tile_k channels at a time: then a thread finds out once a tile where its elements lie and whether they are within
// the image, and they travel without registers. The weights are copied into that order before.

#include <fmt/format.h>

#include <algorithm>

#include "agents/program/contraction_writer.h"

namespace kw::program {
namespace {

constexpr std::int64_t fewest_channels = 16;

constexpr std::string_view windows_text = R"(// Elements of one line: `count` of them, from `from`.
struct Window {
  const float* from;
  int count;
};

// A factor whose lines memory has next to each other, as images do: window(line, tile) says where a line begins.
template <int lines, int depth, int threads, class Find>
struct Windowed {
  Find window;
  int step, count, first, tile;

  static_assert(threads % lines == 0, "a thread has one line");
  __device__ void go_to(int line, int k) {
    first = line;
    tile = k / depth;
  }
  __device__ void begin(float* to, int) {
    const unsigned line = threadIdx.x % lines, upper = threadIdx.x / lines;
    const bool there = first + (int)line < count;
    const Window found = window(there ? first + line : 0, tile);
    const int have = there ? found.count : 0;
    const unsigned base = (unsigned)__cvta_generic_to_shared(to);
#pragma unroll
    for (int l = 0; l < lines * depth / threads; ++l) {
      const unsigned k = upper + l * (threads / lines);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(base + 4 * place_of<float, true, lines, depth>(line, k)),
                   "l"(found.from + (long long)k * step), "r"((int)k < have ? 4 : 0)
                   : "memory");
    }
    ++tile;
  }
  __device__ void finish(float*) const {}
};
)";

}  // namespace

std::string window_functions(std::string_view kernels) {
  return kernels.find("Windowed<") == std::string_view::npos ? "" : std::string(windows_text) + "\n";
}

// Channels, the axis that the edges of an image do not ask about, must be many enough to fill a tile's depth.
bool ContractionWriter::find_window() {
  if (type() != Dtype::float32) return false;
  for (const bool left : {false, true}) {
    const Factor& factor = left ? contraction_.left : contraction_.right;
    const Factor& other = left ? contraction_.right : contraction_.left;
    const Term& term = graph_.term(factor.value);
    if (!factor.by_depth || is_copied(factor) || term.kind != TermKind::load || term.parts.empty()) continue;
    if (program_.stored_as(term.node) != Dtype::float32) continue;
    const auto offset = linear_offset(graph_, term.parts[0]);
    if (!offset) continue;
    std::vector<std::int64_t> channels, taps;
    for (const std::int64_t axis : contraction_.depth) {
      const bool decides =
          term.guarded ? addressing_.depends_on(term.parts.back(), axis) : axis != contraction_.depth[0];
      (decides ? taps : channels).push_back(axis);
    }
    const bool fixed = std::none_of(contraction_.batch.begin(), contraction_.batch.end(),
                                    [&](std::int64_t axis) { return addressing_.depends_on(other.value, axis); });
    if (channels.size() != 1 || !fixed) continue;
    const auto many = extent_of(channels[0]).evaluate(program_.sizes_);
    if (!many.ok() || *many < fewest_channels) continue;
    window_ = Windowed{left, channels[0], taps, offset->step(channels[0]), ""};
    (left ? contraction_.right : contraction_.left).by_depth = false;
    return true;
  }
  return false;
}

// Of the sum in its new order: each place of the window for whole tiles of channels.
std::string ContractionWriter::padded_depth() const {
  const std::string channels = bracketed(extent_of(window_->channels));
  return fmt::format("({0} + {1} - 1) / {1} * {1} * {2}", channels, names_.tile_k, bracketed(extent_of(window_->taps)));
}

// The axes of the sum from the number of a tile.
void ContractionWriter::decode_tile(KernelText& kernel, const std::string& within, const std::string& lines) const {
  const std::string taps = bracketed(extent_of(window_->taps));
  kernel.add(
      fmt::format("const int {} = tile / {} * {}{};", axis_name(window_->channels), taps, names_.tile_k, within));
  decode(kernel, {"(tile % " + taps + ")", window_->taps}, lines);
}

void ContractionWriter::write_window(KernelText& kernel, const Factor& factor, bool left) {
  const std::string name = left ? "left" : "right";
  const std::vector<std::int64_t>& lines = left ? contraction_.rows : contraction_.cols;
  const Extent channels = extent_of(window_->channels), count = extent_of(lines);
  const Term load = graph_.term(factor.value);
  KernelText inside;
  inside.indent = 2;
  inside.locals = kernel.locals;
  std::vector<TermId> wanted{load.parts[0]};
  if (load.guarded) wanted.push_back(load.parts.back());
  const std::vector<std::string> values = program_.values_of(inside, wanted, {});
  const std::string rest = fmt::format("{} - {}", bracketed(channels), axis_name(window_->channels));
  inside.reads.insert(load.node);
  inside.add(fmt::format("return Window{{{} + ({}), {}}};", program_.names_[static_cast<std::size_t>(load.node)],
                         values[0], load.guarded ? fmt::format("({}) ? {} : 0", values[1], rest) : rest));
  kernel.add(fmt::format("const auto {}_at = [&](int line, int tile) {{", name));
  ++kernel.indent;
  decode(kernel, {"line", lines}, inside.lines);
  decode_tile(kernel, "", inside.lines);
  --kernel.indent;
  kernel.lines += inside.lines;
  kernel.add("};");
  kernel.add(fmt::format("Windowed<{}, {}, {}, decltype({}_at)> {}{{{}_at, {}, {}}};",
                         left ? names_.tile_m : names_.tile_n, names_.tile_k, names_.threads, name, name, name,
                         window_->step.text(), count.text()));
  kernel.take_over(inside);
  for (const Extent& extent : {channels, count, window_->step, extent_of(window_->taps)}) kernel.note(extent);
}

// The other factor, in the order of tiles, with zeros where there are no channels.
void ContractionWriter::write_reordered(const Stage& stage) {
  const Factor& factor = window_->left ? contraction_.right : contraction_.left;
  const std::vector<std::int64_t>& lines = window_->left ? contraction_.cols : contraction_.rows;
  const Extent channels = extent_of(window_->channels), count = extent_of(lines);
  const std::string name = program_.fresh(program_.kernels_[static_cast<std::size_t>(stage.node)] + "_order");
  window_->reordered = program_.fresh(name + "ed");
  KernelText inside, kernel;
  const std::string value = program_.values_of(inside, {factor.value}, {})[0];
  inside.add(fmt::format("{}[at] = {};", window_->reordered, value));
  for (const Extent& extent : {channels, count, extent_of(window_->taps)}) kernel.note(extent);
  kernel.add("const int at = blockIdx.x * 256 + threadIdx.x;");
  kernel.add(fmt::format("const int places = {};", padded_depth()));
  kernel.add(fmt::format("if (at >= {} * places) return;", bracketed(count)));
  kernel.add(fmt::format("const int tile = at % places / {};", names_.tile_k));
  decode_tile(kernel, fmt::format(" + at % {}", names_.tile_k), inside.lines);
  kernel.add(fmt::format("if ({} >= {}) {{", axis_name(window_->channels), channels.text()));
  kernel.add(fmt::format("  {}[at] = 0.0f;", window_->reordered));
  kernel.add("  return;");
  kernel.add("}");
  decode(kernel, {"(at / places)", lines}, inside.lines);
  kernel.lines += inside.lines;
  kernel.take_over(inside);
  const auto [parameters, arguments] = program_.parameters_of(kernel, "float* " + window_->reordered);
  std::string& text = program_.kernels_text_;
  text += listed(fmt::format("__global__ void {}(", name), parameters, ") {\n", 0);
  text += kernel.lines;
  text += "}\n\n";
  std::string& launches = program_.launches_text_;
  const std::string size = fmt::format("ordered{}", ++program_.launches_);
  launches += fmt::format("  const int {} = {} * ({});\n", size, bracketed(count), padded_depth());
  launches += fmt::format("  float* {} = nullptr;\n", window_->reordered);
  launches += fmt::format("  cudaMallocAsync(&{}, sizeof(float) * {}, stream);\n", window_->reordered, size);
  launches += listed(fmt::format("  {}<<<({} + 255) / 256, 256, 0, stream>>>(", name, size), arguments, ");\n", 2);
}

}  // namespace kw::program
