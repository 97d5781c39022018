#pragma once
// For tests: one kernel for one form of an instruction, with the bytes that it must write, computed in plain C++ from
// what the PTX manual says. forms_with_engine_case() is the register of forms that have one; lane operations have the
// oracle instead.

#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kernel/emulate/test_kernel.h"

namespace kw {

using Bytes = std::vector<std::uint8_t>;

struct EngineFormCase {
  std::vector<std::string> forms;  // what it tests; other instructions of the body only help
  std::string body;                // of kernel k(a, b, n) with 32 threads, see test_kernel.h
  Bytes input;                     // at a
  Bytes before;                    // at b
  Bytes expected;                  // at b, afterwards
  std::string declarations = "";
  RunStatus status = RunStatus::ok;
  std::uint32_t threads = 32;
};

template <class T>
Bytes bytes_from(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The same for every machine and compiler; no zero bytes, so that a byte that was left out shows.
inline Bytes arbitrary_bytes(std::size_t count, std::uint32_t seed = 1) {
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>((seed >> 24) | 1);
  }
  return bytes;
}

// One 32-bit result for each of 32 threads, from %r20.
inline EngineFormCase lane_case(std::vector<std::string> forms, const std::string& body,
                                const std::function<std::uint32_t(std::uint32_t)>& expected,
                                const std::string& declarations = "") {
  std::vector<std::uint32_t> values(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) values[lane] = expected(lane);
  return {std::move(forms), body + store_r20, Bytes(128, 1), Bytes(128, 0), bytes_from(values), declarations};
}

// The registers that hold values of a type, and how wide they are.
struct TypeText {
  std::string name;  // "u16"
  std::size_t bytes = 0;
  const char* reg = "";  // "%rs"
};
inline const std::vector<TypeText>& memory_types() {
  static const std::vector<TypeText> types = {
      {"b8", 1, "%rs"},  {"u8", 1, "%rs"},   {"s8", 1, "%rs"},   {"b16", 2, "%rs"},  {"u16", 2, "%rs"},
      {"s16", 2, "%rs"}, {"f16", 2, "%rs"},  {"b32", 4, "%r1"},  {"u32", 4, "%r1"},  {"s32", 4, "%r1"},
      {"f32", 4, "%f"},  {"b64", 8, "%rd3"}, {"u64", 8, "%rd3"}, {"s64", 8, "%rd3"}, {"f64", 8, "%fd"}};
  return types;
}

// "%rs1", or "{%rs1, %rs2, ...}".
inline std::string registers_of(const TypeText& type, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::string(type.reg) + std::to_string(i + 1);
  return count == 1 ? list : "{" + list + "}";
}
inline std::string vector_text(int count) { return count == 1 ? "" : ".v" + std::to_string(count); }

// %rd20 = a + bytes * (31 - thread), %rd21 = b + bytes * thread.
inline std::string element_addresses(std::size_t bytes) {
  const std::string size = std::to_string(bytes);
  return "sub.u32 %r40, 31, %r2;\nmul.wide.u32 %rd20, %r40, " + size +
         ";\nadd.s64 %rd20, %rd1, %rd20;\nmul.wide.u32 %rd21, %r2, " + size + ";\nadd.s64 %rd21, %rd2, %rd21;\n";
}
inline Bytes reversed_elements(const Bytes& input, std::size_t bytes) {
  Bytes result(input.size());
  for (std::size_t i = 0; i < 32; ++i)
    std::copy_n(input.begin() + static_cast<std::ptrdiff_t>((31 - i) * bytes), bytes,
                result.begin() + static_cast<std::ptrdiff_t>(i * bytes));
  return result;
}

}  // namespace kw
