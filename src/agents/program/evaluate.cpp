#include "agents/program/evaluate.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

namespace kw::program {
namespace {

using Index = std::vector<std::int64_t>;

// Goes to the next place of a space; false after the last.
bool next_place(Index& at, const Index& shape) {
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (++at[i] < shape[i]) return true;
    at[i] = 0;
  }
  return false;
}

std::int64_t count_of(const Index& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return INT64_MAX;
  }
  return count;
}

class Evaluator {
 public:
  Evaluator(const Graph& graph, const Sizes& sizes, const EvaluateLimits& limits)
      : graph_(graph), sizes_(sizes), limits_(limits), stamps_(graph.term_count(), 0), values_(graph.term_count()) {
    tensors_.resize(graph.node_count());
  }

  Result<std::vector<EvaluatedTensor>> run(const std::vector<InputTensor>& inputs) {
    for (std::size_t i = 0; i < graph_.term_count(); ++i) {
      const Term& term = graph_.term(static_cast<TermId>(i));
      if (term.kind != TermKind::extent) continue;
      KW_TRY(values_[i].whole, term.extent.evaluate(sizes_));
    }
    std::vector<bool> needed(graph_.node_count(), false);
    for (const NodeId output : graph_.outputs) needed[static_cast<std::size_t>(output)] = true;
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      if (!needed[i]) continue;
      const Node& node = graph_.node(static_cast<NodeId>(i));
      std::vector<TermId> terms = node.target;
      terms.push_back(node.body);
      terms.push_back(node.initial);
      for (const TermId term : terms)
        if (term >= 0)
          for (const NodeId used : graph_.loads_of(term)) needed[static_cast<std::size_t>(used)] = true;
    }
    for (std::size_t i = 0; i < graph_.node_count(); ++i)
      if (needed[i]) KW_TRY_VOID(compute(static_cast<NodeId>(i), inputs));
    std::vector<EvaluatedTensor> made;
    for (const NodeId output : graph_.outputs) made.push_back(tensors_[static_cast<std::size_t>(output)]);
    return made;
  }

 private:
  Result<Index> shape_at(const Extents& shape) const {
    Index made;
    for (const Extent& extent : shape) {
      KW_TRY(const std::int64_t value, extent.evaluate(sizes_));
      if (value < 0)
        return Error{fmt::format("the extent {} is negative at {}", extent.text(), to_string(sizes_)), "", {}};
      made.push_back(value);
    }
    return made;
  }

  Result<void> compute(NodeId id, const std::vector<InputTensor>& inputs) {
    const Node& node = graph_.node(id);
    EvaluatedTensor& made = tensors_[static_cast<std::size_t>(id)];
    KW_TRY(made.shape, shape_at(node.shape));
    const std::int64_t count = count_of(made.shape);
    if (count > limits_.elements) return Error{"a tensor is too large to be evaluated", "", {}};
    const auto size = static_cast<std::size_t>(count);
    if (is_floating_point(node.dtype))
      made.real.resize(size);
    else
      made.whole.resize(size);
    if (node.kind == NodeKind::input) return take_input(node, made, inputs);
    KW_TRY(const Index over, shape_at(node.over));
    if (node.kind == NodeKind::scatter) return scatter(node, made, over);
    axes_.assign(made.shape.size() + over.size(), 0);
    Index& at = axes_;
    if (count == 0) return {};
    if (node.kind == NodeKind::scan) return scan(node, made);
    Index outer(made.shape.size(), 0), inner(over.size(), 0);
    for (std::size_t place = 0; place < size; ++place) {
      std::copy(outer.begin(), outer.end(), at.begin());
      if (node.kind == NodeKind::map) {
        KW_TRY_VOID(step());
        store(node, made, place, value(node.body));
      } else {
        Running running(*this, node);
        std::fill(inner.begin(), inner.end(), 0);
        if (count_of(over) > 0) {
          std::int64_t step_at = 0;
          do {
            std::copy(inner.begin(), inner.end(), at.begin() + static_cast<std::ptrdiff_t>(outer.size()));
            KW_TRY_VOID(step());
            running.take(value(node.body), step_at++);
          } while (next_place(inner, over));
        }
        store(node, made, place, running.result());
      }
      if (!fault_.empty()) return Error{fault_, "", {}};
      next_place(outer, made.shape);
    }
    return {};
  }

  // A reduction or a scan on its way.
  struct Running {
    Running(Evaluator& of, const Node& node)
        : combine(node.combine), floating(is_floating_point(of.graph_.term(node.body).dtype)) {
      Graph scratch;
      const Term start = scratch.term(identity_of(scratch, combine, of.graph_.term(node.body).dtype));
      total = {start.real, start.whole};
      dtype = of.graph_.term(node.body).dtype;
    }
    void take(const Scalar& value, std::int64_t place) {
      const bool first = place == 0;
      switch (combine) {
        case Combine::sum:
          apply(ScalarOp::add, value);
          break;
        case Combine::product:
          apply(ScalarOp::multiply, value);
          break;
        case Combine::maximum:
          apply(ScalarOp::maximum, value);
          break;
        case Combine::minimum:
          apply(ScalarOp::minimum, value);
          break;
        case Combine::any:
          total.whole = total.whole != 0 || value.whole != 0 ? 1 : 0;
          break;
        case Combine::all:
          total.whole = total.whole != 0 && value.whole != 0 ? 1 : 0;
          break;
        case Combine::argmax:
        case Combine::argmin: {
          const bool greatest = combine == Combine::argmax;
          const bool better = floating ? (greatest ? value.real > total.real : value.real < total.real) ||
                                             (std::isnan(value.real) && !std::isnan(total.real))
                                       : (greatest ? value.whole > total.whole : value.whole < total.whole);
          // A running place is the last of equal ones, that of a reduction the first.
          const bool equal = scans && (floating ? value.real == total.real : value.whole == total.whole);
          if (first || better || equal) {
            total = value;
            best = place;
          }
          break;
        }
        case Combine::replace:
          total = value;
          break;
      }
    }
    void apply(ScalarOp op, const Scalar& value) {
      const ScalarOperation& row = operation_of(op);
      if (floating)
        total.real = row.real(total.real, value.real);
      else
        total.whole = wrapped(row.whole(total.whole, value.whole), dtype);
    }
    Scalar result() const {
      const bool place = combine == Combine::argmax || combine == Combine::argmin;
      return place ? Scalar{0, best} : total;
    }
    Combine combine;
    bool floating;
    bool scans = false;
    Dtype dtype = Dtype::float32;
    Scalar total;
    std::int64_t best = 0;
  };

  Result<void> scan(const Node& node, EvaluatedTensor& made) {
    Index& at = axes_;
    const auto axis = static_cast<std::size_t>(node.axis);
    Index outer(made.shape.size(), 0), rows = made.shape;
    const std::int64_t length = rows[axis];
    rows[axis] = 1;
    do {
      Running running(*this, node);
      running.scans = true;
      for (std::int64_t i = 0; i < length; ++i) {
        at = outer;
        at[axis] = i;
        KW_TRY_VOID(step());
        running.take(value(node.body), i);
        store(node, made, static_cast<std::size_t>(flat(at, made.shape)), running.result());
      }
      if (!fault_.empty()) return Error{fault_, "", {}};
    } while (next_place(outer, rows));
    return {};
  }

  Result<void> scatter(const Node& node, EvaluatedTensor& made, const Index& over) {
    axes_.assign(made.shape.size(), 0);
    Index& at = axes_;
    std::size_t place = 0;
    if (count_of(made.shape) > 0) {
      do {
        KW_TRY_VOID(step());
        store(node, made, place++, value(node.initial));
      } while (next_place(at, made.shape));
    }
    at.assign(over.size(), 0);
    if (count_of(over) == 0) return {};
    do {
      KW_TRY_VOID(step());
      Index target;
      for (std::size_t i = 0; i < node.target.size(); ++i) {
        target.push_back(value(node.target[i]).whole);
        if (target.back() < 0 || target.back() >= made.shape[i]) fault_ = "an index of a scatter lies outside";
      }
      if (!fault_.empty()) return Error{fault_, "", {}};
      Running running(*this, node);
      const auto to = static_cast<std::size_t>(flat(target, made.shape));
      running.total = {made.real.empty() ? 0 : made.real[to], made.whole.empty() ? 0 : made.whole[to]};
      running.take(value(node.body), 0);
      store(node, made, to, running.result());
    } while (next_place(at, over));
    return {};
  }

  Result<void> take_input(const Node& node, EvaluatedTensor& made, const std::vector<InputTensor>& inputs) {
    const InputTensor& from = inputs.at(static_cast<std::size_t>(node.place));
    const std::size_t count = is_floating_point(node.dtype) ? made.real.size() : made.whole.size();
    if (from.dtype != node.dtype || from.bytes.size() != count * bytes_of(node.dtype))
      return Error{"the input " + node.operation + " has another shape or type", "", {}};
    const auto each = [&]<class Element>(Element, auto store_one) {
      for (std::size_t i = 0; i < count; ++i) {
        Element element{};
        std::memcpy(&element, from.bytes.data() + i * sizeof(Element), sizeof(Element));
        store_one(i, element);
      }
    };
    const auto real = [&](std::size_t i, auto element) { made.real[i] = static_cast<double>(element); };
    const auto whole = [&](std::size_t i, auto element) {
      made.whole[i] = static_cast<std::int64_t>(element + 0);
    };  // an int first
    switch (node.dtype) {
      case Dtype::float32:
        each(float{}, real);
        break;
      case Dtype::float64:
        each(double{}, real);
        break;
      case Dtype::float16:
        each(std::uint16_t{}, [&](std::size_t i, std::uint16_t bits) { made.real[i] = float_from_float16(bits); });
        break;
      case Dtype::bfloat16:
        each(std::uint16_t{}, [&](std::size_t i, std::uint16_t bits) { made.real[i] = float_from_bfloat16(bits); });
        break;
      case Dtype::int32:
        each(std::int32_t{}, whole);
        break;
      case Dtype::int64:
        each(std::int64_t{}, whole);
        break;
      case Dtype::int8:
        each(std::int8_t{}, whole);
        break;
      case Dtype::uint8:
      case Dtype::boolean:
        each(std::uint8_t{}, whole);
        break;
    }
    return {};
  }

  void store(const Node& node, EvaluatedTensor& made, std::size_t place, const Scalar& value) {
    if (is_floating_point(node.dtype))
      made.real[place] = value.real;
    else
      made.whole[place] = wrapped(value.whole, node.dtype);
  }

  static std::int64_t flat(const Index& at, const Index& shape) {
    std::int64_t made = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) made = made * shape[i] + at[i];
    return made;
  }

  Result<void> step() {
    ++stamp_;
    if (++steps_ > limits_.steps)
      return Error{"the program takes too long to be evaluated at " + to_string(sizes_), "", {}};
    return {};
  }

  // Terms that depend on axes are computed once a step; both sides of a selection are not: a load may be guarded by it.
  Scalar value(TermId id) {
    const auto at = static_cast<std::size_t>(id);
    const Term& term = graph_.term(id);
    switch (term.kind) {
      case TermKind::real:
        return {term.real, 0};
      case TermKind::whole:
        return {0, term.whole};
      case TermKind::extent:
        return values_[at];
      case TermKind::axis:
        return {0, axes_[static_cast<std::size_t>(term.whole)]};
      default:
        break;
    }
    if (stamps_[at] == stamp_) return values_[at];
    const Scalar made = term.kind == TermKind::load ? loaded(term) : applied(term);
    stamps_[at] = stamp_;
    values_[at] = made;
    return made;
  }

  Scalar loaded(const Term& term) {
    const EvaluatedTensor& from = tensors_[static_cast<std::size_t>(term.node)];
    if (term.guarded && value(term.parts.back()).whole == 0) return {};
    std::int64_t place = 0;
    for (std::size_t i = 0; i < from.shape.size(); ++i) {
      const std::int64_t index = value(term.parts[i]).whole;
      if (index < 0 || index >= from.shape[i]) {
        fault_ = fmt::format("an index of {} is {} where the extent is {}", graph_.node(term.node).operation, index,
                             from.shape[i]);
        return {};
      }
      place = place * from.shape[i] + index;
    }
    const auto at = static_cast<std::size_t>(place);
    return {from.real.empty() ? 0 : from.real[at], from.whole.empty() ? 0 : from.whole[at]};
  }

  Scalar applied(const Term& term) {
    if (term.op == ScalarOp::select) return value(term.parts[value(term.parts[0]).whole != 0 ? 1 : 2]);
    const Scalar left = value(term.parts[0]);
    const Dtype from = graph_.term(term.parts[0]).dtype;
    if (term.op == ScalarOp::cast) return cast_scalar(left, from, term.dtype);
    const Scalar right = term.parts.size() > 1 ? value(term.parts[1]) : Scalar{};
    const ScalarOperation& row = operation_of(term.op);
    if (is_floating_point(from)) {
      const double made = row.real == nullptr ? NAN : row.real(left.real, right.real);
      return is_floating_point(term.dtype) ? Scalar{made, 0} : Scalar{0, static_cast<std::int64_t>(made)};
    }
    const std::int64_t made = row.whole == nullptr ? 0 : row.whole(left.whole, right.whole);
    return {0, wrapped(made, term.dtype)};
  }

  const Graph& graph_;
  const Sizes& sizes_;
  const EvaluateLimits& limits_;
  std::vector<EvaluatedTensor> tensors_;
  std::vector<std::int64_t> stamps_;
  std::vector<Scalar> values_;
  Index axes_;  // where the element is that is computed
  std::int64_t stamp_ = 0, steps_ = 0;
  std::string fault_;
};

}  // namespace

Result<std::vector<EvaluatedTensor>> evaluate_graph(const Graph& graph, const Sizes& sizes,
                                                    const std::vector<InputTensor>& inputs,
                                                    const EvaluateLimits& limits) {
  return Evaluator(graph, sizes, limits).run(inputs);
}

}  // namespace kw::program
