#pragma once
// wmma with every accumulator: c comes from memory, d goes back to it. What is assumed about halves: products and sums
// are exact and rounded once, to the nearest half, after the last of k (PTX ISA 9.0, 9.7.14.4.5 "wmma.mma": the order
// is unspecified and the precision at least half); here every sum is a small whole number, so that any order gives it.

#include "kernel/emulate/engine_form_matrix_cases.h"

namespace kw {

struct WmmaShape {
  int m = 16, n = 16, k = 16;
  std::string name() const { return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k); }
};

// Registers of one lane for a rows x columns matrix; halves are held twice.
inline int wmma_registers(const std::string& type, int rows, int columns, bool accumulator) {
  const int elements = rows * columns / 32;
  if (type == "f16") return accumulator ? elements / 2 : 8;
  return type == "bf16" ? elements / 2 : type == "s8" || type == "u8" ? elements / 4 : elements;
}

inline std::uint32_t accumulator_bits(const std::string& type, int value) {
  return type == "s32" ? static_cast<std::uint32_t>(value) : small_bits(type, value);
}

inline void add_accumulator_case(std::vector<EngineFormCase>& cases, const WmmaShape& shape, const std::string& type,
                                 const std::string& c_type, const std::string& d_type, bool column,
                                 const std::string& space) {
  const auto plain = [&](int value) { return type == "u8" ? value + 3 : value; };
  const auto bytes_of_accumulator = [](const std::string& name) { return name == "f16" ? std::size_t{2} : 4; };
  const std::size_t size = small_bytes(type), c_size = bytes_of_accumulator(c_type);
  const std::size_t b_at = static_cast<std::size_t>(shape.m * shape.k) * size;
  const std::size_t c_at = b_at + static_cast<std::size_t>(shape.k * shape.n) * size;
  Bytes input(c_at + static_cast<std::size_t>(shape.m * shape.n) * c_size, 0);
  Bytes expected(static_cast<std::size_t>(shape.m * shape.n) * bytes_of_accumulator(d_type), 0);
  const auto put = [](Bytes& into, std::size_t at, std::uint32_t bits, std::size_t bytes) {
    std::memcpy(into.data() + at, &bits, bytes);
  };
  const auto place = [&](int i, int j, int rows, int columns) {
    return static_cast<std::size_t>(column ? j * rows + i : i * columns + j);
  };
  for (int i = 0; i < shape.m; ++i)
    for (int t = 0; t < shape.k; ++t)
      put(input, place(i, t, shape.m, shape.k) * size, small_bits(type, plain(matrix_a(i, t))), size);
  for (int t = 0; t < shape.k; ++t)
    for (int j = 0; j < shape.n; ++j)
      put(input, b_at + place(t, j, shape.k, shape.n) * size, small_bits(type, plain(matrix_b(t, j))), size);
  for (int i = 0; i < shape.m; ++i) {
    for (int j = 0; j < shape.n; ++j) {
      const int before = i - j;
      int sum = before;
      for (int t = 0; t < shape.k; ++t) sum += plain(matrix_a(i, t)) * plain(matrix_b(t, j));
      const std::size_t at = place(i, j, shape.m, shape.n);
      put(input, c_at + at * c_size, accumulator_bits(c_type, before), c_size);
      put(expected, at * bytes_of_accumulator(d_type), accumulator_bits(d_type, sum), bytes_of_accumulator(d_type));
    }
  }
  const std::string layout = column ? ".col" : ".row", at = (space.empty() ? "" : "." + space);
  const std::string types =
      type == "f16" ? "." + d_type + "." + c_type : "." + d_type + "." + type + "." + type + "." + c_type;
  const std::string load_a = "wmma.load.a.sync.aligned" + layout + "." + shape.name() + at + "." + type;
  const std::string load_b = "wmma.load.b.sync.aligned" + layout + "." + shape.name() + at + "." + type;
  const std::string load_c = "wmma.load.c.sync.aligned" + layout + "." + shape.name() + at + "." + c_type;
  const std::string multiply = "wmma.mma.sync.aligned" + layout + layout + "." + shape.name() + types;
  const std::string store = "wmma.store.d.sync.aligned" + layout + "." + shape.name() + at + "." + d_type;
  const auto kind = [&](const std::string& name) { return name == "f32" ? "%f" : "%r"; };
  const auto fragment = [&](const std::string& reg, int first, int count) {
    return count == 1 ? "{" + reg + std::to_string(first) + "}" : fragment_text(reg, first, count);
  };
  const std::string a = fragment("%r", 10, wmma_registers(type, shape.m, shape.k, false));
  const std::string b = fragment("%r", 20, wmma_registers(type, shape.k, shape.n, false));
  const std::string c = fragment(kind(c_type), 30, wmma_registers(c_type, shape.m, shape.n, true));
  const std::string d = fragment(kind(d_type), 40, wmma_registers(d_type, shape.m, shape.n, true));
  const auto stride = [&](int rows, int columns) { return ", " + std::to_string(column ? rows : columns) + ";\n"; };
  const std::string body = load_a + " " + a + ", [%rd1]" + stride(shape.m, shape.k) + load_b + " " + b + ", [%rd1+" +
                           std::to_string(b_at) + "]" + stride(shape.k, shape.n) + load_c + " " + c + ", [%rd1+" +
                           std::to_string(c_at) + "]" + stride(shape.m, shape.n) + multiply + " " + d + ", " + a +
                           ", " + b + ", " + c + ";\n" + store + " [%rd2], " + d + stride(shape.m, shape.n);
  cases.push_back({{load_a, load_b, load_c, multiply, store}, body, input, Bytes(expected.size(), 0), expected});
}

// mma.m16n8kK with halves for c and d: register i of a lane holds columns 2 (lane % 4) and the next of row
// lane / 4 + 8 i.
inline void add_half_mma_case(std::vector<EngineFormCase>& cases, int k) {
  const int groups = k / 8;
  const auto pair = [](int low, int high) { return small_bits("f16", low) | small_bits("f16", high) << 16; };
  std::vector<std::uint32_t> words, expected;
  for (int lane = 0; lane < 32; ++lane)
    for (int g = 0; g < groups; ++g)
      for (int half = 0; half < 2; ++half) {
        const int row = lane / 4 + 8 * half, t = g * 8 + lane % 4 * 2;
        words.push_back(pair(matrix_a(row, t), matrix_a(row, t + 1)));
      }
  const std::size_t b_at = words.size() * 4;
  for (int lane = 0; lane < 32; ++lane)
    for (int g = 0; g < groups; ++g) {
      const int t = g * 8 + lane % 4 * 2;
      words.push_back(pair(matrix_b(t, lane / 4), matrix_b(t + 1, lane / 4)));
    }
  for (int lane = 0; lane < 32; ++lane)
    for (int half = 0; half < 2; ++half) {
      int sums[2] = {1, -2};
      for (int e = 0; e < 2; ++e)
        for (int t = 0; t < k; ++t) sums[e] += matrix_a(lane / 4 + 8 * half, t) * matrix_b(t, lane % 4 * 2 + e);
      expected.push_back(pair(sums[0], sums[1]));
    }
  const std::string form = "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col.f16.f16.f16.f16";
  std::string body = "mul.wide.u32 %rd10, %r2, " + std::to_string(8 * groups) +
                     ";\nadd.s64 %rd11, %rd1, %rd10;\nmul.wide.u32 %rd12, %r2, " + std::to_string(4 * groups) +
                     ";\nadd.s64 %rd13, %rd1, %rd12;\nmul.wide.u32 %rd14, %r2, 8;\nadd.s64 %rd15, %rd2, %rd14;\n";
  for (int i = 0; i < 2 * groups; ++i)
    body += "ld.global.b32 %r" + std::to_string(20 + i) + ", [%rd11+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < groups; ++i)
    body += "ld.global.b32 %r" + std::to_string(30 + i) + ", [%rd13+" +
            std::to_string(b_at + static_cast<std::size_t>(4 * i)) + "];\n";
  body += "mov.b32 %r5, " + std::to_string(pair(1, -2)) + ";\n" + form + " {%r40, %r41}, " +
          fragment_text("%r", 20, 2 * groups) + ", " +
          (groups == 1 ? std::string("{%r30}") : fragment_text("%r", 30, groups)) +
          ", {%r5, %r5};\nst.global.v2.b32 [%rd15], {%r40, %r41};\n";
  cases.push_back({{form}, body, bytes_from(words), Bytes(256, 0), bytes_from(expected)});
}

inline void add_accumulator_cases(std::vector<EngineFormCase>& cases) {
  const WmmaShape square, flat{8, 32, 16}, tall{32, 8, 16};
  for (const WmmaShape& shape : {square, flat, tall})
    for (const bool column : {false, true}) {
      for (const char* space : {"", "global"}) {
        for (const char* c : {"f16", "f32"})
          for (const char* d : {"f16", "f32"}) add_accumulator_case(cases, shape, "f16", c, d, column, space);
        for (const char* type : {"s8", "u8"}) add_accumulator_case(cases, shape, type, "s32", "s32", column, space);
        add_accumulator_case(cases, shape, "bf16", "f32", "f32", column, space);
      }
    }
  for (const int k : {8, 16}) add_half_mma_case(cases, k);
}

}  // namespace kw
