// Reductions over other axes than the last, and over everything.

#include <fmt/format.h>

#include "agents/grammar/row_phases.h"
#include "agents/grammar/writers.h"

namespace kw {
namespace {

// Lines that fold the value at `index` into the phase's accumulator (or `accumulator`).
std::string fold_lines(Draft& draft, const RowPhase& phase, const std::string& index, const std::string& length,
                       const std::string& accumulator) {
  Names::Scope scope(draft.names);
  Draft::Element code = draft.element(draft.problem.pre, [&](const Operand&) { return index; });
  if (!phase.term.empty() && code.value.find_first_of("[( ") != std::string::npos) {
    const std::string name = draft.same_name("value", {"v", "value", "e", "xv", "val"});
    code.lines += fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), name, code.value);
    code.value = name;
  }
  const std::string term = phase.term.empty() ? code.value : substitute(phase.term, code.value, "", length);
  return code.lines + fold_step(draft, phase.fold, accumulator, term);
}

std::string start_line(const Draft& draft, const RowPhase& phase, const std::string& name) {
  return fmt::format("{} {} = {};\n", draft.accumulator(), name, fold_start(draft, phase.fold));
}

std::string derive_line(const Draft& draft, const RowPhase& phase, const std::string& folded,
                        const std::string& length) {
  if (folded == phase.name) return "";
  const std::string text = phase.derived.empty() ? folded : substitute(phase.derived, "", folded, length);
  return fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), phase.name, text);
}

std::string store_lines(Draft& draft, const RowPlan& plan, const std::string& index) {
  const auto code = draft.element(draft.problem.post, [](const Operand&) { return std::string(); }, plan.result);
  return code.lines + fmt::format("{}[{}] = {};\n", draft.out, index, draft.to_output(code.value));
}

}  // namespace

std::string write_axis_reduction(Draft& draft) {
  const auto& shape = draft.problem.operands.front().shape;
  const bool middle = shape.size() == 3;
  const std::string length = shape[shape.size() - 2], inner = shape.back();
  const std::string outer = draft.names.pick({"outer_i", "group", "slice"});
  const std::string col = draft.names.pick({"col", "c", "j", "column"});
  const std::string k = draft.names.pick({"k", "r", "step"});
  RowPlan plan = row_plan(draft);
  const auto is_last = [&](const RowPhase& phase) { return &phase == &plan.phases.back(); };
  const std::vector<std::string> sizes = middle ? shape : std::vector<std::string>{length, inner};
  const std::string first = middle ? fmt::format("({} * {} + {}) * {} + {}", outer, length, k, inner, col)
                                   : fmt::format("{} * {} + {}", k, inner, col);
  const std::string place = middle ? fmt::format("{} * {} + {}", outer, inner, col) : col;
  if (draft.level == Level::naive) {
    const std::string block = draft.block_size({128, 64, 256});
    std::string lines;
    for (const RowPhase& phase : plan.phases) {
      lines += start_line(draft, phase, phase.accumulator);
      lines += fill("for (int $k = 0; $k < $length; $inc) {\n  $lines\n}\n",
                    Fields{{"k", k},
                           {"length", length},
                           {"inc", draft.increment(k)},
                           {"lines", fold_lines(draft, phase, first, length, phase.accumulator)}});
      lines += is_last(phase) ? last_derived(draft, plan, phase.accumulator, length)
                              : derive_line(draft, phase, phase.accumulator, length);
    }
    const std::string i = middle ? draft.names.pick({"i", "idx", "tid", "index"}) : col;
    std::string setup;
    if (middle)
      setup = fmt::format("{0} {1} = {2} / {3};\n{0} {4} = {2} % {3};\n", draft.local("int"), outer, i, inner, col);
    const std::string count = middle ? shape[0] + " * " + inner : inner;
    const std::string body = fill(draft, R"(
// One thread for each output, which walks down its column.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $count) return;
  $setup
  $lines
}
)",
                                  {{"params", draft.parameters(sizes)},
                                   {"i", i},
                                   {"index", draft.thread_index()},
                                   {"count", count},
                                   {"setup", setup},
                                   {"lines", lines + store_lines(draft, plan, middle ? i : col)}});
    return draft.finish(body, draft.launch_over(count, block, sizes));
  }
  // The step is a constant, so that the compiler unrolls the loop and several loads are in flight.
  const int height = draft.random.uniform() < 0.6 ? 16 : 8;
  const std::string part = draft.names.pick({"partial", "tile", "buf", "shared_part"});
  const std::string w = draft.names.pick({"w", "t", "line", "p"});
  std::string lines;
  for (const RowPhase& phase : plan.phases) {
    const std::string& a = phase.accumulator;
    const std::string whole = draft.names.pick({"whole", "combined", "all", "sum_all"});
    Fields fields{{"col", col},
                  {"inner", inner},
                  {"k", k},
                  {"length", length},
                  {"fold", fold_lines(draft, phase, first, length, a)},
                  {"part", part},
                  {"a", a},
                  {"w", w},
                  {"inc", draft.increment(w)},
                  {"height", std::to_string(height)}};
    lines += start_line(draft, phase, a);
    lines += fill(draft, R"(
if ($col < $inner) {
  for (int $k = threadIdx.y; $k < $length; $k += $height) {
    $fold
  }
}
$part[threadIdx.y][threadIdx.x] = $a;
__syncthreads();
)",
                  fields);
    if (is_last(phase)) {
      const std::string derive = last_derived(draft, plan, a, length);
      fields.emplace_back("join", fold_step(draft, phase.fold, a, part + "[" + w + "][threadIdx.x]"));
      fields.emplace_back("derive", derive);
      fields.emplace_back("store", store_lines(draft, plan, place));
      lines += fill(draft, R"(
if (threadIdx.y == 0 && $col < $inner) {
  for (int $w = 1; $w < $height; $inc) {
    $join
  }
  $derive
  $store
}
)",
                    fields);
      continue;
    }
    fields.emplace_back("start", start_line(draft, phase, whole));
    fields.emplace_back("join", fold_step(draft, phase.fold, whole, part + "[" + w + "][threadIdx.x]"));
    fields.emplace_back("derive", derive_line(draft, phase, whole, length));
    lines += fill(draft, R"(
$start
for (int $w = 0; $w < $height; $inc) {
  $join
}
__syncthreads();
$derive
)",
                  fields);
  }
  const std::string outer_line = middle ? fmt::format("{} {} = blockIdx.y;\n", draft.local("int"), outer) : "";
  const std::string body = fill(draft, R"(
// 32 columns a block; $height threads share each column and meet in shared memory.
__global__ void $kernel($params) {
  __shared__ $acc $part[$height][32];
  $int $col = blockIdx.x * 32 + threadIdx.x;
  $outer
  $lines
}
)",
                                {{"params", draft.parameters(sizes)},
                                 {"height", std::to_string(height)},
                                 {"part", part},
                                 {"col", col},
                                 {"outer", outer_line},
                                 {"lines", lines}});
  const std::string across = draft.ceil_div(inner, "32");
  const std::string grid = middle ? fmt::format("dim3({}, {})", across, shape[0]) : across;
  return draft.finish(body, draft.launch_grid(grid, fmt::format("dim3(32, {})", height), sizes));
}

namespace {

// Whole vectors of the input, then what is left of it.
std::string vector_loop(Draft& draft, const RowPhase& phase, const std::string& i, const std::string& n) {
  const Problem& p = draft.problem;
  const std::string acc = draft.accumulator(), a = phase.accumulator;
  const VectorType vector = vector_type(draft);
  draft.style.function_form = true;
  std::string body;
  {
    Names::Scope scope(draft.names);
    std::vector<std::string> values(p.operands.size() + 1);
    std::vector<bool> wide(values.size());
    for (int o : draft.operands_of(p.pre)) {
      const auto at = static_cast<std::size_t>(o);
      values[at] = draft.in[at];
      if (p.operands[at].is_scalar()) continue;
      values[at] = draft.names.pick({"v", "q", "a4", "vec"});
      wide[at] = true;
      body += fmt::format("{} {} = reinterpret_cast<const {}*>({})[{}];\n", draft.local(vector.type), values[at],
                          vector.type, draft.in[at], i);
    }
    for (int c = 0; c < vector.width; ++c) {
      std::vector<std::string> own = values;
      for (std::size_t at = 0; at < own.size(); ++at)
        if (wide[at]) own[at] += fmt::format(".{}", "xyzw"[c]);
      std::string value = draft.element_of_values(p.pre, own).value;
      if (!phase.term.empty() && !p.pre.trivial()) {
        const std::string name = draft.names.pick({"e" + std::to_string(c), "x" + std::to_string(c)});
        body += fmt::format("{} {} = {};\n", draft.local(acc), name, value);
        value = name;
      }
      body += fold_step(draft, phase.fold, a, phase.term.empty() ? value : substitute(phase.term, value, "", n));
    }
  }
  return fill(draft, R"(
$int vectors = $n / $w;
for (int $i = $index; $i < vectors; $i += blockDim.x * gridDim.x) {
  $body
}
for (int $i = vectors * $w + $index; $i < $n; $i += blockDim.x * gridDim.x) {
  $tail
}
)",
              {{"n", n},
               {"w", std::to_string(vector.width)},
               {"i", i},
               {"index", draft.thread_index()},
               {"body", body},
               {"tail", fold_lines(draft, phase, i, n, a)}});
}

}  // namespace

std::string write_full_reduction(Draft& draft) {
  const Problem& p = draft.problem;
  const std::string n = p.operands.front().shape.front();
  RowPlan plan = row_plan(draft);
  const RowPhase& phase = plan.phases.front();
  const std::string i = draft.names.pick({"i", "idx", "k", "j"});
  const std::string partial = draft.names.pick({"partial", "partials", "scratch", "temp", "block_results"});
  const std::string parts = draft.names.pick({"parts", "num_parts", "pieces"});
  const std::string first_kernel = draft.names.pick({"reduce_partial", "partial_kernel", "first_pass", "stage1"});
  const std::string last_kernel = draft.names.pick({"reduce_final", "final_kernel", "second_pass", "stage2"});
  const bool naive = draft.level == Level::naive;
  const std::string block = naive ? "128" : draft.block_size({256, 256, 128});
  const std::string a = phase.accumulator;
  const auto folded = [&]() -> std::string {
    if (naive) return a;
    const std::string function = draft.level == Level::shared ? block_fold_tree(draft, phase.fold, block)
                                                              : block_fold_shuffles(draft, phase.fold);
    return function + "(" + a + ")";
  };
  std::string loop;
  if (draft.level == Level::vectorised && p.dtype != Dtype::float16 && p.dtype != Dtype::bfloat16) {
    loop = vector_loop(draft, phase, i, n);
  } else {
    const std::string step = naive ? parts : "blockDim.x * gridDim.x";
    const std::string from = naive ? "part" : draft.thread_index();
    loop =
        fill("for (int $i = $from; $i < $n; $i += $step) {\n  $fold\n}\n",
             Fields{{"i", i}, {"from", from}, {"n", n}, {"step", step}, {"fold", fold_lines(draft, phase, i, n, a)}});
  }
  const std::string pointer = draft.style.restrict_pointers ? "* __restrict__ " : "* ";
  const Fields fields{{"inputs", draft.input_parameters()},
                      {"first", first_kernel},
                      {"last", last_kernel},
                      {"ptr", pointer},
                      {"partial", partial},
                      {"parts", parts},
                      {"n", n},
                      {"a", a},
                      {"i", i},
                      {"init", start_line(draft, phase, a)},
                      {"loop", loop},
                      {"folded", folded()},
                      {"join", fold_step(draft, phase.fold, a, partial + "[" + i + "]")},
                      {"inc", draft.increment(i)},
                      {"derive", last_derived(draft, plan, folded(), n)},
                      {"index", draft.thread_index()},
                      {"store", store_lines(draft, plan, "0")},
                      {"type", std::string(cuda_type_of(p.output_dtype))}};
  const std::string body = naive ? fill(draft, R"(
// Every thread folds each parts-th element.
__global__ void $first($inputs, $acc$$ptr$$partial, int $n, int $parts) {
  $int part = $index;
  if (part >= $parts) return;
  $init
  $loop
  $partial[part] = $a;
}

// One thread folds what the others found.
__global__ void $last(const $acc$$ptr$$partial, $type$$ptr$$out, int $n, int $parts) {
  if (threadIdx.x != 0) return;
  $init
  for (int $i = 0; $i < $parts; $inc) {
    $join
  }
  $derive
  $store
}
)",
                                        fields)
                                 : fill(draft, R"(
// Every block folds a part of the input to one number.
__global__ void $first($inputs, $acc$$ptr$$partial, int $n) {
  $init
  $loop
  $a = $folded;
  if (threadIdx.x == 0) $partial[blockIdx.x] = $a;
}

// One block folds the parts.
__global__ void $last(const $acc$$ptr$$partial, $type$$ptr$$out, int $n, int $parts) {
  $init
  for (int $i = threadIdx.x; $i < $parts; $i += blockDim.x) {
    $join
  }
  $derive
  if (threadIdx.x == 0) {
    $store
  }
}
)",
                                        fields);
  const std::string most = naive ? "4096" : "264";
  const std::string launcher = fill(draft, R"(
extern "C" void launch($params) {
  int $parts = $wanted;
  if ($parts > $most) $parts = $most;
  $acc* $partial = nullptr;
  cudaMallocAsync(&$partial, $parts * sizeof($acc), stream);
  $first<<<$grid, $block, 0, stream>>>($args, $partial, $n$$extra);
  $last<<<1, $final, 0, stream>>>($partial, $result, $n, $parts);
  cudaFreeAsync($partial, stream);
}
)",
                                    {{"params", draft.launch_parameters()},
                                     {"parts", parts},
                                     {"wanted", naive ? n : draft.ceil_div(n, block)},
                                     {"most", most},
                                     {"partial", partial},
                                     {"first", first_kernel},
                                     {"last", last_kernel},
                                     {"grid", naive ? draft.ceil_div(parts, block) : parts},
                                     {"block", block},
                                     {"final", naive ? "1" : block},
                                     {"args", draft.input_arguments()},
                                     {"n", n},
                                     {"extra", naive ? ", " + parts : ""},
                                     {"result", p.output}});
  return draft.finish(body, launcher);
}

}  // namespace kw
