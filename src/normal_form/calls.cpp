// Functions and methods of PyTorch, each brought to one spelling.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "normal_form/operation.h"

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

bool is_axis(std::int64_t axis, int rank) { return axis >= -rank && axis < rank; }

class Call {
 public:
  Call(TermBook& book, const CallArguments& call) : book_(book), call_(call) {
    const std::size_t dot = call.name.rfind('.');
    short_ = dot == std::string::npos ? call.name : call.name.substr(dot + 1);
    method_ = call.name.starts_with(".");
    in_functional_ = call.name.starts_with("F.");
  }

  int make() {
    if (!method_ && !in_functional_ && !call_.name.starts_with("torch.")) return generic();
    const int made = known();
    return made >= 0 ? made : generic();
  }

 private:
  using Values = std::vector<int>;

  // The arguments by parameter, -1 where one is left out.
  std::optional<Values> bind(std::initializer_list<std::string_view> parameters) const {
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
  bool absent(int id) const { return id < 0 || book_.is_word(id, "None"); }
  // A switch that is left out or off.
  bool off(int id) const { return absent(id) || book_.is_word(id, "False"); }
  bool on(int id) const { return id >= 0 && book_.is_word(id, "True"); }
  bool plain(int id, double value) const { return absent(id) || book_.is_number(id, value); }

  std::vector<int> list_of(int id) const {
    const Term& term = book_.at(id);
    if (term.kind == TermKind::python && term.text == "list") return term.parts;
    return {id};
  }
  // A number, or a list of equal numbers.
  std::optional<std::int64_t> same_number(int id, std::int64_t otherwise) const {
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
  std::optional<std::int64_t> axis_of(int value, int axis) const {
    const auto rank = book_.rank(value);
    const auto own = book_.whole(axis);
    if (!rank || !own || !is_axis(*own, *rank)) return std::nullopt;
    const std::int64_t front = *own < 0 ? *own + *rank : *own;
    return front == *rank - 1 ? -1 : front;
  }

  int generic() {
    const bool elementwise =
        (std::find(other_unary.begin(), other_unary.end(), short_) != other_unary.end() && call_.values.size() == 1);
    if (elementwise) return make_python(book_, "call torch." + short_, call_.values, {""}, true);
    if (short_ == "masked_fill") return masked();
    if (method_) return make_python(book_, "method " + short_, call_.values, call_.keys);
    const bool casts = call_.name == "torch.zeros_like" || call_.name == "torch.ones_like";
    return make_python(book_, "call " + call_.name, call_.values, call_.keys, casts);
  }

  // Has the shape of what is filled.
  int masked() {
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

  int known() {
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

  int activation() {
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
        return book_.core("logsumexp", {book_.at(book_.at(e).parts[0]).parts[0]}, book_.at(e).numbers,
                          book_.at(e).shape, book_.at(e).keeps_axis);
      if (book_.is_op(e, Op::add) && book_.is_number(book_.at(e).parts[1], 1))
        return make_scalar(book_, Op::log1p, book_.at(e).parts[0]);
    }
    return -1;
  }

  int arithmetic() {
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

  // Over these axes (none: all of them).
  int reduced(const std::string& what, int value, int axes, bool keeps, std::vector<std::int64_t> more = {}) {
    const auto rank = book_.rank(value);
    if (value < 0 || !rank || *rank == 0) return -1;
    std::vector<std::int64_t> places;
    if (absent(axes)) {
      for (int i = 0; i < *rank; ++i) places.push_back(i);
    } else {
      for (const int each : list_of(axes)) {
        const auto own = book_.whole(each);
        if (!own || !is_axis(*own, *rank)) return -1;
        places.push_back(*own < 0 ? *own + *rank : *own);
      }
      std::sort(places.begin(), places.end());
      if (places.empty() || std::adjacent_find(places.begin(), places.end()) != places.end()) return -1;
    }
    std::vector<std::string> shape;
    for (int i = 0; i < *rank; ++i) {
      const bool gone = std::find(places.begin(), places.end(), i) != places.end();
      if (!gone) shape.push_back((*book_.at(value).shape)[static_cast<std::size_t>(i)]);
      if (gone && keeps) shape.emplace_back("1");
    }
    if (places.back() == *rank - 1 && places.size() == 1) places.back() = -1;
    places.insert(places.end(), more.begin(), more.end());
    // Of a vector, keepdim does what reshape(1) does.
    if (*rank == 1 && keeps)
      return book_.core("one", {book_.core(what, {value}, places, std::vector<std::string>{})}, {}, shape);
    return book_.core(what, {value}, places, shape, keeps);
  }

  int reduction() {
    for (const std::string_view name : {"sum", "mean", "amax", "amin", "logsumexp"}) {
      if (name != short_) continue;
      const auto a = bind({"input", "dim", "keepdim"});
      return a && (off((*a)[2]) || on((*a)[2])) ? reduced(short_, (*a)[0], (*a)[1], on((*a)[2])) : -1;
    }
    if (short_ == "argmax" || short_ == "argmin") {
      const auto a = bind({"input", "dim", "keepdim"});
      return a && !absent((*a)[1]) && off((*a)[2]) ? reduced(short_, (*a)[0], (*a)[1], false) : -1;
    }
    if (short_ == "max" || short_ == "min") {
      const auto a = bind({"input", "dim", "keepdim"});
      if (!a) return other_maximum();
      if ((*a)[1] < 0) return reduced("a" + short_, (*a)[0], -1, false);
      if (book_.whole((*a)[1])) return reduced("pair_" + short_, (*a)[0], (*a)[1], on((*a)[2]));
      return other_maximum();
    }
    if (short_ == "var") {
      const auto a = bind({"input", "dim", "unbiased", "keepdim", "correction"});
      if (!a || absent((*a)[1])) return -1;
      std::int64_t correction = off((*a)[2]) && (*a)[2] >= 0 ? 0 : 1;
      if ((*a)[4] >= 0) correction = book_.whole((*a)[4]).value_or(-1);
      const int made = reduced("var", (*a)[0], (*a)[1], on((*a)[3]), {correction});
      return made >= 0 && book_.at(made).numbers.size() == 2 ? made : -1;
    }
    if (short_ == "norm" || short_ == "vector_norm") {
      const auto a =
          bind({"input", short_ == "norm" && call_.name != "torch.linalg.norm" ? "p" : "ord", "dim", "keepdim"});
      if (!a) return -1;
      if (plain((*a)[1], 2))
        return make_scalar(book_, Op::sqrt,
                           reduced("sum", make_scalar(book_, Op::square, (*a)[0]), (*a)[2], on((*a)[3])));
      if (book_.is_number((*a)[1], 1))
        return reduced("sum", make_scalar(book_, Op::absolute, (*a)[0]), (*a)[2], on((*a)[3]));
    }
    if (short_ == "dot") {
      const auto a = bind({"input", "tensor"});
      return a ? reduced("sum", make_scalar(book_, Op::multiply, (*a)[0], (*a)[1]), -1, false) : -1;
    }
    return -1;
  }
  // torch.max(a, b) of two tensors
  int other_maximum() {
    const auto a = bind({"input", "other"});
    if (!a || (*a)[1] < 0) return -1;
    return make_scalar(book_, short_ == "max" ? Op::maximum : Op::minimum, (*a)[0], (*a)[1]);
  }

  bool is_causal_mask(int mask) const {
    const Term& term = book_.at(mask);
    if (term.kind == TermKind::core && term.text == "tril" && term.parts.size() == 1) return false;
    const auto ones = [&](int id) {
      const Term& own = book_.at(id);
      return own.kind == TermKind::python && (own.text == "call torch.ones" || own.text == "call torch.ones_like");
    };
    if (term.kind != TermKind::python) return false;
    if (term.text == "==" && book_.is_number(term.parts[1], 0))
      return book_.is_core(term.parts[0], "tril") && ones(book_.at(term.parts[0]).parts[0]);
    if (term.text == "method bool" || term.text == "method to" ||
        (term.text == "==" && book_.is_number(term.parts[1], 1)) ||
        ((term.text == ">" || term.text == "!=") && book_.is_number(term.parts[1], 0)))
      return is_causal_mask(term.parts[0]);
    if (term.text == "method triu" || term.text == "call torch.triu")
      return term.parts.size() == 2 && ones(term.parts[0]) && book_.is_number(term.parts[1], 1);
    return false;
  }
  bool is_minus_infinity(int id) const {
    const Term& term = book_.at(id);
    if (book_.is_op(id, Op::negate)) {
      const Term& inner = book_.at(term.parts[0]);
      return inner.text == "math.inf" || inner.text == "torch.inf" ||
             (inner.text == "call float" && book_.is_word(inner.parts[0], "\"inf\""));
    }
    return term.kind == TermKind::python && term.text == "call float" && book_.is_word(term.parts[0], "\"-inf\"");
  }

  bool is_last_extent(int list, int value) const {
    const TermShape& shape = book_.at(value).shape;
    const std::vector<int> entries = list_of(list);
    if (!shape || shape->empty() || entries.size() != 1) return false;
    const Term& entry = book_.at(entries[0]);
    return (entry.kind == TermKind::size || entry.kind == TermKind::number) && entry.text == shape->back();
  }

  int normalisation() {
    if (short_ == "softmax" || short_ == "log_softmax") {
      const auto a = bind({"input", "dim", "_stacklevel", "dtype"});
      if (!a || absent((*a)[1]) || !absent((*a)[3])) return -1;
      const auto axis = axis_of((*a)[0], (*a)[1]);
      if (!axis) return -1;
      const Term& value = book_.at((*a)[0]);
      if (value.kind == TermKind::python && value.text == "method masked_fill" && short_ == "softmax" && *axis == -1 &&
          is_causal_mask(value.parts[1]) && is_minus_infinity(value.parts[2]))
        return book_.core("causal_softmax", {value.parts[0]}, {-1}, book_.at(value.parts[0]).shape);
      return book_.core(short_, {(*a)[0]}, {*axis}, value.shape);
    }
    if (short_ == "layer_norm" || short_ == "rms_norm") {
      const bool rms = short_ == "rms_norm";
      auto a = rms ? bind({"input", "normalized_shape", "weight", "eps"})
                   : bind({"input", "normalized_shape", "weight", "bias", "eps"});
      if (!a || (*a)[1] < 0 || !is_last_extent((*a)[1], (*a)[0])) return -1;
      const int eps = a->back();
      if ((rms && absent(eps)) || (!absent(eps) && book_.at(eps).kind != TermKind::number)) return -1;
      const int value = (*a)[0];
      int made = book_.core(short_, {value, book_.number(absent(eps) ? 1e-5 : book_.at(eps).value)}, {},
                            book_.at(value).shape);
      if (!absent((*a)[2])) made = make_scalar(book_, Op::multiply, made, (*a)[2]);
      if (!rms && !absent((*a)[3])) made = make_scalar(book_, Op::add, made, (*a)[3]);
      return made;
    }
    if (short_ == "normalize") {
      const auto a = bind({"input", "p", "dim", "eps"});
      if (!a || !plain((*a)[1], 2) || !plain((*a)[3], 1e-12)) return -1;
      const auto axis = axis_of((*a)[0], absent((*a)[2]) ? book_.number(1) : (*a)[2]);
      return axis ? book_.core("l2_normalize", {(*a)[0]}, {*axis}, book_.at((*a)[0]).shape) : -1;
    }
    return -1;
  }

  int scan() {
    if (short_ == "cumsum" || short_ == "cummax") {
      const auto a = bind({"input", "dim"});
      if (!a || (*a)[1] < 0) return -1;
      const auto axis = axis_of((*a)[0], (*a)[1]);
      if (!axis) return -1;
      return book_.core(short_ == "cumsum" ? "cumsum" : "pair_cummax", {(*a)[0]}, {*axis}, book_.at((*a)[0]).shape);
    }
    if (short_ == "pad") {
      // F.pad(torch.cumsum(x, -1)[:, :-1], [1, 0])
      const auto a = bind({"input", "pad", "mode", "value"});
      if (!a || (*a)[1] < 0 || !absent((*a)[2]) || !plain((*a)[3], 0)) return -1;
      const std::vector<int> widths = list_of((*a)[1]);
      const Term& cut = book_.at((*a)[0]);
      if (widths.size() != 2 || !book_.is_number(widths[0], 1) || !book_.is_number(widths[1], 0)) return -1;
      if (cut.kind != TermKind::python || cut.text != "[]" || !book_.is_core(cut.parts[0], "cumsum")) return -1;
      const Term& sum = book_.at(cut.parts[0]);
      if (sum.numbers[0] != -1 || !sum.shape || cut.parts.size() != sum.shape->size() + 1) return -1;
      for (std::size_t i = 1; i < cut.parts.size(); ++i) {
        const Term& slice = book_.at(cut.parts[i]);
        const bool last = i + 1 == cut.parts.size();
        if (slice.kind != TermKind::python || slice.text != ":" || !book_.is_word(slice.parts[0], "") ||
            !book_.is_word(slice.parts[2], ""))
          return -1;
        if (last ? !book_.is_number(slice.parts[1], -1) : !book_.is_word(slice.parts[1], "")) return -1;
      }
      return book_.core("exclusive_cumsum", sum.parts, {-1}, sum.shape);
    }
    return -1;
  }

  // An index: whether it is converted to int64 before or not.
  int index_of(int id) const {
    const Term& term = book_.at(id);
    if (term.kind != TermKind::python) return id;
    if (term.text == "method long") return term.parts[0];
    if (term.text == "method to" && term.parts.size() == 2 &&
        (book_.is_word(term.parts[1], "torch.int64") || book_.is_word(term.parts[1], "torch.long")))
      return term.parts[0];
    return id;
  }

  int movement() {
    if (short_ == "contiguous" || short_ == "clone" || short_ == "detach")
      return bind({"input"}) ? call_.values[0] : -1;
    if (short_ == "t") {
      const auto a = bind({"input"});
      return a && book_.rank((*a)[0]) == 2 ? make_transpose(book_, (*a)[0], 0, 1) : -1;
    }
    if (short_ == "transpose" || short_ == "swapaxes" || short_ == "swapdims") {
      const auto a = bind({"input", "dim0", "dim1"});
      if (!a) return -1;
      const auto one = book_.whole((*a)[1]), other = book_.whole((*a)[2]);
      return one && other ? make_transpose(book_, (*a)[0], *one, *other) : -1;
    }
    if (short_ == "permute") return permuted();
    if (short_ == "tril") {
      const auto a = bind({"input", "diagonal"});
      return a && plain((*a)[1], 0) ? book_.core("tril", {(*a)[0]}, {}, book_.at((*a)[0]).shape) : -1;
    }
    if (short_ == "unsqueeze") return unsqueezed();
    if (short_ == "view" || short_ == "reshape") return viewed();
    if (short_ == "index_select" || short_ == "gather") {
      const auto a = bind({"input", "dim", "index"});
      if (!a || (*a)[1] < 0 || (*a)[2] < 0) return -1;
      const int index = index_of((*a)[2]);
      return short_ == "gather" ? gathered((*a)[0], (*a)[1], index) : selected((*a)[0], (*a)[1], index);
    }
    if (short_ == "take_along_dim") {
      const auto a = bind({"input", "indices", "dim"});
      return a && (*a)[1] >= 0 && (*a)[2] >= 0 ? gathered((*a)[0], (*a)[2], index_of((*a)[1])) : -1;
    }
    if (short_ == "embedding" && in_functional_) {
      const auto a = bind({"input", "weight"});
      return a && (*a)[1] >= 0 ? selected((*a)[1], book_.number(0), index_of((*a)[0])) : -1;
    }
    if (short_ == "index_add") {
      const auto a = bind({"input", "dim", "index", "source"});
      if (!a || (*a)[3] < 0 || !book_.is_number((*a)[1], 0) || book_.rank((*a)[0]) != 2) return -1;
      return book_.core("index_add", {(*a)[0], index_of((*a)[2]), (*a)[3]}, {}, book_.at((*a)[0]).shape);
    }
    return -1;
  }
  int permuted() {
    const int value = call_.values[0];
    const auto rank = book_.rank(value);
    if (!rank || call_.values.size() < 2) return -1;
    std::vector<int> axes(call_.values.begin() + 1, call_.values.end());
    if (axes.size() == 1) axes = list_of(axes[0]);
    if (static_cast<int>(axes.size()) != *rank) return -1;
    std::vector<std::int64_t> order;
    std::vector<std::string> shape;
    for (const int axis : axes) {
      const auto own = book_.whole(axis);
      if (!own || !is_axis(*own, *rank)) return -1;
      order.push_back(*own < 0 ? *own + *rank : *own);
      shape.push_back((*book_.at(value).shape)[static_cast<std::size_t>(order.back())]);
    }
    std::vector<std::int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return -1;
    if (*rank == 2 && order[0] == 1) return make_transpose(book_, value, 0, 1);
    if (*rank == 3 && order[0] == 0 && order[1] == 2) return make_transpose(book_, value, 1, 2);
    return book_.core("permute", {value}, order, shape);
  }
  int selected(int table, int axis, int index) {
    if (!book_.is_number(axis, 0) || book_.rank(table) != 2 || book_.rank(index) != 1) return -1;
    return book_.core("index_select", {table, index}, {},
                      std::vector<std::string>{(*book_.at(index).shape)[0], (*book_.at(table).shape)[1]});
  }
  int gathered(int table, int axis, int index) {
    const auto place = axis_of(table, axis);
    if (place != -1 || book_.rank(table) != 2 || book_.rank(index) != 2) return -1;
    return book_.core("gather", {table, index}, {}, book_.at(index).shape);
  }

  int one_element(int value) {
    const Term& term = book_.at(value);
    const std::vector<std::string> one{"1"};
    if (term.kind == TermKind::core && term.shape && term.shape->empty()) return book_.core("one", {value}, {}, one);
    if (term.kind != TermKind::scalar) return -1;
    std::vector<int> parts;
    for (const int part : term.parts) parts.push_back(book_.is_flat(part) ? part : one_element(part));
    for (const int part : parts)
      if (part < 0) return -1;
    parts.resize(3, -1);
    return make_scalar(book_, term.op, parts[0], parts[1], parts[2], term.value);
  }
  // A vector along one of the axes, counted by how many follow it.
  int along(int value, std::int64_t behind, std::int64_t before) {
    const Term& term = book_.at(value);
    std::vector<std::string> shape(static_cast<std::size_t>(before), "1");
    shape.push_back(term.kind == TermKind::core ? (*book_.at(term.parts[0]).shape)[0] : (*term.shape)[0]);
    shape.insert(shape.end(), static_cast<std::size_t>(behind), "1");
    return book_.core("along", {term.kind == TermKind::core ? term.parts[0] : value}, {behind, before}, shape);
  }
  int unsqueezed() {
    const auto a = bind({"input", "dim"});
    if (!a || (*a)[1] < 0) return -1;
    const Term& value = book_.at((*a)[0]);
    const auto rank = book_.rank((*a)[0]);
    const auto axis = book_.whole((*a)[1]);
    if (!rank || !axis || !is_axis(*axis, *rank + 1)) return -1;
    const std::int64_t place = *axis < 0 ? *axis + *rank + 1 : *axis;
    if (*rank == 0) return one_element((*a)[0]);
    if (value.kind == TermKind::input && *rank == 1) return along((*a)[0], place, 1 - place);
    if (value.kind == TermKind::core && value.text == "along") {
      if (place > value.numbers[1]) return along((*a)[0], value.numbers[0] + 1, value.numbers[1]);
      return along((*a)[0], value.numbers[0], value.numbers[1] + 1);
    }
    return -1;
  }
  int viewed() {
    const int value = call_.values[0];
    const auto rank = book_.rank(value);
    if (call_.values.size() < 2 || !rank || *rank > 1) return -1;
    for (const std::string& key : call_.keys)
      if (!key.empty()) return -1;
    std::vector<int> extents(call_.values.begin() + 1, call_.values.end());
    if (extents.size() == 1) extents = list_of(extents[0]);
    if (*rank == 0)
      return extents.size() == 1 && (book_.is_number(extents[0], 1) || book_.is_number(extents[0], -1))
                 ? one_element(value)
                 : -1;
    if (book_.at(value).kind != TermKind::input) return -1;
    std::optional<std::size_t> place;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (book_.is_number(extents[i], 1)) continue;
      const bool whole = book_.is_number(extents[i], -1) || (book_.at(extents[i]).kind == TermKind::size &&
                                                             book_.at(extents[i]).text == (*book_.at(value).shape)[0]);
      if (!whole || place) return -1;
      place = i;
    }
    if (!place) return -1;
    return along(value, static_cast<std::int64_t>(extents.size() - 1 - *place), static_cast<std::int64_t>(*place));
  }

  // Products of two: "ij,jk->ik", either operand transposed, letters before them that all three share.
  int einsum() {
    if (call_.values.size() < 2 || std::ranges::any_of(call_.keys, [](const auto& key) { return !key.empty(); }))
      return -1;
    Values factors(call_.values.begin() + 1, call_.values.end());
    if (factors.size() == 1) factors = list_of(factors[0]);
    if (factors.size() != 2) return -1;
    const Term& word = book_.at(call_.values[0]);
    std::string text;
    for (const char c : word.text)
      if (c != '"' && c != '\'' && c != ' ') text += c;
    const std::size_t comma = text.find(','), arrow = text.find("->");
    if (word.kind != TermKind::word || comma == std::string::npos || arrow == std::string::npos || arrow < comma)
      return -1;
    std::string left = text.substr(0, comma), right = text.substr(comma + 1, arrow - comma - 1);
    std::string result = text.substr(arrow + 2);
    const auto fits = [&](int value, const std::string& letters) {
      const bool once = std::ranges::all_of(letters, [&](char c) {
        return std::isalpha(static_cast<unsigned char>(c)) != 0 && std::ranges::count(letters, c) == 1;
      });
      return once && book_.rank(value) == static_cast<int>(letters.size());
    };
    int a = factors[0], b = factors[1];
    if (!fits(a, left) || !fits(b, right)) return -1;
    if (left.size() == 2 && right.size() == 1 && left[1] == right[0] && result == left.substr(0, 1))
      return make_matmul(book_, a, b);
    if (left.size() < 2 || left.size() != right.size() || result.size() != left.size()) return -1;
    const std::size_t lead = left.size() - 2;
    if (left.substr(0, lead) != right.substr(0, lead) || left.substr(0, lead) != result.substr(0, lead)) return -1;
    left.erase(0, lead);
    right.erase(0, lead);
    result.erase(0, lead);
    if (left[1] == result[0]) {
      std::swap(left[0], left[1]);
      a = make_transpose(book_, a, -2, -1);
    }
    if (right[0] == result[1]) {
      std::swap(right[0], right[1]);
      b = make_transpose(book_, b, -2, -1);
    }
    const bool product = left[0] == result[0] && right[1] == result[1] && left[1] == right[0] && left[0] != right[1];
    return product ? make_matmul(book_, a, b) : -1;
  }

  int product() {
    if (short_ == "einsum" && !method_) return einsum();
    if (short_ == "matmul" || short_ == "mm" || short_ == "bmm" || short_ == "mv") {
      const auto a = bind({"input", short_ == "matmul" ? "other" : short_ == "mv" ? "vec" : "mat2"});
      return a && (*a)[1] >= 0 ? make_matmul(book_, (*a)[0], (*a)[1]) : -1;
    }
    if (short_ == "linear" && in_functional_) {
      const auto a = bind({"input", "weight", "bias"});
      if (!a || (*a)[1] < 0 || book_.rank((*a)[1]) != 2) return -1;
      const int made = make_matmul(book_, (*a)[0], make_transpose(book_, (*a)[1], 0, 1));
      return absent((*a)[2]) ? made : make_scalar(book_, Op::add, made, (*a)[2]);
    }
    if (short_ == "addmm" || short_ == "baddbmm" || short_ == "addmv") {
      const auto a = bind({"input", "mat1", "mat2", "beta", "alpha"});
      if (!a || (*a)[2] < 0 || (*a)[1] < 0) return -1;
      int made = make_matmul(book_, (*a)[1], (*a)[2]);
      if (!plain((*a)[4], 1)) made = make_scalar(book_, Op::multiply, made, (*a)[4]);
      int added = (*a)[0];
      if (!plain((*a)[3], 1)) added = make_scalar(book_, Op::multiply, added, (*a)[3]);
      return make_scalar(book_, Op::add, made, added);
    }
    return -1;
  }

  int window() {
    const bool two = short_.ends_with("2d");
    if (short_ == "conv1d" || short_ == "conv2d") {
      const auto a = bind({"input", "weight", "bias", "stride", "padding", "dilation", "groups"});
      if (!a || (*a)[1] < 0) return -1;
      const int x = (*a)[0], weight = (*a)[1];
      const auto stride = same_number((*a)[3], 1), padding = same_number((*a)[4], 0),
                 dilation = same_number((*a)[5], 1);
      const int rank = two ? 4 : 3;
      if (!stride || !padding || dilation != 1 || book_.rank(x) != rank || book_.rank(weight) != rank) return -1;
      std::int64_t depthwise = 0;
      if (!plain((*a)[6], 1)) {
        const Term& groups = book_.at((*a)[6]);
        depthwise = 1;
        if (groups.text != (*book_.at(x).shape)[1] || (*book_.at(weight).shape)[1] != "1" ||
            (*book_.at(weight).shape)[0] != groups.text)
          return -1;
      }
      const std::string taps = (*book_.at(weight).shape)[2];
      if (two && (*book_.at(weight).shape)[3] != taps) return -1;
      std::vector<std::string> shape{(*book_.at(x).shape)[0], (*book_.at(weight).shape)[0]};
      shape.resize(static_cast<std::size_t>(rank), "?");
      int made = book_.core(short_, {x, weight}, {*stride, *padding, depthwise}, shape);
      if (!absent((*a)[2]) && book_.rank((*a)[2]) == 1 && book_.at((*a)[2]).kind == TermKind::input)
        return make_scalar(book_, Op::add, made, along((*a)[2], two ? 2 : 1, 0));
      return absent((*a)[2]) ? made : -1;
    }
    if (short_.find("_pool") != std::string::npos && !short_.starts_with("adaptive")) {
      const bool average = short_.starts_with("avg_");
      if (!average && !short_.starts_with("max_")) return -1;
      const auto a = average ? bind({"input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"})
                             : bind({"input", "kernel_size", "stride", "padding", "dilation", "ceil_mode"});
      if (!a || (*a)[1] < 0) return -1;
      const auto size = same_number((*a)[1], 0);
      if (!size) return -1;
      const auto stride = same_number((*a)[2], *size), padding = same_number((*a)[3], 0);
      if (!stride || !padding || book_.rank((*a)[0]) != (two ? 4 : 3)) return -1;
      if (average ? !off((*a)[4]) || !(absent((*a)[5]) || on((*a)[5])) : !plain((*a)[4], 1) || !off((*a)[5])) return -1;
      std::vector<std::string> shape = *book_.at((*a)[0]).shape;
      for (std::size_t i = 2; i < shape.size(); ++i) shape[i] = "?";
      return book_.core(short_, {(*a)[0]}, {*size, *stride, *padding}, shape);
    }
    return -1;
  }

  int loss() {
    if (short_ != "mse_loss" && short_ != "l1_loss") return -1;
    const auto a = bind({"input", "target", "size_average", "reduce", "reduction"});
    if (!a || (*a)[1] < 0 || !absent((*a)[2]) || !absent((*a)[3])) return -1;
    const int each = make_scalar(book_, short_ == "mse_loss" ? Op::square : Op::absolute,
                                 make_scalar(book_, Op::subtract, (*a)[0], (*a)[1]));
    if ((*a)[4] < 0 || book_.is_word((*a)[4], "\"mean\"")) return reduced("mean", each, -1, false);
    if (book_.is_word((*a)[4], "\"sum\"")) return reduced("sum", each, -1, false);
    return book_.is_word((*a)[4], "\"none\"") ? each : -1;
  }

  int conversion() {
    if (!method_) return -1;
    const int value = call_.values[0];
    const bool floating = book_.at(value).floating;
    if (short_ == "size") {
      const auto a = bind({"input", "dim"});
      const auto rank = book_.rank(value);
      const auto axis = a ? book_.whole((*a)[1]) : std::nullopt;
      if (!rank || !axis || !is_axis(*axis, *rank)) return -1;
      Term term;
      term.kind = TermKind::size;
      term.text = (*book_.at(value).shape)[static_cast<std::size_t>(*axis < 0 ? *axis + *rank : *axis)];
      term.shape.emplace();
      return term.text == "?" ? -1 : book_.add(std::move(term));
    }
    if (short_ == "float" || short_ == "half" || short_ == "bfloat16" || short_ == "double")
      return floating && call_.values.size() == 1 ? value : -1;
    if (short_ == "int") return call_.values.size() == 1 ? as_int32(value) : -1;
    if (short_ == "type_as") {
      const auto a = bind({"input", "other"});
      return a && (*a)[1] >= 0 && floating && book_.at((*a)[1]).floating ? value : -1;
    }
    if (short_ == "to" || short_ == "type") {
      const auto a = bind({"input", "dtype"});
      if (!a || (*a)[1] < 0) return -1;
      const Term& type = book_.at((*a)[1]);
      for (const std::string_view name : {"torch.float32", "torch.float", "torch.float16", "torch.half",
                                          "torch.bfloat16", "torch.float64", "torch.double"})
        if (floating && type.kind == TermKind::word && type.text == name) return value;
      if (floating && type.kind == TermKind::python && type.text == ".dtype" && book_.at(type.parts[0]).floating)
        return value;
      if (type.kind == TermKind::word && (type.text == "torch.int32" || type.text == "torch.int"))
        return as_int32(value);
    }
    return -1;
  }
  // The harness gives whole numbers the output's type.
  int as_int32(int value) {
    const Term& term = book_.at(value);
    if (term.floating) {
      // matmul(a.to(torch.float64), b.to(torch.float64)) is exact
      if (term.kind != TermKind::core || term.text != "matmul") return -1;
      std::vector<int> plain;
      for (const int part : term.parts) {
        const Term& side = book_.at(part);
        if (side.kind != TermKind::python || side.text != "method to" || book_.at(side.parts[0]).floating ||
            !book_.is_word(side.parts[1], "torch.float64"))
          return -1;
        plain.push_back(side.parts[0]);
      }
      return make_matmul(book_, plain[0], plain[1]);
    }
    if (book_.is_core(value, "sum") && term.numbers == std::vector<std::int64_t>{-1} && !term.keeps_axis &&
        book_.is_op(term.parts[0], Op::multiply)) {
      const std::vector<int> sides = book_.at(term.parts[0]).parts;
      if (book_.rank(sides[0]) == 2 && book_.rank(sides[1]) == 1 && book_.at(sides[0]).kind == TermKind::input &&
          book_.at(sides[1]).kind == TermKind::input)
        return make_matmul(book_, sides[0], sides[1]);
    }
    return value;
  }

  TermBook& book_;
  const CallArguments& call_;
  std::string short_;
  bool method_ = false, in_functional_ = false;
};

}  // namespace

int make_call(TermBook& book, const CallArguments& call) { return Call(book, call).make(); }

int make_transpose(TermBook& book, int value, std::int64_t one, std::int64_t other) {
  const auto rank = book.rank(value);
  if (!rank || !is_axis(one, *rank) || !is_axis(other, *rank)) return -1;
  if (one < 0) one += *rank;
  if (other < 0) other += *rank;
  if (one == other) return value;
  std::vector<std::string> shape = *book.at(value).shape;
  std::swap(shape[static_cast<std::size_t>(one)], shape[static_cast<std::size_t>(other)]);
  if (one + other == 2 * *rank - 3 && std::max(one, other) == *rank - 1) {
    if (book.is_core(value, "transpose")) return book.at(value).parts[0];
    return book.core("transpose", {value}, {}, shape);
  }
  std::vector<std::int64_t> order;
  for (int i = 0; i < *rank; ++i) order.push_back(i == one ? other : i == other ? one : i);
  return book.core("permute", {value}, order, shape);
}

int make_matmul(TermBook& book, int left, int right) {
  const auto left_rank = book.rank(left), right_rank = book.rank(right);
  if (!left_rank || !right_rank) return -1;
  if (*left_rank == 2 && *right_rank == 1)
    return book.core("mv", {left, right}, {}, std::vector<std::string>{(*book.at(left).shape)[0]});
  if (*left_rank < 2 || *right_rank < 2) return -1;
  std::vector<std::string> shape = *book.at(*left_rank >= *right_rank ? left : right).shape;
  shape[shape.size() - 2] = (*book.at(left).shape)[static_cast<std::size_t>(*left_rank - 2)];
  shape.back() = book.at(right).shape->back();
  return book.core("matmul", {left, right}, {}, shape);
}

int make_attribute(TermBook& book, int value, const std::string& name) {
  if (value < 0) return -1;
  const Term& term = book.at(value);
  if ((name == "T" || name == "mT") && book.rank(value).value_or(0) >= 2 && (name == "mT" || book.rank(value) == 2))
    return make_transpose(book, value, -2, -1);
  if (term.kind == TermKind::core && term.text.starts_with("pair_")) {
    if (name == "values") return make_subscript(book, value, {book.number(0)});
    if (name == "indices") return make_subscript(book, value, {book.number(1)});
  }
  return make_python(book, "." + name, {value});
}

int make_subscript(TermBook& book, int value, const std::vector<int>& entries) {
  const Term& term = book.at(value);
  if (term.kind == TermKind::core && term.text.starts_with("pair_") && entries.size() == 1) {
    const std::string what = term.text.substr(5);
    if (book.is_number(entries[0], 0))
      return book.core(what == "cummax" ? what : "a" + what, term.parts, term.numbers, term.shape, term.keeps_axis);
    if (book.is_number(entries[0], 1) && what != "cummax" && !term.keeps_axis)
      return book.core("arg" + what, term.parts, term.numbers, term.shape);
  }
  // x.shape[-1]
  if (term.kind == TermKind::python && term.text == ".shape" && entries.size() == 1 && book.whole(entries[0]))
    return make_call(book, {".size", {term.parts[0], entries[0]}, {"", ""}});
  // bias[:, None]
  if (term.kind == TermKind::input && book.rank(value) == 1 && entries.size() > 1) {
    std::vector<int> extents;
    for (const int entry : entries) {
      const Term& own = book.at(entry);
      const bool all = own.kind == TermKind::python && own.text == ":" &&
                       std::all_of(own.parts.begin(), own.parts.end(), [&](int end) { return book.is_word(end, ""); });
      if (!all && !book.is_word(entry, "None"))
        return make_python(book, "[]", [&] {
          std::vector<int> parts{value};
          parts.insert(parts.end(), entries.begin(), entries.end());
          return parts;
        }());
      extents.push_back(book.number(all ? -1 : 1));
    }
    CallArguments view{".view", {value}, {""}};
    for (const int extent : extents) {
      view.values.push_back(extent);
      view.keys.emplace_back();
    }
    return make_call(book, view);
  }
  // table[ids.long()]
  if (entries.size() == 1 && book.rank(value) == 2 && book.at(entries[0]).kind != TermKind::number) {
    const int made = make_call(book, {"torch.index_select", {value, book.number(0), entries[0]}, {"", "", ""}});
    if (made >= 0 && book.is_core(made, "index_select")) return made;
  }
  std::vector<int> parts{value};
  parts.insert(parts.end(), entries.begin(), entries.end());
  return make_python(book, "[]", std::move(parts));
}

}  // namespace kw
