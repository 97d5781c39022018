// Running sums and maxima along rows.

#include <fmt/format.h>

#include "agents/grammar/row_phases.h"
#include "agents/grammar/writers.h"

namespace kw {

std::string write_scan(Draft& draft) {
  const Problem& p = draft.problem;
  const auto& shape = p.operands.front().shape;
  const std::string cols = shape.back();
  std::string rows_argument = shape[0];
  for (std::size_t i = 1; i + 1 < shape.size(); ++i) rows_argument += " * " + shape[i];
  const std::string rows = shape.size() == 2 ? shape[0] : draft.names.pick({"rows", "lines", "num_rows"});
  const std::string row = draft.names.pick({"row", "r", "line"}), col = draft.names.pick({"col", "c", "j"});
  const std::string base = draft.names.pick({"base", "offset_row", "row_start"});
  const bool exclusive = p.family == Family::exclusive_cumsum;
  const Fold fold = p.family == Family::cummax ? Fold::maximum : Fold::sum;
  const std::string start = fold_start(draft, fold);
  const std::string running = fold == Fold::sum ? draft.names.pick({"running", "sum", "acc", "total"})
                                                : draft.names.pick({"running", "best", "top", "mx"});
  const auto index = [&](const Operand& o) { return o.label == "row" ? col : base + " + " + col; };
  const auto value = draft.element(p.pre, index);
  const auto store = [&](const std::string& result) {
    const auto last = draft.element(p.post, index, result);
    return last.lines + fmt::format("{}[{} + {}] = {};\n", draft.out, base, col, draft.to_output(last.value));
  };
  Fields fields{{"row", row},
                {"rows", rows},
                {"col", col},
                {"cols", cols},
                {"base", base},
                {"start", start},
                {"running", running},
                {"lines", value.lines},
                {"value", value.value},
                {"index", draft.thread_index()},
                {"inc", draft.increment(col)}};
  if (draft.level == Level::naive) {
    const std::string block = draft.block_size({128, 64, 256});
    const std::string step = fold_step(draft, fold, running, value.value);
    fields.emplace_back("params", draft.parameters({rows, cols}));
    fields.emplace_back("step", exclusive ? store(running) + step : step + store(running));
    const std::string body = fill(draft, R"(
// One thread walks along one row.
__global__ void $kernel($params) {
  $int $row = $index;
  if ($row >= $rows) return;
  $int $base = $row * $cols;
  $acc $running = $start;
  for (int $col = 0; $col < $cols; $inc) {
    $lines
    $step
  }
}
)",
                                  fields);
    return draft.finish(body, draft.launch_over(rows_argument, block, {rows_argument, cols}));
  }
  const std::string v = draft.names.pick({"cur", "own", "v", "item"});
  const std::string result = draft.names.pick({"scanned", "prefix", "res", "upto"});
  const std::string chunk = draft.names.pick({"chunk", "first", "begin"});
  fields.emplace_back("v", v);
  fields.emplace_back("res", result);
  fields.emplace_back("chunk", chunk);
  fields.emplace_back("store", store(result));
  const std::string guarded_value = value.lines.empty()
                                        ? fmt::format("if ({} < {}) {} = {};\n", col, cols, v, value.value)
                                        : fill("if ($col < $cols) {\n  $lines\n  $v = $value;\n}\n", fields);
  fields.emplace_back("read", guarded_value);
  if (draft.level == Level::warp) {
    int threads = 0;
    const std::string block = draft.block_size({256, 128}, &threads);
    fields.emplace_back("params", draft.parameters({rows, cols}));
    fields.emplace_back("join", fold_step(draft, fold, v, "other"));
    fields.emplace_back("whole", fold_value(draft, fold, running, exclusive ? "before" : v));
    fields.emplace_back("next", fold_step(draft, fold, running, "__shfl_sync(0xffffffff, " + v + ", 31)"));
    fields.emplace_back(
        "shift", exclusive
                     ? fmt::format("{0} before = __shfl_up_sync(0xffffffff, {1}, 1);\nif (lane == 0) before = {2};\n",
                                   draft.accumulator(), v, start)
                     : "");
    const std::string body = fill(draft, R"(
// One warp for each row, 32 elements at a time; what came before is carried along.
__global__ void $kernel($params) {
  $int $row = ($index) / 32;
  $int lane = threadIdx.x % 32;
  if ($row >= $rows) return;
  $int $base = $row * $cols;
  $acc $running = $start;
  for (int $chunk = 0; $chunk < $cols; $chunk += 32) {
    $int $col = $chunk + lane;
    $acc $v = $start;
    $read
    for (int step = 1; step < 32; step *= 2) {
      $val other = __shfl_up_sync(0xffffffff, $v, step);
      if (lane >= step) {
        $join
      }
    }
    $shift
    $val $res = $whole;
    if ($col < $cols) {
      $store
    }
    $next
  }
}
)",
                                  fields);
    const std::string grid = draft.ceil_div(rows_argument, std::to_string(threads / 32));
    return draft.finish(body, draft.launch_grid(grid, block, {rows_argument, cols}));
  }
  const std::string block = draft.block_size({256, 128});
  const std::string buffer = draft.names.pick({"buf", "scan", "shared_scan", "part"});
  const std::string before = fmt::format("t > 0 ? {}[t - 1] : {}", buffer, start);
  fields.emplace_back("params", draft.parameters({cols}));
  fields.emplace_back("block", block);
  fields.emplace_back("buf", buffer);
  fields.emplace_back("join", fold_step(draft, fold, buffer + "[t]", "other"));
  fields.emplace_back("whole", fold_value(draft, fold, running, exclusive ? "(" + before + ")" : buffer + "[t]"));
  fields.emplace_back("next", fold_step(draft, fold, running, buffer + "[" + block + " - 1]"));
  const std::string body = fill(draft, R"(
// One block for each row: Hillis and Steele's scan of a chunk in shared memory, then the next chunk.
__global__ void $kernel($params) {
  __shared__ $acc $buf[$block];
  $int $row = blockIdx.x;
  $int t = threadIdx.x;
  $int $base = $row * $cols;
  $acc $running = $start;
  for (int $chunk = 0; $chunk < $cols; $chunk += $block) {
    $int $col = $chunk + t;
    $acc $v = $start;
    $read
    $buf[t] = $v;
    __syncthreads();
    for (int step = 1; step < $block; step *= 2) {
      $val other = t >= step ? $buf[t - step] : $start;
      __syncthreads();
      $join
      __syncthreads();
    }
    $val $res = $whole;
    if ($col < $cols) {
      $store
    }
    $next
    __syncthreads();
  }
}
)",
                                fields);
  return draft.finish(body, draft.launch_grid(rows_argument, block, {cols}));
}

}  // namespace kw
