// Reductions, normalisations of rows, scans, losses.

#include <algorithm>

#include "agents/normal_form/call.h"

namespace kw {

// Over these axes (none: all of them).
int Call::reduced(const std::string& what, int value, int axes, bool keeps, std::vector<std::int64_t> more) {
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

int Call::reduction() {
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
int Call::other_maximum() {
  const auto a = bind({"input", "other"});
  if (!a || (*a)[1] < 0) return -1;
  return make_scalar(book_, short_ == "max" ? Op::maximum : Op::minimum, (*a)[0], (*a)[1]);
}

bool Call::is_causal_mask(int mask) const {
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

bool Call::is_minus_infinity(int id) const {
  const Term& term = book_.at(id);
  if (book_.is_op(id, Op::negate)) {
    const Term& inner = book_.at(term.parts[0]);
    return inner.text == "math.inf" || inner.text == "torch.inf" ||
           (inner.text == "call float" && book_.is_word(inner.parts[0], "\"inf\""));
  }
  return term.kind == TermKind::python && term.text == "call float" && book_.is_word(term.parts[0], "\"-inf\"");
}

bool Call::is_last_extent(int list, int value) const {
  const TermShape& shape = book_.at(value).shape;
  const std::vector<int> entries = list_of(list);
  if (!shape || shape->empty() || entries.size() != 1) return false;
  const Term& entry = book_.at(entries[0]);
  return (entry.kind == TermKind::size || entry.kind == TermKind::number) && entry.text == shape->back();
}

int Call::normalisation() {
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
    int made =
        book_.core(short_, {value, book_.number(absent(eps) ? 1e-5 : book_.at(eps).value)}, {}, book_.at(value).shape);
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

int Call::scan() {
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

int Call::loss() {
  if (short_ != "mse_loss" && short_ != "l1_loss") return -1;
  const auto a = bind({"input", "target", "size_average", "reduce", "reduction"});
  if (!a || (*a)[1] < 0 || !absent((*a)[2]) || !absent((*a)[3])) return -1;
  const int each = make_scalar(book_, short_ == "mse_loss" ? Op::square : Op::absolute,
                               make_scalar(book_, Op::subtract, (*a)[0], (*a)[1]));
  if ((*a)[4] < 0 || book_.is_word((*a)[4], "\"mean\"")) return reduced("mean", each, -1, false);
  if (book_.is_word((*a)[4], "\"sum\"")) return reduced("sum", each, -1, false);
  return book_.is_word((*a)[4], "\"none\"") ? each : -1;
}

}  // namespace kw
