// Scans along any axis: sums, products, extremes; from the end, exclusive, masked.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

std::int64_t longest(const Value& x) {
  std::int64_t made = 0;
  for (const Dim& dim : x.dims) made = std::max(made, *std::max_element(dim.at.begin(), dim.at.end()));
  return made;
}

// Half types lose a long sum's digits one after the other.
bool fits_scan(const Value& x) {
  const bool type = x.dtype == Dtype::float32 || x.dtype == Dtype::int32;
  return type && x.rank() >= 1 && x.rank() <= 4 && longest(x) <= 1000;
}
bool fits_floating(const Value& x) { return fits_scan(x) && x.floating(); }

Value start_rows(Draft& draft) {
  draft.dtype = Dtype::float32;
  const auto rank = static_cast<int>(draft.between(2, 4));
  if (draft.chance(0.2))
    return draft.input({"x", "values"}, draft.plain_dims(rank), Dtype::int32,
                       IntegerValues{Expression(-9), Expression(9)});
  return draft.normal({"x", "values", "input"}, draft.plain_dims(rank));
}
Value start_floating(Draft& draft) {
  draft.dtype = Dtype::float32;
  return draft.normal({"x", "values", "input"}, draft.plain_dims(static_cast<int>(draft.between(2, 4))));
}

Value scanned(Draft& draft, const std::string& text, const Value& x) {
  Value made = draft.say(text, x.dims, x.floating() ? x.dtype : Dtype::int64);
  made.exact = !x.floating();
  return made;
}

Value draw_cumsum(Draft& draft, const Value& x) {
  return scanned(draft, fmt::format("torch.cumsum({}, dim={})", x.name, draft.axis_text(x, draft.axis(x))), x);
}

Value draw_cumprod(Draft& draft, const Value& x) {
  const std::string axis = draft.axis_text(x, draft.axis(x));
  return draft.say(fmt::format("torch.cumprod(1.0 + 0.02 * torch.tanh({}), dim={})", x.name, axis), x);
}

Value draw_cummax(Draft& draft, const Value& x) {
  const std::string axis = draft.axis_text(x, draft.axis(x));
  const bool places = x.exact && draft.chance(0.25);
  const std::string name = draft.pick({"cummax", "cummin"});
  if (places) {
    Value made = draft.say(fmt::format("torch.{}({}, dim={})[1]", name, x.name, axis), x.dims, Dtype::int64);
    made.exact = true;
    return made;
  }
  Value made = draft.say(fmt::format("torch.{}({}, dim={})[0]", name, x.name, axis), x);
  made.exact = x.exact;
  made.low = x.low, made.high = x.high;
  return made;
}

Value draw_reverse(Draft& draft, const Value& x) {
  const std::string axis = draft.axis_text(x, draft.axis(x));
  return scanned(draft, fmt::format("torch.cumsum({0}.flip({1}), dim={1}).flip({1})", x.name, axis), x);
}

Value draw_exclusive(Draft& draft, const Value& x) {
  const std::string axis = draft.axis_text(x, draft.axis(x));
  return scanned(draft, fmt::format("torch.cumsum({0}, dim={1}) - {0}", x.name, axis), x);
}

Value draw_masked(Draft& draft, const Value& x) {
  const Value mask = draft.input({"mask", "keep"}, x.dims, Dtype::boolean, IntegerValues{Expression(0), Expression(1)});
  return scanned(draft,
                 fmt::format("torch.cumsum({} * {}, dim={})", x.name, mask.name, draft.axis_text(x, draft.axis(x))), x);
}

Value draw_logarithmic(Draft& draft, const Value& x) {
  return draft.say(fmt::format("torch.logcumsumexp({}, dim={})", x.name, draft.axis_text(x, draft.axis(x))), x);
}

constexpr Family families[] = {
    {"cumsum", 3, false, fits_scan, draw_cumsum, start_rows},
    {"cumprod", 1, false, fits_floating, draw_cumprod, start_floating},
    {"cummax", 2, false, fits_scan, draw_cummax, start_rows},
    {"reverse_cumsum", 1, false, fits_scan, draw_reverse, start_rows},
    {"exclusive_cumsum", 1, true, fits_scan, draw_exclusive, start_rows},
    {"masked_cumsum", 1, false, fits_scan, draw_masked, start_rows},
    {"logcumsumexp", 1, false, fits_floating, draw_logarithmic, start_floating},
};

}  // namespace

std::span<const Family> stages_scans() { return families; }

}  // namespace kw::programs
