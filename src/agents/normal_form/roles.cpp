// The lists of names by part, family by family, as the grammar's draw_* functions have them.

#include <algorithm>

#include "agents/normal_form/frame.h"

namespace kw {
namespace {

class RoleBook {
 public:
  RoleBook(const Operation& operation, const TaskFrame& frame, const Task& task)
      : operation_(operation), book_(operation.book), frame_(frame), task_(task) {}

  std::vector<Role> roles() {
    if (frame_.core < 0)
      elementwise();
    else
      by_core();
    return std::move(roles_);
  }

 private:
  using Lists = std::vector<RoleNames>;

  void add(const std::string& name, Lists lists) {
    const bool known = std::any_of(roles_.begin(), roles_.end(), [&](const Role& role) { return role.name == name; });
    if (!known) roles_.push_back({name, std::move(lists)});
  }
  // Sizes of a shape; what is no plain size has no part.
  void sizes(const std::vector<std::string>& shape, const std::vector<RoleNames>& lists) {
    if (shape.size() != lists.size()) return;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (std::find(task_.size_names.begin(), task_.size_names.end(), shape[i]) != task_.size_names.end())
        add(shape[i], {lists[i]});
  }
  std::vector<std::string> shape_of(const TensorSpec& tensor) const {
    std::vector<std::string> shape;
    for (const Expression& extent : tensor.shape) shape.push_back(extent.text());
    return shape;
  }
  std::vector<std::string> shape_of(int term) const { return *book_.at(term).shape; }
  const TensorSpec& input(const std::string& name) const {
    return *std::find_if(task_.inputs.begin(), task_.inputs.end(),
                         [&](const TensorSpec& each) { return each.name == name; });
  }
  std::vector<std::string> before() const { return inputs_of(operation_, task_, frame_.pre); }
  std::vector<std::string> behind() const {
    std::vector<std::string> names = inputs_of(operation_, task_, frame_.root, frame_.core);
    for (const std::string& name : before())
      if (frame_.core >= 0) names.erase(std::remove(names.begin(), names.end(), name), names.end());
    return names;
  }
  void output(RoleNames list) { add(task_.outputs[0].name, {list}); }

  // What is read: the first full one, other full ones, narrower ones, scalars.
  void operands(const std::vector<std::string>& names, std::size_t rank, Lists first, Lists second, Lists narrow) {
    bool any = false;
    for (const std::string& name : names) {
      if (input(name).is_scalar() || input(name).shape.size() != rank) continue;
      add(name, any ? second : first);
      any = true;
    }
    for (const std::string& name : names)
      if (!input(name).is_scalar()) add(name, narrow);
    scalars(names);
  }

  // By value: the last.
  void scalars(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (input(name).is_scalar()) add(name, {names::scalar});
  }

  void elementwise() {
    const std::vector<std::string> shape = shape_of(task_.outputs[0]);
    const std::size_t rank = shape.size();
    const auto names = inputs_of(operation_, task_, frame_.root);
    if (frame_.family == Family::elementwise) {
      if (rank == 1) sizes(shape, {names::vector_length});
      if (rank == 2) sizes(shape, {names::plane_rows, names::plane_cols});
      operands(names, rank, {names::element_full}, {names::element_full}, {names::element_full});
      // `b` of a matrix is mostly a row of it.
      for (Role& role : roles_)
        if (rank == 2 && role.lists[0].data() == RoleNames(names::element_full).data())
          role.elsewhere = names::broadcast_narrow;
      return output(names::element_output);
    }
    if (rank == 2) sizes(shape, {names::broadcast_rows, names::broadcast_cols});
    if (rank == 3) sizes(shape, {names::image_batch, names::image_channels, names::broadcast_last});
    operands(names, rank, {names::broadcast_full}, {names::broadcast_second}, {names::broadcast_narrow});
    output(names::output);
  }

  void row_sizes() {
    const std::vector<std::string> shape = shape_of(frame_.pre);
    sizes(shape, {names::row_rows, names::row_cols});
    sizes(shape, {names::product_batch, names::row_seq, names::row_dim});
  }
  void row_operands() {
    operands(before(), shape_of(frame_.pre).size(), {names::row_full}, {names::row_second}, {names::row_vector});
  }

  bool is_factor(const std::string& name, int id, int depth = 0) const {
    const Term& term = book_.at(id);
    if (id == frame_.core || depth > 60) return false;
    for (const int part : term.parts) {
      const Term& own = book_.at(part);
      if (term.kind == TermKind::scalar && term.op == Op::multiply && own.kind == TermKind::input && own.text == name)
        return true;
      if (is_factor(name, part, depth + 1)) return true;
    }
    return false;
  }

  // Softmax, norms, scans: a row in, a row out.
  void rows_to_rows() {
    row_sizes();
    row_operands();
    for (const std::string& name : behind()) {
      const TensorSpec& spec = input(name);
      if (spec.is_scalar()) continue;
      if (spec.shape.size() > 1)
        add(name, {names::norm_skip});
      else if (is_factor(name, frame_.root))
        add(name, {names::norm_weight, names::norm_bias});
      else
        add(name, {names::norm_bias, names::norm_weight});
    }
    scalars(behind());
    output(names::output);
  }

  void by_core() {
    const Term& core = book_.at(frame_.scaffold);
    const FamilyKind kind = kind_of(frame_.family);
    if (kind == FamilyKind::row_norm || kind == FamilyKind::scan) return rows_to_rows();
    switch (frame_.family) {
      case Family::reduce_middle:
        sizes(shape_of(frame_.pre), {names::middle_outer, names::middle_reduced, names::middle_inner});
        row_operands();
        extras({names::row_vector}, {names::row_second});
        return output(names::reduction_output);
      case Family::reduce_all:
        sizes(shape_of(frame_.pre), {names::total_length});
        row_operands();
        extras({names::row_vector}, {names::row_second});
        return output(names::reduction_output);
      case Family::arg_reduce:
        row_sizes();
        operands(before(), shape_of(frame_.pre).size(), {names::arg_full}, {names::arg_second}, {names::row_vector});
        return output(names::reduction_output);
      case Family::reduce_last:
      case Family::reduce_first:
      case Family::logsumexp:
        row_sizes();
        row_operands();
        extras({names::row_vector}, {names::row_second});
        return output(names::reduction_output);
      case Family::transpose: {
        const auto shape = shape_of(frame_.pre);
        sizes(shape, {names::transpose_rows, names::transpose_cols});
        sizes(shape, {names::transpose_batch, names::transpose_rows, names::transpose_cols});
        operands(before(), shape.size(), {names::transpose_full}, {names::transpose_second}, {names::transpose_second});
        extras({names::transpose_bias}, {names::transpose_second});
        return output(names::output);
      }
      case Family::permute: {
        const auto shape = shape_of(frame_.pre);
        sizes(shape, {names::permute_0, names::permute_1, names::permute_2});
        sizes(shape, {names::permute_0, names::permute_1, names::permute_2, names::permute_3});
        operands(before(), shape.size(), {names::permute_full}, {names::permute_second}, {names::permute_second});
        return output(names::output);
      }
      case Family::gather_rows:
      case Family::take_along:
      case Family::scatter_add:
        return gathers(core);
      case Family::matvec:
        sizes(shape_of(core.parts[0]), {names::matvec_rows, names::matvec_cols});
        add(book_.at(core.parts[0]).text, {names::matvec_matrix});
        add(book_.at(core.parts[1]).text, {names::matvec_vector});
        extras({names::matvec_bias}, {names::matvec_bias});
        return output(names::matvec_output);
      case Family::conv1d:
      case Family::conv2d:
      case Family::depthwise_conv2d:
        return convolution(core);
      case Family::max_pool1d:
      case Family::max_pool2d:
      case Family::avg_pool1d:
      case Family::avg_pool2d: {
        const auto shape = shape_of(frame_.pre);
        sizes(shape, {names::image_batch, names::image_channels, names::signal_length});
        sizes(shape, {names::image_batch, names::image_channels, names::height, names::width});
        operands(before(), shape.size(), {names::pool_full}, {names::pool_second}, {names::pool_channel});
        extras({names::pool_channel}, {names::pool_second});
        return output(names::output);
      }
      default:
        return product(core);
    }
  }

  void extras(Lists narrow, Lists full) {
    for (const std::string& name : behind())
      if (!input(name).is_scalar()) add(name, input(name).shape.size() == 1 ? narrow : full);
    scalars(behind());
  }

  void gathers(const Term& core) {
    const auto table = shape_of(core.parts[0]), index = shape_of(core.parts[1]);
    sizes(table, {names::table_rows, names::table_cols});
    sizes({index.back()}, {names::picks});
    add(book_.at(core.parts[0]).text, {names::table});
    add(book_.at(core.parts[1]).text, {names::index});
    if (frame_.family == Family::scatter_add)
      operands(before(), 2, {names::updates}, {names::updates}, {names::updates});
    extras({names::gather_row}, {names::gather_full});
    output(names::output);
  }

  void convolution(const Term& core) {
    const auto x = shape_of(core.parts[0]), weight = shape_of(core.parts[1]);
    sizes(x, {names::image_batch, names::in_channels, names::signal_length});
    sizes(x, {names::image_batch, names::in_channels, names::height, names::width});
    sizes({weight[0]}, {names::out_channels});
    add(book_.at(core.parts[0]).text, {names::conv_input});
    add(book_.at(core.parts[1]).text, {names::conv_weight});
    extras({names::conv_bias}, {names::conv_residual});
    output(names::output);
  }

  void product(const Term& core) {
    const int left = without_transpose(book_, core.parts[0]), right = without_transpose(book_, core.parts[1]);
    const auto rows = shape_of(core.parts[0]), cols = shape_of(core.parts[1]);
    const std::size_t rank = rows.size();
    const bool scores = frame_.family == Family::attention_scores, values = frame_.family == Family::attention_values;
    if (rank >= 3) sizes({rows[0]}, {names::product_batch});
    if (rank == 4) sizes({rows[1]}, {names::heads});
    const RoleNames m = scores || values ? RoleNames(names::queries) : RoleNames(names::product_m);
    const RoleNames k = scores   ? RoleNames(names::head_dim)
                        : values ? RoleNames(names::keys)
                                 : RoleNames(names::product_k);
    const RoleNames n = scores   ? RoleNames(names::keys)
                        : values ? RoleNames(names::head_dim)
                                 : RoleNames(names::product_n);
    sizes({rows[rank - 2], rows[rank - 1]}, {m, k});
    sizes({cols[rank - 1]}, {n});
    add(book_.at(left).text, {scores   ? RoleNames(names::query)
                              : values ? RoleNames(names::weights)
                                       : RoleNames(names::product_left)});
    add(book_.at(right).text, {scores   ? RoleNames(names::key)
                               : values ? RoleNames(names::value)
                                        : RoleNames(names::product_right)});
    if (scores)
      extras({names::scores_plane}, {names::scores_plane});
    else
      extras({names::product_bias}, {names::product_residual});
    output(names::product_output);
  }

  const Operation& operation_;
  const TermBook& book_;
  const TaskFrame& frame_;
  const Task& task_;
  std::vector<Role> roles_;
};

}  // namespace

std::vector<Role> roles_of(const Operation& operation, const TaskFrame& frame, const Task& task) {
  return RoleBook(operation, frame, task).roles();
}

}  // namespace kw
