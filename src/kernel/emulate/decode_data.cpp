// Register-to-register instructions: arithmetic through the lane operations, moves, predicates, address conversions.

#include <algorithm>

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/operations.h"

namespace kw {

void FunctionDecoder::decode_lane(const PtxInstruction& in, Instruction& out) {
  const std::string& opcode = in.opcode;
  if ((opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not") && in.has("pred")) {
    decode_predicate_logic(in, out);
    return;
  }
  LaneWidths widths;
  if (opcode == "cvt") {
    widths.destination_bytes = register_bytes(operand(in, 0));
    widths.source_bytes = register_bytes(operand(in, 1));
  }
  const LaneForm* form = find_lane_form(in, context_.unit, widths);
  if (form == nullptr) {
    fail("this instruction");
    return;
  }
  std::size_t extra_results = in.operands.size() - std::min(in.operands.size(), form->sources.size() + 1);
  if (in.operands.size() < form->sources.size() + 1 || extra_results > 1) {
    fail("this number of operands");
    return;
  }
  out.lane = form->run;
  bool simple = true;
  auto register_width = [&](const PtxOperand& register_operand, PtxType type) {
    int have = opcode == "cvt" ? register_bytes(register_operand) : 0;
    return have != 0 ? have : bytes_of(type);
  };
  const PtxOperand& result = operand(in, 0);
  if (form->destination == PtxType::pred) {
    simple = false;
    if (result.kind != PtxOperand::Kind::sink) out.predicate_out = predicate(result);
    if (extra_results == 1 && in.operands[1].kind != PtxOperand::Kind::sink)
      out.predicate_other = predicate(in.operands[1]);
  } else {
    out.destination = destination(result, register_width(result, form->destination));
    if (extra_results == 1) {
      if (!form->predicate_result) fail("a second result");
      if (in.operands[1].kind != PtxOperand::Kind::sink) out.predicate_out = predicate(in.operands[1]);
    }
    simple = !form->predicate_result;
  }
  int predicates = 0;
  for (std::size_t i = 0; i < form->sources.size(); ++i) {
    const PtxOperand& from = in.operands[1 + extra_results + i];
    if (form->sources[i] == PtxType::pred) {
      if (++predicates > 1) fail("two predicate sources");
      out.predicate_in = predicate(from);
      out.predicate_in_negated = from.negated;
    } else if (out.sources == 4) {
      fail("more than four sources");
    } else {
      out.source[out.sources++] = source(from, register_width(from, form->sources[i]), form->sources[i]);
    }
  }
  if (form->carry_in) out.predicate_in = carry_;
  if (form->carry_out) out.predicate_out = carry_;
  if (out.predicate_in != no_predicate || out.predicate_out != no_predicate) simple = false;

  out.run = run_lane_general;
  if (simple && out.sources == 1) out.run = run_lane_1;
  if (simple && out.sources == 2) out.run = run_lane_2;
  if (simple && out.sources == 3) out.run = run_lane_3;
  if (opcode == "setp" && out.predicate_in == no_predicate && out.predicate_other == no_predicate && out.sources == 2)
    out.run = run_compare;
  if (opcode == "selp" && out.sources == 2) out.run = run_select;
  // The unused sources point at a slot that exists: operations may be handed all of them.
  for (int i = out.sources; i < 4; ++i) out.source[i] = 0;
  if (opcode == "setp" && out.predicate_out == no_predicate) fail("a comparison without a result");
}

void FunctionDecoder::decode_predicate_logic(const PtxInstruction& in, Instruction& out) {
  out.run = run_predicate_logic;
  out.extra = in.opcode == "and"   ? predicate_and
              : in.opcode == "or"  ? predicate_or
              : in.opcode == "xor" ? predicate_xor
              : in.opcode == "not" ? predicate_not
                                   : predicate_move;
  out.predicate_out = predicate(operand(in, 0));
  const PtxOperand& first = operand(in, 1);
  if (first.kind == PtxOperand::Kind::integer && out.extra == predicate_move) {
    out.extra = predicate_constant;
    out.immediate = first.value != 0 ? 1 : 0;
    return;
  }
  out.predicate_in = predicate(first);
  out.predicate_in_negated = first.negated;
  if (out.extra == predicate_and || out.extra == predicate_or || out.extra == predicate_xor) {
    const PtxOperand& second = operand(in, 2);
    out.predicate_other = predicate(second);
    out.detail = second.negated ? 1 : 0;
  }
}

void FunctionDecoder::decode_mov(const PtxInstruction& in, Instruction& out) {
  const PtxOperand& to = operand(in, 0);
  const PtxOperand& from = operand(in, 1);
  if (failed()) return;
  if (in.has("pred")) {
    decode_predicate_logic(in, out);
    return;
  }
  int bytes = bytes_of(in.type());
  if (bytes == 0 || bytes > 8) {
    fail("this type");
    return;
  }
  bool pack = from.kind == PtxOperand::Kind::vector;
  if (pack || to.kind == PtxOperand::Kind::vector) {
    const PtxOperand& vector = pack ? from : to;
    MemoryAccess parts;
    if (vector.parts.empty() || bytes % static_cast<int>(vector.parts.size()) != 0 || vector.parts.size() > 8) {
      fail("this vector");
      return;
    }
    int element = bytes / static_cast<int>(vector.parts.size());
    if (!element_registers(vector, element, !pack, parts)) return;
    out.run = pack ? run_pack : run_unpack;
    if (pack)
      out.destination = destination(to, bytes);
    else
      out.source[0] = source(from, bytes);
    out.extra = static_cast<std::uint16_t>(bytes);
    out.detail = static_cast<std::uint32_t>(code_.memory.size());
    code_.memory.push_back(parts);
    return;
  }
  out.destination = destination(to, bytes);
  if (from.kind == PtxOperand::Kind::special && (from.name == "%clock" || from.name == "%clock64" ||
                                                 from.name == "%clock_hi" || from.name.starts_with("%globaltimer"))) {
    out.run = run_clock;
    context_.program->reads_clock = true;
    out.extra = static_cast<std::uint16_t>(bytes);
    return;
  }
  out.source[0] = source(from, bytes, in.type());
  out.sources = 1;
  out.run = bytes == 8 ? run_move_64 : run_move_32;
}

void FunctionDecoder::decode_cvta(const PtxInstruction& in, Instruction& out) {
  bool to = in.has("to");
  if (bytes_of(in.type()) != 8) {
    fail("32-bit addresses");
    return;
  }
  Window window = Window::global;
  if (in.has("shared") || in.has("shared::cta") || in.has("shared::cluster")) window = Window::shared;
  if (in.has("local")) window = Window::local;
  if (in.has("param")) window = entry_ ? Window::param : Window::local;
  out.destination = destination(operand(in, 0), 8);
  out.source[0] = source(operand(in, 1), 8);
  out.sources = 1;
  auto base = static_cast<std::int64_t>(window_base(window));
  out.immediate = to ? -base : base;
  out.run = out.immediate == 0 ? run_move_64 : run_add_window;
}

void FunctionDecoder::decode_isspacep(const PtxInstruction& in, Instruction& out) {
  out.predicate_out = predicate(operand(in, 0));
  out.source[0] = source(operand(in, 1), 8);
  out.sources = 1;
  out.run = run_isspacep;
  Window window = Window::global;
  if (in.has("shared") || in.has("shared::cta") || in.has("shared::cluster")) window = Window::shared;
  if (in.has("local")) window = Window::local;
  if (in.has("param")) window = Window::param;
  // Constants lie among the global allocations but are not global memory.
  if (in.has("const")) fail("isspacep.const");
  out.extra = static_cast<std::uint16_t>(window);
}

}  // namespace kw
