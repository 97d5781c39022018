// The CUDA runtime's functions as a launcher may use them: queries, attributes, cudaLaunchKernel.

#include <algorithm>

#include "kernel/source/host_interpreter.h"

namespace kw {

Result<std::optional<HostValue>> HostInterpreter::call_runtime(std::string_view name, const Expr& expr) {
  using Maybe = std::optional<HostValue>;
  if (!name.starts_with("cuda")) return Maybe();
  const auto some = [](Result<HostValue> result) -> Result<Maybe> {
    if (!result.ok()) return std::move(result).error();
    return Maybe(std::move(result).value());
  };
  struct Arity {
    std::string_view name;
    std::size_t least, most;
  };
  static constexpr Arity arities[] = {{"cudaGetLastError", 0, 0},
                                      {"cudaPeekAtLastError", 0, 0},
                                      {"cudaDeviceSynchronize", 0, 0},
                                      {"cudaStreamSynchronize", 1, 1},
                                      {"cudaGetErrorString", 1, 1},
                                      {"cudaGetErrorName", 1, 1},
                                      {"cudaMalloc", 2, 2},
                                      {"cudaMallocAsync", 3, 3},
                                      {"cudaFree", 1, 1},
                                      {"cudaFreeAsync", 2, 2},
                                      {"cudaMemset", 3, 3},
                                      {"cudaMemsetAsync", 3, 4},
                                      {"cudaMemcpy", 4, 4},
                                      {"cudaMemcpyAsync", 4, 5},
                                      {"cudaFuncSetAttribute", 3, 3},
                                      {"cudaFuncSetCacheConfig", 2, 2},
                                      {"cudaLaunchKernel", 4, 6},
                                      {"cudaLaunchCooperativeKernel", 4, 6},
                                      {"cudaGetDevice", 1, 1},
                                      {"cudaDeviceGetAttribute", 3, 3},
                                      {"cudaGetDeviceProperties", 2, 2},
                                      {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", 4, 4},
                                      {"cudaOccupancyMaxPotentialBlockSize", 3, 5}};
  const Arity* arity = nullptr;
  for (const Arity& known : arities) {
    if (known.name == name) arity = &known;
  }
  if (arity == nullptr) {
    return unknown("`" + std::string(name) + "`", expr.token,
                   "a launcher may launch kernels on its stream, allocate scratch, set and copy device memory");
  }
  const std::size_t count = expr.children.size() - 1;
  if (count < arity->least || count > arity->most) {
    return fail("`" + std::string(name) + "` does not take " + std::to_string(count) + " arguments", expr.token);
  }
  std::vector<HostValue> arguments;
  for (std::size_t i = 1; i <= count; ++i) {
    KW_TRY(HostValue value, evaluate_set(*expr.children[i]));
    arguments.push_back(std::move(value));
  }
  if (name == "cudaGetErrorString" || name == "cudaGetErrorName") {
    return Maybe(HostValue{types_.basic(TypeKind::string), std::string_view("no error")});
  }
  if (name == "cudaStreamSynchronize") {
    KW_TRY(const bool ignored, is_default_stream(arguments[0], expr.token));
    static_cast<void>(ignored);
    return Maybe(success());
  }
  if (name == "cudaMalloc" || name == "cudaMallocAsync") return some(runtime_allocate(arguments, expr));
  if (name == "cudaFree" || name == "cudaFreeAsync") return some(runtime_free(arguments, expr));
  if (name == "cudaMemset" || name == "cudaMemsetAsync") return some(runtime_memset(arguments, expr));
  if (name == "cudaMemcpy" || name == "cudaMemcpyAsync") return some(runtime_memcpy(arguments, expr));
  if (name == "cudaFuncSetAttribute") return some(runtime_function_attribute(arguments, expr));
  if (name == "cudaLaunchKernel") return some(runtime_launch(arguments, false, expr));
  if (name == "cudaLaunchCooperativeKernel") return some(runtime_launch(arguments, true, expr));
  if (name == "cudaDeviceGetAttribute") return some(runtime_device_attribute(arguments, expr));
  if (name == "cudaGetDeviceProperties") return some(runtime_device_properties(arguments, expr));
  if (name == "cudaOccupancyMaxActiveBlocksPerMultiprocessor") return some(runtime_occupancy(arguments, expr));
  if (name == "cudaOccupancyMaxPotentialBlockSize") return some(runtime_block_size(arguments, expr));
  if (name == "cudaGetDevice") {
    KW_TRY(HostValue * out, out_parameter(arguments[0], expr.token));
    KW_TRY_VOID(store(*out, make_integer(types_.int_type(), 0), expr.token));
    return Maybe(success());
  }
  return Maybe(success());  // the last error, synchronisation, the cache preference: nothing to do
}

// The variable behind `&x`.
Result<HostValue*> HostInterpreter::out_parameter(const HostValue& pointer, TokenIndex token) {
  if (!pointer.is_host_pointer()) return fail("the first argument must be the address of a variable", token);
  const HostPointer& where = pointer.host_pointer();
  if (where.index < 0) return where.target;
  if (!where.target->is_aggregate() || where.index >= static_cast<std::int64_t>(where.target->parts().size())) {
    return fail("a pointer leaves its array", token);
  }
  return &where.target->parts()[static_cast<std::size_t>(where.index)];
}

Result<std::shared_ptr<const FunctionValue>> HostInterpreter::kernel_of(const HostValue& value, TokenIndex token) {
  if (const auto* function = std::get_if<std::shared_ptr<const FunctionValue>>(&value.data)) return *function;
  return fail("a value of type " + value.type->name + " is not a kernel", token);
}

Result<HostValue> HostInterpreter::runtime_function_attribute(const std::vector<HostValue>& arguments,
                                                              const Expr& expr) {
  KW_TRY(const auto function, kernel_of(arguments[0], expr.token));
  if (arguments[1].type->name != "cudaFuncAttribute")
    return fail("the second argument must be a cudaFuncAttribute", expr.token);
  KW_TRY_AT(const HostValue amount, convert(arguments[2], types_.int_type(), Conversion::implicit, types_), expr.token);
  if (arguments[1].integer() == 9) return success();  // the carve-out is a hint
  if (arguments[1].integer() != 8) return unknown("this attribute of cudaFuncSetAttribute", expr.token);
  if (amount.integer() < 0 || amount.integer() > static_cast<std::int64_t>(limits_.device.shared_bytes_optin)) {
    return fail("cudaFuncSetAttribute would fail: " + print(amount) + " bytes of shared memory", expr.token,
                "a block can have at most " + std::to_string(limits_.device.shared_bytes_optin));
  }
  if (function->candidates.size() != 1) return unknown("cudaFuncSetAttribute on an overloaded kernel", expr.token);
  const FunctionSyntax& syntax = *function->candidates[0];
  if (!syntax.is_global) return fail("`" + function->name + "` is not a kernel", expr.token);
  KernelInstance kernel;
  kernel.function = &syntax;
  kernel.name = syntax.scope.empty() ? std::string(syntax.name) : syntax.scope + "::" + std::string(syntax.name);
  if (syntax.generic.present) {
    KW_TRY(kernel.bindings, bind_template(syntax, function->explicit_arguments.get(), {}, expr.token));
    kernel.name += "<" + print_arguments(kernel.bindings) + ">";
  }
  const auto bytes = static_cast<std::uint32_t>(amount.integer());
  shared_limits_[kernel.name] = bytes;
  KW_TRY_VOID(add_step(SharedMemoryLimit{kernel.name, bytes, program_.position_of(expr.token)}, expr.token));
  return success();
}

// cudaLaunchKernel(kernel, grid, block, args, shared = 0, stream = 0): the arguments are read through pointers, so each
// must have exactly its parameter's type.
Result<HostValue> HostInterpreter::runtime_launch(const std::vector<HostValue>& arguments, bool cooperative,
                                                  const Expr& expr) {
  KW_TRY(const auto function, kernel_of(arguments[0], expr.token));
  LaunchShape shape;
  shape.cooperative = cooperative;
  KW_TRY(shape.grid, launch_dimension(arguments[1], expr.token));
  KW_TRY(shape.block, launch_dimension(arguments[2], expr.token));
  if (arguments.size() > 4) {
    KW_TRY(shape.shared_bytes, byte_count(arguments[4], expr.token));
  }
  shape.default_stream = true;
  if (arguments.size() > 5) {
    KW_TRY(shape.default_stream, is_default_stream(arguments[5], expr.token));
  }
  std::size_t expected = 0;
  for (const FunctionSyntax* candidate : function->candidates) {
    if (!candidate->is_specialisation) expected = candidate->parameters.size();
  }
  std::vector<CallArgument> values;
  if (expected > 0) {
    if (!arguments[3].is_host_pointer()) return fail("the kernel's arguments must be an array of pointers", expr.token);
    const HostPointer& list = arguments[3].host_pointer();
    if (list.index < 0 || !list.target->is_aggregate())
      return fail("the kernel's arguments must be an array of pointers", expr.token);
    const HostValue::Aggregate& pointers = list.target->parts();
    const auto first = static_cast<std::size_t>(list.index);
    if (pointers.size() < first + expected) {
      return fail("the kernel `" + function->name + "` takes " + std::to_string(expected) +
                      " arguments, the array has " + std::to_string(pointers.size() - first),
                  expr.token);
    }
    for (std::size_t i = 0; i < expected; ++i) {
      KW_TRY(HostValue * cell, out_parameter(pointers[first + i], expr.token));
      if (!cell->is_set()) return fail("a kernel argument is used before it has a value", expr.token);
      HostValue value = *cell;
      value.type = cell->type->plain;
      values.push_back({std::move(value), cell});
    }
  }
  KW_TRY(const KernelInstance kernel, kernel_instance(*function, values, expr.token));
  for (std::size_t i = 0; i < values.size(); ++i) {
    KW_TRY(const HostType* type, parameter_type(kernel, kernel.function->parameters[i]));
    const HostType* given = values[i].value.type;
    const bool pointers = given->kind == TypeKind::pointer && type->kind == TypeKind::pointer &&
                          given->element->plain == type->element->plain;
    const bool integers = is_integer(*given) && is_integer(*type) && given->bytes == type->bytes;
    if (given->plain != type->plain && !pointers && !integers) {
      return fail(
          "argument " + std::to_string(i + 1) + " of `" + kernel.name + "` is " + given->name + ", not " + type->name,
          expr.token, "the runtime does not convert it: use a variable of that type");
    }
  }
  KW_TRY_VOID(launch(kernel, shape, values, expr.token));
  return success();
}

Result<HostValue> HostInterpreter::runtime_device_attribute(const std::vector<HostValue>& arguments, const Expr& expr) {
  KW_TRY(HostValue * out, out_parameter(arguments[0], expr.token));
  if (!arguments[1].is_integer_value()) return fail("the second argument must be a cudaDeviceAttr", expr.token);
  const LaunchDevice& device = limits_.device;
  std::int64_t value = 0;
  switch (arguments[1].integer()) {
    case 1:
      value = device.max_threads_per_block;
      break;
    case 8:
      value = device.shared_bytes_default;
      break;
    case 10:
      value = device.warp_threads;
      break;
    case 12:
      value = device.registers_per_multiprocessor;
      break;
    case 16:
      value = device.multiprocessors;
      break;
    case 38:
      value = device.l2_bytes;
      break;
    case 39:
      value = device.max_threads_per_multiprocessor;
      break;
    case 75:
      value = device.compute_major;
      break;
    case 76:
      value = device.compute_minor;
      break;
    case 81:
      value = device.shared_bytes_per_multiprocessor;
      break;
    case 95:
      value = 1;
      break;
    case 97:
      value = device.shared_bytes_optin;
      break;
    case 106:
      value = device.max_blocks_per_multiprocessor;
      break;
    default:
      return unknown("this attribute of cudaDeviceGetAttribute", expr.token);
  }
  KW_TRY_VOID(store(*out, make_integer(types_.int_type(), value), expr.token));
  return success();
}

Result<HostValue> HostInterpreter::runtime_device_properties(const std::vector<HostValue>& arguments,
                                                             const Expr& expr) {
  KW_TRY(HostValue * out, out_parameter(arguments[0], expr.token));
  // A file may have a struct of this name itself.
  if (out->type->plain != types_.named("cudaDeviceProp") || !out->is_aggregate())
    return fail("the first argument must point to CUDA's cudaDeviceProp", expr.token);
  const LaunchDevice& device = limits_.device;
  const std::int64_t values[] = {device.multiprocessors,
                                 device.max_threads_per_block,
                                 device.max_threads_per_multiprocessor,
                                 device.warp_threads,
                                 device.compute_major,
                                 device.compute_minor,
                                 device.registers_per_multiprocessor,
                                 device.registers_per_multiprocessor,
                                 device.l2_bytes,
                                 device.max_blocks_per_multiprocessor,
                                 1,
                                 device.shared_bytes_default,
                                 device.shared_bytes_optin,
                                 device.shared_bytes_per_multiprocessor};
  const std::vector<FieldType>& fields = out->type->structure->fields;
  const std::int64_t extents[][3] = {{INT32_MAX, 65535, 65535}, {device.max_threads_per_block, 1024, 64}};
  KW_CHECK(fields.size() == std::size(values) + std::size(extents));
  for (std::size_t i = 0; i < std::size(values); ++i) assign(out->parts()[i], make_integer(fields[i].type, values[i]));
  for (std::size_t i = 0; i < std::size(extents); ++i) {
    const FieldType& field = fields[std::size(values) + i];
    HostValue::Aggregate parts;
    for (const std::int64_t extent : extents[i]) parts.push_back(make_integer(field.type->element, extent));
    assign(out->parts()[std::size(values) + i], HostValue{field.type, std::move(parts)});
  }
  return success();
}

// Threads, blocks and shared memory limit it here; registers are the compiler's secret at this point.
std::uint64_t HostInterpreter::resident_blocks(std::uint64_t threads, std::uint64_t shared) const {
  const LaunchDevice& device = limits_.device;
  if (threads == 0 || threads > static_cast<std::uint64_t>(device.max_threads_per_block)) return 0;
  const auto warp = static_cast<std::uint64_t>(device.warp_threads);
  const std::uint64_t rounded = (threads + warp - 1) / warp * warp;
  const std::uint64_t reserved = 1024;  // the system's share of each block
  const std::uint64_t by_threads = static_cast<std::uint64_t>(device.max_threads_per_multiprocessor) / rounded;
  const std::uint64_t by_memory =
      device.shared_bytes_per_multiprocessor / (std::min<std::uint64_t>(shared, 1u << 30) + reserved);
  return std::min({by_threads, by_memory, static_cast<std::uint64_t>(device.max_blocks_per_multiprocessor)});
}

Result<HostValue> HostInterpreter::runtime_occupancy(const std::vector<HostValue>& arguments, const Expr& expr) {
  KW_TRY(HostValue * out, out_parameter(arguments[0], expr.token));
  KW_TRY(const auto function, kernel_of(arguments[1], expr.token));
  KW_TRY(const std::uint64_t threads, byte_count(arguments[2], expr.token));
  KW_TRY(const std::uint64_t shared, byte_count(arguments[3], expr.token));
  const auto blocks = static_cast<std::int64_t>(resident_blocks(threads, shared));
  KW_TRY_VOID(store(*out, make_integer(types_.int_type(), blocks), expr.token));
  return success();
}

// (&blocks, &threads, kernel, shared = 0, most threads = 0): the largest block of those that fill a multiprocessor
// best, and how many of them fill the device.
Result<HostValue> HostInterpreter::runtime_block_size(const std::vector<HostValue>& arguments, const Expr& expr) {
  KW_TRY(HostValue * grid, out_parameter(arguments[0], expr.token));
  KW_TRY(HostValue * block, out_parameter(arguments[1], expr.token));
  KW_TRY(const auto function, kernel_of(arguments[2], expr.token));
  std::uint64_t shared = 0, most = 0;
  if (arguments.size() > 3) {
    KW_TRY(shared, byte_count(arguments[3], expr.token));
  }
  if (arguments.size() > 4) {
    KW_TRY(most, byte_count(arguments[4], expr.token));
  }
  const auto device_most = static_cast<std::uint64_t>(limits_.device.max_threads_per_block);
  const auto warp = static_cast<std::uint64_t>(limits_.device.warp_threads);
  most = most == 0 ? device_most : std::min(most, device_most);
  std::uint64_t best = 0, best_threads = 0;
  for (std::uint64_t threads = (most + warp - 1) / warp * warp; threads > 0; threads -= warp) {
    const std::uint64_t size = std::min(threads, most);
    const std::uint64_t resident = resident_blocks(size, shared) * size;
    if (resident > best_threads) best = size, best_threads = resident;
  }
  if (best == 0) return fail("no block of this kernel fits on the device", expr.token);
  const auto blocks = static_cast<std::int64_t>(best_threads / best) * limits_.device.multiprocessors;
  KW_TRY_VOID(store(*grid, make_integer(types_.int_type(), blocks), expr.token));
  KW_TRY_VOID(store(*block, make_integer(types_.int_type(), static_cast<std::int64_t>(best)), expr.token));
  return success();
}

}  // namespace kw
