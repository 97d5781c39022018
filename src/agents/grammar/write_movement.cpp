// Transposes, gathers, scatters.

#include <fmt/format.h>

#include <algorithm>

#include "agents/grammar/writers.h"

namespace kw {
namespace {

std::string product(const std::vector<std::string>& dims) {
  std::string text = dims[0];
  for (std::size_t i = 1; i < dims.size(); ++i) text += " * " + dims[i];
  return text;
}

// pre, then post, then the store.
std::string whole_element(Draft& draft, const Draft::IndexOf& in_index, const Draft::IndexOf& out_index,
                          const std::string& place) {
  const Problem& p = draft.problem;
  const auto value = draft.element(p.pre, in_index);
  std::string lines = value.lines, result = value.value;
  if (!p.post.trivial()) {
    if (p.post.uses_of(p.result_index()) > 1 || (!p.pre.trivial() && !draft.style.function_form)) {
      const std::string name = draft.names.pick({"e", "t0", "moved", "h0"});
      lines += fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), name, result);
      result = name;
    }
    const auto last = draft.element(p.post, out_index, result);
    lines += last.lines;
    result = last.value;
  }
  return lines + fmt::format("{}[{}] = {};\n", draft.out, place, draft.to_output(result));
}

}  // namespace

std::string write_transpose(Draft& draft) {
  const Problem& p = draft.problem;
  const auto& shape = p.operands.front().shape;
  const bool batched = shape.size() == 3;
  const std::string rows = shape[shape.size() - 2], cols = shape.back();
  const std::string row = draft.names.pick({"row", "r"}), col = draft.names.pick({"col", "c"});
  const std::string base = batched ? draft.names.pick({"base", "offset", "plane"}) : "";
  const std::string add = batched ? base + " + " : "";
  const std::vector<std::string> sizes = size_order(p);
  std::string base_line;
  if (batched) {
    base_line =
        draft.level == Level::naive
            ? fmt::format("{} {} = {} / ({} * {}) * {} * {};\n", draft.local("int"), base, "i", rows, cols, rows, cols)
            : fmt::format("{} {} = blockIdx.z * {} * {};\n", draft.local("int"), base, rows, cols);
  }
  const auto in_index = [&](const Operand&) { return fmt::format("{}{} * {} + {}", add, row, cols, col); };
  const auto out_index = [&](const Operand& o) {
    return o.label == "row" ? row : fmt::format("{}{} * {} + {}", add, col, rows, row);
  };
  if (draft.level == Level::naive) {
    const std::string block = draft.block_size({256, 256, 128});
    const std::string body =
        fill(draft, R"(
// One thread for each element of the output.
__global__ void $kernel($params) {
  $int i = $index;
  if (i >= $total) return;
  $int $row = i % $rows;
  $int $col = $split;
  $base
  $lines
}
)",
             {{"params", draft.parameters(sizes)},
              {"index", draft.thread_index()},
              {"total", product(shape)},
              {"row", row},
              {"rows", rows},
              {"col", col},
              {"split", batched ? "i / " + rows + " % " + cols : "i / " + rows},
              {"base", base_line},
              {"lines", whole_element(draft, in_index, out_index, out_index(p.operands.front()))}});
    return draft.finish(body, draft.launch_over(product(shape), block, sizes));
  }
  const int height = draft.level == Level::shared ? 32 : 8;
  const std::string tile = draft.names.pick({"tile", "block_tile", "buf", "staging"});
  const std::string out_row = draft.names.pick({"out_row", "tr", "r2"}),
                    out_col = draft.names.pick({"out_col", "tc", "c2"});
  const auto value = draft.element(p.pre, in_index);
  // After the exchange a thread holds the element (row, col) = (out_col, out_row) of the input.
  const auto after = draft.element(
      p.post,
      [&](const Operand& o) {
        return o.label == "row" ? out_col : fmt::format("{}{} * {} + {}", add, out_row, rows, out_col);
      },
      height == 32 ? tile + "[threadIdx.x][threadIdx.y]" : tile + "[threadIdx.x][threadIdx.y + j]");
  const Fields fields{{"params", draft.parameters(sizes)},
                      {"tile", tile},
                      {"row", row},
                      {"col", col},
                      {"rows", rows},
                      {"cols", cols},
                      {"base", base_line},
                      {"lines", value.lines},
                      {"value", value.value},
                      {"trow", out_row},
                      {"tcol", out_col},
                      {"after", after.lines},
                      {"result", draft.to_output(after.value)},
                      {"at", fmt::format("{}{} * {} + {}", add, out_row, rows, out_col)}};
  const std::string body = height == 32 ? fill(draft, R"(
// A tile goes through shared memory, so that loads and stores are both coalesced.
__global__ void $kernel($params) {
  __shared__ $acc $tile[32][33];  // one column more, against bank conflicts
  $base
  $int $row = blockIdx.y * 32 + threadIdx.y;
  $int $col = blockIdx.x * 32 + threadIdx.x;
  if ($row < $rows && $col < $cols) {
    $lines
    $tile[threadIdx.y][threadIdx.x] = $value;
  }
  __syncthreads();
  $int $trow = blockIdx.x * 32 + threadIdx.y;
  $int $tcol = blockIdx.y * 32 + threadIdx.x;
  if ($trow < $cols && $tcol < $rows) {
    $after
    $out[$at] = $result;
  }
}
)",
                                               fields)
                                        : fill(draft, R"(
// 32 x 32 tiles through shared memory, four elements a thread.
__global__ void $kernel($params) {
  __shared__ $acc $tile[32][33];
  $base
  $int $col = blockIdx.x * 32 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 32; j += 8) {
    $int $row = blockIdx.y * 32 + threadIdx.y + j;
    if ($row < $rows && $col < $cols) {
      $lines
      $tile[threadIdx.y + j][threadIdx.x] = $value;
    }
  }
  __syncthreads();
  $int $tcol = blockIdx.y * 32 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 32; j += 8) {
    $int $trow = blockIdx.x * 32 + threadIdx.y + j;
    if ($trow < $cols && $tcol < $rows) {
      $after
      $out[$at] = $result;
    }
  }
}
)",
                                               fields);
  std::string grid = "dim3(" + draft.ceil_div(cols, "32") + ", " + draft.ceil_div(rows, "32");
  grid += batched ? ", " + shape[0] + ")" : ")";
  return draft.finish(body, draft.launch_grid(grid, fmt::format("dim3(32, {})", height), sizes));
}

namespace {

// One row of the result by accesses of several elements: row `from` of the first operand, and the epilogue's operands.
std::string gathered_vectors(Draft& draft, const VectorType& vector, const std::string& row, const std::string& col,
                             const std::string& from) {
  const Problem& p = draft.problem;
  const std::string& cols = p.operands[0].shape[1];
  const bool half = vector.type.rfind("__", 0) == 0;
  const std::string unpack = p.dtype == Dtype::float16 ? "__half22float2" : "__bfloat1622float2";
  const std::string pack = p.dtype == Dtype::float16 ? "__floats2half2_rn" : "__floats2bfloat162_rn";
  std::string vec;
  std::vector<std::string> values(p.operands.size() + 1);
  std::vector<bool> wide(values.size());
  const auto read = [&](std::size_t at, const std::string& pointer, const std::string& name) {
    const std::string text = fmt::format("reinterpret_cast<const {}*>({})[{}]", vector.type, pointer, col);
    vec += half ? fmt::format("{} {} = {}({});\n", draft.local("float2"), name, unpack, text)
                : fmt::format("{} {} = {};\n", draft.local(vector.type), name, text);
    values[at] = name;
    wide[at] = true;
  };
  read(values.size() - 1, fmt::format("{} + {} * {}", draft.in[0], from, cols),
       draft.names.pick({"v", "picked", "a4"}));
  for (int o : draft.operands_of(p.post)) {
    const auto at = static_cast<std::size_t>(o);
    if (o == p.result_index()) continue;
    if (p.operands[at].is_scalar()) {
      values[at] = draft.in[at];
      continue;
    }
    read(at, p.operands[at].label == "row" ? draft.in[at] : fmt::format("{} + {} * {}", draft.in[at], row, cols),
         draft.names.pick({"b4", "q", "w4"}));
  }
  std::vector<std::string> results;
  for (int c = 0; c < vector.width; ++c) {
    std::vector<std::string> own = values;
    for (std::size_t at = 0; at < own.size(); ++at)
      if (wide[at]) own[at] += fmt::format(".{}", "xyzw"[c]);
    results.push_back(p.post.trivial() ? own.back() : draft.element_of_values(p.post, own).value);
  }
  std::string packed;
  for (const std::string& each : results) packed += (packed.empty() ? "" : ", ") + each;
  packed = (half ? pack : "make_" + vector.type) + "(" + packed + ")";
  vec += fmt::format("reinterpret_cast<{}*>({} + {} * {})[{}] = {};\n", vector.type, draft.out, row, cols, col, packed);
  return vec;
}

}  // namespace

std::string write_gather(Draft& draft) {
  const Problem& p = draft.problem;
  const bool along = p.family == Family::take_along, scatter = p.family == Family::scatter_add;
  const std::string rows = p.operands[0].shape[0], cols = p.operands[0].shape[1];
  const std::string picks = p.operands[1].shape.back();
  const std::string index = draft.in[1];
  const std::vector<std::string> sizes = size_order(p);
  const std::string row = draft.names.pick({"row", "r", "line"}), col = draft.names.pick({"col", "c", "j"});
  const std::string from = draft.names.pick({"source", "target_row", "k", "which"});
  const std::string height = along ? rows : picks, width = along ? picks : cols;
  const bool flat = draft.level == Level::naive || draft.level == Level::unrolled;
  const std::string block = flat ? draft.block_size({256, 128}) : draft.block_size({128, 128, 64});
  const std::string place = fmt::format("{} * {} + {}", row, width, col);
  const auto lines = [&] {
    if (scatter) {
      const auto code = draft.element(p.pre, [&](const Operand&) { return place; });
      return code.lines + fmt::format("atomicAdd(&{}[{} * {} + {}], {});\n", draft.out, from, cols, col, code.value);
    }
    const auto in_index = [&](const Operand&) {
      return along ? fmt::format("{} * {} + {}", row, cols, from) : fmt::format("{} * {} + {}", from, cols, col);
    };
    return whole_element(draft, in_index, [&](const Operand& o) { return o.label == "row" ? col : place; }, place);
  };
  const std::string from_line = fmt::format("{} {} = {}[{}];\n", draft.local("int"), from, index, along ? place : row);
  const std::string i = draft.names.pick({"i", "idx", "tid", "index_flat"});
  std::string body;
  Fields fields{{"params", draft.parameters(sizes)},
                {"i", i},
                {"index", draft.thread_index()},
                {"total", height + " * " + width},
                {"row", row},
                {"col", col},
                {"width", width},
                {"from", from_line},
                {"before", along ? "" : from_line},
                {"inside", along ? from_line : ""}};
  std::string launcher;
  if (draft.level == Level::naive) {
    fields.emplace_back("lines", lines());
    body = fill(draft, R"(
// One thread for each element.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $total) return;
  $int $row = $i / $width;
  $int $col = $i % $width;
  $from
  $lines
}
)",
                fields);
    launcher = draft.launch_over(height + " * " + width, block, sizes);
  } else if (draft.level == Level::unrolled) {
    const std::string u = draft.names.pick({"u", "k", "step"});
    fields.emplace_back("lines", lines());
    fields.emplace_back("u", u);
    fields.emplace_back("inc", draft.increment(u));
    fields.emplace_back("first", draft.names.pick({"first", "base", "start"}));
    body = fill(draft, R"(
// Four elements a thread, one block width apart: their indices and then their values are fetched together.
__global__ void $kernel($params) {
  $int $first = blockIdx.x * blockDim.x * 4 + threadIdx.x;
#pragma unroll
  for (int $u = 0; $u < 4; $inc) {
    $int $i = $first + $u * blockDim.x;
    if ($i < $total) {
      $int $row = $i / $width;
      $int $col = $i % $width;
      $from
      $lines
    }
  }
}
)",
                fields);
    const std::string setup = fmt::format("{} per_block = {} * 4;\n", draft.local("int"), block);
    launcher = draft.launch_grid(draft.ceil_div(height + " * " + width, "per_block"), block, sizes, setup);
  } else if (draft.level == Level::coalesced) {
    fields.emplace_back("lines", lines());
    body = fill(draft, R"(
// One block for each row; the index is read once.
__global__ void $kernel($params) {
  $int $row = blockIdx.x;
  $before
  for (int $col = threadIdx.x; $col < $width; $col += blockDim.x) {
    $inside
    $lines
  }
}
)",
                fields);
    launcher = draft.launch_grid(height, block, sizes);
  } else {
    const VectorType vector = vector_type(draft);
    draft.style.function_form = true;
    fields.emplace_back("vec", gathered_vectors(draft, vector, row, col, from));
    fields.emplace_back("n", std::to_string(vector.width));
    fields.emplace_back("lines", lines());
    body = fill(draft, R"(
// One block for each row, $n elements an access where the row's length allows it.
__global__ void $kernel($params) {
  $int $row = blockIdx.x;
  $before
  if ($width % $n == 0) {
    for (int $col = threadIdx.x; $col < $width / $n; $col += blockDim.x) {
      $vec
    }
  } else {
    for (int $col = threadIdx.x; $col < $width; $col += blockDim.x) {
      $lines
    }
  }
}
)",
                fields);
    launcher = draft.launch_grid(height, block, sizes);
  }
  if (scatter) {
    // The base goes to the output first.
    const std::string copy =
        fmt::format("cudaMemcpyAsync({}, {}, sizeof({}) * {} * {}, cudaMemcpyDeviceToDevice, stream);\n", p.output,
                    p.operands[0].name, cuda_type_of(p.dtype), rows, cols);
    launcher.insert(launcher.find("{\n") + 2, "  " + copy);
  }
  return draft.finish(body, launcher);
}

}  // namespace kw
