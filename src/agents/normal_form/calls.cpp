// Functions and methods of PyTorch, each brought to one spelling: who does it, and functions of single numbers.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agents/normal_form/call.h"

namespace kw {
namespace {

struct UnaryName {
  std::string_view name;
  Op op;
};
constexpr std::array unary_names{
    UnaryName{"abs", Op::absolute},
    UnaryName{"absolute", Op::absolute},
    UnaryName{"square", Op::square},
    UnaryName{"relu", Op::relu},
    UnaryName{"sigmoid", Op::sigmoid},
    UnaryName{"tanh", Op::tanh},
    UnaryName{"exp", Op::exp},
    UnaryName{"log1p", Op::log1p},
    UnaryName{"sqrt", Op::sqrt},
    UnaryName{"rsqrt", Op::rsqrt},
    UnaryName{"sin", Op::sin},
    UnaryName{"cos", Op::cos},
    UnaryName{"neg", Op::negate},
    UnaryName{"negative", Op::negate},
    UnaryName{"silu", Op::silu},
    UnaryName{"hardsigmoid", Op::hard_sigmoid},
    UnaryName{"hardswish", Op::hard_swish},
    UnaryName{"expit", Op::sigmoid},
};
// Functions of single numbers that the grammar does not have; the spelling is torch.NAME.
constexpr std::array<std::string_view, 22> other_unary{
    "log",   "log2",       "log10", "exp2", "expm1", "erf",  "erfc", "sign", "round", "floor", "ceil",
    "trunc", "reciprocal", "tan",   "atan", "sinh",  "cosh", "asin", "acos", "frac",  "logit", "sgn"};

}  // namespace

Call::Call(TermBook& book, const CallArguments& call) : book_(book), call_(call) {
  const std::size_t dot = call.name.rfind('.');
  short_ = dot == std::string::npos ? call.name : call.name.substr(dot + 1);
  method_ = call.name.starts_with(".");
  in_functional_ = call.name.starts_with("F.");
}

int Call::make() {
  const bool ours = method_ || in_functional_ || call_.name.starts_with("torch.");
  if (!ours || call_.values.empty()) return generic();
  const int made = known();
  return made >= 0 ? made : generic();
}

// The arguments by parameter, -1 where one is left out.
std::optional<std::vector<int>> Call::bind(std::initializer_list<std::string_view> parameters) const {
  Values values(parameters.size(), -1);
  for (std::size_t i = 0; i < call_.values.size(); ++i) {
    std::size_t place = i;
    if (!call_.keys[i].empty()) {
      const auto found = std::find(parameters.begin(), parameters.end(), call_.keys[i]);
      place = static_cast<std::size_t>(found - parameters.begin());
    }
    if (place >= values.size() || values[place] >= 0) return std::nullopt;
    values[place] = call_.values[i];
  }
  if (values.empty() || values[0] < 0) return std::nullopt;
  return values;
}

std::vector<int> Call::list_of(int id) const {
  const Term& term = book_.at(id);
  if (term.kind == TermKind::python && term.text == "list") return term.parts;
  return {id};
}

// A number, or a list of equal numbers.
std::optional<std::int64_t> Call::same_number(int id, std::int64_t otherwise) const {
  if (absent(id)) return otherwise;
  std::optional<std::int64_t> found;
  for (const int each : list_of(id)) {
    const auto own = book_.whole(each);
    if (!own || (found && *found != *own)) return std::nullopt;
    found = own;
  }
  return found;
}

// -1 for the last axis, else counted from the front.
std::optional<std::int64_t> Call::axis_of(int value, int axis) const {
  const auto rank = book_.rank(value);
  const auto own = book_.whole(axis);
  if (!rank || !own || !is_axis(*own, *rank)) return std::nullopt;
  const std::int64_t front = *own < 0 ? *own + *rank : *own;
  return front == *rank - 1 ? -1 : front;
}

int Call::generic() {
  const bool elementwise =
      (std::find(other_unary.begin(), other_unary.end(), short_) != other_unary.end() && call_.values.size() == 1);
  if (elementwise) return make_python(book_, "call torch." + short_, call_.values, {""}, true);
  if (short_ == "masked_fill") return masked();
  if (method_) return make_python(book_, "method " + short_, call_.values, call_.keys);
  const bool casts = call_.name == "torch.zeros_like" || call_.name == "torch.ones_like";
  return make_python(book_, "call " + call_.name, call_.values, call_.keys, casts);
}

// Has the shape of what is filled.
int Call::masked() {
  const auto a = bind({"input", "mask", "value"});
  if (!a || (*a)[1] < 0 || (*a)[2] < 0) return -1;
  Term term;
  term.kind = TermKind::python;
  term.text = "method masked_fill";
  term.parts = *a;
  term.elementwise = true;
  term.floating = book_.at((*a)[0]).floating;
  term.shape = book_.at((*a)[0]).shape;
  return book_.add(std::move(term));
}

int Call::known() {
  for (const UnaryName& unary : unary_names) {
    if (unary.name != short_) continue;
    const auto a = bind({"input", "inplace"});
    return a && off((*a)[1]) ? make_scalar(book_, unary.op, (*a)[0]) : -1;
  }
  for (const auto part : {&Call::activation, &Call::arithmetic, &Call::reduction, &Call::normalisation, &Call::scan,
                          &Call::movement, &Call::product, &Call::window, &Call::loss, &Call::conversion}) {
    const int made = (this->*part)();
    if (made >= 0) return made;
  }
  return -1;
}

int Call::activation() {
  if (short_ == "gelu") {
    const auto a = bind({"input", "approximate"});
    if (!a) return -1;
    if (absent((*a)[1]) || book_.is_word((*a)[1], "\"none\"")) return make_scalar(book_, Op::gelu, (*a)[0]);
    return book_.is_word((*a)[1], "\"tanh\"") ? make_scalar(book_, Op::gelu_tanh, (*a)[0]) : -1;
  }
  if (short_ == "elu") {
    const auto a = bind({"input", "alpha", "inplace"});
    return a && plain((*a)[1], 1) && off((*a)[2]) ? make_scalar(book_, Op::elu, (*a)[0]) : -1;
  }
  if (short_ == "softplus") {
    const auto a = bind({"input", "beta", "threshold"});
    return a && plain((*a)[1], 1) && plain((*a)[2], 20) ? make_scalar(book_, Op::softplus, (*a)[0]) : -1;
  }
  if (short_ == "leaky_relu") {
    const auto a = bind({"input", "negative_slope", "inplace"});
    if (!a || !off((*a)[2])) return -1;
    const double slope = (*a)[1] < 0 ? 0.01 : book_.at((*a)[1]).value;
    if ((*a)[1] >= 0 && book_.at((*a)[1]).kind != TermKind::number) return -1;
    return make_scalar(book_, Op::leaky_relu, (*a)[0], -1, -1, slope);
  }
  if (short_ == "relu6") {
    const auto a = bind({"input", "inplace"});
    return a ? make_clamp(book_, (*a)[0], book_.number(0), book_.number(6)) : -1;
  }
  if (short_ == "hardtanh") {
    const auto a = bind({"input", "min_val", "max_val", "inplace"});
    if (!a) return -1;
    return make_clamp(book_, (*a)[0], (*a)[1] < 0 ? book_.number(-1) : (*a)[1],
                      (*a)[2] < 0 ? book_.number(1) : (*a)[2]);
  }
  if (short_ == "softsign") {
    const auto a = bind({"input"});
    if (!a) return -1;
    return make_scalar(book_, Op::divide, (*a)[0],
                       make_scalar(book_, Op::add, make_scalar(book_, Op::absolute, (*a)[0]), book_.number(1)));
  }
  if (short_ == "logsigmoid") {
    const auto a = bind({"input"});
    if (!a) return -1;
    return make_scalar(book_, Op::negate, make_scalar(book_, Op::softplus, make_scalar(book_, Op::negate, (*a)[0])));
  }
  if (short_ == "log") {
    const auto a = bind({"input"});
    if (!a) return -1;
    const int e = (*a)[0];
    if (book_.is_core(e, "softmax"))
      return book_.core("log_softmax", book_.at(e).parts, book_.at(e).numbers, book_.at(e).shape);
    if (book_.is_core(e, "sum") && book_.is_op(book_.at(e).parts[0], Op::exp) && book_.at(e).numbers.size() == 1)
      return book_.core("logsumexp", {book_.at(book_.at(e).parts[0]).parts[0]}, book_.at(e).numbers, book_.at(e).shape,
                        book_.at(e).keeps_axis);
    if (book_.is_op(e, Op::add) && book_.is_number(book_.at(e).parts[1], 1))
      return make_scalar(book_, Op::log1p, book_.at(e).parts[0]);
  }
  return -1;
}

int Call::arithmetic() {
  struct BinaryName {
    std::string_view name;
    Op op;
  };
  static constexpr std::array names{
      BinaryName{"add", Op::add},         BinaryName{"sub", Op::subtract},       BinaryName{"subtract", Op::subtract},
      BinaryName{"mul", Op::multiply},    BinaryName{"multiply", Op::multiply},  BinaryName{"div", Op::divide},
      BinaryName{"divide", Op::divide},   BinaryName{"true_divide", Op::divide}, BinaryName{"maximum", Op::maximum},
      BinaryName{"minimum", Op::minimum}, BinaryName{"fmax", Op::maximum},       BinaryName{"fmin", Op::minimum}};
  for (const BinaryName& each : names) {
    if (each.name != short_) continue;
    const bool scales = each.op == Op::add || each.op == Op::subtract;  // its second operand by alpha
    const auto a = scales ? bind({"input", "other", "alpha"}) : bind({"input", "other"});
    if (!a || (*a)[1] < 0) return -1;
    int other = (*a)[1];
    if (scales && !plain((*a)[2], 1)) other = make_scalar(book_, Op::multiply, other, (*a)[2]);
    return make_scalar(book_, each.op, (*a)[0], other);
  }
  if (short_ == "pow") {
    const auto a = bind({"input", "exponent"});
    return a ? make_power(book_, (*a)[0], (*a)[1]) : -1;
  }
  if (short_ == "clamp" || short_ == "clip") {
    const auto a = bind({"input", "min", "max"});
    return a ? make_clamp(book_, (*a)[0], (*a)[1], (*a)[2]) : -1;
  }
  if (short_ == "clamp_min" || short_ == "clamp_max") {
    const auto a = bind({"input", short_ == "clamp_min" ? "min" : "max"});
    if (!a) return -1;
    return short_ == "clamp_min" ? make_clamp(book_, (*a)[0], (*a)[1], -1) : make_clamp(book_, (*a)[0], -1, (*a)[1]);
  }
  if (short_ == "where" && !method_) {
    const auto a = bind({"condition", "input", "other"});
    return a ? make_where(book_, (*a)[0], (*a)[1], (*a)[2]) : -1;
  }
  if (short_ == "lerp") {
    const auto a = bind({"input", "end", "weight"});
    if (!a || (*a)[1] < 0 || (*a)[2] < 0) return -1;
    return make_scalar(book_, Op::add, (*a)[0],
                       make_scalar(book_, Op::multiply, (*a)[2], make_scalar(book_, Op::subtract, (*a)[1], (*a)[0])));
  }
  if (short_ == "addcmul" || short_ == "addcdiv") {
    const auto a = bind({"input", "tensor1", "tensor2", "value"});
    if (!a || (*a)[1] < 0 || (*a)[2] < 0) return -1;
    int term = make_scalar(book_, short_ == "addcmul" ? Op::multiply : Op::divide, (*a)[1], (*a)[2]);
    if (!plain((*a)[3], 1)) term = make_scalar(book_, Op::multiply, term, (*a)[3]);
    return make_scalar(book_, Op::add, (*a)[0], term);
  }
  return -1;
}

int make_call(TermBook& book, const CallArguments& call) { return Call(book, call).make(); }

}  // namespace kw
