#pragma once
// Matrix products of small whole numbers, which every type holds exactly: the expected values are integer arithmetic.

#include "kernel/emulate/engine_form_case.h"

namespace kw {

inline int matrix_a(int row, int column) { return (row * 7 + column * 3) % 5 - 2; }
inline int matrix_b(int row, int column) { return (row * 5 + column * 2) % 7 - 3; }

// -8 to 8 as bits of a type; tf32 and f32 are the same here.
inline std::uint32_t small_bits(const std::string& type, int value) {
  if (type == "s8" || type == "u8") return static_cast<std::uint8_t>(value);
  const auto number = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &number, 4);
  if (type == "bf16") return bits >> 16;
  if (type == "f16") {
    if (value == 0) return 0;
    const std::uint32_t exponent = ((bits >> 23) & 0xff) - 127 + 15;
    return bits >> 31 << 15 | exponent << 10 | (bits >> 13 & 0x3ff);
  }
  return bits;
}
inline std::size_t small_bytes(const std::string& type) {
  return type == "s8" || type == "u8" ? 1 : type == "f16" || type == "bf16" ? 2 : 4;
}

inline std::string fragment_text(const std::string& reg, int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + reg + std::to_string(first + i);
  return text + "}";
}

// d = a * b + 1 through wmma.load, wmma.mma and wmma.store. `space` is empty (generic), "global" or "shared".
inline void add_wmma_case(std::vector<EngineFormCase>& cases, const std::string& shape, int m, int n, int k,
                          const std::string& type, bool a_column, bool b_column, bool d_column,
                          const std::string& space) {
  const std::size_t size = small_bytes(type);
  const std::size_t b_at = static_cast<std::size_t>(m * k) * size, all = b_at + static_cast<std::size_t>(k * n) * size;
  Bytes input(all, 0);
  auto put = [&](std::size_t at, int value) {
    const std::uint32_t bits = small_bits(type, value);
    std::memcpy(input.data() + at, &bits, size);
  };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < k; ++j) put(static_cast<std::size_t>(a_column ? j * m + i : i * k + j) * size, matrix_a(i, j));
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < n; ++j)
      put(b_at + static_cast<std::size_t>(b_column ? j * k + i : i * n + j) * size, matrix_b(i, j));
  std::vector<float> expected(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      int sum = 1;
      for (int t = 0; t < k; ++t) sum += matrix_a(i, t) * matrix_b(t, j);
      expected[static_cast<std::size_t>(d_column ? j * m + i : i * n + j)] = static_cast<float>(sum);
    }
  }
  const int registers = type == "f16" ? 8 : 4;
  const std::string at = space.empty() ? "" : "." + space, la = a_column ? "col" : "row", lb = b_column ? "col" : "row",
                    ld = d_column ? "col" : "row";
  const std::string types = type == "f16" ? ".f32.f32" : ".f32." + type + "." + type + ".f32";
  const std::string load_a = "wmma.load.a.sync.aligned." + la + "." + shape + at + "." + type;
  const std::string load_b = "wmma.load.b.sync.aligned." + lb + "." + shape + at + "." + type;
  const std::string multiply = "wmma.mma.sync.aligned." + la + "." + lb + "." + shape + types;
  const std::string store = "wmma.store.d.sync.aligned." + ld + "." + shape + at + ".f32";
  std::string body, from = "%rd1", to = "%rd2", declarations;
  if (space == "shared") {  // copied in and out, a word at a time
    declarations = ".shared .align 128 .b8 inputs[" + std::to_string(all) + "];\n.shared .align 128 .b8 outputs[" +
                   std::to_string(4 * m * n) + "];\n";
    body +=
        "mov.u64 %rd30, inputs;\nmov.u64 %rd31, outputs;\nmul.wide.u32 %rd32, %r2, 4;\nadd.s64 %rd33, %rd1, "
        "%rd32;\nadd.s64 %rd34, %rd30, "
        "%rd32;\n";
    for (std::size_t i = 0; i < all; i += 128)
      body += "ld.global.b32 %r10, [%rd33+" + std::to_string(i) + "];\nst.shared.b32 [%rd34+" + std::to_string(i) +
              "], %r10;\n";
    body += "bar.sync 0;\n";
    from = "%rd30";
    to = "%rd31";
  }
  body += "mov.f32 %f1, 0f3F800000;\n" + load_a + " " + fragment_text("%r", 20, registers) + ", [" + from + "], " +
          std::to_string(a_column ? m : k) + ";\n" + load_b + " " + fragment_text("%r", 30, registers) + ", [" + from +
          "+" + std::to_string(b_at) + "], " + std::to_string(b_column ? k : n) + ";\n" + multiply + " " +
          fragment_text("%f", 10, 8) + ", " + fragment_text("%r", 20, registers) + ", " +
          fragment_text("%r", 30, registers) + ", {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1};\n" + store + " [" + to +
          "], " + fragment_text("%f", 10, 8) + ", " + std::to_string(d_column ? m : n) + ";\n";
  if (space == "shared") {
    body += "bar.sync 0;\nadd.s64 %rd35, %rd31, %rd32;\nadd.s64 %rd36, %rd2, %rd32;\n";
    for (int i = 0; i < 4 * m * n; i += 128)
      body += "ld.shared.b32 %r10, [%rd35+" + std::to_string(i) + "];\nst.global.b32 [%rd36+" + std::to_string(i) +
              "], %r10;\n";
  }
  cases.push_back({{load_a, load_b, multiply, store},
                   body,
                   input,
                   Bytes(expected.size() * 4, 0),
                   bytes_from(expected),
                   declarations});
}

// The fragments of mma.m16n8kK as the tables of the PTX manual lay them out: a register holds `per` neighbours of a row
// of a (of a column of b); registers go first down eight rows, then right by half of k.
inline void add_mma_case(std::vector<EngineFormCase>& cases, const std::string& type, int k) {
  const int per = static_cast<int>(4 / small_bytes(type)), groups = k / (4 * per);
  const bool integer = type == "s8" || type == "u8";
  std::vector<std::uint32_t> words(static_cast<std::size_t>(32 * 3 * groups));
  const std::size_t b_at = static_cast<std::size_t>(32 * 2 * groups);
  std::vector<std::uint32_t> expected(128);
  auto unsigned_if = [&](int value) { return type == "u8" ? value + 3 : value; };  // u8 has no negative numbers
  for (int lane = 0; lane < 32; ++lane) {
    for (int g = 0; g < groups; ++g) {
      for (int e = 0; e < per; ++e) {
        const int column = g * 4 * per + lane % 4 * per + e;
        const int shift = static_cast<int>(8 * small_bytes(type)) * e;
        for (int half = 0; half < 2; ++half)
          words[static_cast<std::size_t>(lane * 2 * groups + 2 * g + half)] |=
              small_bits(type, unsigned_if(matrix_a(lane / 4 + 8 * half, column))) << shift;
        words[b_at + static_cast<std::size_t>(lane * groups + g)] |=
            small_bits(type, unsigned_if(matrix_b(column, lane / 4))) << shift;
      }
    }
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      int sum = 1;
      for (int t = 0; t < k; ++t) sum += unsigned_if(matrix_a(row, t)) * unsigned_if(matrix_b(t, column));
      expected[static_cast<std::size_t>(lane * 4 + i)] =
          integer ? static_cast<std::uint32_t>(sum) : small_bits("f32", sum);
    }
  }
  const std::string accumulator = integer ? "s32" : "f32", one = integer ? "1" : "0f3F800000";
  const std::string form = "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col." + accumulator + "." + type +
                           "." + type + "." + accumulator;
  const std::string d = integer ? "%r" : "%f";
  std::string body = "mul.wide.u32 %rd10, %r2, " + std::to_string(8 * groups) +
                     ";\nadd.s64 %rd11, %rd1, %rd10;\nmul.wide.u32 %rd12, %r2, " + std::to_string(4 * groups) +
                     ";\nadd.s64 %rd13, %rd1, %rd12;\nmul.wide.u32 %rd14, %r2, 16;\nadd.s64 %rd15, %rd2, %rd14;\n";
  for (int i = 0; i < 2 * groups; ++i)
    body += "ld.global.b32 %r" + std::to_string(20 + i) + ", [%rd11+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < groups; ++i)
    body += "ld.global.b32 %r" + std::to_string(30 + i) + ", [%rd13+" +
            std::to_string(b_at * 4 + static_cast<std::size_t>(4 * i)) + "];\n";
  auto operand = [](const std::string& reg, int first, int count) {
    return count == 1 ? "{" + reg + std::to_string(first) + "}" : fragment_text(reg, first, count);
  };
  body += "mov.b32 " + d + "5, " + one + ";\n" + form + " " + fragment_text(d, 40, 4) + ", " +
          operand("%r", 20, 2 * groups) + ", " + operand("%r", 30, groups) + ", {" + d + "5, " + d + "5, " + d + "5, " +
          d + "5};\nst.global.v4.b32 [%rd15], " + fragment_text(d, 40, 4) + ";\n";
  cases.push_back({{form}, body, bytes_from(words), Bytes(512, 0), bytes_from(expected)});
}

// Element c of row r of matrix j is 64 j + 8 r + c; lane l receives elements 2 (l % 4) and the next of row l / 4, or of
// column l / 4 with .trans.
inline void add_ldmatrix_case(std::vector<EngineFormCase>& cases, int count, bool transposed,
                              const std::string& space) {
  std::vector<std::uint16_t> numbers(256), expected(static_cast<std::size_t>(64 * count));
  for (std::size_t i = 0; i < 256; ++i) numbers[i] = static_cast<std::uint16_t>(i);
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < count; ++j)
      for (int e = 0; e < 2; ++e) {
        const int row = lane / 4, column = lane % 4 * 2 + e;
        expected[static_cast<std::size_t>((lane * count + j) * 2 + e)] =
            static_cast<std::uint16_t>(transposed ? 64 * j + 8 * column + row : 64 * j + 8 * row + column);
      }
  const std::string form = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") +
                           (space.empty() ? "" : "." + space) + ".b16";
  std::string body =
      "mov.u64 %rd10, tile;\nmul.wide.u32 %rd11, %r2, 16;\nadd.s64 %rd12, %rd10, %rd11;\nadd.s64 %rd13, %rd1, %rd11;\n"
      "ld.global.v4.u32 {%r20, %r21, %r22, %r23}, [%rd13];\nst.shared.v4.u32 [%rd12], {%r20, %r21, %r22, "
      "%r23};\nbar.sync 0;\n";
  if (space.empty()) body += "cvta.shared.u64 %rd12, %rd12;\n";
  body += form + " " + fragment_text("%r", 40, count) + ", [%rd12];\nmul.wide.u32 %rd14, %r2, " +
          std::to_string(4 * count) + ";\nadd.s64 %rd15, %rd2, %rd14;\n";
  for (int j = 0; j < count; ++j)
    body += "st.global.u32 [%rd15+" + std::to_string(4 * j) + "], %r" + std::to_string(40 + j) + ";\n";
  cases.push_back({{form},
                   body,
                   bytes_from(numbers),
                   Bytes(expected.size() * 2, 0),
                   bytes_from(expected),
                   ".shared .align 16 .b8 tile[512];\n"});
}

inline void add_matrix_cases(std::vector<EngineFormCase>& cases) {
  for (const char* space : {"", "global", "shared"}) {
    for (bool a_column : {false, true})
      for (bool b_column : {false, true})
        for (bool d_column : {false, true}) {
          add_wmma_case(cases, "m16n16k16", 16, 16, 16, "f16", a_column, b_column, d_column, space);
          add_wmma_case(cases, "m16n16k16", 16, 16, 16, "bf16", a_column, b_column, d_column, space);
          add_wmma_case(cases, "m16n16k8", 16, 16, 8, "tf32", a_column, b_column, d_column, space);
        }
  }
  for (int k : {8, 16})
    for (const char* type : {"f16", "bf16"}) add_mma_case(cases, type, k);
  for (int k : {4, 8}) add_mma_case(cases, "tf32", k);
  for (int k : {16, 32})
    for (const char* type : {"s8", "u8"}) add_mma_case(cases, type, k);
  for (int count : {1, 2, 4})
    for (bool transposed : {false, true})
      for (const char* space : {"", "shared"}) add_ldmatrix_case(cases, count, transposed, space);
}

}  // namespace kw
