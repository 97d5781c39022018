// Element by element: activations, expressions of several operands, whole numbers, conditions.

#include <fmt/format.h>

#include <algorithm>

#include "agents/draw/stage.h"

namespace kw::programs {
namespace {

struct Running {
  std::string text;
  double low = -unbounded, high = unbounded;
  bool exact = false;
};

struct Activation {
  std::string_view text;  // {} is the operand, {a} a constant
  double low = -unbounded, high = unbounded;
  bool keeps_exact = false;  // a monotone choice among values: no arithmetic
};

constexpr Activation activations[] = {
    {"torch.relu({})", 0, unbounded, true},
    {"F.relu({})", 0, unbounded, true},
    {"F.relu6({})", 0, 6, true},
    {"F.gelu({})"},
    {"F.gelu({}, approximate='tanh')"},
    {"torch.sigmoid({})", 0, 1},
    {"torch.tanh({})", -1, 1},
    {"F.silu({})"},
    {"F.mish({})"},
    {"F.softsign({})", -1, 1},
    {"F.softplus({})", 0, unbounded},
    {"F.elu({})", -1, unbounded},
    {"F.elu({}, alpha={a})", -2, unbounded},
    {"F.celu({}, {a})", -2, unbounded},
    {"F.selu({})", -2, unbounded},
    {"F.leaky_relu({}, {a})"},
    {"F.leaky_relu({})"},
    {"F.hardswish({})", -0.5, unbounded},
    {"F.hardsigmoid({})", 0, 1},
    {"F.hardtanh({}, -{a}, {a})", -2, 2, true},
    {"F.logsigmoid({})", -unbounded, 0},
    {"F.softshrink({}, {a})"},
    {"torch.abs({})", 0, unbounded, true},
    {"torch.clamp({}, min=-{a})", -2, unbounded, true},
    {"torch.clamp({}, -{a}, {a})", -2, 2, true},
    {"torch.sin({})", -1, 1},
    {"torch.cos({})", -1, 1},
    {"torch.atan({})", -1.6, 1.6},
    {"torch.erf({})", -1, 1},
};

// With a jump somewhere: only of values that have no rounding error yet.
constexpr Activation jumps[] = {
    {"F.hardshrink({}, {a})"},
    {"F.threshold({}, {a}, -{a})"},
    {"torch.floor({})", -unbounded, unbounded, true},
    {"torch.sign({})", -1, 1, true},
    {"torch.round({})", -unbounded, unbounded, true},
    {"torch.ceil({})", -unbounded, unbounded, true},
    {"torch.trunc({})", -unbounded, unbounded, true},
};

// Of values that lie between -20 and 20 (exponentials) or above 0 (roots, logarithms).
constexpr Activation of_bounded[] = {
    {"torch.exp({} * 0.25)", 0, 150},
    {"torch.expm1({} * 0.25)", -1, 150},
    {"torch.square({})", 0, 400},
    {"{} ** 2", 0, 400},
    {"torch.exp(-torch.abs({}))", 0, 1},
    {"torch.exp2({} * 0.25)", 0, 40},
    {"{} ** 3"},
    {"torch.cosh({} * 0.25)", 0, 80},
    {"torch.asinh({})"},
};
constexpr Activation of_positive[] = {
    {"torch.sqrt({} + {a})", 0, unbounded}, {"torch.log({} + {a})"},
    {"torch.log1p({})", 0, unbounded},      {"torch.rsqrt({} + {a})", 0, 10},
    {"torch.reciprocal({} + {a})", 0, 100}, {"torch.log2({} + {a})"},
};

std::string filled(std::string_view text, const std::string& operand, const std::string& constant) {
  std::string made;
  const bool is_infix = !text.starts_with("torch.") && !text.starts_with("F.");
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("{}")) {
      made += is_infix && operand.find(' ') != std::string::npos ? "(" + operand + ")" : operand;
      ++i;
    } else if (text.substr(i).starts_with("{a}")) {
      made += constant;
      i += 2;
    } else {
      made += text[i];
    }
  }
  return made;
}

Running apply(Draft& draft, const Running& x, const Activation& each) {
  Running made;
  std::string operand = x.text;
  // `{} + {a}` inside of a call: the operand may be a sum itself, not a comparison.
  made.text = filled(each.text, operand, draft.constant(0.1, 1.5));
  made.low = each.low;
  made.high = each.high;
  made.exact = each.keeps_exact && x.exact;
  if (each.keeps_exact) made.low = std::max(each.low, std::min(x.low, 0.0)), made.high = each.high;
  return made;
}

Running with_constant(Draft& draft, const Running& x) {
  const std::string inner = x.text.find(' ') == std::string::npos ? x.text : "(" + x.text + ")";
  const std::string c = draft.constant(0.2, 1.8);
  Running made{"", x.low * 1.8 - 1.8, x.high * 1.8 + 1.8, false};
  if (x.low >= 0) made.low = 0;
  switch (draft.between(0, 4)) {
    case 0:
      made.text = fmt::format("{} * {}", inner, c);
      break;
    case 1:
      made.text = fmt::format("{} + {}", inner, c);
      break;
    case 2:
      made.text = fmt::format("{} - {}", inner, c);
      made.low = x.low - 1.8;
      break;
    case 3:
      made.text = fmt::format("{} - {}", c, inner);
      made.low = -x.high, made.high = 1.8 - x.low;
      break;
    default:
      made.text = fmt::format("{} / {}", inner, draft.constant(1.1, 3));
      break;
  }
  return made;
}

// The shape of an operand that broadcasts to x: all of it, its last axes, or one axis.
Dims operand_dims(Draft& draft, const Value& x, std::string& suffix) {
  if (x.rank() == 0 || draft.chance(0.35)) return x.dims;
  if (x.rank() >= 3 && draft.chance(0.5)) {  // one for each channel
    suffix = x.rank() == 3 ? "[:, None]" : x.rank() == 4 ? "[:, None, None]" : "[:, None, None, None]";
    return {x.dim(1)};
  }
  if (x.rank() >= 2 && draft.chance(0.2)) {
    Dims dims = x.dims;
    dims.back() = fixed(1);
    return dims;
  }
  return {x.dims.back()};
}

Running with_operand(Draft& draft, const Value& shape, const Running& x) {
  std::string suffix;
  const Dims dims = operand_dims(draft, shape, suffix);
  const bool scale = draft.chance(0.4);
  const Value other = scale ? draft.normal({"scale", "gamma", "gate", "w"}, dims)
                            : draft.normal({"bias", "beta", "residual", "b"}, dims);
  const std::string b = other.name + suffix;
  const std::string inner = x.text.find(' ') == std::string::npos ? x.text : "(" + x.text + ")";
  Running made{"", -unbounded, unbounded, false};
  const bool bounded = x.low >= -20 && x.high <= 20;
  if (scale) {
    const auto kind = draft.between(0, 3);
    if (kind == 0)
      made.text = fmt::format("{} * torch.sigmoid({})", inner, b);
    else if (kind == 1)
      made.text = fmt::format("{} / (torch.abs({}) + 1.0)", inner, b);
    else
      made.text = fmt::format("{} * {}", inner, b);
    if (bounded) made.low = 6 * std::min(x.low, -x.high), made.high = -made.low;
    if (kind <= 1) made.low = x.low < 0 ? x.low : 0, made.high = x.high;
    return made;
  }
  const auto kind = draft.between(0, 5);
  if (kind == 0) {
    made.text = fmt::format("torch.maximum({}, {})", x.text, b);
    made.exact = x.exact;
  } else if (kind == 1) {
    made.text = fmt::format("torch.minimum({}, {})", x.text, b);
    made.exact = x.exact;
  } else {
    made.text = kind == 2 ? fmt::format("{} - {}", inner, b) : fmt::format("{} + {}", inner, b);
  }
  made.low = x.low - 6, made.high = x.high + 6;
  return made;
}

Running step(Draft& draft, const Value& shape, const Running& x) {
  const double share = draft.random.uniform();
  if (share < 0.25) return with_constant(draft, x);
  if (share < 0.5) return with_operand(draft, shape, x);
  if (share < 0.65 && x.low >= 0) return apply(draft, x, draft.pick(of_positive));
  if (share < 0.8 && x.low >= -20 && x.high <= 20) return apply(draft, x, draft.pick(of_bounded));
  return apply(draft, x, draft.pick(activations));
}

Value say_running(Draft& draft, const Value& shape, const Running& x) {
  Value made = draft.say(x.text, shape);
  made.low = x.low, made.high = x.high, made.exact = x.exact;
  return made;
}

bool fits_floating(const Value& x) { return x.floating(); }

Value draw_activation(Draft& draft, const Value& x) {
  const Running from{x.name, x.low, x.high, x.exact};
  if (x.exact && draft.chance(0.2)) return say_running(draft, x, apply(draft, from, draft.pick(jumps)));
  if (x.bounded() && draft.chance(0.2)) return say_running(draft, x, apply(draft, from, draft.pick(of_bounded)));
  return say_running(draft, x, apply(draft, from, draft.pick(activations)));
}

// A condition of exact values, or a mask of its own.
Value draw_condition(Draft& draft, const Value& x) {
  const std::string sign = draft.pick({"<", ">", "<=", ">="});
  const std::string condition = fmt::format("{} {} {}", x.name, sign, draft.constant(-0.8, 0.8));
  const std::string c = draft.constant(-1, 1);
  switch (draft.between(0, 3)) {
    case 0: {
      Value made = draft.say(fmt::format("torch.where({}, {}, {} * {})", condition, x.name, x.name, c), x);
      made.low = -6 + x.low, made.high = 6 + x.high;
      return made;
    }
    case 1: {
      const Value other = draft.normal({"other", "b"}, x.dims);
      Value made = draft.say(fmt::format("torch.where({}, {}, {})", condition, x.name, other.name), x);
      made.exact = true;
      made.low = std::min(-6.0, x.low), made.high = std::max(6.0, x.high);
      return made;
    }
    case 2: {
      const Value mask =
          draft.input({"mask", "keep"}, x.dims, Dtype::boolean, IntegerValues{Expression(0), Expression(1)});
      Value made = draft.say(fmt::format("{}.masked_fill({}, {})", x.name, mask.name, c), x);
      made.exact = true;
      made.low = std::min(-1.0, x.low), made.high = std::max(1.0, x.high);
      return made;
    }
    default: {
      const std::string second = fmt::format("{} {} {}", x.name, draft.pick({"<", ">"}), draft.constant(-1.5, 1.5));
      Value made =
          draft.say(fmt::format("({}) {} ({})", condition, draft.pick({"&", "|"}), second), x.dims, Dtype::boolean);
      made.exact = true;
      return made;
    }
  }
}

bool is_int32(const Value& x) { return x.dtype == Dtype::int32; }

Value start_integers(Draft& draft) {
  return draft.input({"x", "a", "values"}, draft.plain_dims(static_cast<int>(draft.between(1, 4))), Dtype::int32,
                     IntegerValues{Expression(-50), Expression(50)});
}

Value draw_integers(Draft& draft, const Value& x) {
  std::string text = x.name;
  const auto steps = draft.between(1, 3);
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t c = draft.between(2, 9);
    switch (draft.between(0, 9)) {
      case 0:
        text = fmt::format("({} * {})", text, c);
        break;
      case 1:
        text = fmt::format("({} + {})", text, c);
        break;
      case 2:
        text = fmt::format("torch.clamp({}, -{}, {})", text, 3 * c, 5 * c);
        break;
      case 3:
        text = fmt::format("torch.abs({})", text);
        break;
      case 4:
        text = fmt::format("({} & {})", text, 8 * c - 1);
        break;
      case 5:
        text = fmt::format("({} ^ {})", text, c);
        break;
      case 6:
        text = fmt::format("torch.remainder({}, {})", text, c);
        break;
      case 7:
        text = fmt::format("torch.div({}, {}, rounding_mode='floor')", text, c);
        break;
      default: {
        const Value other = draft.input({"b", "other", "offset"}, draft.chance(0.5) ? x.dims : Dims{x.dims.back()},
                                        Dtype::int32, IntegerValues{Expression(-20), Expression(20)});
        const std::string sign = draft.pick({"+", "-", "*", "|", "&"});
        text = draft.chance(0.25) ? fmt::format("torch.maximum({}, {})", text, other.name)
                                  : fmt::format("({} {} {})", text, sign, other.name);
        break;
      }
    }
  }
  Value made = draft.say(text, x);
  made.exact = true;
  return made;
}

constexpr Family families[] = {
    {"activation", 4, false, fits_floating, draw_activation},
    {"expression", 6, false, fits_floating, draw_expression},
    {"condition", 2, false, [](const Value& x) { return x.floating() && x.exact; }, draw_condition},
    {"integers", 2, false, [](const Value& x) { return is_int32(x) && x.rank() > 0; }, draw_integers, start_integers},
};

}  // namespace

Value draw_expression(Draft& draft, const Value& x) {
  Running now{x.name, x.low, x.high, x.exact};
  const auto steps = draft.between(1, 3);
  for (std::int64_t i = 0; i < steps; ++i) now = step(draft, x, now);
  return say_running(draft, x, now);
}

std::span<const Family> stages_elements() { return families; }

}  // namespace kw::programs
