// Matrix instructions: shapes and types into a MatrixOperation.

#include <cstdio>

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/operations.h"

namespace kw {
namespace {

bool read_shape(const PtxInstruction& in, MatrixOperation& matrix) {
  for (const std::string& modifier : in.modifiers) {
    unsigned m = 0, n = 0, k = 0;
    int used = 0;
    if (modifier.size() < 16 && std::sscanf(modifier.c_str(), "m%3un%3uk%3u%n", &m, &n, &k, &used) == 3 &&
        static_cast<std::size_t>(used) == modifier.size()) {
      matrix.m = static_cast<std::uint16_t>(m);
      matrix.n = static_cast<std::uint16_t>(n);
      matrix.k = static_cast<std::uint16_t>(k);
      return m <= 32 && n <= 32 && k <= 64 && m * n * k != 0;
    }
  }
  return false;
}

std::vector<PtxType> types_of(const PtxInstruction& in) {
  std::vector<PtxType> types;
  for (const std::string& modifier : in.modifiers)
    if (auto type = ptx_type_from_name(modifier)) types.push_back(*type);
  return types;
}

bool is_integer(PtxType type) { return type == PtxType::s8 || type == PtxType::u8; }
bool is_input(PtxType type) {
  return is_integer(type) || type == PtxType::f16 || type == PtxType::bf16 || type == PtxType::tf32 ||
         type == PtxType::f64;
}
bool goes_with(PtxType input, PtxType accumulator) {
  if (is_integer(input)) return accumulator == PtxType::s32;
  if (input == PtxType::f64) return accumulator == PtxType::f64;
  return accumulator == PtxType::f32 || (input == PtxType::f16 && accumulator == PtxType::f16);
}
int elements_per_register(PtxType type) {
  return is_integer(type) ? 4 : type == PtxType::f16 || type == PtxType::bf16 ? 2 : 1;
}

}  // namespace

std::vector<Slot> FunctionDecoder::fragment(const PtxOperand& what, int bytes, bool writes) {
  std::vector<Slot> slots;
  bool vector = what.kind == PtxOperand::Kind::vector;
  std::size_t count = vector ? what.parts.size() : 1;
  if (count > 16) fail("a fragment of this size");
  for (std::size_t i = 0; i < count && !failed(); ++i) {
    const PtxOperand& part = vector ? what.parts[i] : what;
    slots.push_back(writes ? destination(part, bytes) : source(part, bytes));
  }
  return slots;
}

void FunctionDecoder::decode_ldmatrix(const PtxInstruction& in, Instruction& out) {
  bool load = in.opcode == "ldmatrix";
  if (!in.has("m8n8") || !in.has("b16")) {
    fail("this matrix shape");
    return;
  }
  MatrixOperation matrix;
  matrix.kind = load ? MatrixOperation::Kind::ldmatrix : MatrixOperation::Kind::stmatrix;
  matrix.transposed = in.has("trans");
  std::size_t wanted = in.has("x4") ? 4 : in.has("x2") ? 2 : 1;
  const PtxOperand& registers = operand(in, load ? 0 : 1);
  const PtxOperand& where = operand(in, load ? 1 : 0);
  matrix.registers_d = fragment(registers, 4, load);
  if (failed() || matrix.registers_d.size() != wanted) {
    fail("this number of registers");
    return;
  }
  matrix.memory.space = space_of(in, where);
  address(where, out, matrix.memory);
  out.source[3] = constant(all_lanes, false);
  out.flow = Flow::warp_sync;
  out.run = load ? run_ldmatrix : run_stmatrix;
  out.detail = static_cast<std::uint32_t>(code_.matrices.size());
  code_.matrices.push_back(std::move(matrix));
}

void FunctionDecoder::decode_mma(const PtxInstruction& in, Instruction& out) {
  MatrixOperation matrix;
  std::vector<PtxType> types = types_of(in);
  if (!in.has("sync") || in.has("sp") || in.has("xor") || in.has("block_scale") || !read_shape(in, matrix) ||
      types.size() != 4 || in.operands.size() != 4) {
    fail("this matrix operation");
    return;
  }
  matrix.d = types[0];
  matrix.a = types[1];
  matrix.b = types[2];
  matrix.c = types[3];
  matrix.saturate = in.has("satfinite");
  bool same = matrix.a == matrix.b || (is_integer(matrix.a) && is_integer(matrix.b));
  if (!is_input(matrix.a) || !same || !goes_with(matrix.a, matrix.d) || matrix.c != matrix.d) {
    fail("these matrix types");
    return;
  }
  int per_a = elements_per_register(matrix.a);
  int per_c = elements_per_register(matrix.c);
  bool small =
      matrix.m == 8 && matrix.n == 8 && matrix.k == per_a * 4 && (is_integer(matrix.a) || matrix.a == PtxType::f64);
  bool large =
      matrix.m == 16 && matrix.n == 8 && (matrix.k == per_a * 4 || matrix.k == per_a * 8) && matrix.a != PtxType::f64;
  if (!small && !large) {
    fail("this matrix shape");
    return;
  }
  int wide = matrix.a == PtxType::f64 ? 8 : 4;
  matrix.registers_d = fragment(in.operands[0], wide, true);
  matrix.registers_a = fragment(in.operands[1], wide, false);
  matrix.registers_b = fragment(in.operands[2], wide, false);
  matrix.registers_c = fragment(in.operands[3], wide, false);
  auto expected = [&](int rows, int columns, int per) {
    return static_cast<std::size_t>(rows * columns / (warp_lanes * per));
  };
  if (failed()) return;
  if (matrix.registers_a.size() != expected(matrix.m, matrix.k, per_a) ||
      matrix.registers_b.size() != expected(matrix.k, matrix.n, per_a) ||
      matrix.registers_c.size() != expected(matrix.m, matrix.n, per_c) ||
      matrix.registers_d.size() != matrix.registers_c.size()) {
    fail("this number of registers");
    return;
  }
  out.source[3] = constant(all_lanes, false);
  out.flow = Flow::warp_sync;
  out.run = run_mma;
  out.detail = static_cast<std::uint32_t>(code_.matrices.size());
  code_.matrices.push_back(std::move(matrix));
}

void FunctionDecoder::decode_wmma(const PtxInstruction& in, Instruction& out) {
  MatrixOperation matrix;
  std::vector<PtxType> types = types_of(in);
  if (!read_shape(in, matrix) || types.empty()) {
    fail("this matrix operation");
    return;
  }
  out.source[3] = constant(all_lanes, false);
  out.flow = Flow::warp_sync;
  auto register_width = [](PtxType type) { return type == PtxType::f64 ? 8 : 4; };
  // How many registers hold `rows` x `columns`, each element one or more times over the warp.
  auto fits = [](std::size_t registers, int rows, int columns, PtxType type) {
    int held = static_cast<int>(registers) * elements_per_register(type) * warp_lanes;
    return held >= rows * columns && held % (rows * columns) == 0;
  };
  if (in.has("mma")) {
    if (in.operands.size() != 4 || (types.size() != 2 && types.size() != 4)) {
      fail("this matrix operation");
      return;
    }
    matrix.kind = MatrixOperation::Kind::wmma;
    matrix.d = types.front();
    matrix.c = types.back();
    matrix.a = types.size() == 4 ? types[1] : PtxType::f16;
    matrix.b = types.size() == 4 ? types[2] : PtxType::f16;
    matrix.saturate = in.has("satfinite");
    bool same = matrix.a == matrix.b || (is_integer(matrix.a) && is_integer(matrix.b));
    bool saturates = matrix.saturate && !is_integer(matrix.a);  // of whole numbers alone
    if (!is_input(matrix.a) || !same || saturates || !goes_with(matrix.a, matrix.d) || !goes_with(matrix.a, matrix.c)) {
      fail("these matrix types");
      return;
    }
    matrix.registers_d = fragment(in.operands[0], register_width(matrix.d), true);
    matrix.registers_a = fragment(in.operands[1], register_width(matrix.a), false);
    matrix.registers_b = fragment(in.operands[2], register_width(matrix.b), false);
    matrix.registers_c = fragment(in.operands[3], register_width(matrix.c), false);
    if (failed()) return;
    if (!fits(matrix.registers_a.size(), matrix.m, matrix.k, matrix.a) ||
        !fits(matrix.registers_b.size(), matrix.k, matrix.n, matrix.b) ||
        !fits(matrix.registers_c.size(), matrix.m, matrix.n, matrix.c) ||
        !fits(matrix.registers_d.size(), matrix.m, matrix.n, matrix.d)) {
      fail("this number of registers");
      return;
    }
    out.run = run_wmma;
  } else {
    bool load = in.has("load");
    if (!load && !in.has("store")) {
      fail("this matrix operation");
      return;
    }
    matrix.kind = load ? MatrixOperation::Kind::load : MatrixOperation::Kind::store;
    matrix.fragment = in.has("a") ? 'a' : in.has("b") ? 'b' : 'c';
    matrix.a_column = in.has("col");
    matrix.d = types.back();
    const PtxOperand& registers = operand(in, load ? 0 : 1);
    const PtxOperand& where = operand(in, load ? 1 : 0);
    if (failed()) return;
    if (!is_input(matrix.d) && matrix.d != PtxType::f32 && matrix.d != PtxType::s32) {
      fail("this matrix type");
      return;
    }
    matrix.registers_d = fragment(registers, register_width(matrix.d), load);
    if (failed()) return;
    int rows = matrix.fragment == 'b' ? matrix.k : matrix.m;
    int columns = matrix.fragment == 'a' ? matrix.k : matrix.n;
    if (!fits(matrix.registers_d.size(), rows, columns, matrix.d)) {
      fail("this number of registers");
      return;
    }
    matrix.memory.space = space_of(in, where);
    address(where, out, matrix.memory);
    if (in.operands.size() > 2) matrix.stride = source(in.operands[2], 4);
    out.run = load ? run_wmma_load : run_wmma_store;
  }
  out.detail = static_cast<std::uint32_t>(code_.matrices.size());
  code_.matrices.push_back(std::move(matrix));
}

}  // namespace kw
