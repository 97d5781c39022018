#pragma once
// Decodes one function. The steps for the families of instructions are in decode_data.cpp, decode_memory.cpp,
// decode_control.cpp, decode_exchange.cpp and decode_matrix.cpp.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/emulate/decode.h"
#include "kernel/emulate/decode_slots.h"

namespace kw {

// What all functions of a kernel share while it is decoded.
struct DecodeContext {
  const PtxModule* module = nullptr;
  const ModuleLayout* layout = nullptr;
  Program* program = nullptr;
  std::map<std::string, std::uint32_t, std::less<>> shared_offsets;
  std::map<std::string, std::uint32_t, std::less<>> kernel_parameters;  // offset in the parameter block
  std::map<std::uint32_t, std::int32_t> function_of;                    // index in the module -> in the program
  VectorUnit unit = VectorUnit::portable;
};

class FunctionDecoder {
 public:
  FunctionDecoder(DecodeContext& context, const PtxFunction& function, bool entry);
  Result<FunctionCode> decode();

 private:
  using Step = void (FunctionDecoder::*)(const PtxInstruction&, Instruction&);
  static Step step_for(const std::string& opcode);

  // Each fills `out`, or calls fail().
  void decode_instruction(const PtxInstruction& in, Instruction& out);
  void decode_lane(const PtxInstruction& in, Instruction& out);
  void decode_mov(const PtxInstruction& in, Instruction& out);
  void decode_predicate_logic(const PtxInstruction& in, Instruction& out);
  void decode_cvta(const PtxInstruction& in, Instruction& out);
  void decode_isspacep(const PtxInstruction& in, Instruction& out);
  void decode_ld(const PtxInstruction& in, Instruction& out);
  void decode_st(const PtxInstruction& in, Instruction& out);
  void decode_atom(const PtxInstruction& in, Instruction& out);
  void decode_cp(const PtxInstruction& in, Instruction& out);
  void decode_nothing(const PtxInstruction& in, Instruction& out);
  void decode_bra(const PtxInstruction& in, Instruction& out);
  void decode_brx(const PtxInstruction& in, Instruction& out);
  void decode_call(const PtxInstruction& in, Instruction& out);
  void decode_ret(const PtxInstruction& in, Instruction& out);
  void decode_exit(const PtxInstruction& in, Instruction& out);
  void decode_trap(const PtxInstruction& in, Instruction& out);
  void decode_bar(const PtxInstruction& in, Instruction& out);
  void decode_fence(const PtxInstruction& in, Instruction& out);
  void decode_shfl(const PtxInstruction& in, Instruction& out);
  void decode_vote(const PtxInstruction& in, Instruction& out);
  void decode_match(const PtxInstruction& in, Instruction& out);
  void decode_redux(const PtxInstruction& in, Instruction& out);
  void decode_activemask(const PtxInstruction& in, Instruction& out);
  void decode_elect(const PtxInstruction& in, Instruction& out);
  void decode_ldmatrix(const PtxInstruction& in, Instruction& out);
  void decode_mma(const PtxInstruction& in, Instruction& out);
  void decode_wmma(const PtxInstruction& in, Instruction& out);

  void stop_with(std::string what);
  void fail(std::string why);
  bool failed() const { return !failure_.empty(); }
  // Operands. Wrong ones fail and give slot 0, which always exists.
  const PtxOperand& operand(const PtxInstruction& in, std::size_t index);
  Slot source(const PtxOperand& operand, int bytes, PtxType type = PtxType::none);  // bytes: 1, 2, 4 or 8
  Slot destination(const PtxOperand& operand, int bytes);
  Slot constant(std::uint64_t bits, bool wide);
  Slot special(const std::string& name, bool wide);
  Slot symbol_address(const std::string& name, std::int64_t addend, bool wide);
  std::int32_t predicate(const PtxOperand& operand);
  int register_bytes(const PtxOperand& operand) const;  // 0: not a register
  bool is_predicate(const PtxOperand& operand) const;
  void sync_mask(const PtxOperand& operand, Instruction& out);
  // [base + offset] into `out.source[0]`, `out.immediate` and the access.
  void address(const PtxOperand& operand, Instruction& out, MemoryAccess& access);
  PtxSpace space_of(const PtxInstruction& in, const PtxOperand& address) const;
  bool element_registers(const PtxOperand& operand, int element_bytes, bool writes, MemoryAccess& access);
  std::vector<Slot> fragment(const PtxOperand& operand, int bytes, bool writes);
  CallTarget::Place call_place(const PtxOperand& operand);
  void lay_out_local();

  DecodeContext& context_;
  const PtxFunction& function_;
  bool entry_;
  FunctionCode code_;
  RegisterPlaces places_;
  std::vector<std::uint32_t> pc_of_;  // by instruction of the body, for branches
  std::map<std::pair<bool, std::uint64_t>, Slot> constants_;
  std::map<std::pair<bool, SpecialValue>, Slot> specials_;
  std::map<std::uint32_t, Slot> local_address_slots_;
  std::map<std::string, CallTarget::Place, std::less<>> local_places_;
  std::int32_t carry_ = no_predicate;
  std::string failure_;
};

}  // namespace kw
