#include "agents/normal_form/phrasing.h"

#include <fmt/format.h>

#include <algorithm>

namespace kw {
namespace {

class Phrasing {
 public:
  Phrasing(const Operation& operation, const TaskFrame& frame, const Renaming& renamed, std::vector<std::string> taken)
      : operation_(operation), book_(operation.book), frame_(frame), renamed_(renamed), taken_(std::move(taken)) {}

  std::string lines() {
    if (frame_.core < 0) return "return " + text(frame_.pre);
    std::string before, value;
    if (!book_.is_core(frame_.core, "matmul")) value = text(frame_.pre);  // a product writes its sides itself
    if (has_local()) {
      const std::string local = local_name(frame_.pre, names::input_local);
      before = local + " = " + value + "\n";
      value = local;
    }
    std::string core = core_text(value);
    const bool trivial = frame_.root == frame_.core;
    if (trivial && !frame_.causal) {
      if (frame_.family == Family::transpose) core += ".contiguous()";
      return before + "return " + core;
    }
    const std::string result =
        local_name(frame_.core, frame_.causal ? RoleNames(names::scores_local) : RoleNames(names::result_local));
    result_ = result;
    const std::string post = text(frame_.root);
    if (frame_.causal) return fmt::format("{0} = {1}\n{0} = {2}\nreturn {0}.tril()", result, core, post);
    return before + result + " = " + core + "\nreturn " + post;
  }

 private:
  bool trivial_pre() const { return book_.at(frame_.pre).kind == TermKind::input; }

  // Normalisations name what they work on, unless that is a tensor itself.
  bool has_local() const {
    switch (frame_.family) {
      case Family::rms_norm:
      case Family::causal_softmax:
      case Family::exclusive_cumsum:
        return true;
      case Family::softmax:
      case Family::log_softmax:
      case Family::layer_norm:
      case Family::l2_normalize:
        return !trivial_pre();
      default:
        return false;
    }
  }

  std::string renamed(const std::string& name) const {
    const auto found = renamed_.find(name);
    return found == renamed_.end() ? name : found->second;
  }

  // As the text has it, where the grammar uses that name too.
  std::string local_name(int term, RoleNames list) {
    const auto free = [&](std::string_view name) {
      return std::find(taken_.begin(), taken_.end(), name) == taken_.end();
    };
    std::string chosen;
    const auto own = operation_.locals.find(term);
    if (own != operation_.locals.end() && free(own->second) &&
        std::find(list.begin(), list.end(), own->second) != list.end())
      chosen = own->second;
    for (const std::string_view name : list)
      if (chosen.empty() && free(name)) chosen = name;
    for (int number = 2; chosen.empty(); ++number)
      if (free(fmt::format("{}{}", list[0], number))) chosen = fmt::format("{}{}", list[0], number);
    taken_.push_back(chosen);
    return chosen;
  }

  // Element by element, by the grammar's own rules for brackets; what it does not know is a leaf.
  std::string text(int root) {
    ScalarExpression expression;
    std::vector<std::string> leaves;
    const auto visit = [&](auto&& self, int id) -> int {
      const Term& term = book_.at(id);
      ScalarNode node;
      if (id != frame_.core && term.kind == TermKind::scalar) {
        node.op = term.op;
        node.value = term.value;
        node.first = self(self, term.parts[0]);
        if (term.parts.size() > 1) node.second = self(self, term.parts[1]);
        if (term.parts.size() > 2) node.third = self(self, term.parts[2]);
      } else if (term.kind == TermKind::number && term.text.find('e') == std::string::npos) {
        node.op = Op::constant;
        node.value = term.value;
      } else {
        node.index = static_cast<int>(leaves.size());
        leaves.push_back(leaf(id));
      }
      expression.nodes.push_back(node);
      return static_cast<int>(expression.nodes.size()) - 1;
    };
    visit(visit, root);
    return torch_text(expression, leaves);
  }

  std::string short_number(double value) const {
    // 1e-06 as people write it
    std::string number = torch_constant(value);
    const std::size_t zero = number.find("e-0");
    if (zero != std::string::npos) number.erase(zero + 2, 1);
    return number;
  }

  std::string leaf(int id) {
    const Term& term = book_.at(id);
    if (id == frame_.core) return result_;
    switch (term.kind) {
      case TermKind::input:
        return renamed(term.text);
      case TermKind::number:
        return short_number(term.value);
      case TermKind::core: {  // along
        const std::string name = renamed(book_.at(term.parts[0]).text);
        if (term.numbers[0] == 0) return name;
        if (term.numbers[0] == 1) return name + ".unsqueeze(1)";
        std::string ones;
        for (std::int64_t i = 0; i < term.numbers[0]; ++i) ones += ", 1";
        return name + ".view(-1" + ones + ")";
      }
      case TermKind::python:
        return python(term);
      default:
        return term.text;
    }
  }

  std::string atom(int id) {
    const std::string own = text(id);
    const Term& term = book_.at(id);
    const bool operation = term.kind == TermKind::scalar || (term.kind == TermKind::number && term.value < 0);
    return operation && id != frame_.core ? "(" + own + ")" : own;
  }

  std::string python(const Term& term) {
    if (term.text.starts_with("call ") || term.text.starts_with("method ")) {
      const bool method = term.text.starts_with("method ");
      std::string written = method ? atom(term.parts[0]) + "." + term.text.substr(7) : term.text.substr(5);
      written += "(";
      for (std::size_t i = method ? 1 : 0; i < term.parts.size(); ++i) {
        if (i > (method ? 1u : 0u)) written += ", ";
        if (i < term.keys.size() && !term.keys[i].empty()) written += term.keys[i] + "=";
        written += text(term.parts[i]);
      }
      return written + ")";
    }
    return "(" + atom(term.parts[0]) + " " + term.text + " " + atom(term.parts[1]) + ")";
  }

  std::string side(int term) const {
    const bool turned = book_.is_core(term, "transpose");
    return renamed(book_.at(without_transpose(book_, term)).text) + (turned ? ".transpose(-2, -1)" : "");
  }

  std::string reduction(const std::string& value, const Term& core) const {
    const std::string axis = frame_.family == Family::reduce_all ? "[0]" : fmt::format("{}", core.numbers[0]);
    std::string made;
    if (core.text == "var")
      made = fmt::format("torch.var({}, [{}], unbiased={})", value,
                         frame_.family == Family::reduce_all ? 0 : core.numbers[0],
                         core.numbers[1] == 0 ? "False" : "True");
    else if (core.text == "norm2")
      made = fmt::format("torch.sqrt(torch.sum(torch.square({}), {}))", value, axis);
    else
      made = fmt::format("torch.{}({}, {})", core.text, value, axis);
    return frame_.family == Family::reduce_all ? made + ".reshape(1)" : made;
  }

  std::string convolution(const Term& core) const {
    const std::string x = renamed(book_.at(core.parts[0]).text), weight = renamed(book_.at(core.parts[1]).text);
    std::string options;
    if (core.numbers[0] > 1) options += fmt::format(", stride={}", core.numbers[0]);
    if (core.numbers[1] > 0) options += fmt::format(", padding={}", core.numbers[1]);
    if (core.numbers[2] != 0) options += fmt::format(", groups={}.size(1)", x);
    return fmt::format("F.{}({}, {}{})", core.text, x, weight, options);
  }

  std::string core_text(const std::string& value) {
    const Term& core = book_.at(frame_.scaffold);
    const std::string bracketed = trivial_pre() ? value : "(" + value + ")";
    const double eps = core.parts.size() > 1 ? book_.at(core.parts[1]).value : 0;
    switch (frame_.family) {
      case Family::reduce_last:
      case Family::reduce_first:
      case Family::reduce_middle:
      case Family::reduce_all:
        return reduction(value, core);
      case Family::arg_reduce:
      case Family::logsumexp:
      case Family::softmax:
      case Family::log_softmax:
        return fmt::format("torch.{}({}, -1)", core.text, value);
      case Family::causal_softmax:
        return fmt::format("torch.softmax({0}.masked_fill(torch.ones_like({0}).tril() == 0, float(\"-inf\")), -1)",
                           value);
      case Family::layer_norm:
        if (eps == 1e-5) return fmt::format("F.layer_norm({0}, [{0}.size(-1)])", value);
        return fmt::format("F.layer_norm({0}, [{0}.size(-1)], None, None, {1})", value, short_number(eps));
      case Family::rms_norm:
        return fmt::format("{0} * torch.rsqrt(torch.mean(torch.square({0}), -1, keepdim=True) + {1})", value,
                           short_number(eps));
      case Family::l2_normalize:
        return fmt::format("F.normalize({}, 2.0, -1)", value);
      case Family::cumsum:
      case Family::exclusive_cumsum: {
        const std::string made = frame_.family == Family::cumsum ? fmt::format("torch.cumsum({}, -1)", value)
                                                                 : fmt::format("torch.cumsum({0}, -1) - {0}", value);
        return frame_.integer ? "(" + made + ").to(torch.int32)" : made;
      }
      case Family::cummax:
        return fmt::format("torch.cummax({}, -1)[0]", value);
      case Family::transpose:
        return bracketed + ".transpose(-2, -1)";
      case Family::permute: {
        std::string axes;
        if (core.text == "transpose") return bracketed + ".permute(0, 1, 3, 2).contiguous()";
        for (const std::int64_t axis : core.numbers) axes += fmt::format("{}{}", axes.empty() ? "" : ", ", axis);
        return fmt::format("{}.permute({}).contiguous()", bracketed, axes);
      }
      case Family::gather_rows:
      case Family::take_along:
        return fmt::format("torch.{}({}, {}, {}.long())", core.text, side(core.parts[0]),
                           frame_.family == Family::take_along ? 1 : 0, side(core.parts[1]));
      case Family::scatter_add:
        return fmt::format("torch.index_add({}, 0, {}.long(), {})", side(core.parts[0]), side(core.parts[1]), value);
      case Family::max_pool1d:
      case Family::max_pool2d:
      case Family::avg_pool1d:
      case Family::avg_pool2d:
        return fmt::format("F.{}({}, {}, {}, {})", core.text, value, core.numbers[0], core.numbers[1], core.numbers[2]);
      case Family::conv1d:
      case Family::conv2d:
      case Family::depthwise_conv2d:
        return convolution(core);
      case Family::matvec:
        return frame_.integer
                   ? fmt::format("({} * {}).sum(-1).to(torch.int32)", side(core.parts[0]), side(core.parts[1]))
                   : fmt::format("torch.mv({}, {})", side(core.parts[0]), side(core.parts[1]));
      default:
        return fmt::format("torch.matmul({}, {})", side(core.parts[0]), side(core.parts[1]));
    }
  }

  const Operation& operation_;
  const TermBook& book_;
  const TaskFrame& frame_;
  const Renaming& renamed_;
  std::vector<std::string> taken_;
  std::string result_;
};

}  // namespace

std::string phrase(const Operation& operation, const TaskFrame& frame, const Renaming& renamed,
                   std::vector<std::string> taken) {
  return Phrasing(operation, frame, renamed, std::move(taken)).lines();
}

}  // namespace kw
