#include "agents/normal_form/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kw {
namespace {

// An expression that is written out is a tree; a graph can be exponentially smaller.
constexpr int most_written = 150;

// What a term is, in the task's own words.
Construct construct_at(const Operation& operation, int id) {
  const auto found = operation.constructs.find(id);
  if (found != operation.constructs.end()) return found->second;
  const std::string text = quoted(operation.book.at(id).text);  // an input or a size
  return {text, text, 0};
}

Error no_family_for(const Operation& operation, int id) {
  const Construct construct = construct_at(operation, id);
  return not_known("this use of " + construct.full, construct.line);
}

class Walk {
 public:
  explicit Walk(const Operation& operation) : operation_(operation), book_(operation.book) {}

  // False where something is neither element by element nor an operation with a frame.
  bool visit(int id) {
    if (++visited_ > most_written) return false;
    const bool understood = visit_parts(id);
    if (!understood && unknown_ < 0) unknown_ = id;
    return understood;
  }

  // After a visit that was false: the innermost term that is not understood.
  Error what_is_unknown() const {
    if (visited_ > most_written) return not_known(fmt::format("an expression of more than {} parts", most_written));
    const Construct construct = construct_at(operation_, unknown_);
    if (book_.at(unknown_).kind == TermKind::size) return not_known(construct.full + " as a number", construct.line);
    return not_known(construct.name, construct.line);
  }

  std::set<int> cores;

 private:
  bool visit_parts(int id) {
    const Term& term = book_.at(id);
    switch (term.kind) {
      case TermKind::input:
      case TermKind::number:
      case TermKind::word:
        return true;
      case TermKind::size:
        return false;
      case TermKind::core:
        if (term.text != "along") cores.insert(id);
        return true;
      case TermKind::python:
        if (!term.elementwise) return false;
        [[fallthrough]];
      case TermKind::scalar:
        return std::all_of(term.parts.begin(), term.parts.end(), [&](int part) { return visit(part); });
    }
    return false;
  }

  const Operation& operation_;
  const TermBook& book_;
  int visited_ = 0;
  int unknown_ = -1;
};

Error several_cores(const Operation& operation, int one, int other) {
  const Construct first = construct_at(operation, std::min(one, other));
  const Construct second = construct_at(operation, std::max(one, other));
  return not_known(fmt::format("{} and {} in one task", first.name, second.name), second.line);
}

bool is_input(const TermBook& book, int id) { return book.at(id).kind == TermKind::input; }

std::optional<Family> reduction_family(const TermBook& book, const Term& core) {
  const auto rank = book.rank(core.parts[0]);
  const bool variance = core.text == "var";
  if (!rank || core.keeps_axis || core.numbers.size() != (variance ? 2u : 1u)) return std::nullopt;
  if (core.numbers[0] == -1) return *rank == 1 ? Family::reduce_all : Family::reduce_last;
  if (core.numbers[0] == 0 && *rank == 2) return Family::reduce_first;
  if (core.numbers[0] == 1 && *rank == 3) return Family::reduce_middle;
  return std::nullopt;
}

std::optional<Family> product_family(const TermBook& book, const Term& core) {
  const int left = core.parts[0], right = core.parts[1];
  if (!is_input(book, without_transpose(book, left)) || !is_input(book, without_transpose(book, right)))
    return std::nullopt;
  const auto rank = book.rank(left);
  if (rank != book.rank(right)) return std::nullopt;
  const bool left_turned = !is_input(book, left), right_turned = !is_input(book, right);
  if (left_turned && right_turned) return std::nullopt;
  if (*rank == 2) return left_turned ? Family::matmul_tn : right_turned ? Family::matmul_nt : Family::matmul;
  if (*rank == 3) return Family::batched_matmul;
  if (*rank != 4 || left_turned) return std::nullopt;
  return right_turned ? Family::attention_scores : Family::attention_values;
}

std::optional<Family> family_of_core(const TermBook& book, const Term& core) {
  static const std::map<std::string, Family> last_axis{{"argmax", Family::arg_reduce},
                                                       {"argmin", Family::arg_reduce},
                                                       {"logsumexp", Family::logsumexp},
                                                       {"softmax", Family::softmax},
                                                       {"cumsum", Family::cumsum},
                                                       {"log_softmax", Family::log_softmax},
                                                       {"cummax", Family::cummax},
                                                       {"l2_normalize", Family::l2_normalize},
                                                       {"causal_softmax", Family::causal_softmax},
                                                       {"exclusive_cumsum", Family::exclusive_cumsum}};
  if (const auto found = last_axis.find(core.text); found != last_axis.end()) {
    if (core.keeps_axis || core.numbers != std::vector<std::int64_t>{-1} || book.rank(core.parts[0]).value_or(0) < 2)
      return std::nullopt;
    return found->second;
  }
  static const std::map<std::string, Family> plain{
      {"layer_norm", Family::layer_norm}, {"rms_norm", Family::rms_norm},     {"permute", Family::permute},
      {"max_pool1d", Family::max_pool1d}, {"max_pool2d", Family::max_pool2d}, {"avg_pool1d", Family::avg_pool1d},
      {"avg_pool2d", Family::avg_pool2d}, {"index_add", Family::scatter_add}};
  if (const auto found = plain.find(core.text); found != plain.end()) return found->second;
  for (const std::string_view name : {"sum", "mean", "amax", "amin", "var", "norm2"})
    if (core.text == name) return reduction_family(book, core);
  if (core.text == "transpose") return book.rank(core.parts[0]) == 4 ? Family::permute : Family::transpose;
  if (core.text == "matmul") return product_family(book, core);
  const bool both_inputs = core.parts.size() == 2 && is_input(book, core.parts[0]) && is_input(book, core.parts[1]);
  if (!both_inputs) return std::nullopt;
  if (core.text == "mv") return Family::matvec;
  if (core.text == "index_select") return Family::gather_rows;
  if (core.text == "gather") return Family::take_along;
  if (core.text == "conv1d" && core.numbers[2] == 0) return Family::conv1d;
  if (core.text == "conv2d") return core.numbers[2] == 0 ? Family::conv2d : Family::depthwise_conv2d;
  return std::nullopt;
}

bool shows_rank(const TermBook& book, int id, std::size_t rank) {
  const Term& term = book.at(id);
  if (term.kind == TermKind::core && term.text == "along") return static_cast<std::size_t>(term.numbers[0]) + 1 == rank;
  if (term.kind == TermKind::input || term.kind == TermKind::core) return term.shape && term.shape->size() == rank;
  return std::any_of(term.parts.begin(), term.parts.end(), [&](int part) { return shows_rank(book, part, rank); });
}

void collect(const TermBook& book, int id, int stop, std::set<int>& seen, std::set<std::string>& names) {
  if (id == stop || !seen.insert(id).second) return;
  const Term& term = book.at(id);
  if (term.kind == TermKind::input) names.insert(term.text);
  for (const int part : term.parts) collect(book, part, stop, seen, names);
}

}  // namespace

int without_transpose(const TermBook& book, int term) {
  return book.is_core(term, "transpose") ? book.at(term).parts[0] : term;
}

std::vector<std::string> inputs_of(const Operation& operation, const Task& task, int term, int stop) {
  std::set<int> seen;
  std::set<std::string> names;
  collect(operation.book, term, stop, seen, names);
  std::vector<std::string> ordered;
  for (const TensorSpec& input : task.inputs)
    if (names.contains(input.name)) ordered.push_back(input.name);
  return ordered;
}

Result<TaskFrame> frame_of(const Operation& operation, const Task& task) {
  const TermBook& book = operation.book;
  if (operation.results.size() != 1) return not_known("a task with several outputs");
  TaskFrame frame;
  frame.root = operation.results[0];
  const std::size_t rank = task.outputs[0].shape.size();
  if (book.is_core(frame.root, "tril")) {
    frame.causal = true;
    frame.root = book.at(frame.root).parts[0];
  }
  Walk walk(operation);
  if (!walk.visit(frame.root)) return walk.what_is_unknown();
  if (walk.cores.size() > 1) return several_cores(operation, *walk.cores.begin(), *walk.cores.rbegin());
  if (!shows_rank(book, frame.root, rank)) return no_family_for(operation, frame.root);
  frame.integer = book.whole_numbers_only;
  if (walk.cores.empty()) {
    if (frame.causal || is_input(book, frame.root)) return no_family_for(operation, operation.results[0]);
    frame.pre = frame.root;
    const TensorSpec& output = task.outputs[0];
    for (const TensorSpec& input : task.inputs) {
      if (input.is_scalar()) continue;
      bool full = input.shape.size() == rank;
      for (std::size_t i = 0; full && i < rank; ++i) full = input.shape[i].text() == output.shape[i].text();
      if (!full) frame.family = Family::broadcast;
    }
    return frame;
  }
  frame.core = frame.scaffold = *walk.cores.begin();
  if (book.is_core(frame.core, "one")) frame.scaffold = book.at(frame.core).parts[0];
  const Term& core = book.at(frame.scaffold);
  const auto family = family_of_core(book, core);
  if (!family || (*family == Family::reduce_all) != (frame.core != frame.scaffold))
    return no_family_for(operation, frame.scaffold);
  if (frame.causal && *family != Family::attention_scores) return no_family_for(operation, operation.results[0]);
  frame.family = *family;
  frame.pre = core.parts[*family == Family::scatter_add ? 2 : 0];
  if (*family == Family::scatter_add && (!is_input(book, core.parts[0]) || !is_input(book, core.parts[1])))
    return no_family_for(operation, frame.core);
  if (core.text != "matmul") {
    Walk before(operation);
    if (!before.visit(frame.pre)) return before.what_is_unknown();
    if (!before.cores.empty()) return several_cores(operation, *before.cores.begin(), frame.core);
  }
  // A frame without a part behind it.
  const bool no_post = frame.family == Family::permute || frame.family == Family::scatter_add ||
                       frame.family == Family::arg_reduce || frame.family == Family::causal_softmax;
  if (no_post && frame.root != frame.core) {
    const Construct construct = construct_at(operation, frame.core);
    return not_known("anything that follows " + construct.name, construct.line);
  }
  frame.integer = !book.at(frame.pre).floating;
  return frame;
}

}  // namespace kw
