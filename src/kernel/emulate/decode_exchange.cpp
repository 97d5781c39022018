// Instructions that move values between the lanes of a warp.

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/operations.h"

namespace kw {

void FunctionDecoder::sync_mask(const PtxOperand& what, Instruction& out) { out.source[3] = source(what, 4); }

void FunctionDecoder::decode_shfl(const PtxInstruction& in, Instruction& out) {
  out.run = run_shuffle;
  out.flow = Flow::warp_sync;
  out.extra = in.has("up")     ? shuffle_up
              : in.has("down") ? shuffle_down
              : in.has("bfly") ? shuffle_butterfly
                               : shuffle_index;
  if (!in.has("sync")) {
    fail("shfl without .sync");
    return;
  }
  std::size_t next = 0;
  out.destination = destination(operand(in, next++), 4);
  if (in.operands.size() == 6) {
    const PtxOperand& valid = operand(in, next++);
    if (valid.kind != PtxOperand::Kind::sink) out.predicate_out = predicate(valid);
  }
  for (int i = 0; i < 3; ++i) out.source[i] = source(operand(in, next++), 4);
  out.sources = 3;
  sync_mask(operand(in, next), out);
}

void FunctionDecoder::decode_vote(const PtxInstruction& in, Instruction& out) {
  out.run = run_vote;
  out.flow = Flow::warp_sync;
  if (!in.has("sync")) {
    fail("vote without .sync");
    return;
  }
  out.extra = in.has("all") ? vote_all : in.has("any") ? vote_any : in.has("uni") ? vote_uniform : vote_ballot;
  if (out.extra == vote_ballot)
    out.destination = destination(operand(in, 0), 4);
  else
    out.predicate_out = predicate(operand(in, 0));
  const PtxOperand& from = operand(in, 1);
  out.predicate_in = predicate(from);
  out.predicate_in_negated = from.negated;
  sync_mask(operand(in, 2), out);
}

void FunctionDecoder::decode_match(const PtxInstruction& in, Instruction& out) {
  bool all = in.has("all");
  out.run = all ? run_match_all : run_match_any;
  out.flow = Flow::warp_sync;
  int bytes = bytes_of(in.type());
  out.extra = static_cast<std::uint16_t>(bytes);
  std::size_t next = 0;
  out.destination = destination(operand(in, next++), 4);
  if (all && in.operands.size() == 4) {
    const PtxOperand& valid = operand(in, next++);
    if (valid.kind != PtxOperand::Kind::sink) out.predicate_out = predicate(valid);
  }
  out.source[0] = source(operand(in, next++), bytes);
  out.sources = 1;
  sync_mask(operand(in, next), out);
}

void FunctionDecoder::decode_redux(const PtxInstruction& in, Instruction& out) {
  out.run = run_redux;
  out.flow = Flow::warp_sync;
  bool is_signed = in.type() == PtxType::s32;
  if (bytes_of(in.type()) != 4 || in.type() == PtxType::f32) {
    fail("redux of this type");
    return;
  }
  out.extra = in.has("add")   ? redux_add
              : in.has("min") ? (is_signed ? redux_min_s : redux_min_u)
              : in.has("max") ? (is_signed ? redux_max_s : redux_max_u)
              : in.has("and") ? redux_and
              : in.has("or")  ? redux_or
                              : redux_xor;
  out.destination = destination(operand(in, 0), 4);
  out.source[0] = source(operand(in, 1), 4);
  out.sources = 1;
  sync_mask(operand(in, 2), out);
}

void FunctionDecoder::decode_activemask(const PtxInstruction& in, Instruction& out) {
  out.run = run_activemask;
  out.destination = destination(operand(in, 0), 4);
}

void FunctionDecoder::decode_elect(const PtxInstruction& in, Instruction& out) {
  out.run = run_elect;
  out.flow = Flow::warp_sync;
  if (operand(in, 0).kind != PtxOperand::Kind::sink) out.destination = destination(operand(in, 0), 4);
  out.predicate_out = predicate(operand(in, 1));
  sync_mask(operand(in, 2), out);
}

}  // namespace kw
