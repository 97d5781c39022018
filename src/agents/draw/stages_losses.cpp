// Losses: of two tensors, of classes, of pairs and triples of rows.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

bool fits_pair(const Value& x) { return x.floating() && x.rank() >= 1 && x.rank() <= 4 && x.elements(2) <= 200'000; }
bool fits_rows(const Value& x) { return fits_pair(x) && x.rank() == 2 && x.dims[1].least() >= 3; }

Value start_rows(Draft& draft) { return draft.normal({"x", "logits", "prediction"}, draft.plain_dims(2)); }

// The loss of each element, or one number.
Value said(Draft& draft, const std::string& call, const Dims& each, Dtype type) {
  switch (draft.between(0, 3)) {
    case 0:
      return draft.say(fmt::format("{}, reduction='none')", call), each, type);
    case 1:
      return draft.say(fmt::format("{}, reduction='sum').reshape(1)", call), {fixed(1)}, type);
    default:
      return draft.say(fmt::format("{}).reshape(1)", call), {fixed(1)}, type);
  }
}

Value draw_distance(Draft& draft, const Value& x) {
  const Value target = draft.normal({"target", "wanted"}, x.dims);
  const std::string both = fmt::format("{}, {}", x.name, target.name);
  // The soft margin has an exponential, which overflows in PyTorch itself.
  switch (draft.between(0, x.bounded() ? 4 : 3)) {
    case 0:
      return said(draft, fmt::format("F.mse_loss({}", both), x.dims, x.dtype);
    case 1:
      return said(draft, fmt::format("F.l1_loss({}", both), x.dims, x.dtype);
    case 2:
      return said(draft, fmt::format("F.smooth_l1_loss({}, beta={}", both, draft.constant(0.3, 2)), x.dims, x.dtype);
    case 3:
      return said(draft, fmt::format("F.huber_loss({}, delta={}", both, draft.constant(0.3, 2)), x.dims, x.dtype);
    default:
      return draft.say(fmt::format("F.soft_margin_loss({}, torch.sign({})).reshape(1)", x.name, target.name),
                       {fixed(1)}, x.dtype);
  }
}

Value draw_cross_entropy(Draft& draft, const Value& x) {
  const Value target = draft.indices({"target", "labels"}, {x.dims[0]}, x.dims[1]);
  const bool smooth = draft.chance(0.4);
  const std::string by = smooth ? fmt::format(", label_smoothing={}", draft.constant(0.05, 0.3)) : "";
  return said(draft, fmt::format("F.cross_entropy({}, {}{}", x.name, target.name, by), {x.dims[0]}, x.dtype);
}

Value draw_nll(Draft& draft, const Value& x) {
  const Value target = draft.indices({"target", "labels"}, {x.dims[0]}, x.dims[1]);
  return said(draft, fmt::format("F.nll_loss(F.log_softmax({}, dim=1), {}", x.name, target.name), {x.dims[0]}, x.dtype);
}

Value draw_divergence(Draft& draft, const Value& x) {
  const bool logarithm = draft.chance(0.4);
  const Value other = draft.normal({"target", "teacher"}, x.dims);
  const std::string target = logarithm ? fmt::format("F.log_softmax({}, dim=1), log_target=True", other.name)
                                       : fmt::format("torch.softmax({}, dim=1)", other.name);
  const std::string call = fmt::format("F.kl_div(F.log_softmax({}, dim=1), {}", x.name, target);
  if (draft.chance(0.5)) return draft.say(call + ", reduction='batchmean').reshape(1)", {fixed(1)}, x.dtype);
  return said(draft, call, x.dims, x.dtype);
}

Value draw_binary(Draft& draft, const Value& x) {
  const Value target = draft.uniform({"target", "labels"}, x.dims, 0, 1);
  if (draft.chance(0.6))
    return said(draft, fmt::format("F.binary_cross_entropy_with_logits({}, {}", x.name, target.name), x.dims, x.dtype);
  return said(draft, fmt::format("F.binary_cross_entropy(torch.sigmoid({}) * 0.9 + 0.05, {}", x.name, target.name),
              x.dims, x.dtype);
}

Value draw_hinge(Draft& draft, const Value& x) {
  const Value target = draft.normal({"target", "side"}, x.dims);
  const std::string text =
      fmt::format("torch.clamp({} - {} * torch.sign({}), min=0)", draft.constant(0.5, 1.5), x.name, target.name);
  if (draft.chance(0.4)) return draft.say(text, x);
  return draft.say(text + ".mean().reshape(1)", {fixed(1)}, x.dtype);
}

// The mean alone: TorchScript's own form takes the reduction as a number.
Value draw_triplet(Draft& draft, const Value& x) {
  const Value near = draft.normal({"positive", "near"}, x.dims), far = draft.normal({"negative", "far"}, x.dims);
  return draft.say(fmt::format("F.triplet_margin_loss({}, {}, {}, margin={}).reshape(1)", x.name, near.name, far.name,
                               draft.constant(0.5, 2)),
                   {fixed(1)}, x.dtype);
}

Value draw_cosine(Draft& draft, const Value& x) {
  const Value other = draft.normal({"other", "target"}, x.dims);
  const std::string both = fmt::format("F.cosine_similarity({}, {}, dim=1)", x.name, other.name);
  switch (draft.between(0, 2)) {
    case 0:
      return draft.say(both, {x.dims[0]}, x.dtype);
    case 1:
      return draft.say("1.0 - " + both, {x.dims[0]}, x.dtype);
    default:
      return draft.say("(1.0 - " + both + ").mean().reshape(1)", {fixed(1)}, x.dtype);
  }
}

constexpr Family families[] = {
    {"distance_loss", 2, false, fits_pair, draw_distance},
    {"cross_entropy", 2, false, fits_rows, draw_cross_entropy, start_rows},
    {"nll_loss", 1, false, fits_rows, draw_nll, start_rows},
    {"kl_divergence", 1, false, fits_rows, draw_divergence, start_rows},
    {"binary_cross_entropy", 1, false, fits_pair, draw_binary},
    {"hinge_loss", 1, false, fits_pair, draw_hinge},
    {"triplet_loss", 1, false, fits_rows, draw_triplet, start_rows},
    {"cosine_loss", 1, true, fits_rows, draw_cosine, start_rows},
};

}  // namespace

std::span<const Family> stages_losses() { return families; }

}  // namespace kw::programs
