// Pooling and small convolutions.

#include <fmt/format.h>

#include "agents/grammar/grammar.h"

namespace kw {

std::string window_extent(const std::string& length, int window, int stride, int padding) {
  // stride 1 with padding that keeps the length
  if (stride == 1 && 2 * padding == window - 1) return length;
  // (length + 2 * padding - window) / stride + 1, simplified as a person would
  const auto shifted = [&](int less) {
    return less == 0 ? length : fmt::format("{} {} {}", length, less > 0 ? "-" : "+", std::abs(less));
  };
  const int reduce = window - 2 * padding;
  if (stride == 1) return shifted(reduce - 1);
  return fmt::format("{} / {} + 1", reduce == 0 ? length : "(" + shifted(reduce) + ")", stride);
}

namespace {

std::string shape_entry(const Problem& p, const std::string& length) {
  return window_extent(length, p.window, p.stride, p.padding);
}

void draw_pooling(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 1;
  parts.draw_dtype(0.2, 0);
  const bool two = p.family == Family::max_pool2d || p.family == Family::avg_pool2d;
  const bool average = p.family == Family::avg_pool1d || p.family == Family::avg_pool2d;
  p.window = parts.pick({2, 3, 3, 4, 5});
  p.stride = parts.chance(0.5) ? p.window : parts.pick({1, 2, 2, 3});
  p.padding = parts.chance(0.4) ? parts.pick({1, p.window / 2}) : 0;
  if (2 * p.padding > p.window) p.padding = 0;
  std::vector<std::string> shape{parts.name(names::image_batch), parts.name(names::image_channels)};
  parts.dim(shape[0], 1, 3, {4, 8, 16});
  parts.dim(shape[1], 1, 5, {16, 32, 64});
  if (two) {
    shape.push_back(parts.name(names::height));
    shape.push_back(parts.name(names::width));
    parts.dim(shape[2], p.window, 30, {56, 64, 112, 128});
    parts.dim(shape[3], p.window, 30, {56, 64, 112, 128});
  } else {
    shape.push_back(parts.name(names::signal_length));
    parts.dim(shape[2], p.window, 300, {2048, 4096, 8192});
  }
  std::vector<int> used{parts.add(parts.name(names::pool_full), "full", shape)};
  const bool plain = parts.chance(0.35);
  if (!plain && parts.chance(0.2)) used.push_back(parts.add(parts.name(names::pool_second), "full", shape));
  p.pre =
      plain ? operand_expression(0) : parts.expression(used, parts.pick({1, 1, 2}) + static_cast<int>(used.size()) - 1);
  std::vector<int> extra;
  if (parts.chance(0.2)) {
    const std::string own = parts.name(names::pool_channel);
    extra.push_back(parts.add(own, "channel", {shape[1]}, own + (two ? ".view(-1, 1, 1)" : ".unsqueeze(1)")));
  }
  parts.draw_post(extra, 0.4, parts.pick({1, 1, 2}));
  p.output = parts.name(names::output);
  p.output_shape = {shape[0], shape[1]};
  for (std::size_t i = 2; i < shape.size(); ++i) p.output_shape.push_back(shape_entry(p, shape[i]));
  const std::string value = parts.torch(p.pre);
  parts.finish_torch(fmt::format("F.{}_pool{}d({}, {}, {}, {})", average ? "avg" : "max", two ? 2 : 1, value, p.window,
                                 p.stride, p.padding));
  p.summary = fmt::format("{}-dimensional {} pooling of {}: window {}, stride {}, padding {}.", two ? "Two" : "One",
                          average ? "average" : "maximum", value, p.window, p.stride, p.padding);
}

void draw_convolution(GrammarParts& parts) {
  Problem& p = parts.problem;
  p.tier = 2;
  parts.draw_dtype(0.15, 0);
  const bool two = p.family != Family::conv1d, depthwise = p.family == Family::depthwise_conv2d;
  p.window = two ? parts.pick({3, 3, 5}) : parts.pick({3, 5, 7, 3});
  p.stride = parts.pick({1, 1, 1, 2});
  p.padding = parts.chance(0.6) ? p.window / 2 : 0;
  const std::string batch = parts.name(names::image_batch);
  const std::string in_channels = parts.name(names::in_channels);
  parts.dim(batch, 1, 2, {8, 16, 32});
  // So many that loops over the weights go round at small sizes too.
  parts.dim(in_channels, 1, depthwise ? 6 : two ? 44 : 60, {16, 32, 64});
  std::vector<std::string> shape{batch, in_channels};
  if (two) {
    shape.push_back(parts.name(names::height));
    shape.push_back(parts.name(names::width));
    parts.dim(shape[2], p.window, 18, {32, 56, 64});
    parts.dim(shape[3], p.window, 18, {32, 56, 64});
  } else {
    shape.push_back(parts.name(names::signal_length));
    parts.dim(shape[2], p.window, 90, {512, 1024, 2000});
  }
  parts.add(parts.name(names::conv_input), "left", shape);
  const std::string taps = std::to_string(p.window);
  std::string out_channels = in_channels;
  std::vector<std::string> weight_shape{in_channels, "1"};
  if (!depthwise) {
    out_channels = parts.name(names::out_channels);
    parts.dim(out_channels, 1, 7, {32, 64, 128});
    weight_shape = {out_channels, in_channels};
  }
  for (int i = 0; i < (two ? 2 : 1); ++i) weight_shape.push_back(taps);
  parts.add(parts.name(names::conv_weight), "right", weight_shape);
  std::vector<int> extra;
  if (parts.chance(0.45)) {
    const std::string own = parts.name(names::conv_bias);
    extra.push_back(parts.add(own, "channel", {out_channels}, own + (two ? ".view(-1, 1, 1)" : ".unsqueeze(1)")));
  }
  p.pre = operand_expression(0);
  p.output = parts.name(names::output);
  p.output_shape = {batch, out_channels};
  for (std::size_t i = 2; i < shape.size(); ++i) p.output_shape.push_back(shape_entry(p, shape[i]));
  if (parts.chance(0.15)) extra.push_back(parts.add(parts.name(names::conv_residual), "full", p.output_shape));
  parts.draw_post(extra, 0.5, parts.pick({1, 1, 2}) + static_cast<int>(extra.size()) - (extra.empty() ? 0 : 1));
  std::string options;
  if (p.stride > 1) options += fmt::format(", stride={}", p.stride);
  if (p.padding > 0) options += fmt::format(", padding={}", p.padding);
  if (depthwise) options += fmt::format(", groups={}.size(1)", p.operands[0].name);
  parts.finish_torch(fmt::format("F.conv{}d({}, {}{})", two ? 2 : 1, p.operands[0].name, p.operands[1].name, options));
  p.summary = fmt::format("{}{}-dimensional convolution, window {}, stride {}, padding {}{}.",
                          depthwise ? "Depthwise " : "", two ? "two" : "one", p.window, p.stride, p.padding,
                          p.post.trivial() ? "" : ", with work on the result");
}

}  // namespace

void draw_window(GrammarParts& parts) {
  switch (parts.problem.family) {
    case Family::conv1d:
    case Family::conv2d:
    case Family::depthwise_conv2d:
      return draw_convolution(parts);
    default:
      return draw_pooling(parts);
  }
}

}  // namespace kw
