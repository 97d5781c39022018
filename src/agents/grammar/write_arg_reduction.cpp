// The place of the largest or smallest element of every row.

#include <fmt/format.h>

#include "agents/grammar/row_phases.h"
#include "agents/grammar/writers.h"

namespace kw {

std::string write_arg_reduction(Draft& draft) {
  const Problem& p = draft.problem;
  const std::string rows = p.operands.front().shape[0], cols = p.operands.front().shape[1];
  const std::string row = draft.names.pick({"row", "r", "line"}), col = draft.names.pick({"col", "c", "j"});
  const std::string best = draft.names.pick({"best", "top", "best_value", "extreme"});
  const std::string where = draft.names.pick({"where", "best_index", "arg", "pos"});
  const std::string sign = p.largest ? ">" : "<";
  const std::string start = fold_start(draft, p.largest ? Fold::maximum : Fold::minimum);
  const auto look = [&] {
    Names::Scope scope(draft.names);
    Draft::Element code = draft.element(p.pre, [&](const Operand&) { return row + " * " + cols + " + " + col; });
    const std::string v = draft.names.pick({"v", "value", "xv", "cur"});
    return code.lines + fmt::format("{} {} = {};\nif ({} {} {}) {{\n  {} = {};\n  {} = {};\n}}\n", draft.local("float"),
                                    v, code.value, v, sign, best, best, v, where, col);
  }();
  Fields fields{{"params", draft.parameters({rows, cols})},
                {"row", row},
                {"rows", rows},
                {"col", col},
                {"cols", cols},
                {"best", best},
                {"where", where},
                {"start", start},
                {"sign", sign},
                {"rival", draft.names.pick({"rival", "theirs", "candidate"})},
                {"place", draft.names.pick({"rival_index", "their_index", "candidate_index"})},
                {"look", look},
                {"index", draft.thread_index()},
                {"inc", draft.increment(col)}};
  if (draft.level == Level::naive) {
    const std::string block = draft.block_size({128, 64, 256});
    const std::string body = fill(draft, R"(
// One thread searches one row; the first of equal values wins.
__global__ void $kernel($params) {
  $int $row = $index;
  if ($row >= $rows) return;
  float $best = $start;
  int $where = 0;
  for (int $col = 0; $col < $cols; $inc) {
    $look
  }
  $out[$row] = $where;
}
)",
                                  fields);
    return draft.finish(body, draft.launch_over(rows, block, {rows, cols}));
  }
  if (draft.level == Level::warp) {
    int threads = 0;
    const std::string block = draft.block_size({256, 128}, &threads);
    const std::string body = fill(draft, R"(
// One warp searches one row; lanes compare by shuffles, the lower index wins a tie.
__global__ void $kernel($params) {
  $int $row = ($index) / 32;
  $int lane = threadIdx.x % 32;
  if ($row >= $rows) return;
  float $best = $start;
  int $where = lane < $cols ? lane : 0;
  for (int $col = lane; $col < $cols; $col += 32) {
    $look
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float $rival = __shfl_xor_sync(0xffffffff, $best, offset);
    const int $place = __shfl_xor_sync(0xffffffff, $where, offset);
    if ($rival $sign $best || ($rival == $best && $place < $where)) {
      $best = $rival;
      $where = $place;
    }
  }
  if (lane == 0) $out[$row] = $where;
}
)",
                                  fields);
    return draft.finish(body,
                        draft.launch_grid(draft.ceil_div(rows, std::to_string(threads / 32)), block, {rows, cols}));
  }
  const std::string block = draft.block_size({256, 128});
  fields.emplace_back("block", block);
  fields.emplace_back("half", half_of(block));
  const std::string body = fill(draft, R"(
// One block searches one row and halves the candidates in shared memory.
__global__ void $kernel($params) {
  __shared__ float values[$block];
  __shared__ int places[$block];
  $int $row = blockIdx.x;
  $int t = threadIdx.x;
  float $best = $start;
  int $where = t < $cols ? t : 0;
  for (int $col = t; $col < $cols; $col += blockDim.x) {
    $look
  }
  values[t] = $best;
  places[t] = $where;
  __syncthreads();
  for (int half = $half; half > 0; half /= 2) {
    if (t < half) {
      const float $rival = values[t + half];
      if ($rival $sign values[t] || ($rival == values[t] && places[t + half] < places[t])) {
        values[t] = $rival;
        places[t] = places[t + half];
      }
    }
    __syncthreads();
  }
  if (t == 0) $out[$row] = places[0];
}
)",
                                fields);
  return draft.finish(body, draft.launch_grid(rows, block, {rows, cols}));
}

}  // namespace kw
