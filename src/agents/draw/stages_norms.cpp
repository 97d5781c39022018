// Normalisation over any axes, and the softmax family.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

bool long_enough(const Dim& dim) { return dim.least() >= 3; }

bool fits_rows(const Value& x) { return x.floating() && x.rank() >= 2 && x.rank() <= 5 && long_enough(x.dims.back()); }

Value normalised(Draft& draft, const std::string& text, const Value& x) {
  Value made = draft.say(text, x);
  made.low = -20, made.high = 20;
  return made;
}

Value draw_layer_norm(Draft& draft, const Value& x) {
  Dims dims{x.dims.back()};
  std::string shape = fmt::format("[{}.size(-1)]", x.name);
  if (x.rank() >= 3 && draft.chance(0.25)) {
    dims.insert(dims.begin(), x.dim(-2));
    shape = fmt::format("[{0}.size(-2), {0}.size(-1)]", x.name);
  }
  std::string weights;
  if (draft.chance(0.7)) {
    weights = ", " + draft.normal({"weight", "gamma", "w"}, dims).name;
    if (draft.chance(0.8)) weights += ", " + draft.normal({"bias", "beta", "b"}, dims).name;
  }
  const std::string eps = draft.chance(0.3) ? ", eps=1e-3" : "";
  Value made = normalised(draft, fmt::format("F.layer_norm({}, {}{}{})", x.name, shape, weights, eps), x);
  if (!weights.empty()) made.low = -unbounded, made.high = unbounded;
  return made;
}

// By hand, over any axis: the form in which models have it.
Value draw_rms_norm(Draft& draft, const Value& x) {
  const int axis = draft.chance(0.7) ? x.rank() - 1 : draft.axis(x);
  const std::string eps = draft.pick({"1e-5", "1e-6", "1e-3"});
  std::string text =
      fmt::format("{0} * torch.rsqrt(({0} * {0}).mean({1}, keepdim=True) + {2})", x.name, axis - x.rank(), eps);
  if (axis == x.rank() - 1 && draft.chance(0.7)) {
    const Value weight = draft.normal({"weight", "gamma", "w"}, {x.dims.back()});
    return draft.say(fmt::format("{} * {}", text, weight.name), x);
  }
  return normalised(draft, text, x);
}

bool fits_channels(const Value& x) {
  return x.floating() && x.rank() >= 2 && x.rank() <= 5 && x.dims[0].least() >= 1 &&
         x.elements(0) >= 8 * x.dim(1).at[0];
}

Value draw_group_norm(Draft& draft, const Value& x) {
  const std::int64_t channels = x.dim(1).at[0];
  std::vector<std::int64_t> choices{1};
  for (const std::int64_t groups : {2, 3, 4})
    if (channels % groups == 0) choices.push_back(groups);
  const std::int64_t groups = draft.pick(choices);
  std::string weights;
  if (draft.chance(0.7))
    weights = fmt::format(", {}, {}", draft.normal({"weight", "gamma"}, {x.dim(1)}).name,
                          draft.normal({"bias", "beta"}, {x.dim(1)}).name);
  return draft.say(fmt::format("F.group_norm({}, {}{})", x.name, groups, weights), x);
}

Value draw_batch_norm(Draft& draft, const Value& x) {
  const Value mean = draft.normal({"running_mean", "mean"}, {x.dim(1)});
  const Value spread = draft.uniform({"running_var", "var"}, {x.dim(1)}, 0.3, 2);
  std::string rest;
  if (draft.chance(0.7))
    rest = fmt::format(", {}, {}", draft.normal({"weight", "gamma"}, {x.dim(1)}).name,
                       draft.normal({"bias", "beta"}, {x.dim(1)}).name);
  if (draft.chance(0.3)) rest += ", eps=1e-3";
  return draft.say(fmt::format("F.batch_norm({}, {}, {}{})", x.name, mean.name, spread.name, rest), x);
}

// Over the batch's own statistics.
Value draw_batch_statistics(Draft& draft, const Value& x) {
  std::string axes = "(0";
  for (int i = 2; i < x.rank(); ++i) axes += fmt::format(", {}", i);
  axes += ")";
  const std::string mean = fmt::format("{}.mean({}, keepdim=True)", x.name, axes);
  const std::string spread = fmt::format("{}.var({}, unbiased=False, keepdim=True)", x.name, axes);
  return normalised(draft, fmt::format("({} - {}) * torch.rsqrt({} + 1e-5)", x.name, mean, spread), x);
}

Value draw_instance_norm(Draft& draft, const Value& x) {
  std::string rest;
  if (draft.chance(0.5))
    rest = fmt::format(", weight={}, bias={}", draft.normal({"weight", "gamma"}, {x.dim(1)}).name,
                       draft.normal({"bias", "beta"}, {x.dim(1)}).name);
  return draft.say(fmt::format("F.instance_norm({}{})", x.name, rest), x);
}

Value draw_normalize(Draft& draft, const Value& x, const std::string& p) {
  const int axis = draft.axis(x);
  Value made = draft.say(fmt::format("F.normalize({}, p={}, dim={})", x.name, p, draft.axis_text(x, axis)), x);
  made.low = -1, made.high = 1;
  return made;
}

// The whole tensor, or each matrix of it, by the root of its squares' sum.
Value draw_frobenius(Draft& draft, const Value& x) {
  const bool whole = x.rank() == 2 || draft.chance(0.4);
  const std::string size = whole ? fmt::format("torch.norm({})", x.name)
                                 : fmt::format("torch.norm({}, p=2, dim=[-2, -1], keepdim=True)", x.name);
  Value made = draft.say(fmt::format("{} / ({} + {})", x.name, size, draft.constant(0.1, 1)), x);
  made.low = -1, made.high = 1;
  return made;
}

bool fits_soft(const Value& x) {
  return x.floating() && x.rank() >= 1 && x.rank() <= 5 &&
         std::all_of(x.dims.begin(), x.dims.end(), [](const Dim& dim) { return dim.at[2] <= 2000; });
}

Value draw_softmax(Draft& draft, const Value& x) {
  const int axis = draft.chance(0.6) ? x.rank() - 1 : draft.axis(x);
  const std::string dim = draft.axis_text(x, axis);
  std::string operand = x.name;
  if (draft.chance(0.3)) operand = fmt::format("{} * {}", x.name, draft.constant(0.2, 1.2));
  Value made;
  switch (draft.between(0, 4)) {
    case 0:
      made = draft.say(fmt::format("F.log_softmax({}, dim={})", operand, dim), x);
      made.high = 0;
      return made;
    case 1:
      made = draft.say(fmt::format("F.softmin({}, dim={})", operand, dim), x);
      break;
    default:
      made = draft.say(fmt::format("torch.softmax({}, dim={})", operand, dim), x);
      break;
  }
  made.low = 0, made.high = 1;
  return made;
}

Value draw_masked_softmax(Draft& draft, const Value& x) {
  Dims dims = draft.chance(0.5) ? x.dims : Dims{x.dim(-2), x.dim(-1)};
  std::string scores;
  if (draft.chance(0.5)) {
    const Value mask = draft.input({"mask"}, dims, Dtype::boolean, IntegerValues{Expression(0), Expression(1)});
    scores = fmt::format("{}.masked_fill({}, -1e4)", x.name, mask.name);
  } else {
    scores = fmt::format("{} + {}", x.name, draft.normal({"bias", "mask"}, dims).name);
  }
  Value made = draft.say(fmt::format("torch.softmax({}, dim=-1)", scores), x);
  made.low = 0, made.high = 1;
  return made;
}

bool fits_layer(const Value& x) { return fits_rows(x) && x.steady(); }

bool fits_several(const Value& x) { return fits_rows(x) && x.elements(2) <= 400'000; }

bool fits_instances(const Value& x) {
  if (!x.steady() || x.rank() < 3 || x.rank() > 5) return false;
  std::int64_t least = 1;
  for (int i = 2; i < x.rank(); ++i) least *= x.dim(i).least();
  return least >= 6;
}

bool fits_group(const Value& x) { return fits_instances(x) && x.dim(1).is_constant(); }

Value start_image(Draft& draft) {
  static constexpr std::array<std::int64_t, 5> channels{4, 6, 8, 9, 12};
  return draft.normal({"x", "input"}, draft.image_dims(static_cast<int>(draft.between(1, 3)), draft.pick(channels)));
}

constexpr Family families[] = {
    {"layer_norm", 3, false, fits_layer, draw_layer_norm},
    {"rms_norm", 2, false, fits_rows, draw_rms_norm},
    {"group_norm", 2, false, fits_group, draw_group_norm, start_image},
    {"batch_norm", 2, false, fits_channels, draw_batch_norm},
    {"batch_statistics", 1, false, fits_instances, draw_batch_statistics, start_image},
    {"instance_norm", 1, false, fits_instances, draw_instance_norm, start_image},
    {"l1_normalize", 1, false, fits_rows, [](Draft& draft, const Value& x) { return draw_normalize(draft, x, "1.0"); }},
    {"l2_normalize", 1, true, fits_rows, [](Draft& draft, const Value& x) { return draw_normalize(draft, x, "2.0"); }},
    {"frobenius", 1, false, fits_several, draw_frobenius},
    {"softmax", 4, false, fits_soft, draw_softmax},
    {"masked_softmax", 2, false, [](const Value& x) { return fits_soft(x) && x.rank() >= 2; }, draw_masked_softmax},
};

}  // namespace

std::span<const Family> stages_norms() { return families; }

}  // namespace kw::programs
