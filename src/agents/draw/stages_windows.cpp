// Convolutions, transposed convolutions and pooling over one, two or three axes.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

struct Window {
  std::vector<std::int64_t> kernel, stride, padding, dilation;
};

// `3`, or `(3, 1)` where the axes differ.
std::string written(Draft& draft, const std::vector<std::int64_t>& values) {
  const bool equal = std::all_of(values.begin(), values.end(), [&](std::int64_t each) { return each == values[0]; });
  if (equal && draft.chance(0.7)) return std::to_string(values[0]);
  if (values.size() == 1) return std::to_string(values[0]);
  return "(" + fmt::format("{}", fmt::join(values, ", ")) + ")";
}

Window draw_window(Draft& draft, const Value& x, std::int64_t most, bool dilated) {
  Window made;
  const int axes = x.rank() - 2;
  const bool square = draft.chance(0.6);
  for (int i = 0; i < axes; ++i) {
    if (i > 0 && square) {
      for (auto* list : {&made.kernel, &made.stride, &made.padding, &made.dilation}) list->push_back((*list)[0]);
      continue;
    }
    const std::int64_t kernel = draft.between(2, most);
    made.kernel.push_back(square || draft.chance(0.8) ? kernel : 1);
    made.dilation.push_back(dilated && draft.chance(0.25) ? 2 : 1);
    made.stride.push_back(draft.chance(0.6) ? 1 : draft.between(2, 3));
    made.padding.push_back(draft.chance(0.5) ? 0 : draft.between(0, made.kernel.back() / 2));
  }
  return made;
}

bool reaches(const Value& x, const Window& w) {
  for (int i = 0; i + 2 < x.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (x.dim(i + 2).least() + 2 * w.padding[at] < w.dilation[at] * (w.kernel[at] - 1) + 1) return false;
  }
  return true;
}

// The window shrunk to what fits everywhere.
void make_fit(const Value& x, Window& w) {
  if (reaches(x, w)) return;
  for (auto& each : w.kernel) each = 1;
  for (auto& each : w.padding) each = 0;
}

Dim slid(const Dim& dim, const Window& w, std::size_t at) {
  return plus(over(plus(dim, 2 * w.padding[at] - w.dilation[at] * (w.kernel[at] - 1) - 1), w.stride[at]), 1);
}

std::string settings(Draft& draft, const Window& w, bool dilation) {
  std::string text;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& values, std::int64_t usual) {
    if (std::any_of(values.begin(), values.end(), [&](std::int64_t each) { return each != usual; }))
      text += fmt::format(", {}={}", name, written(draft, values));
  };
  add("stride", w.stride, 1);
  add("padding", w.padding, 0);
  if (dilation) add("dilation", w.dilation, 1);
  return text;
}

bool fits_image(const Value& x) {
  if (!x.floating() || x.rank() < 3 || x.rank() > 5 || !x.dim(1).is_constant()) return false;
  for (int i = 2; i < x.rank(); ++i)
    if (x.dim(i).least() < 3) return false;
  return x.dim(1).at[0] <= 24;
}

Value start_image(Draft& draft) {
  static constexpr std::array<int, 5> axes{1, 2, 2, 2, 3};
  static constexpr std::array<std::int64_t, 7> channels{2, 3, 4, 6, 8, 9, 12};
  return draft.normal({"x", "input", "image"}, draft.image_dims(draft.pick(axes), draft.pick(channels)));
}

Value draw_convolution(Draft& draft, const Value& x) {
  const int axes = x.rank() - 2;
  Window w = draw_window(draft, x, axes == 3 ? 3 : 5, true);
  make_fit(x, w);
  const std::int64_t channels = x.dim(1).at[0];
  std::int64_t groups = 1;
  if (draft.chance(0.3)) groups = draft.chance(0.5) ? channels : channels % 2 == 0 ? 2 : channels % 3 == 0 ? 3 : 1;
  const std::int64_t out = groups * draft.between(1, std::max<std::int64_t>(12 / groups, 1));
  Dims weight_dims{fixed(out), fixed(channels / groups)};
  Dims result{x.dims[0], fixed(out)};
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    weight_dims.push_back(fixed(w.kernel[i]));
    result.push_back(slid(x.dims[i + 2], w, i));
  }
  const Value weight = draft.normal({"weight", "w", "filters"}, weight_dims);
  std::string bias;
  if (draft.chance(0.5)) bias = draft.normal({"bias", "b"}, {fixed(out)}).name;
  const std::string grouped = groups > 1 ? fmt::format(", groups={}", groups) : "";
  return draft.say(fmt::format("F.conv{}d({}, {}{}{}{})", axes, x.name, weight.name, bias.empty() ? "" : ", " + bias,
                               settings(draft, w, true), grouped),
                   result, x.dtype);
}

Value draw_transposed(Draft& draft, const Value& x) {
  const int axes = x.rank() - 2;
  Window w = draw_window(draft, x, 4, true);
  for (std::size_t i = 0; i < w.padding.size(); ++i) w.padding[i] = std::min(w.padding[i], (w.kernel[i] - 1) / 2);
  const std::int64_t channels = x.dim(1).at[0];
  const std::int64_t groups = channels % 2 == 0 && draft.chance(0.25) ? 2 : 1;
  const std::int64_t out = groups * draft.between(1, 6);
  std::vector<std::int64_t> more(w.kernel.size(), 0);
  const bool wants_more = draft.chance(0.3);
  Dims weight_dims{fixed(channels), fixed(out / groups)};
  Dims result{x.dims[0], fixed(out)};
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    if (wants_more && w.stride[i] > 1) more[i] = 1;
    weight_dims.push_back(fixed(w.kernel[i]));
    const Dim spread = times(plus(x.dims[i + 2], -1), fixed(w.stride[i]));
    result.push_back(plus(spread, w.dilation[i] * (w.kernel[i] - 1) + 1 + more[i] - 2 * w.padding[i]));
  }
  const Value weight = draft.normal({"weight", "w", "filters"}, weight_dims);
  std::string rest = draft.chance(0.5) ? ", " + draft.normal({"bias", "b"}, {fixed(out)}).name : "";
  rest += settings(draft, w, false);
  if (*std::max_element(more.begin(), more.end()) > 0) rest += fmt::format(", output_padding={}", written(draft, more));
  if (groups > 1) rest += fmt::format(", groups={}", groups);
  if (*std::max_element(w.dilation.begin(), w.dilation.end()) > 1)
    rest += fmt::format(", dilation={}", written(draft, w.dilation));
  return draft.say(fmt::format("F.conv_transpose{}d({}, {}{})", axes, x.name, weight.name, rest), result, x.dtype);
}

Value draw_pooled(Draft& draft, const Value& x, const std::string& kind) {
  const int axes = x.rank() - 2;
  Window w = draw_window(draft, x, axes == 3 ? 2 : 4, false);
  make_fit(x, w);
  Dims result{x.dims[0], x.dims[1]};
  for (std::size_t i = 0; i < w.kernel.size(); ++i) result.push_back(slid(x.dims[i + 2], w, i));
  const std::string stride = fmt::format(", stride={}", written(draft, w.stride));
  std::string rest = settings(draft, w, false);
  // Without `stride` PyTorch takes the window's size.
  if (rest.find("stride") == std::string::npos) rest = stride + rest;
  if (kind == "avg" && rest.find("padding") != std::string::npos && draft.chance(0.3))
    rest += ", count_include_pad=False";
  return draft.say(fmt::format("F.{}_pool{}d({}, {}{})", kind, axes, x.name, written(draft, w.kernel), rest), result,
                   x.dtype);
}

Value draw_max_pool(Draft& draft, const Value& x) {
  Value made = draw_pooled(draft, x, "max");
  made.exact = x.exact;
  made.low = x.low, made.high = x.high;
  return made;
}

Value draw_avg_pool(Draft& draft, const Value& x) {
  Value made = draw_pooled(draft, x, "avg");
  made.low = std::min(x.low, 0.0), made.high = std::max(x.high, 0.0);
  return made;
}

Value draw_adaptive_pool(Draft& draft, const Value& x) {
  Dims dims{x.dims[0], x.dims[1]};
  for (int i = 2; i < x.rank(); ++i) dims.push_back(fixed(1));
  Value made = draft.say(fmt::format("F.adaptive_avg_pool{}d({}, 1)", x.rank() - 2, x.name), dims, x.dtype);
  made.low = x.low, made.high = x.high;
  return made;
}

bool fits_line(const Value& x) { return fits_image(x) && x.rank() == 3; }
// PyTorch on the CPU has no averages of half types over three axes.
bool fits_average(const Value& x) { return fits_image(x) && (x.rank() < 5 || x.dtype == Dtype::float32); }
bool fits_plane(const Value& x) { return fits_average(x) && x.rank() > 3; }
Value start_line(Draft& draft) { return draft.normal({"x", "signal"}, draft.image_dims(1, draft.between(2, 9))); }
Value start_plane(Draft& draft) {
  return draft.normal({"x", "image"}, draft.image_dims(draft.chance(0.75) ? 2 : 3, draft.between(2, 8)));
}

constexpr Family families[] = {
    {"convolution", 5, false, fits_image, draw_convolution, start_image},
    {"transposed_convolution", 3, false, fits_image, draw_transposed, start_image},
    {"max_pool", 2, false, fits_image, draw_max_pool, start_image},
    {"avg_pool", 2, false, fits_plane, draw_avg_pool, start_plane},
    {"avg_pool1d", 1, true, fits_line, draw_avg_pool, start_line},
    {"adaptive_pool", 1, false, fits_average, draw_adaptive_pool, start_image},
};

}  // namespace

std::span<const Family> stages_windows() { return families; }

}  // namespace kw::programs
