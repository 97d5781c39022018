// Branches, calls, barriers and fences.

#include <algorithm>

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/operations.h"

namespace kw {

void FunctionDecoder::decode_bra(const PtxInstruction& in, Instruction& out) {
  const PtxOperand& to = operand(in, 0);
  if (to.kind != PtxOperand::Kind::label || to.index < 0 ||
      static_cast<std::size_t>(to.index) > function_.body.size()) {
    fail("this branch");
    return;
  }
  out.flow = Flow::branch;
  if (static_cast<std::size_t>(to.index) == function_.body.size()) {
    out.flow = Flow::ret;  // a label behind the last instruction
    return;
  }
  out.target = pc_of_[to.index];
}

void FunctionDecoder::decode_brx(const PtxInstruction& in, Instruction& out) {
  out.flow = Flow::branch_table;
  out.source[0] = source(operand(in, 0), 4);
  out.sources = 1;
  std::vector<std::uint32_t> targets;
  for (int target : in.branch_targets) {
    if (target < 0 || static_cast<std::size_t>(target) >= function_.body.size()) {
      fail("a branch table that leaves the function");
      return;
    }
    targets.push_back(pc_of_[target]);
  }
  if (targets.empty()) fail("an empty branch table");
  out.detail = static_cast<std::uint32_t>(code_.branch_tables.size());
  code_.branch_tables.push_back(std::move(targets));
}

CallTarget::Place FunctionDecoder::call_place(const PtxOperand& what) {
  CallTarget::Place place;
  if (what.kind == PtxOperand::Kind::symbol || what.kind == PtxOperand::Kind::address) {
    auto local = local_places_.find(what.name);
    if (local != local_places_.end()) return local->second;
    fail("the parameter " + what.name);
    return place;
  }
  int bytes = register_bytes(what);
  place.bytes = bytes != 0 ? static_cast<std::uint32_t>(bytes) : 4;
  place.wide = bytes == 8;
  place.slot = source(what, place.wide ? 8 : 4);
  return place;
}

void FunctionDecoder::decode_call(const PtxInstruction& in, Instruction& out) {
  const PtxOperand& callee = operand(in, 0);
  if (failed()) return;
  CallTarget call;
  if (callee.kind == PtxOperand::Kind::symbol) {
    auto known = context_.layout->functions.find(callee.name);
    if (known == context_.layout->functions.end()) {
      call.external = callee.name;
    } else if (context_.module->functions[known->second].external) {
      call.external = callee.name;
    } else if (auto inside = context_.function_of.find(known->second); inside != context_.function_of.end()) {
      call.function = inside->second;
    } else {
      fail("a call of " + callee.name);
      return;
    }
  } else {
    call.pointer = source(callee, 8);
  }
  for (const PtxOperand& argument : in.call_arguments) call.arguments.push_back(call_place(argument));
  for (const PtxOperand& result : in.call_returns) call.returns.push_back(call_place(result));
  if (call.external.empty() && failed()) return;
  failure_.clear();  // the arguments of an external function do not matter: it is not called
  out.flow = Flow::call;
  out.detail = static_cast<std::uint32_t>(code_.calls.size());
  code_.calls.push_back(std::move(call));
}

void FunctionDecoder::decode_ret(const PtxInstruction&, Instruction& out) {
  out.flow = entry_ ? Flow::exit : Flow::ret;
}

void FunctionDecoder::decode_exit(const PtxInstruction&, Instruction& out) { out.flow = Flow::exit; }

void FunctionDecoder::decode_trap(const PtxInstruction&, Instruction& out) { out.flow = Flow::trap; }

void FunctionDecoder::decode_bar(const PtxInstruction& in, Instruction& out) {
  if (in.has("cluster")) {
    fail("clusters");
    return;
  }
  if (in.has("warp")) {
    sync_mask(operand(in, 0), out);
    out.flow = Flow::warp_sync;
    out.run = run_warp_sync;
    return;
  }
  BarrierUse use;
  use.aligned = in.opcode == "bar" || in.has("aligned");
  std::size_t next = 0;
  if (in.has("red")) {
    use.kind = in.has("popc")  ? BarrierUse::Kind::reduce_popc
               : in.has("and") ? BarrierUse::Kind::reduce_and
                               : BarrierUse::Kind::reduce_or;
    const PtxOperand& result = operand(in, next++);
    if (use.kind == BarrierUse::Kind::reduce_popc)
      use.result = destination(result, 4);
    else
      use.result_predicate = predicate(result);
  } else if (in.has("arrive")) {
    use.kind = BarrierUse::Kind::arrive;
  }
  use.id = source(operand(in, next++), 4);
  bool reduction = in.has("red");
  std::size_t left = in.operands.size() - std::min(in.operands.size(), next);
  if (left == (reduction ? 2u : 1u)) use.count = source(operand(in, next++), 4);
  if (reduction) {
    const PtxOperand& from = operand(in, next++);
    use.predicate = predicate(from);
    use.predicate_negated = from.negated;
  }
  if (use.kind == BarrierUse::Kind::arrive && use.count == no_slot) fail("bar.arrive without a number of threads");
  out.flow = Flow::barrier;
  out.detail = static_cast<std::uint32_t>(code_.barriers.size());
  code_.barriers.push_back(use);
}

void FunctionDecoder::decode_fence(const PtxInstruction& in, Instruction& out) {
  if (in.has("proxy") || in.has("mbarrier_init")) {
    out.run = run_nothing;
    return;
  }
  out.run = run_fence;
  out.extra = in.has("cta") ? 0 : 1;  // reaches other blocks
  context_.program->fences_order = true;
}

}  // namespace kw
