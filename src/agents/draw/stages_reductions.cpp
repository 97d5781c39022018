// Reductions and places of extremes over any axes.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

std::int64_t longest(const Dim& dim) { return *std::max_element(dim.at.begin(), dim.at.end()); }

struct Chosen {
  std::vector<int> axes;  // sorted
  std::string text;       // "-1", "(0, 2)"
  bool keep = false;
};

Chosen choose_axes(Draft& draft, const Value& x, bool several) {
  Chosen made;
  made.axes.push_back(draft.axis(x));
  if (several && x.rank() >= 3 && draft.chance(0.3)) {
    const int other = draft.axis(x);
    if (other != made.axes[0]) made.axes.push_back(other);
  }
  std::sort(made.axes.begin(), made.axes.end());
  if (made.axes.size() == 1) {
    made.text = draft.axis_text(x, made.axes[0]);
  } else {
    made.text = fmt::format("({}, {})", draft.axis_text(x, made.axes[0]), draft.axis_text(x, made.axes[1]));
  }
  made.keep = draft.chance(0.35);
  return made;
}

Dims reduced(const Value& x, const Chosen& chosen) {
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) {
    const bool gone = std::find(chosen.axes.begin(), chosen.axes.end(), i) != chosen.axes.end();
    if (!gone)
      dims.push_back(x.dim(i));
    else if (chosen.keep)
      dims.push_back(fixed(1));
  }
  return dims;
}

std::string kept(const Chosen& chosen) { return chosen.keep ? ", keepdim=True" : ""; }

bool fits_some(const Value& x) { return x.rank() >= 1 && x.rank() <= 5; }

bool fits_floating(const Value& x) { return x.floating() && fits_some(x); }

Value draw_sum(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, true);
  const bool mean = x.floating() && draft.chance(0.5);
  const std::string name = mean ? "mean" : "sum";
  const std::string text = draft.chance(0.5)
                               ? fmt::format("torch.{}({}, dim={}{})", name, x.name, chosen.text, kept(chosen))
                               : fmt::format("{}.{}({}{})", x.name, name, chosen.text, kept(chosen));
  Value made = draft.say(text, reduced(x, chosen), x.floating() ? x.dtype : Dtype::int64);
  made.exact = !x.floating();
  if (mean) made.low = x.low, made.high = x.high;
  return made;
}

Value draw_total(Draft& draft, const Value& x) {
  const std::string name =
      x.floating() ? draft.pick({"mean", "sum", "amax", "amin"}) : draft.pick({"sum", "amax", "amin"});
  const bool extreme = name[0] == 'a';
  Value made = draft.say(fmt::format("torch.{}({}).reshape(1)", name, x.name), {fixed(1)},
                         x.floating() || extreme ? x.dtype : Dtype::int64);
  made.exact = !x.floating() || (x.exact && extreme);
  return made;
}

Value draw_extreme(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, true);
  const bool greatest = draft.chance(0.5);
  const bool named = chosen.axes.size() == 1 && draft.chance(0.4);
  const std::string text =
      named ? fmt::format("{}.{}({}{}).values", x.name, greatest ? "max" : "min", chosen.text, kept(chosen))
            : fmt::format("torch.{}({}, dim={}{})", greatest ? "amax" : "amin", x.name, chosen.text, kept(chosen));
  Value made = draft.say(text, reduced(x, chosen), x.dtype);
  made.exact = x.exact;
  made.low = x.low, made.high = x.high;
  return made;
}

Value draw_product(Draft& draft, const Value& x) {
  Chosen chosen = choose_axes(draft, x, false);
  // Values near 1, so that a product of many neither vanishes nor overflows.
  Value made =
      draft.say(fmt::format("torch.prod(1.0 + torch.tanh({}) * 0.02, {}{})", x.name, chosen.text, kept(chosen)),
                reduced(x, chosen), x.dtype);
  return made;
}

Value draw_spread(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, true);
  const std::string name = draft.pick({"var", "std"});
  const std::string by = draft.pick({"unbiased=False", "unbiased=True", "correction=0"});
  Value made = draft.say(fmt::format("torch.{}({}, dim={}, {}{})", name, x.name, chosen.text, by, kept(chosen)),
                         reduced(x, chosen), x.dtype);
  made.low = 0;
  return made;
}

bool fits_spread(const Value& x) {
  return fits_floating(x) && x.steady() &&
         std::all_of(x.dims.begin(), x.dims.end(), [](const Dim& dim) { return dim.least() >= 3; });
}

Value draw_size(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, true);
  std::string text;
  switch (draft.between(0, 3)) {
    case 0:
      text = fmt::format("torch.norm({}, p=2, dim={}{})", x.name, chosen.text, kept(chosen));
      break;
    case 1:
      text = fmt::format("torch.linalg.vector_norm({}, dim={}{})", x.name, chosen.text, kept(chosen));
      break;
    case 2:
      text = fmt::format("torch.norm({}, p=1, dim={}{})", x.name, chosen.text, kept(chosen));
      break;
    default:
      text = fmt::format("torch.linalg.vector_norm({}, ord=1, dim={}{})", x.name, chosen.text, kept(chosen));
      break;
  }
  Value made = draft.say(text, reduced(x, chosen), x.dtype);
  made.low = 0;
  return made;
}

Value draw_logsumexp(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, false);
  return draft.say(fmt::format("torch.logsumexp({}, dim={}{})", x.name, chosen.text, kept(chosen)), reduced(x, chosen),
                   x.dtype);
}

Value draw_place(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, false);
  Value made = draft.say(
      fmt::format("torch.{}({}, dim={}{})", draft.pick({"argmax", "argmin"}), x.name, chosen.text, kept(chosen)),
      reduced(x, chosen), Dtype::int64);
  made.exact = true;
  return made;
}

Value draw_any(Draft& draft, const Value& x) {
  const Chosen chosen = choose_axes(draft, x, false);
  const std::string condition = x.dtype == Dtype::boolean
                                    ? x.name
                                    : fmt::format("({} > {})", x.name, x.floating() ? draft.constant(0.5, 2.5) : "11");
  Value made;
  if (draft.chance(0.3)) {
    Chosen plain = chosen;
    plain.keep = false;
    made = draft.say(fmt::format("torch.count_nonzero({}, dim={})", condition, chosen.text), reduced(x, plain),
                     Dtype::int64);
  } else {
    made = draft.say(
        fmt::format("torch.{}({}, dim={}{})", draft.pick({"any", "all"}), condition, chosen.text, kept(chosen)),
        reduced(x, chosen), Dtype::boolean);
  }
  made.exact = true;
  return made;
}

bool fits_place(const Value& x) {
  return fits_some(x) && x.exact && x.dtype != Dtype::boolean && (x.floating() || x.dtype == Dtype::int32);
}

constexpr Family families[] = {
    {"sum", 4, false, [](const Value& x) { return fits_some(x) && x.dtype != Dtype::boolean; }, draw_sum},
    {"total", 1, false,
     [](const Value& x) { return fits_some(x) && x.dtype != Dtype::boolean && x.elements(2) <= 200'000; }, draw_total},
    {"extreme", 3, false, [](const Value& x) { return fits_some(x) && x.dtype != Dtype::boolean; }, draw_extreme},
    {"product", 1, false,
     [](const Value& x) {
       return x.dtype == Dtype::float32 && fits_some(x) && x.rank() > 1 &&
              std::all_of(x.dims.begin(), x.dims.end(), [](const Dim& dim) { return longest(dim) <= 800; });
     },
     draw_product},
    {"spread", 2, false, fits_spread, draw_spread},
    {"vector_norm", 2, false, fits_floating, draw_size},
    {"logsumexp", 1, true, fits_floating, draw_logsumexp},
    {"arg_reduction", 2, false, fits_place, draw_place},
    {"any_all", 2, false, [](const Value& x) { return fits_some(x) && x.exact; }, draw_any},
};

}  // namespace

std::span<const Family> stages_reductions() { return families; }

}  // namespace kw::programs
