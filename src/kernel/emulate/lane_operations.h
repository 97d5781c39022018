#pragma once
// Arithmetic on 32 lanes: every PTX instruction that only computes from registers to registers. Each operation exists
// in three builds of one source (lanes/, for AVX-512, AVX2 and plain x86-64), chosen at run time, tested to be
// bit-equal.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/emulate/ptx_module.h"

namespace kw {

enum class VectorUnit { portable, avx2, avx512 };
VectorUnit best_vector_unit();
std::vector<VectorUnit> compiled_vector_units();   // that this program was built for
std::vector<VectorUnit> available_vector_units();  // those of them that this machine has
std::string_view name_of(VectorUnit unit);

// Sources and destination point at the first lane of a slot (64-byte aligned): 4-byte lanes for types up to 32 bits
// (narrower ones zero-extended), 8-byte lanes for 64-bit types. Predicate operands and results are masks. Only lanes in
// `active` are written, but all 32 lanes of a source may be read. Sources may be the destination itself.
struct LaneArguments {
  std::byte* destination = nullptr;
  const std::byte* source[4] = {nullptr, nullptr, nullptr, nullptr};
  std::uint32_t active = 0;
  std::uint32_t predicate_in =
      0;  // the (first) predicate source, a `!` already applied; addc, subc, madc: the carry flag
  std::uint32_t predicate_in_other = 0;          // the second predicate source of and.pred, or.pred, xor.pred
  std::uint32_t* predicate_out = nullptr;        // a predicate result; add.cc and its like: the carry flag
  std::uint32_t* predicate_out_other = nullptr;  // the second result of setp p|q; may be null
};
using LaneOperation = void (*)(const LaneArguments& arguments);

// How the decoder must lay out operands for an operation.
struct LaneForm {
  LaneOperation run = nullptr;
  PtxType destination = PtxType::none;  // pred: the result goes to predicate_out
  std::vector<PtxType>
      sources;  // in operand order; pred: comes through predicate_in, the second one through predicate_in_other
  bool carry_in = false;          // predicate_in is the carry flag
  bool carry_out = false;         // predicate_out is the carry flag
  bool predicate_result = false;  // lop3.and.b32 d|p: writes predicate_out as well as destination
};

// Bytes of the registers in an instruction, where they may be wider than its types say (cvt alone: `cvt.s64.s8 %rd2,
// %rd1`, `cvt.s8.s32 %r2, %r1`). 0: as wide as the type, and 2 for the 8-bit types.
struct LaneWidths {
  int destination_bytes = 0;
  int source_bytes = 0;
};

// Looks up "add.rn.ftz.f32", "setp.lt.and.s32", "cvt.rn.f16.f32", "fma.rn.bf16x2", ...; null if it is not known.
// Modifiers other than types may come in any order. min and max are told from their three-input forms by the number of
// operands.
const LaneForm* find_lane_form(const PtxInstruction& instruction, VectorUnit unit, LaneWidths widths = {});

// The same by text, for tests and documentation: "min3.f32" is the three-input min.f32, "cvt.s64.s8@d8s8" has 8-byte
// registers on both sides.
const LaneForm* find_lane_form(std::string_view form, VectorUnit unit);

// Generated from the table.
std::vector<std::string> supported_lane_forms();

}  // namespace kw
