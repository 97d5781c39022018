#pragma once
// From calls of PyTorch to nodes of a graph: what the files lower_*.cpp share. An operation is an entry of a table: its
// names, its signature as Python writes it, and a function that makes nodes. The first thing that is not understood is
// kept as the error, and whatever is made after it is worth nothing.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/program/graph.h"

namespace kw::program {

// What a name of the Python text stands for while it is read.
struct Value {
  enum class Kind : std::uint8_t { none, tensor, whole, real, boolean, text, list, dtype, path };
  Kind kind = Kind::none;
  NodeId node = -1;  // tensor
  Extent whole;      // whole: known, or an expression of sizes
  TermId real = -1;  // real: a term of float64 without axes and loads
  bool boolean = false;
  std::string text;          // text; path: "torch.nn.functional.relu"
  std::vector<Value> items;  // list, tuple; path of a method: the object
  Dtype dtype = Dtype::float32;

  static Value of(NodeId node);
  static Value of_whole(Extent whole);
  static Value of_bool(bool value);
  static Value of_list(std::vector<Value> items);
  bool is(Kind wanted) const { return kind == wanted; }
  bool is_number() const { return kind == Kind::whole || kind == Kind::real || kind == Kind::boolean; }
};

class Lowering;

// A call's arguments by the names of its signature.
class Arguments {
 public:
  std::vector<std::string> names;
  std::vector<Value> values;  // none where it was not given and has no default
  std::vector<bool> given;
  std::string function;  // as it was called: "softmax"

  const Value& operator[](std::string_view name) const;
  bool has(std::string_view name) const { return !(*this)[name].is(Value::Kind::none); }
};

struct Operation {
  std::string_view names;      // "softmax _softmax"; "torch.batch_norm" where a module has a signature of its own
  std::string_view signature;  // "input, dim=None, *sizes": a name with a star takes all that is left
  Value (*lower)(Lowering& to, const Arguments& arguments);
};

// Each file lower_*.cpp has one function that gives its own; operation_table.h has all of them by name.
std::span<const Operation> element_operations();
std::span<const Operation> activation_operations();
std::span<const Operation> tensor_operations();
std::span<const Operation> movement_operations();
std::span<const Operation> part_operations();
std::span<const Operation> index_operations();
std::span<const Operation> reduction_operations();
std::span<const Operation> product_operations();
std::span<const Operation> window_operations();
std::span<const Operation> norm_operations();
std::span<const Operation> loss_operations();
std::span<const Operation> attention_operations();
std::span<const Operation> resample_operations();

using Axes = std::vector<TermId>;

class Lowering {
 public:
  Lowering(const Task& task, Graph& graph);

  Graph& graph;
  std::string operation;  // what is lowered now, for the nodes that it makes
  int line = 0;

  // Errors.
  void fail(const std::string& what);  // "`torch.fft.rfft`": what is not understood
  bool failed() const { return error_.has_value() || graph.beyond_limits(); }
  Error error() const;

  // Extents: equal, or equal at all sizes that the task declares, which the judge's own sizes keep.
  bool same(const Extent& left, const Extent& right) const;
  bool is_one(const Extent& extent) const { return same(extent, Extent(1)); }
  bool at_most(const Extent& left, const Extent& right) const;
  std::optional<std::int64_t> known(const Extent& extent) const;  // its one value at all sizes

  const Extents& shape(NodeId node) const { return graph.node(node).shape; }
  Dtype dtype(NodeId node) const { return graph.node(node).dtype; }
  int rank(NodeId node) const { return static_cast<int>(shape(node).size()); }

  // Nodes.
  using Body = std::function<TermId(const Axes& at)>;
  using ReduceBody = std::function<TermId(const Axes& at, const Axes& over)>;
  NodeId map(Dtype dtype, const Extents& shape, const Body& body);
  NodeId reduce(Combine combine, Dtype dtype, const Extents& shape, const Extents& over, const ReduceBody& body);
  NodeId constant(Dtype dtype, const Extents& shape, double value);

  // Reading. An index beyond an extent of 1 is 0, as broadcasting has it; axes are aligned at the end.
  TermId read(NodeId node, const Axes& at, TermId guard = -1);
  Extents broadcast(const Extents& left, const Extents& right);

  // Terms.
  TermId number(double value, Dtype dtype);
  TermId size(const Extent& extent) { return graph.extent(extent); }
  TermId index(std::int64_t value) { return graph.whole(value); }
  TermId add(TermId left, TermId right) { return graph.apply(ScalarOp::add, left, right); }
  TermId subtract(TermId left, TermId right) { return graph.apply(ScalarOp::subtract, left, right); }
  TermId multiply(TermId left, TermId right) { return graph.apply(ScalarOp::multiply, left, right); }
  TermId divide(TermId left, TermId right) { return graph.apply(ScalarOp::divide, left, right); }
  TermId both(TermId left, TermId right);             // either may be -1: no condition
  TermId within(TermId index, const Extent& extent);  // 0 <= index < extent
  TermId less(TermId left, TermId right) { return graph.apply(ScalarOp::less, left, right); }
  TermId plus(TermId term, double value) { return add(term, number(value, graph.term(term).dtype)); }
  TermId times(TermId term, double value) { return multiply(term, number(value, graph.term(term).dtype)); }

  // Element by element, with PyTorch's broadcasting and promotion. The terms are of the type `computed`, which is that
  // of the operands together unless it is given; the result's is `result`, or that of the body.
  using Element = std::function<TermId(const std::vector<TermId>& operands)>;
  NodeId elements(const std::vector<Value>& operands, const Element& body, std::optional<Dtype> computed = {},
                  std::optional<Dtype> result = {});
  NodeId elements(const std::vector<NodeId>& operands, const Element& body, std::optional<Dtype> computed = {},
                  std::optional<Dtype> result = {});
  NodeId unary(ScalarOp op, NodeId value);
  NodeId binary(ScalarOp op, const Value& left, const Value& right);
  NodeId binary(ScalarOp op, NodeId left, NodeId right) { return binary(op, Value::of(left), Value::of(right)); }
  NodeId with(ScalarOp op, NodeId left, double right);  // with a Python number
  NodeId cast(NodeId value, Dtype dtype);
  NodeId floating(NodeId value);  // whole numbers as float32

  // Reductions over some axes. Mean and so on of whole numbers are the caller's to refuse or cast.
  NodeId reduce_axes(Combine combine, NodeId value, const std::vector<int>& axes, bool keep,
                     std::optional<Dtype> dtype = {});
  NodeId mean_axes(NodeId value, const std::vector<int>& axes, bool keep);
  Extent elements_along(NodeId value, const std::vector<int>& axes) const;
  NodeId softmax(NodeId value, int axis);
  NodeId log_softmax(NodeId value, int axis);

  // Movement.
  NodeId reshape(NodeId value, const Extents& shape);
  NodeId permute(NodeId value, const std::vector<int>& order);
  NodeId unsqueeze(NodeId value, int axis);
  NodeId squeeze(NodeId value, int axis);
  NodeId transpose(NodeId value, int one, int other);
  NodeId expand(NodeId value, const Extents& shape);
  NodeId narrow(NodeId value, int axis, const Extent& begin, const Extent& length, std::int64_t step = 1);
  NodeId product(NodeId left, NodeId right);  // as torch.matmul

  // Arguments of a kind; an error names the argument.
  NodeId tensor(const Value& value, std::string_view what = "input");
  NodeId optional_tensor(const Value& value);  // -1 where it is None
  std::int64_t constant_whole(const Value& value, std::string_view what);
  Extent whole(const Value& value, std::string_view what);
  double constant_real(const Value& value, std::string_view what);
  bool flag(const Value& value, std::string_view what);
  std::string text(const Value& value, std::string_view what);
  int axis(const Value& value, int rank, std::string_view what = "dim");
  std::vector<int> axes(const Value& value, int rank, std::string_view what = "dim");  // none: all
  std::vector<Extent> wholes(const Value& value, std::string_view what);
  std::vector<std::int64_t> constants(const Value& value, std::size_t count,
                                      std::string_view what);  // one stands for all
  // A Python number as a term of this type.
  TermId number_term(const Value& value, Dtype dtype);
  Dtype promoted(const std::vector<Value>& values);
  TermId host_real(TermId real, Dtype dtype);

 private:
  std::vector<Sizes> sizes_;
  std::optional<Error> error_;
};

// As PyTorch promotes two types of tensors with dimensions; none where the result is a type that tasks lack.
std::optional<Dtype> promote(Dtype left, Dtype right);

// `the program uses WHAT, which is not understood (line 3)`.
Error not_understood(std::string_view what, int line);

}  // namespace kw::program
