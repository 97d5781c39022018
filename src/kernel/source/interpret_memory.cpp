// Scratch memory, memset and device-to-device copies.

#include "kernel/source/host_interpreter.h"

namespace kw {

std::string HostInterpreter::variable_name(const Expr& expr) {
  const Expr* at = &expr;
  while ((at->kind == ExprKind::unary || at->kind == ExprKind::cast) && !at->children.empty()) at = at->children[0];
  if (at->kind == ExprKind::name && !at->name.parts.empty()) return std::string(at->name.parts.back().name);
  if (at->kind == ExprKind::member) return std::string(at->text);
  return "scratch";
}

// Sizes are size_t there: a negative number would become a huge one.
Result<std::uint64_t> HostInterpreter::byte_count(const HostValue& value, TokenIndex token) {
  KW_TRY_AT(const HostValue size, convert(value, types_.size_type(), Conversion::implicit, types_), token);
  const auto bytes = static_cast<std::uint64_t>(size.integer());
  if (bytes > std::uint64_t{1} << 62) return fail("a size is negative", token);
  return bytes;
}

Result<HostValue> HostInterpreter::runtime_allocate(const std::vector<HostValue>& arguments, const Expr& expr) {
  const TokenIndex token = expr.token;
  KW_TRY(HostValue * out, out_parameter(arguments[0], token));
  if (out->type->kind != TypeKind::pointer)
    return fail("memory is allocated into something that is not a pointer", token);
  KW_TRY(const std::uint64_t bytes, byte_count(arguments[1], token));
  if (arguments.size() > 2) {
    KW_TRY(const bool ignored, is_default_stream(arguments[2], token));
    static_cast<void>(ignored);
  }
  if (bytes == 0) return fail("scratch memory of 0 bytes", token, "skip the allocation");
  KW_TRY(out->data, allocate_scratch(bytes, variable_name(*expr.children[1]), false, token));
  return success();
}

Result<DevicePointer> HostInterpreter::allocate_scratch(std::uint64_t bytes, std::string name, bool of_tensor,
                                                        TokenIndex token) {
  if (bytes > limits_.max_scratch_bytes || scratch_bytes_ + bytes > limits_.max_scratch_bytes) {
    return fail("scratch memory of " + std::to_string(scratch_bytes_ + bytes) + " bytes is over the limit of " +
                    std::to_string(limits_.max_scratch_bytes),
                token);
  }
  scratch_bytes_ += bytes;
  const int buffer = static_cast<int>(plan_.buffers.size());
  KW_TRY_VOID(add_step(ScratchAllocate{buffer, program_.position_of(token)}, token));
  plan_.buffers.push_back({Buffer::Kind::scratch, std::move(name), bytes});
  scratch_.push_back({buffer, false, token, bytes, of_tensor});
  return DevicePointer{buffer, 0};
}

Result<HostValue> HostInterpreter::runtime_free(const std::vector<HostValue>& arguments, const Expr& expr) {
  const TokenIndex token = expr.token;
  if (arguments.size() > 1) {
    KW_TRY(const bool ignored, is_default_stream(arguments[1], token));
    static_cast<void>(ignored);
  }
  if (!arguments[0].is_device_pointer()) return fail("something is freed that is not device memory", token);
  const DevicePointer pointer = arguments[0].device_pointer();
  if (pointer.buffer == DevicePointer::null_buffer) return success();
  if (Scratch* found = find_scratch(pointer.buffer)) {
    Scratch& scratch = *found;
    const std::string& name = plan_.buffers[static_cast<std::size_t>(scratch.buffer)].name;
    if (scratch.of_tensor) return fail("the memory of a tensor is freed", token, "PyTorch frees it");
    if (scratch.freed) return fail("scratch memory `" + name + "` is freed twice", token);
    if (pointer.offset_bytes != 0)
      return fail("scratch memory `" + name + "` is freed by a pointer into its middle", token);
    scratch.freed = true;
    scratch_bytes_ -= scratch.bytes;
    KW_TRY_VOID(add_step(ScratchFree{scratch.buffer, program_.position_of(token)}, token));
    return success();
  }
  return fail("an input or output is freed", token, "free only what the launcher has allocated");
}

Result<void> HostInterpreter::check_range(const HostValue& pointer, std::uint64_t bytes, bool written,
                                          TokenIndex token) {
  if (!pointer.is_device_pointer()) {
    return fail("memory of the host is copied or set", token, "only device memory can be used here");
  }
  const DevicePointer& where = pointer.device_pointer();
  if (where.buffer == DevicePointer::null_buffer) return fail("a null pointer is copied or set", token);
  KW_TRY_VOID(check_alive(where, token));
  const Buffer& buffer = plan_.buffers[static_cast<std::size_t>(where.buffer)];
  if (written && buffer.kind == Buffer::Kind::input)
    return fail("the input `" + buffer.name + "` is overwritten", token);
  if (where.offset_bytes < 0 || static_cast<std::uint64_t>(where.offset_bytes) > buffer.bytes ||
      bytes > buffer.bytes - static_cast<std::uint64_t>(where.offset_bytes)) {
    return fail(std::to_string(bytes) + " bytes at offset " + std::to_string(where.offset_bytes) + " of `" +
                    buffer.name + "` leave its " + std::to_string(buffer.bytes) + " bytes",
                token);
  }
  return {};
}

Result<HostValue> HostInterpreter::runtime_memset(const std::vector<HostValue>& arguments, const Expr& expr) {
  const TokenIndex token = expr.token;
  KW_TRY_AT(const HostValue value, convert(arguments[1], types_.int_type(), Conversion::implicit, types_), token);
  KW_TRY(const std::uint64_t bytes, byte_count(arguments[2], token));
  if (arguments.size() > 3) {
    KW_TRY(const bool ignored, is_default_stream(arguments[3], token));
    static_cast<void>(ignored);
  }
  KW_TRY_VOID(check_range(arguments[0], bytes, true, token));
  KW_TRY_VOID(add_step(MemorySet{arguments[0].device_pointer(), static_cast<std::uint8_t>(value.integer()), bytes,
                                 program_.position_of(token)},
                       token));
  return success();
}

Result<HostValue> HostInterpreter::runtime_memcpy(const std::vector<HostValue>& arguments, const Expr& expr) {
  const TokenIndex token = expr.token;
  KW_TRY(const std::uint64_t bytes, byte_count(arguments[2], token));
  const bool device_to_device = arguments[3].is_integer_value() && arguments[3].type->name == "cudaMemcpyKind" &&
                                (arguments[3].integer() == 3 || arguments[3].integer() == 4);
  if (!device_to_device) {
    return fail("memory is copied to or from the host", token, "only cudaMemcpyDeviceToDevice can be used here");
  }
  if (arguments.size() > 4) {
    KW_TRY(const bool ignored, is_default_stream(arguments[4], token));
    static_cast<void>(ignored);
  }
  KW_TRY_VOID(check_range(arguments[0], bytes, true, token));
  KW_TRY_VOID(check_range(arguments[1], bytes, false, token));
  KW_TRY_VOID(add_step(
      MemoryCopy{arguments[0].device_pointer(), arguments[1].device_pointer(), bytes, program_.position_of(token)},
      token));
  return success();
}

}  // namespace kw
