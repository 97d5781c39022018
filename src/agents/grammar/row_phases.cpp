#include "agents/grammar/row_phases.h"

#include <fmt/format.h>

#include "base/check.h"

namespace kw {
namespace {

std::string fold_word(Fold fold) { return fold == Fold::sum ? "sum" : fold == Fold::maximum ? "max" : "min"; }
std::string fold_title(Fold fold) { return fold == Fold::sum ? "Sum" : fold == Fold::maximum ? "Max" : "Min"; }

}  // namespace

std::string substitute(std::string text, const std::string& v, const std::string& f, const std::string& n) {
  for (const auto& [key, value] : {std::pair<std::string_view, const std::string&>("$v", v), {"$f", f}, {"$n", n}}) {
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size()))
      text.replace(at, 2, value);
  }
  return text;
}

std::string fold_start(const Draft& draft, Fold fold) {
  if (fold == Fold::sum) return draft.zero();
  if (draft.problem.integer()) return fold == Fold::maximum ? "INT_MIN" : "INT_MAX";
  const bool infinity = draft.style.index_form == 1;
  if (fold == Fold::maximum) return infinity ? "-INFINITY" : "-FLT_MAX";
  return infinity ? "INFINITY" : "FLT_MAX";
}

std::string fold_value(const Draft& draft, Fold fold, const std::string& a, const std::string& b) {
  if (fold == Fold::sum) return a + " + " + b;
  const std::string function = draft.problem.integer() ? fold_word(fold) : "f" + fold_word(fold) + "f";
  return function + "(" + a + ", " + b + ")";
}

std::string fold_step(const Draft& draft, Fold fold, const std::string& a, const std::string& b) {
  if (fold == Fold::sum) return a + " += " + b + ";\n";
  return a + " = " + fold_value(draft, fold, a, b) + ";\n";
}

std::string half_of(const std::string& block) {
  const bool number = block.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::to_string(std::stoi(block) / 2) : block + " / 2";
}

std::string warp_fold(Draft& draft, Fold fold) {
  const std::string word = fold_word(fold);
  for (const std::string& form : {"warp_" + word, "warp_reduce_" + word, "warpReduce" + fold_title(fold)})
    if (draft.has_helper(" " + form + "(")) return form;
  const std::string name =
      draft.names.pick_for_file({"warp_" + word, "warp_reduce_" + word, "warpReduce" + fold_title(fold)});
  const std::string shuffled = "__shfl_xor_sync(0xffffffff, v, offset)";
  const std::string step = draft.style.index_form == 2 ? "offset >>= 1" : "offset /= 2";
  draft.add_helper(fill(draft, R"(
$device $acc $name($acc v) {
  for (int offset = 16; offset > 0; $step) {
    $line
  }
  return v;
}
)",
                        {{"name", name}, {"step", step}, {"line", fold_step(draft, fold, "v", shuffled)}}));
  return name;
}

std::string block_fold_shuffles(Draft& draft, Fold fold) {
  const std::string word = fold_word(fold);
  for (const std::string& form : {"block_" + word, "block_reduce_" + word, "blockReduce" + fold_title(fold)})
    if (draft.has_helper(" " + form + "(")) return form;
  const std::string warp = warp_fold(draft, fold);
  const std::string name =
      draft.names.pick_for_file({"block_" + word, "block_reduce_" + word, "blockReduce" + fold_title(fold)});
  draft.add_helper(fill(draft, R"(
$device $acc $name($acc v) {
  __shared__ $acc partial[32];
  $int lane = threadIdx.x % 32;
  $int warp = threadIdx.x / 32;
  v = $fold(v);
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = $fold(lane < blockDim.x / 32 ? partial[lane] : $start);
  __syncthreads();  // partial is used again by the next call
  return v;
}
)",
                        {{"name", name}, {"fold", warp}, {"start", fold_start(draft, fold)}}));
  return name;
}

std::string block_fold_tree(Draft& draft, Fold fold, const std::string& block) {
  const std::string word = fold_word(fold);
  for (const std::string& form : {"block_" + word, "block_reduce_" + word, "reduce_" + word})
    if (draft.has_helper(" " + form + "(")) return form;
  const std::string name = draft.names.pick_for_file({"block_" + word, "block_reduce_" + word, "reduce_" + word});
  const std::string step = draft.style.index_form == 2 ? "half >>= 1" : "half /= 2";
  draft.add_helper(fill(draft, R"(
$device $acc $name($acc v) {
  __shared__ $acc buffer[$block];
  $int t = threadIdx.x;
  buffer[t] = v;
  __syncthreads();
  for (int half = $half; half > 0; $step) {
    if (t < half) {
      $line
    }
    __syncthreads();
  }
  v = buffer[0];
  __syncthreads();  // before buffer is written again
  return v;
}
)",
                        {{"name", name},
                         {"block", block},
                         {"half", half_of(block)},
                         {"step", step},
                         {"line", fold_step(draft, fold, "buffer[t]", "buffer[t + half]")}}));
  return name;
}

std::string last_derived(Draft& draft, RowPlan& plan, const std::string& folded, const std::string& length) {
  const RowPhase& phase = plan.phases.back();
  std::string lines;
  if (folded != phase.accumulator) lines = fmt::format("{} = {};\n", phase.accumulator, folded);
  plan.result = phase.derived.empty() ? phase.accumulator : substitute(phase.derived, "", phase.accumulator, length);
  if (phase.derived.empty() || draft.problem.post.trivial()) return lines;
  lines += fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), phase.name, plan.result);
  plan.result = phase.name;
  return lines;
}

namespace {

std::string sum_name(Names& names) { return names.pick({"sum", "acc", "total", "s"}); }

// Its name.
std::string mean_phase(Names& names, RowPlan& plan) {
  const std::string name = names.pick({"mean", "mu", "avg"});
  plan.phases.push_back({Fold::sum, sum_name(names), "", name, "$f / $n"});
  return name;
}

std::string result_name(Names& names, Reduction reduction) {
  switch (reduction) {
    case Reduction::mean:
      return names.pick({"mean", "avg"});
    case Reduction::variance:
      return names.pick({"var", "variance"});
    case Reduction::norm1:
    case Reduction::norm2:
      return names.pick({"norm", "row_norm"});
    case Reduction::mean_square:
      return names.pick({"mean_sq", "ms"});
    default:
      return names.pick({"res", "r"});
  }
}

RowPlan reduction_plan(Names& names, Reduction reduction) {
  RowPlan plan;
  const std::string result = result_name(names, reduction);
  switch (reduction) {
    case Reduction::sum:
      plan.phases.push_back({Fold::sum, sum_name(names), "", result, ""});
      break;
    case Reduction::mean:
      plan.phases.push_back({Fold::sum, sum_name(names), "", result, "$f / $n"});
      break;
    case Reduction::maximum:
      plan.phases.push_back({Fold::maximum, names.pick({"best", "top", "mx", "acc"}), "", result, ""});
      break;
    case Reduction::minimum:
      plan.phases.push_back({Fold::minimum, names.pick({"best", "low", "mn", "acc"}), "", result, ""});
      break;
    case Reduction::norm1:
      plan.phases.push_back({Fold::sum, sum_name(names), "fabsf($v)", result, ""});
      break;
    case Reduction::norm2:
      plan.phases.push_back({Fold::sum, sum_name(names), "$v * $v", result, "sqrtf($f)"});
      break;
    case Reduction::mean_square:
      plan.phases.push_back({Fold::sum, sum_name(names), "$v * $v", result, "$f / $n"});
      break;
    case Reduction::variance: {
      const std::string mean = mean_phase(names, plan);
      plan.phases.push_back({Fold::sum, names.pick({"sq", "m2", "dev"}), fmt::format("($v - {0}) * ($v - {0})", mean),
                             result, "$f / $n"});
      break;
    }
  }
  plan.result = result;
  return plan;
}

}  // namespace

RowPlan row_plan(Draft& draft) {
  Names& names = draft.names;
  RowPlan plan;
  const auto max_phase = [&] {
    const std::string name = names.pick({"row_max", "peak", "m_row", "largest"});
    plan.phases.push_back({Fold::maximum, names.pick({"best", "top", "mx", "max_value"}), "", name, ""});
    return name;
  };
  const auto exp_sum_phase = [&](const std::string& peak, const std::string& derived, const std::string& name) {
    plan.phases.push_back({Fold::sum, sum_name(names), "expf($v - " + peak + ")", name, derived});
  };
  switch (draft.problem.family) {
    case Family::softmax:
    case Family::causal_softmax: {
      plan.per_element = true;
      const std::string peak = max_phase();
      const std::string scale = names.pick({"inv", "inv_sum", "norm", "scale_row"});
      exp_sum_phase(peak, "1.0f / $f", scale);
      plan.result = "expf($v - " + peak + ") * " + scale;
      return plan;
    }
    case Family::log_softmax: {
      plan.per_element = true;
      const std::string peak = max_phase();
      const std::string shift = names.pick({"log_sum", "log_total", "logs"});
      // The logarithm is not added to a large maximum first: it would be rounded away.
      exp_sum_phase(peak, "logf($f)", shift);
      plan.result = "$v - " + peak + " - " + shift;
      return plan;
    }
    case Family::logsumexp: {
      const std::string peak = max_phase();
      const std::string result = names.pick({"lse", "log_sum", "result_row"});
      exp_sum_phase(peak, peak + " + logf($f)", result);
      plan.result = result;
      return plan;
    }
    case Family::layer_norm: {
      plan.per_element = true;
      const std::string mean = mean_phase(names, plan);
      const std::string scale = names.pick({"inv_std", "rstd", "inv"});
      plan.phases.push_back({Fold::sum, names.pick({"sq", "var_sum", "m2"}),
                             fmt::format("($v - {0}) * ($v - {0})", mean), scale, "rsqrtf($f / $n + 1e-5f)"});
      plan.result = fmt::format("($v - {}) * {}", mean, scale);
      return plan;
    }
    case Family::rms_norm:
    case Family::l2_normalize: {
      plan.per_element = true;
      const std::string scale = names.pick({"inv", "inv_norm", "rnorm", "factor_row"});
      plan.phases.push_back(
          {Fold::sum, names.pick({"sq", "sum_sq", "ss"}), "$v * $v", scale,
           draft.problem.family == Family::rms_norm ? "rsqrtf($f / $n + 1e-6f)" : "1.0f / fmaxf(sqrtf($f), 1e-12f)"});
      plan.result = "$v * " + scale;
      return plan;
    }
    default:
      return reduction_plan(names, draft.problem.reduction);
  }
}
}  // namespace kw
