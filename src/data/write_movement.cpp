// Transposes, permutes, gathers, scatters.

#include <fmt/format.h>

#include <algorithm>

#include "data/writers.h"

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
  const std::string row = draft.names.pick({"row", "r", "yy"}), col = draft.names.pick({"col", "c", "xx"});
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

std::string write_permute(Draft& draft) {
  const Problem& p = draft.problem;
  const auto& shape = p.operands.front().shape;
  const std::size_t rank = shape.size();
  const std::vector<std::string> sizes = size_order(p);
  std::vector<std::string> at;  // index along each axis of the input
  const std::string prefix = pick_one(draft.random, {"i", "k", "at", "pos"});
  for (std::size_t i = 0; i < rank; ++i) at.push_back(prefix + std::to_string(i));
  const auto flat = [](const std::vector<std::string>& names, const std::vector<std::string>& dims) {
    std::string text = names[0];
    for (std::size_t i = 1; i < names.size(); ++i)
      text = (i == 1 ? text : "(" + text + ")") + " * " + dims[i] + " + " + names[i];
    return text;
  };
  const std::string source = flat(at, shape);
  std::vector<std::string> out_names;
  for (int axis : p.permutation) out_names.push_back(at[static_cast<std::size_t>(axis)]);
  const std::string i = draft.names.pick({"i", "idx", "tid", "index"});
  const std::string in_at = draft.names.pick({"from", "src_index", "in_at"});
  const std::string block = draft.block_size({128, 256, 256});
  const auto lines = [&](const std::string& place) {
    return fmt::format("{} {} = {};\n", draft.local("int"), in_at, source) +
           whole_element(draft, [&](const Operand&) { return in_at; }, [&](const Operand&) { return place; }, place);
  };
  if (draft.level == Level::naive) {
    // The output's index taken apart, innermost axis first.
    const std::string rest = draft.names.pick({"rest", "rem", "left"});
    std::string split = fmt::format("int {} = {};\n", rest, i);
    for (std::size_t k = rank; k-- > 0;) {
      const std::string& name = out_names[k];
      const std::string& dim = p.output_shape[k];
      if (k == 0) {
        split += fmt::format("{} {} = {};\n", draft.local("int"), name, rest);
      } else {
        split += fmt::format("{} {} = {} % {};\n{} /= {};\n", draft.local("int"), name, rest, dim, rest, dim);
      }
    }
    const std::string body = fill(draft, R"(
// One thread for each element of the output, which finds its place in the input.
__global__ void $kernel($params) {
  $int $i = $index;
  if ($i >= $total) return;
  $split
  $lines
}
)",
                                  {{"params", draft.parameters(sizes)},
                                   {"i", i},
                                   {"index", draft.thread_index()},
                                   {"total", product(shape)},
                                   {"split", split},
                                   {"lines", lines(i)}});
    return draft.finish(body, draft.launch_over(product(shape), block, sizes));
  }
  // A block for each line of the output's last axis: one division a block instead of several an element.
  std::string split = fmt::format("int line = blockIdx.x;\n");
  for (std::size_t k = rank - 1; k-- > 0;) {
    if (k == 0) {
      split += fmt::format("{} {} = line;\n", draft.local("int"), out_names[k]);
    } else {
      split += fmt::format("{} {} = line % {};\nline /= {};\n", draft.local("int"), out_names[k], p.output_shape[k],
                           p.output_shape[k]);
    }
  }
  const std::string last = out_names.back(), width = p.output_shape.back();
  const std::string place = fmt::format("blockIdx.x * {} + {}", width, last);
  const std::string body = fill(draft, R"(
// One block for each line of the output, its threads side by side.
__global__ void $kernel($params) {
  $split
  for (int $last = threadIdx.x; $last < $width; $last += blockDim.x) {
    $lines
  }
}
)",
                                {{"params", draft.parameters(sizes)},
                                 {"split", split},
                                 {"last", last},
                                 {"width", width},
                                 {"lines", lines(place)}});
  std::vector<std::string> outer(p.output_shape.begin(), p.output_shape.end() - 1);
  return draft.finish(body, draft.launch_grid(product(outer), draft.random.uniform() < 0.5 ? "64" : "128", sizes));
}

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
  const std::string block =
      draft.level == Level::naive ? draft.block_size({128, 256}) : draft.block_size({64, 128, 128});
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
    const std::string w = std::to_string(vector.width);
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
    vec +=
        fmt::format("reinterpret_cast<{}*>({} + {} * {})[{}] = {};\n", vector.type, draft.out, row, cols, col, packed);
    fields.emplace_back("vec", vec);
    fields.emplace_back("n", w);
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
