// Loads, stores, atomics and asynchronous copies.

#include <initializer_list>
#include <unordered_map>

#include "kernel/emulate/decode_function.h"
#include "kernel/emulate/operations.h"

namespace kw {
namespace {

bool has_any(const PtxInstruction& in, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (in.has(name)) return true;
  return false;
}

}  // namespace

PtxSpace FunctionDecoder::space_of(const PtxInstruction& in, const PtxOperand& where) const {
  if (has_any(in, {"shared", "shared::cta"})) return PtxSpace::shared;
  if (in.has("global")) return PtxSpace::global;
  if (in.has("local")) return PtxSpace::local;
  if (in.has("const")) return PtxSpace::constant;
  if (has_any(in, {"param", "param::entry", "param::func"})) {
    // The parameters of calls and of called functions lie in local memory.
    if (!entry_ || (where.index < 0 && local_places_.find(where.name) != local_places_.end())) return PtxSpace::local;
    return PtxSpace::param;
  }
  return PtxSpace::generic;
}

void FunctionDecoder::address(const PtxOperand& where, Instruction& out, MemoryAccess& access) {
  if (where.kind != PtxOperand::Kind::address && where.kind != PtxOperand::Kind::symbol) {
    fail("this kind of address");
    return;
  }
  out.immediate = where.value;
  if (where.index >= 0) {
    PtxOperand base;
    base.kind = PtxOperand::Kind::reg;
    base.index = where.index;
    access.wide_base = register_bytes(base) == 8;
    out.source[0] = source(base, access.wide_base ? 8 : 4);
  } else if (!where.name.empty()) {
    out.source[0] = symbol_address(where.name, 0, true);
  } else {
    out.source[0] = constant(0, true);
  }
  access.cache = context_.program->inline_caches++;
}

bool FunctionDecoder::element_registers(const PtxOperand& what, int element_bytes, bool writes, MemoryAccess& access) {
  bool vector = what.kind == PtxOperand::Kind::vector;
  std::size_t count = vector ? what.parts.size() : 1;
  if (count != 1 && count != 2 && count != 4 && count != 8) {
    fail("a vector of this length");
    return false;
  }
  access.elements = static_cast<std::uint8_t>(count);
  access.element_bytes = static_cast<std::uint8_t>(element_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const PtxOperand& part = vector ? what.parts[i] : what;
    if (writes && part.kind == PtxOperand::Kind::sink) continue;
    int have = register_bytes(part);
    if (have == 0 && !writes) have = element_bytes;  // a constant
    if (have == 0 || have > 8 || have < (element_bytes == 1 ? 1 : element_bytes)) {
      fail("a register narrower than the access");
      return false;
    }
    access.register_bytes[i] = static_cast<std::uint8_t>(have == 1 ? 2 : have);
    access.parts[i] = writes ? destination(part, have) : source(part, have);
  }
  return !failed();
}

void FunctionDecoder::decode_ld(const PtxInstruction& in, Instruction& out) {
  const PtxOperand& to = operand(in, 0);
  const PtxOperand& from = operand(in, 1);
  if (failed()) return;
  PtxType type = in.type();
  int bytes = bytes_of(type);
  if (bytes == 0 || bytes > 8) {
    fail("this type");
    return;
  }
  MemoryAccess access;
  access.space = space_of(in, from);
  access.sign_extend = type == PtxType::s8 || type == PtxType::s16 || type == PtxType::s32;
  access.read_only_path = in.has("nc") || access.space == PtxSpace::constant;
  bool ordered = has_any(in, {"volatile", "acquire", "relaxed", "mmio"});
  access.synchronizing = ordered;
  // A volatile load is a relaxed one (PTX ISA 9.0, 8.4 "Operation types"): without a fence behind it it orders nothing.
  access.acquire = in.has("acquire");
  if (ordered && access.space == PtxSpace::shared) context_.program->shared_flags = true;
  if (ordered && access.space != PtxSpace::shared && access.space != PtxSpace::local) context_.program->spins = true;
  if (in.has("acquire")) context_.program->acquires = true;
  if (!element_registers(to, bytes, true, access)) return;
  address(from, out, access);
  out.run = run_load;
  if (access.space == PtxSpace::param && from.index < 0) {
    auto parameter = context_.kernel_parameters.find(from.name);
    if (parameter != context_.kernel_parameters.end()) {
      std::int64_t offset = static_cast<std::int64_t>(parameter->second) + from.value;
      if (offset < 0 ||
          offset + bytes * access.elements > static_cast<std::int64_t>(context_.program->parameter_bytes)) {
        fail("a parameter offset outside the parameters");
        return;
      }
      out.immediate = offset;
      out.run = run_load_parameter;
    }
  }
  out.detail = static_cast<std::uint32_t>(code_.memory.size());
  code_.memory.push_back(access);
}

void FunctionDecoder::decode_st(const PtxInstruction& in, Instruction& out) {
  const PtxOperand& to = operand(in, 0);
  const PtxOperand& what = operand(in, 1);
  if (failed()) return;
  int bytes = bytes_of(in.type());
  if (bytes == 0 || bytes > 8) {
    fail("this type");
    return;
  }
  MemoryAccess access;
  access.space = space_of(in, to);
  access.synchronizing = has_any(in, {"volatile", "release", "relaxed", "mmio"});
  access.release = in.has("release");
  if (access.release) context_.program->acquires = true;
  if (!element_registers(what, bytes, false, access)) return;
  address(to, out, access);
  out.run = run_store;
  out.detail = static_cast<std::uint32_t>(code_.memory.size());
  code_.memory.push_back(access);
}

void FunctionDecoder::decode_atom(const PtxInstruction& in, Instruction& out) {
  static const std::unordered_map<std::string_view, AtomicOperation> operations = {
      {"add", AtomicOperation::add},   {"min", AtomicOperation::min},     {"max", AtomicOperation::max},
      {"exch", AtomicOperation::exch}, {"cas", AtomicOperation::cas},     {"and", AtomicOperation::bit_and},
      {"or", AtomicOperation::bit_or}, {"xor", AtomicOperation::bit_xor}, {"inc", AtomicOperation::inc},
      {"dec", AtomicOperation::dec}};
  bool returns = in.opcode == "atom";
  AtomicAccess atomic;
  atomic.returns = returns && operand(in, 0).kind != PtxOperand::Kind::sink;
  atomic.type = in.type();
  bool known = false;
  for (const std::string& modifier : in.modifiers) {
    auto found = operations.find(modifier);
    if (found == operations.end()) continue;
    atomic.operation = found->second;
    known = true;
  }
  int bytes = bytes_of(atomic.type);
  bool vector = has_any(in, {"v2", "v4", "v8"});
  bool two_byte = atomic.type == PtxType::f16 || atomic.type == PtxType::bf16 ||
                  atomic.operation == AtomicOperation::cas || atomic.operation == AtomicOperation::exch;
  if (!known || vector || !(bytes == 4 || bytes == 8 || (bytes == 2 && two_byte))) {
    fail("this atomic operation");
    return;
  }
  bool floating = atomic.type == PtxType::f32 || atomic.type == PtxType::f64 || atomic.type == PtxType::f16 ||
                  atomic.type == PtxType::bf16 || atomic.type == PtxType::f16x2 || atomic.type == PtxType::bf16x2;
  if (floating && atomic.operation != AtomicOperation::add) {
    fail("this atomic operation on floating-point numbers");
    return;
  }
  std::size_t first = returns ? 1 : 0;
  const PtxOperand& where = operand(in, first);
  const PtxOperand& value = operand(in, first + 1);
  if (failed()) return;
  atomic.memory.space = space_of(in, where);
  atomic.memory.element_bytes = static_cast<std::uint8_t>(bytes);
  atomic.memory.synchronizing = true;
  atomic.memory.acquire = has_any(in, {"acquire", "acq_rel"});
  atomic.memory.release = has_any(in, {"release", "acq_rel"});
  if (atomic.memory.acquire || atomic.memory.release) context_.program->acquires = true;
  if (atomic.returns) out.destination = destination(operand(in, 0), bytes);
  address(where, out, atomic.memory);
  out.source[1] = source(value, bytes, atomic.type);
  out.sources = 2;
  if (atomic.operation == AtomicOperation::cas) {
    out.source[2] = source(operand(in, first + 2), bytes, atomic.type);
    out.sources = 3;
  }
  if (atomic.memory.space == PtxSpace::global || atomic.memory.space == PtxSpace::generic)
    context_.program->global_atomics = true;
  if (atomic.memory.space == PtxSpace::shared || atomic.memory.space == PtxSpace::generic)
    context_.program->shared_atomics = true;
  out.run = run_atomic;
  out.detail = static_cast<std::uint32_t>(code_.atomics.size());
  code_.atomics.push_back(atomic);
}

void FunctionDecoder::decode_cp(const PtxInstruction& in, Instruction& out) {
  if (!in.has("async") || has_any(in, {"bulk", "mbarrier", "reduce"})) {
    fail("this instruction");
    return;
  }
  if (in.has("commit_group")) {
    out.run = run_copy_commit;
    return;
  }
  if (in.has("wait_all") || in.has("wait_group")) {
    out.run = run_copy_wait;
    if (in.has("wait_all")) {
      out.immediate = -1;  // what was not committed too
    } else {
      const PtxOperand& groups = operand(in, 0);
      if (groups.kind != PtxOperand::Kind::integer) fail("a number of groups that is not constant");
      out.immediate = groups.value;
    }
    return;
  }
  const PtxOperand& size = operand(in, 2);
  if (size.kind != PtxOperand::Kind::integer || !(size.value == 4 || size.value == 8 || size.value == 16)) {
    fail("this size");
    return;
  }
  // source[0] with `immediate`: the global address; source[1] with `target`: the shared one.
  Instruction to;
  MemoryAccess shared, global;
  address(operand(in, 0), to, shared);
  address(operand(in, 1), out, global);
  out.source[1] = to.source[0];
  out.target = static_cast<std::uint32_t>(to.immediate);
  shared.space = PtxSpace::shared;
  global.space = PtxSpace::global;
  shared.element_bytes = global.element_bytes = static_cast<std::uint8_t>(size.value);
  out.extra = static_cast<std::uint16_t>(size.value);
  out.sources = 2;
  // The fourth operand is how many bytes are really read (the rest is zero), or a predicate that means none; a cache
  // policy is not that.
  if (in.operands.size() > 3) {
    const PtxOperand& extent = in.operands[3];
    if (is_predicate(extent)) {
      out.predicate_in = predicate(extent);
      out.predicate_in_negated = extent.negated;
    } else if (register_bytes(extent) != 8) {
      out.source[2] = source(extent, 4);
    }
  }
  out.run = run_copy_async;
  out.detail = static_cast<std::uint32_t>(code_.memory.size());
  code_.memory.push_back(global);
  code_.memory.push_back(shared);
}

void FunctionDecoder::decode_nothing(const PtxInstruction&, Instruction& out) { out.run = run_nothing; }

}  // namespace kw
