#include "kernel/emulate/decode_function.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include <fmt/format.h>

#include "kernel/emulate/decode_forms.h"
#include "kernel/emulate/operations.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::uint32_t file_limit_bytes = 8u << 20;     // the register file of one warp
constexpr std::uint32_t local_limit_bytes = 256u << 10;  // a thread's local memory in one function

const std::unordered_map<std::string, SpecialValue>& special_names() {
  using S = SpecialValue;
  static const std::unordered_map<std::string, SpecialValue> names = {
      {"%tid.x", S::tid_x},
      {"%tid.y", S::tid_y},
      {"%tid.z", S::tid_z},
      {"%ntid.x", S::ntid_x},
      {"%ntid.y", S::ntid_y},
      {"%ntid.z", S::ntid_z},
      {"%ctaid.x", S::ctaid_x},
      {"%ctaid.y", S::ctaid_y},
      {"%ctaid.z", S::ctaid_z},
      {"%nctaid.x", S::nctaid_x},
      {"%nctaid.y", S::nctaid_y},
      {"%nctaid.z", S::nctaid_z},
      {"%laneid", S::laneid},
      {"%warpid", S::warpid},
      {"%nwarpid", S::nwarpid},
      {"%smid", S::smid},
      {"%nsmid", S::nsmid},
      {"%gridid", S::gridid},
      {"%lanemask_eq", S::lanemask_eq},
      {"%lanemask_le", S::lanemask_le},
      {"%lanemask_lt", S::lanemask_lt},
      {"%lanemask_ge", S::lanemask_ge},
      {"%lanemask_gt", S::lanemask_gt},
      {"%envreg1", S::grid_workspace_high},
      {"%envreg2", S::grid_workspace_low},
      {"%dynamic_smem_size", S::dynamic_shared_bytes},
      {"%total_smem_size", S::total_shared_bytes},
      {"%aggr_smem_size", S::aggregate_shared_bytes},
      // The system's part comes first.
      {"%reserved_smem_offset_begin", S::zero},
      {"%reserved_smem_offset_end", S::reserved_shared_bytes},
      {"%reserved_smem_offset_cap", S::reserved_shared_bytes},
      {"%is_explicit_cluster", S::zero},
      // Without clusters a block is a cluster of one.
      {"%clusterid.x", S::ctaid_x},
      {"%clusterid.y", S::ctaid_y},
      {"%clusterid.z", S::ctaid_z},
      {"%nclusterid.x", S::nctaid_x},
      {"%nclusterid.y", S::nctaid_y},
      {"%nclusterid.z", S::nctaid_z},
      {"%cluster_ctaid.x", S::zero},
      {"%cluster_ctaid.y", S::zero},
      {"%cluster_ctaid.z", S::zero},
      {"%cluster_ctarank", S::zero},
      {"%cluster_nctaid.x", S::one},
      {"%cluster_nctaid.y", S::one},
      {"%cluster_nctaid.z", S::one},
      {"%cluster_nctarank", S::one}};
  return names;
}

// Bytes of a register and of the operand that it is used for. A narrower value in a wider register would have to be cut
// off first; the instructions that allow it (ld, st, cvt) ask for the register's own width.
bool fits(int register_bytes, int operand_bytes) {
  return register_bytes != 0 && register_bytes <= 8 && std::max(register_bytes, 2) == std::max(operand_bytes, 2);
}

}  // namespace

FunctionDecoder::FunctionDecoder(DecodeContext& context, const PtxFunction& function, bool entry)
    : context_(context), function_(function), entry_(entry) {
  code_.name = function.name;
}

void FunctionDecoder::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

const PtxOperand& FunctionDecoder::operand(const PtxInstruction& in, std::size_t index) {
  static const PtxOperand none;
  if (index < in.operands.size()) return in.operands[index];
  fail("an operand is missing");
  return none;
}

int FunctionDecoder::register_bytes(const PtxOperand& operand) const {
  if (operand.kind != PtxOperand::Kind::reg || operand.index < 0 ||
      static_cast<std::size_t>(operand.index) >= function_.registers.size())
    return 0;
  return bytes_of(function_.registers[operand.index].type);
}

bool FunctionDecoder::is_predicate(const PtxOperand& operand) const {
  return operand.kind == PtxOperand::Kind::reg && operand.index >= 0 &&
         static_cast<std::size_t>(operand.index) < function_.registers.size() && places_.predicate[operand.index] >= 0;
}

std::int32_t FunctionDecoder::predicate(const PtxOperand& operand) {
  if (is_predicate(operand)) return places_.predicate[operand.index];
  fail("a predicate is expected");
  return no_predicate;
}

Slot FunctionDecoder::constant(std::uint64_t bits, bool wide) {
  if (!wide) bits &= 0xffffffffu;
  auto [place, fresh] = constants_.try_emplace({wide, bits}, code_.file_bytes);
  if (fresh) {
    code_.constants.push_back({code_.file_bytes, wide, bits});
    code_.file_bytes += wide ? 2 * slot_bytes : slot_bytes;
    code_.initially_undefined.resize(code_.file_bytes / slot_bytes, 0);
  }
  return place->second;
}

Slot FunctionDecoder::special(const std::string& name, bool wide) {
  auto known = special_names().find(name);
  // Where the system's part lies before compute capability 9.0 is nowhere said.
  const bool nowhere = name.starts_with("%reserved_smem_offset") && context_.program->reserved_shared_bytes == 0;
  if (known == special_names().end() || nowhere) {
    fail("the special register " + name);
    return 0;
  }
  auto [place, fresh] = specials_.try_emplace({wide, known->second}, code_.file_bytes);
  if (fresh) {
    code_.specials.push_back({code_.file_bytes, wide, known->second});
    code_.file_bytes += wide ? 2 * slot_bytes : slot_bytes;
    code_.initially_undefined.resize(code_.file_bytes / slot_bytes, 0);
  }
  return place->second;
}

Slot FunctionDecoder::symbol_address(const std::string& name, std::int64_t addend, bool wide) {
  if (auto local = local_places_.find(name); local != local_places_.end()) {
    if (!wide) {
      fail("a local address in a 32-bit register");
      return 0;
    }
    auto offset = static_cast<std::uint32_t>(local->second.offset + addend);
    auto [place, fresh] = local_address_slots_.try_emplace(offset, code_.file_bytes);
    if (fresh) {
      code_.local_addresses.push_back({code_.file_bytes, offset});
      code_.file_bytes += 2 * slot_bytes;
      code_.initially_undefined.resize(code_.file_bytes / slot_bytes, 0);
    }
    return place->second;
  }
  if (auto shared = context_.shared_offsets.find(name); shared != context_.shared_offsets.end())
    return constant(shared->second + static_cast<std::uint64_t>(addend), wide);
  if (auto parameter = context_.kernel_parameters.find(name); entry_ && parameter != context_.kernel_parameters.end())
    return constant(parameter->second + static_cast<std::uint64_t>(addend), wide);
  if (auto variable = context_.layout->variables.find(name); variable != context_.layout->variables.end())
    return constant(variable->second.address + static_cast<std::uint64_t>(addend), wide);
  if (auto function = context_.layout->functions.find(name); function != context_.layout->functions.end())
    return constant(function_address(function->second), wide);
  fail("the symbol " + name);
  return 0;
}

Slot FunctionDecoder::source(const PtxOperand& operand, int bytes, PtxType type) {
  bool wide = bytes == 8;
  switch (operand.kind) {
    case PtxOperand::Kind::reg: {
      int have = register_bytes(operand);
      if (!fits(have, bytes) || operand.negated) {
        fail("an operand of another width");
        return 0;
      }
      Slot slot = places_.slot[operand.index];
      if (slot == no_slot) fail("a register that is never written");
      return slot == no_slot ? 0 : slot;
    }
    case PtxOperand::Kind::integer: {
      auto bits = static_cast<std::uint64_t>(operand.value);
      if (bytes == 1) bits &= 0xff;
      if (bytes == 2) bits &= 0xffff;
      // An integer where a floating-point number is meant (add.f32 %f1, %f2, 1) is not PTX.
      return constant(bits, wide);
    }
    case PtxOperand::Kind::floating: {
      double value = std::bit_cast<double>(operand.value);
      if (wide) return constant(static_cast<std::uint64_t>(operand.value), true);
      if (bytes == 4 && type != PtxType::f16x2)
        return constant(std::bit_cast<std::uint32_t>(static_cast<float>(value)), false);
      fail("a floating-point constant of this type");
      return 0;
    }
    case PtxOperand::Kind::special:
      return special(operand.name, wide);
    case PtxOperand::Kind::symbol:
      return symbol_address(operand.name, operand.value, wide);
    default:
      fail("this kind of operand");
      return 0;
  }
}

Slot FunctionDecoder::destination(const PtxOperand& operand, int bytes) {
  int have = register_bytes(operand);
  if (!fits(have, bytes)) {
    fail("a result of another width");
    return 0;
  }
  return places_.slot[operand.index];
}

void FunctionDecoder::lay_out_local() {
  constexpr std::uint64_t variable_gap = 16;
  std::uint64_t offset = 0;
  auto place = [&](const PtxVariable& variable) {
    std::uint64_t alignment = std::clamp<std::uint64_t>(variable.alignment, 4, 256);
    offset = (offset + alignment - 1) / alignment * alignment;
    CallTarget::Place result;
    result.offset = static_cast<std::uint32_t>(offset);
    std::uint64_t bytes = variable.bytes != 0 ? variable.bytes : static_cast<std::uint64_t>(bytes_of(variable.type));
    result.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, local_limit_bytes + 1));
    // A gap behind each variable, so that an overrun of a local array is not taken for its neighbour.
    offset += result.bytes + variable_gap;
    local_places_[variable.name] = result;
    return result;
  };
  if (!entry_) {
    for (const PtxVariable& variable : function_.parameters) code_.parameters.push_back(place(variable));
    for (const PtxVariable& variable : function_.returns) code_.returns.push_back(place(variable));
  }
  // Arrays last, so that the end of the last one is the end of the frame.
  for (PtxSpace space : {PtxSpace::param, PtxSpace::local})
    for (const PtxVariable& variable : function_.locals)
      if (variable.space == space && offset <= local_limit_bytes) place(variable);
  std::uint64_t end = offset == 0 ? 0 : (offset - variable_gap + 3) / 4 * 4;
  code_.local_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, local_limit_bytes + 1));
}

// Whoever calls the function ends the run with the verdict `unsupported`.
void FunctionDecoder::stop_with(std::string what) {
  Instruction stop;
  stop.flow = Flow::unsupported;
  stop.origin = static_cast<std::uint32_t>(context_.program->origins.size());
  context_.program->origins.push_back({{}, std::move(what), function_.name});
  code_.code.push_back(stop);
}

Result<FunctionCode> FunctionDecoder::decode() {
  std::vector<BasicBlock> blocks = order_blocks(function_);
  places_ = place_registers(function_, blocks);
  code_.file_bytes = places_.file_bytes;
  code_.initially_undefined = places_.initially_undefined;
  constant(0, true);  // so that slot 0 exists for operands that failed, and is wide enough
  carry_ = static_cast<std::int32_t>(places_.predicates);
  code_.predicates = places_.predicates + 1;
  lay_out_local();
  if (code_.local_bytes > local_limit_bytes)
    return Error{
        fmt::format("{} needs more than {} bytes of local memory per thread", function_.name, local_limit_bytes),
        "Use smaller local arrays.",
        {}};

  auto in_register = [](const PtxVariable& variable) { return variable.space == PtxSpace::reg; };
  if (std::any_of(function_.parameters.begin(), function_.parameters.end(), in_register) ||
      std::any_of(function_.returns.begin(), function_.returns.end(), in_register)) {
    stop_with("a function with .reg parameters");
    return std::move(code_);
  }

  // Where each block begins, counting the jumps that are added between blocks.
  auto needs_jump = [&](std::size_t b) {
    if (!falls_through(function_.body[blocks[b].end - 1])) return false;
    std::uint32_t following = blocks[b].end;
    if (following >= function_.body.size()) return true;  // off the end: a return
    return b + 1 >= blocks.size() || blocks[b + 1].first != following;
  };
  pc_of_.assign(function_.body.size() + 1, ~0u);
  std::uint32_t pc = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i < blocks[b].end; ++i) pc_of_[i] = pc++;
    if (needs_jump(b)) ++pc;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::uint32_t i = blocks[b].first; i < blocks[b].end; ++i) {
      const PtxInstruction& in = function_.body[i];
      Instruction out;
      decode_instruction(in, out);
      out.work = instruction_units(code_, out, in);
      out.origin = static_cast<std::uint32_t>(context_.program->origins.size());
      context_.program->origins.push_back({in.origin, in.form(), function_.name});
      code_.code.push_back(out);
    }
    if (needs_jump(b)) {
      Instruction jump;
      jump.work = work_cost::simple_instruction;
      std::uint32_t following = blocks[b].end;
      jump.flow = following < function_.body.size() ? Flow::branch : Flow::ret;
      jump.target = following < function_.body.size() ? pc_of_[following] : 0;
      jump.origin = static_cast<std::uint32_t>(context_.program->origins.size());
      context_.program->origins.push_back({function_.body[following - 1].origin, "bra", function_.name});
      code_.code.push_back(jump);
    }
    if (code_.file_bytes > file_limit_bytes)
      return Error{fmt::format("{} has too many registers to be emulated", function_.name), "", {}};
  }
  for (std::uint32_t first : function_.not_unrolled)
    if (pc_of_[first] != ~0u) code_.not_unrolled.push_back(pc_of_[first]);
  if (code_.code.empty()) {
    stop_with("a function without a body");
  }
  return std::move(code_);
}

void FunctionDecoder::decode_instruction(const PtxInstruction& in, Instruction& out) {
  failure_.clear();
  if (in.guard >= 0) {
    PtxOperand guard;
    guard.kind = PtxOperand::Kind::reg;
    guard.index = in.guard;
    out.guard = predicate(guard);
    out.guard_negated = in.guard_negated;
  }
  if (Step step = step_for(in.opcode); step != nullptr) {
    if (has_known_form(in))
      (this->*step)(in, out);
    else
      fail("this form");
  } else {
    decode_lane(in, out);
  }
  if (failed()) {
    Instruction stop;
    stop.flow = Flow::unsupported;
    stop.guard = out.guard;
    stop.guard_negated = out.guard_negated;
    out = stop;
  }
}

FunctionDecoder::Step FunctionDecoder::step_for(const std::string& opcode) {
  using D = FunctionDecoder;
  static const std::unordered_map<std::string, Step> steps = {{"mov", &D::decode_mov},
                                                              {"cvta", &D::decode_cvta},
                                                              {"isspacep", &D::decode_isspacep},
                                                              {"ld", &D::decode_ld},
                                                              {"ldu", &D::decode_ld},
                                                              {"st", &D::decode_st},
                                                              {"atom", &D::decode_atom},
                                                              {"red", &D::decode_atom},
                                                              {"cp", &D::decode_cp},
                                                              {"prefetch", &D::decode_nothing},
                                                              {"prefetchu", &D::decode_nothing},
                                                              {"discard", &D::decode_nothing},
                                                              {"applypriority", &D::decode_nothing},
                                                              {"nanosleep", &D::decode_nothing},
                                                              {"pmevent", &D::decode_nothing},
                                                              {"griddepcontrol", &D::decode_nothing},
                                                              {"bra", &D::decode_bra},
                                                              {"brx", &D::decode_brx},
                                                              {"call", &D::decode_call},
                                                              {"ret", &D::decode_ret},
                                                              {"exit", &D::decode_exit},
                                                              {"trap", &D::decode_trap},
                                                              {"brkpt", &D::decode_trap},
                                                              {"bar", &D::decode_bar},
                                                              {"barrier", &D::decode_bar},
                                                              {"membar", &D::decode_fence},
                                                              {"fence", &D::decode_fence},
                                                              {"shfl", &D::decode_shfl},
                                                              {"vote", &D::decode_vote},
                                                              {"match", &D::decode_match},
                                                              {"redux", &D::decode_redux},
                                                              {"activemask", &D::decode_activemask},
                                                              {"elect", &D::decode_elect},
                                                              {"ldmatrix", &D::decode_ldmatrix},
                                                              {"stmatrix", &D::decode_ldmatrix},
                                                              {"mma", &D::decode_mma},
                                                              {"wmma", &D::decode_wmma}};
  auto known = steps.find(opcode);
  return known == steps.end() ? nullptr : known->second;
}

}  // namespace kw
