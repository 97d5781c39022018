// Views, transposes, gathers, conversions; what stands behind a dot or in square brackets.

#include <fmt/format.h>

#include <algorithm>

#include "agents/normal_form/call.h"

namespace kw {

// An index: whether it is converted to int64 before or not.
int Call::index_of(int id) const {
  const Term& term = book_.at(id);
  if (term.kind != TermKind::python) return id;
  if (term.text == "method long") return term.parts[0];
  if (term.text == "method to" && term.parts.size() == 2 &&
      (book_.is_word(term.parts[1], "torch.int64") || book_.is_word(term.parts[1], "torch.long")))
    return term.parts[0];
  return id;
}

int Call::movement() {
  if (short_ == "contiguous" || short_ == "clone" || short_ == "detach") return bind({"input"}) ? call_.values[0] : -1;
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

int Call::permuted() {
  const int value = call_.values[0];
  const auto rank = book_.rank(value);
  if (!rank || call_.values.size() < 2 || !call_.keys[0].empty()) return -1;
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

int Call::selected(int table, int axis, int index) {
  if (!book_.is_number(axis, 0) || book_.rank(table) != 2 || book_.rank(index) != 1) return -1;
  return book_.core("index_select", {table, index}, {},
                    std::vector<std::string>{(*book_.at(index).shape)[0], (*book_.at(table).shape)[1]});
}

int Call::gathered(int table, int axis, int index) {
  const auto place = axis_of(table, axis);
  if (place != -1 || book_.rank(table) != 2 || book_.rank(index) != 2) return -1;
  return book_.core("gather", {table, index}, {}, book_.at(index).shape);
}

int Call::one_element(int value) {
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
int Call::along(int value, std::int64_t behind, std::int64_t before) {
  const Term& term = book_.at(value);
  std::vector<std::string> shape(static_cast<std::size_t>(before), "1");
  shape.push_back(term.kind == TermKind::core ? (*book_.at(term.parts[0]).shape)[0] : (*term.shape)[0]);
  shape.insert(shape.end(), static_cast<std::size_t>(behind), "1");
  return book_.core("along", {term.kind == TermKind::core ? term.parts[0] : value}, {behind, before}, shape);
}

int Call::unsqueezed() {
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

int Call::viewed() {
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

int Call::conversion() {
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
    for (const std::string_view name : {"torch.float32", "torch.float", "torch.float16", "torch.half", "torch.bfloat16",
                                        "torch.float64", "torch.double"})
      if (floating && type.kind == TermKind::word && type.text == name) return value;
    if (floating && type.kind == TermKind::python && type.text == ".dtype" && book_.at(type.parts[0]).floating)
      return value;
    if (type.kind == TermKind::word && (type.text == "torch.int32" || type.text == "torch.int")) return as_int32(value);
  }
  return -1;
}

// The harness gives whole numbers the output's type.
int Call::as_int32(int value) {
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
