#pragma once
// One call of a function or method of PyTorch, on its way to one spelling. By subject: calls.cpp (binding, functions of
// single numbers), calls_rows.cpp (reductions, normalisations, scans, losses), calls_movement.cpp (views, transposes,
// gathers, conversions), calls_products.cpp (products, convolutions, pooling). Each gives -1 where it is not its own.

#include "agents/normal_form/operation.h"

namespace kw {

inline bool is_axis(std::int64_t axis, int rank) { return axis >= -rank && axis < rank; }

class Call {
 public:
  Call(TermBook& book, const CallArguments& call);
  int make();

 private:
  using Values = std::vector<int>;

  // The arguments by parameter, -1 where one is left out.
  std::optional<Values> bind(std::initializer_list<std::string_view> parameters) const;
  bool absent(int id) const { return id < 0 || book_.is_word(id, "None"); }
  // A switch that is left out or off.
  bool off(int id) const { return absent(id) || book_.is_word(id, "False"); }
  bool on(int id) const { return id >= 0 && book_.is_word(id, "True"); }
  bool plain(int id, double value) const { return absent(id) || book_.is_number(id, value); }
  std::vector<int> list_of(int id) const;
  // A number, or a list of equal numbers.
  std::optional<std::int64_t> same_number(int id, std::int64_t otherwise) const;
  // -1 for the last axis, else counted from the front.
  std::optional<std::int64_t> axis_of(int value, int axis) const;
  int generic();
  // Has the shape of what is filled.
  int masked();
  int known();
  int activation();
  int arithmetic();
  // Over these axes (none: all of them).
  int reduced(const std::string& what, int value, int axes, bool keeps, std::vector<std::int64_t> more = {});
  int reduction();
  // torch.max(a, b) of two tensors
  int other_maximum();
  bool is_causal_mask(int mask) const;
  bool is_minus_infinity(int id) const;
  bool is_last_extent(int list, int value) const;
  int normalisation();
  int scan();
  // An index: whether it is converted to int64 before or not.
  int index_of(int id) const;
  int movement();
  int permuted();
  int selected(int table, int axis, int index);
  int gathered(int table, int axis, int index);
  int one_element(int value);
  // A vector along one of the axes, counted by how many follow it.
  int along(int value, std::int64_t behind, std::int64_t before);
  int unsqueezed();
  int viewed();
  // Products of two: "ij,jk->ik", either operand transposed, letters before them that all three share.
  int einsum();
  int product();
  int window();
  int loss();
  int conversion();
  // The harness gives whole numbers the output's type.
  int as_int32(int value);

  TermBook& book_;
  const CallArguments& call_;
  std::string short_;
  bool method_ = false, in_functional_ = false;
};

}  // namespace kw
