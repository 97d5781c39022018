#include <fmt/format.h>

#include "agents/grammar/writers.h"

namespace kw {
namespace {

// Guarded lines: `if (i >= n) return;` in front, or all of it in an if.
std::string guarded(const Draft& draft, const std::string& index, const std::string& count, const std::string& lines) {
  if (draft.style.early_return) return fmt::format("if ({} >= {}) return;\n{}", index, count, lines);
  return fill("if ($i < $n) {\n  $lines\n}\n", Fields{{"i", index}, {"n", count}, {"lines", lines}});
}

std::string element_lines(Draft& draft, const std::string& index) {
  const auto code = draft.element(draft.problem.pre, [&](const Operand&) { return index; });
  return code.lines + fmt::format("{}[{}] = {};\n", draft.out, index, draft.to_output(code.value));
}

// The number of elements: as the kernel's parameter, and as the launcher's argument.
struct Count {
  std::string parameter;
  std::string argument;
};

Count count_of(Draft& draft) {
  const auto& dims = draft.problem.output_shape;
  if (dims.size() == 1) return {dims[0], dims[0]};
  std::string product = dims[0];
  for (std::size_t i = 1; i < dims.size(); ++i) product += " * " + dims[i];
  return {draft.names.pick({"n", "count", "total", "numel", "size"}), product};
}

}  // namespace

VectorType vector_type(Draft& draft) {
  switch (draft.problem.dtype) {
    case Dtype::float16:
      return {"__half2", 2};
    case Dtype::bfloat16:
      return {"__nv_bfloat162", 2};
    case Dtype::int32:
      return {"int4", 4};
    default:
      if (draft.random.uniform() < 0.15) return {"float2", 2};
      return {"float4", 4};
  }
}

std::string vector_lines(Draft& draft, const VectorType& vector, const std::string& index,
                         const std::function<std::string(const Operand&)>& vector_index,
                         const std::function<std::string(const Operand&)>& value_of) {
  const Problem& p = draft.problem;
  const bool half = p.dtype == Dtype::float16 || p.dtype == Dtype::bfloat16;
  const std::string unpack = p.dtype == Dtype::float16 ? "__half22float2" : "__bfloat1622float2";
  const std::string pack = p.dtype == Dtype::float16 ? "__floats2half2_rn" : "__floats2bfloat162_rn";
  std::vector<std::string> values(p.operands.size() + 1);
  std::vector<bool> is_vector(p.operands.size() + 1);
  std::string lines;
  for (int i : draft.operands_of(p.pre)) {
    const Operand& operand = p.operands[static_cast<std::size_t>(i)];
    const std::string at = operand.is_scalar() ? "" : vector_index(operand);
    if (at.empty()) {
      values[static_cast<std::size_t>(i)] =
          operand.is_scalar() ? draft.in[static_cast<std::size_t>(i)] : value_of(operand);
      continue;
    }
    const std::string name = draft.names.pick({"v", "a4", "vec", "p", "b4", "q", "c4"});
    const std::string read =
        fmt::format("reinterpret_cast<const {}*>({})[{}]", vector.type, draft.in[static_cast<std::size_t>(i)], at);
    lines += half ? fmt::format("{} {} = {}({});\n", draft.local("float2"), name, unpack, read)
                  : fmt::format("{} {} = {};\n", draft.local(vector.type), name, read);
    values[static_cast<std::size_t>(i)] = name;
    is_vector[static_cast<std::size_t>(i)] = true;
  }
  const bool before = draft.style.function_form;
  draft.style.function_form = true;
  const std::string result = draft.names.pick({"r", "o", "res", "out4"});
  if (!half) lines += vector.type + " " + result + ";\n";
  std::vector<std::string> parts;
  for (int component = 0; component < vector.width; ++component) {
    std::vector<std::string> own = values;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (is_vector[i]) own[i] += fmt::format(".{}", "xyzw"[component]);
    const std::string value = draft.element_of_values(p.pre, own).value;
    if (half) {
      parts.push_back(draft.named_if_long(value, "r" + std::to_string(component), lines));
    } else {
      lines += fmt::format("{}.{} = {};\n", result, "xyzw"[component], value);
    }
  }
  draft.style.function_form = before;
  const std::string packed = half ? fmt::format("{}({}, {})", pack, parts[0], parts[1]) : result;
  return lines + fmt::format("reinterpret_cast<{}*>({})[{}] = {};\n", vector.type, draft.out, index, packed);
}

std::string write_elementwise(Draft& draft) {
  const Count count = count_of(draft);
  const std::string i = draft.names.pick({"i", "idx", "index", "tid", "gid"});
  const std::string block = draft.block_size({256, 256, 256, 128, 512});
  const std::string params = draft.parameters({count.parameter});
  const Fields fields{{"i", i}, {"n", count.parameter}, {"params", params}, {"index", draft.thread_index()}};
  const auto with = [&](Fields more) {
    more.insert(more.end(), fields.begin(), fields.end());
    return more;
  };
  if (draft.level == Level::naive) {
    const std::string body = fill(draft, R"(
// One thread for each element.
__global__ void $kernel($params) {
  $int $i = $index;
  $lines
}
)",
                                  with({{"lines", guarded(draft, i, count.parameter, element_lines(draft, i))}}));
    return draft.finish(body, draft.launch_over(count.argument, block, {count.argument}));
  }
  if (draft.level == Level::coalesced) {
    const std::string body = fill(draft, R"(
// Grid-stride loop: neighbouring threads take neighbouring elements.
__global__ void $kernel($params) {
  for (int $i = $index; $i < $n; $i += blockDim.x * gridDim.x) {
    $lines
  }
}
)",
                                  with({{"lines", element_lines(draft, i)}}));
    if (draft.random.uniform() < 0.6)
      return draft.finish(body, draft.launch_over(count.argument, block, {count.argument}));
    // Three blocks for each of 132 multiprocessors, and so few threads that the loop goes round at sizes that the judge
    // can compare.
    const std::string limit = draft.problem.operands.size() < 3 ? "396" : "198";
    const std::string setup = fmt::format("int blocks = {0};\nif (blocks > {1}) blocks = {1};\n",
                                          draft.ceil_div(count.argument, block), limit);
    return draft.finish(body, draft.launch_grid("blocks", block, {count.argument}, setup));
  }
  if (draft.level == Level::unrolled) {
    const int factor = draft.random.uniform() < 0.7 ? 4 : 2;
    const std::string base = draft.names.pick({"base", "first", "start"});
    const std::string k = draft.names.pick({"k", "u", "j", "step"});
    const std::string body = fill(draft, R"(
// $factor elements a thread, one block width apart, so that their loads are in flight together.
__global__ void $kernel($params) {
  $int $base = blockIdx.x * blockDim.x * $factor + threadIdx.x;
#pragma unroll
  for (int $k = 0; $k < $factor; $inc) {
    $int $i = $base + $k * blockDim.x;
    if ($i < $n) {
      $lines
    }
  }
}
)",
                                  with({{"lines", element_lines(draft, i)},
                                        {"base", base},
                                        {"k", k},
                                        {"inc", draft.increment(k)},
                                        {"factor", std::to_string(factor)}}));
    const std::string setup = fmt::format("{} per_block = {} * {};\n", draft.local("int"), block, factor);
    return draft.finish(body,
                        draft.launch_grid(draft.ceil_div(count.argument, "per_block"), block, {count.argument}, setup));
  }
  const VectorType vector = vector_type(draft);
  const std::string width = std::to_string(vector.width);
  const std::string lines =
      vector_lines(draft, vector, i, [&](const Operand&) { return i; }, [](const Operand&) { return std::string(); });
  const std::string tail = draft.names.pick({"tail", "rest", "last", "j"});
  draft.style.function_form = true;
  const std::string body =
      fill(draft, R"(
// $width elements an access; the first threads also do what is left over.
__global__ void $kernel($params) {
  $int $i = $index;
  $int vectors = $n / $width;
  if ($i < vectors) {
    $lines
  }
  $int $tail = vectors * $width + $i;
  if ($tail < $n) {
    $tail_lines
  }
}
)",
           with({{"lines", lines}, {"tail", tail}, {"tail_lines", element_lines(draft, tail)}, {"width", width}}));
  const std::string threads_needed = draft.style.ceil_div_form == 0
                                         ? fmt::format("({} + {}) / {}", count.argument, vector.width - 1, width)
                                         : draft.ceil_div(count.argument, width);
  const std::string setup = fmt::format("{} work = {};\n", draft.local("int"), threads_needed);
  return draft.finish(body, draft.launch_over("work", block, {count.argument}, setup));
}

namespace {

// One thread for each element; the indices of narrow operands are divided out of its number.
std::string write_flat_broadcast(Draft& draft, const std::string& block) {
  const Problem& p = draft.problem;
  const auto& dims = p.output_shape;
  const bool planes = dims.size() == 3;
  const std::string width = dims.back();
  const std::vector<std::string> sizes = size_order(p);
  const std::string i = draft.names.pick({"i", "idx", "index", "tid"});
  const std::string row = planes ? "" : draft.names.pick({"row", "r", "y_index"});
  const std::string col = draft.names.pick(planes ? std::initializer_list<std::string_view>{"c", "channel", "ch"}
                                                  : std::initializer_list<std::string_view>{"col", "c", "column"});
  std::string setup;
  const auto needs = [&](const char* label) {
    return std::any_of(p.operands.begin(), p.operands.end(), [&](const Operand& o) { return o.label == label; });
  };
  if (planes && needs("channel"))
    setup += fmt::format("{} {} = {} / {} % {};\n", draft.local("int"), col, i, width, dims[1]);
  if (!planes && needs("column")) setup += fmt::format("{} {} = {} / {};\n", draft.local("int"), row, i, width);
  if (!planes && needs("row")) setup += fmt::format("{} {} = {} % {};\n", draft.local("int"), col, i, width);
  const auto code = draft.element(p.pre, [&](const Operand& o) {
    if (o.label == "full") return i;
    if (o.label == "column") return row;
    if (o.label == "last") return i + " % " + width;
    return col;
  });
  const std::string lines =
      setup + code.lines + fmt::format("{}[{}] = {};\n", draft.out, i, draft.to_output(code.value));
  std::string total = dims[0];
  for (std::size_t d = 1; d < dims.size(); ++d) total += " * " + dims[d];
  const std::string body = fill(draft, R"(
// One thread for each element of the output.
__global__ void $kernel($params) {
  $int $i = $index;
  $lines
}
)",
                                {{"i", i},
                                 {"params", draft.parameters(sizes)},
                                 {"index", draft.thread_index()},
                                 {"lines", guarded(draft, i, total, lines)}});
  const std::string n = draft.names.pick({"total", "count"});
  const std::string setup_line = fmt::format("{} {} = {};\n", draft.local("int"), n, total);
  return draft.finish(body, draft.launch_over(n, block, sizes, setup_line));
}

}  // namespace

std::string write_broadcast(Draft& draft) {
  const Problem& p = draft.problem;
  const auto& dims = p.output_shape;
  const bool planes = dims.size() == 3;
  const std::string width = dims.back();
  const std::string block = draft.block_size({256, 256, 128});
  const std::vector<std::string> sizes = size_order(p);
  if (draft.level == Level::naive) return write_flat_broadcast(draft, block);
  // One block row for each row (or plane of a channel), so that nothing is divided.
  const std::string row = draft.names.pick(planes ? std::initializer_list<std::string_view>{"plane", "p", "image"}
                                                  : std::initializer_list<std::string_view>{"row", "r"});
  const std::string col = draft.names.pick({"col", "c", "j", "x_index"});
  const std::string narrow = planes ? row + " % " + dims[1] : row;
  std::string before;
  std::vector<std::pair<const Operand*, std::string>> fixed;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const Operand& o = p.operands[k];
    if (o.label != "column" && o.label != "channel") continue;
    const std::string name = draft.names.pick({"s", "bv", "k", "w0", "m0", "g0", "h0"});
    before +=
        fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), name, draft.load(static_cast<int>(k), narrow));
    fixed.emplace_back(&o, name);
  }
  const auto value_of = [&](const Operand& o) {
    for (const auto& [operand, name] : fixed)
      if (operand == &o) return name;
    return std::string();
  };
  const auto lines_at = [&](const std::string& full, const std::string& narrow_index) {
    std::vector<std::string> values(p.operands.size() + 1);
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
      const Operand& o = p.operands[k];
      values[k] = value_of(o);
      if (values[k].empty()) values[k] = draft.load(static_cast<int>(k), o.label == "full" ? full : narrow_index);
    }
    std::string lines;
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
      if (p.pre.uses_of(static_cast<int>(k)) < 2 || values[k].find('[') == std::string::npos) continue;
      const std::string name = draft.value_name(p.operands[k]);
      lines += fmt::format("{} {} = {};\n", draft.local(draft.accumulator()), name, values[k]);
      values[k] = name;
    }
    const auto code = draft.element_of_values(p.pre, values);
    return lines + code.lines + fmt::format("{}[{}] = {};\n", draft.out, full, draft.to_output(code.value));
  };
  const std::string rows = planes ? dims[0] + " * " + dims[1] : dims[0];
  if (draft.level == Level::coalesced) {
    const std::string at = draft.names.pick({"at", "i", "offset", "idx"});
    const std::string lines = lines_at(at, col);
    const std::string body = fill(draft, R"(
// A row of blocks for each row of the output.
__global__ void $kernel($params) {
  $int $col = $index;
  $int $row = blockIdx.y;
  if ($col >= $width) return;
  $before
  $int $at = $row * $width + $col;
  $lines
}
)",
                                  {{"col", col},
                                   {"row", row},
                                   {"at", at},
                                   {"width", width},
                                   {"params", draft.parameters(sizes)},
                                   {"index", draft.thread_index()},
                                   {"before", before},
                                   {"lines", lines}});
    return draft.finish(body,
                        draft.launch_grid("dim3(" + draft.ceil_div(width, block) + ", " + rows + ")", block, sizes));
  }
  const VectorType vector = vector_type(draft);
  const std::string w = std::to_string(vector.width);
  const std::string base = draft.names.pick({"base", "start", "row_start"});
  const std::string at = draft.names.pick({"i", "at", "idx"});
  const std::string lines = vector_lines(
      draft, vector, fmt::format("{} / {} + {}", base, w, col),
      [&](const Operand& o) {
        if (!value_of(o).empty()) return std::string();
        return o.label == "full" ? fmt::format("{} / {} + {}", base, w, col) : col;
      },
      value_of);
  draft.style.function_form = true;
  const std::string body = fill(draft, R"(
// One block for each row, $w elements an access where the row's length allows it.
__global__ void $kernel($params) {
  $int $row = blockIdx.x;
  $int $base = $row * $width;
  $before
  if ($width % $w == 0) {
    for (int $col = threadIdx.x; $col < $width / $w; $col += blockDim.x) {
      $lines
    }
  } else {
    for (int $col = threadIdx.x; $col < $width; $col += blockDim.x) {
      $int $at = $base + $col;
      $single
    }
  }
}
)",
                                {{"row", row},
                                 {"col", col},
                                 {"base", base},
                                 {"at", at},
                                 {"w", w},
                                 {"width", width},
                                 {"params", draft.parameters(sizes)},
                                 {"before", before},
                                 {"lines", lines},
                                 {"single", lines_at(at, col)}});
  return draft.finish(body, draft.launch_grid(rows, block, sizes));
}

}  // namespace kw
