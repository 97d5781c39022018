// Matrix products, convolutions, pooling.

#include <algorithm>
#include <cctype>

#include "agents/normal_form/call.h"

namespace kw {

// Products of two: "ij,jk->ik", either operand transposed, letters before them that all three share.
int Call::einsum() {
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

int Call::product() {
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

int Call::window() {
  const bool two = short_.ends_with("2d");
  if (short_ == "conv1d" || short_ == "conv2d") {
    const auto a = bind({"input", "weight", "bias", "stride", "padding", "dilation", "groups"});
    if (!a || (*a)[1] < 0) return -1;
    const int x = (*a)[0], weight = (*a)[1];
    const auto stride = same_number((*a)[3], 1), padding = same_number((*a)[4], 0), dilation = same_number((*a)[5], 1);
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

}  // namespace kw
