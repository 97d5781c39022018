#include "kernel/gpu/device_session.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/gpu/cubin_variables.h"
#include "kernel/gpu/device_calls.h"
#include "kernel/gpu/gpu_choice.h"

namespace kw {
namespace {

constexpr std::uint64_t least_arena_bytes = 64u << 20;
constexpr std::size_t scrub_kernel = 6;  // of the helpers
constexpr std::size_t printf_bytes = 64u << 10, heap_bytes = 1u << 20;

// Errors after which the context works on.
GpuOutcome outcome_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return GpuOutcome::no_memory;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_NOT_FOUND:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_NOT_PERMITTED:
      return GpuOutcome::refused;
    default:
      return GpuOutcome::fault;
  }
}

}  // namespace

Error DeviceSession::failed(CUresult result, const char* what) {
  outcome_ = outcome_of(result);
  const std::string call(what, std::strcspn(what, "("));
  return Error{cuda_.describe(result) + " (" + call + ")", "", {}};
}

Error DeviceSession::refused(std::string why) {
  outcome_ = GpuOutcome::refused;
  return Error{std::move(why), "", {}};
}

Result<std::unique_ptr<DeviceSession>> DeviceSession::open() {
  const auto& driver = cuda_driver();
  if (!driver.ok()) return driver.error();
  std::unique_ptr<DeviceSession> session(new DeviceSession(*driver));
  KW_TRY_VOID(session->start());
  return session;
}

Result<void> DeviceSession::start() {
  if (const CUresult started = cuda_.cuInit(0); started == CUDA_ERROR_NO_DEVICE)
    return refused(no_such_gpu());
  else if (started != CUDA_SUCCESS)
    return failed(started, "cuInit");
  int count = 0;
  KW_CUDA(cuDeviceGetCount(&count));
  if (count == 0) return refused(no_such_gpu());
  CUdevice device = 0;
  KW_CUDA(cuDeviceGet(&device, 0));  // see gpu_choice.h
  char name[256] = {};
  KW_CUDA(cuDeviceGetName(name, sizeof name - 1, device));
  facts_.name = name;
  CUuuid uuid{};
  KW_CUDA(cuDeviceGetUuid_v2(&uuid, device));
  for (const char byte : uuid.bytes) facts_.uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return cuda_.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
  };
  facts_.capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts_.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts_.l2_bytes = static_cast<std::uint64_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  facts_.clock_khz = attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  facts_.memory_clock_khz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  facts_.memory_bus_bits = attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  shared_bytes_ = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  resident_threads_ = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  facts_.reads_host_memory = attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS) != 0;
  KW_CUDA(cuDriverGetVersion(&facts_.driver_version));
  std::size_t memory = 0;
  KW_CUDA(cuDeviceTotalMem_v2(&memory, device));
  facts_.memory_bytes = memory;

  KW_CUDA(cuDevicePrimaryCtxSetFlags_v2(device, CU_CTX_SCHED_BLOCKING_SYNC));
  KW_CUDA(cuDevicePrimaryCtxRetain(&context_, device));
  KW_CUDA(cuCtxSetCurrent(context_));
  KW_CUDA(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, printf_bytes));
  KW_CUDA(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, heap_bytes));
  KW_CUDA(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  KW_TRY_VOID(want_events(2));
  KW_CUDA(cuMemAlloc_v2(&counters_, most_counters * sizeof(std::uint64_t)));
  KW_CUDA(cuMemsetD8Async(counters_, 0, most_counters * sizeof(std::uint64_t), stream_));
  return grow_arena(least_arena_bytes);
}

Result<void> DeviceSession::want_events(std::size_t count) {
  while (events_.size() < count) {
    CUevent made = nullptr;
    KW_CUDA(cuEventCreate(&made, CU_EVENT_DEFAULT));
    events_.push_back(made);
  }
  return {};
}

Result<void> DeviceSession::synchronize() {
  KW_CUDA(cuStreamSynchronize(stream_));
  return {};
}

Result<void> DeviceSession::load_module(const ModuleRequest& request) {
  if (const auto old = modules_.find(request.slot); old != modules_.end()) {
    KW_CUDA(cuModuleUnload(old->second.module));
    if (old->second.initial != 0) KW_CUDA(cuMemFree_v2(old->second.initial));
    modules_.erase(old);
  }
  if (request.image.empty()) return {};
  Module made;
  KW_CUDA(cuModuleLoadData(&made.module, request.image.c_str()));
  const auto prepare = [&]() -> Result<void> {
    for (const std::string& name : request.kernels) {
      CUfunction function = nullptr;
      KW_CUDA(cuModuleGetFunction(&function, made.module, name.c_str()));
      KW_CUDA(cuFuncLoad(function));  // now, not at the first launch
      made.kernels.push_back(function);
    }
    if (request.slot == helper_slot) return {};
    KW_TRY_VOID(find_variables(request.image, made));
    return prepare_local_scrub(made);
  };
  if (auto prepared = prepare(); !prepared.ok()) {
    if (outcome_ != GpuOutcome::fault) {
      if (made.initial != 0) cuda_.cuMemFree_v2(made.initial);
      cuda_.cuModuleUnload(made.module);
    }
    return prepared;
  }
  if (request.slot == helper_slot) {
    helpers_ = made;
    if (helpers_.kernels.size() > scrub_kernel)
      KW_CUDA(cuFuncSetAttribute(helpers_.kernels[scrub_kernel], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 shared_bytes_));
  }
  modules_[request.slot] = std::move(made);
  return {};
}

Result<void> DeviceSession::find_variables(const std::string& image, Module& module) {
  std::uint64_t total = 0;
  for (const std::string& name : global_variables(image)) {
    Variable variable;
    std::size_t bytes = 0;
    const CUresult found = cuda_.cuModuleGetGlobal_v2(&variable.address, &bytes, module.module, name.c_str());
    if (found == CUDA_ERROR_NOT_FOUND) continue;  // the compiler left it out
    if (found != CUDA_SUCCESS) return failed(found, "cuModuleGetGlobal");
    variable.bytes = bytes;
    total += rounded_up(bytes, tensor_alignment);
    module.variables.push_back(variable);
  }
  if (module.variables.empty()) return {};
  KW_CUDA(cuMemAlloc_v2(&module.initial, total));
  CUdeviceptr next = module.initial;
  for (const Variable& variable : module.variables) {
    KW_CUDA(cuMemcpyDtoDAsync_v2(next, variable.address, variable.bytes, stream_));
    next += rounded_up(variable.bytes, tensor_alignment);
  }
  return synchronize();
}

Result<void> DeviceSession::enqueue_scrub() {
  std::uint32_t words = static_cast<std::uint32_t>(shared_bytes_) / 4, value = poison_word;
  void* scrub[] = {&words, &value};
  if (helpers_.kernels.size() <= scrub_kernel) return refused("the worker has no device code of its own yet");
  KW_CUDA(cuLaunchKernel(helpers_.kernels[scrub_kernel], static_cast<unsigned>(facts_.multiprocessors), 1, 1, 1024, 1,
                         1, static_cast<unsigned>(shared_bytes_), stream_, scrub, nullptr));
  return {};
}

Result<void> DeviceSession::enqueue_restoring(const Module& module) {
  CUdeviceptr initial = module.initial;
  for (const Variable& variable : module.variables) {
    KW_CUDA(cuMemcpyDtoDAsync_v2(variable.address, initial, variable.bytes, stream_));
    initial += rounded_up(variable.bytes, tensor_alignment);
  }
  KW_TRY_VOID(enqueue_local_scrub(module));
  return enqueue_scrub();
}

Result<void> DeviceSession::enqueue_forgetting(const Module& module, std::size_t counter) {
  KW_TRY_VOID(enqueue_scrub());
  KW_TRY_VOID(enqueue_local_scrub(module));
  CUdeviceptr initial = module.initial, changed = counters_ + counter * sizeof(std::uint64_t);
  for (const Variable& variable : module.variables) {
    CUdeviceptr now = variable.address;
    std::uint64_t bytes = variable.bytes, seed = ++noise_ * 0x2545F4914F6CDD1Du;
    void* arguments[] = {&now, &initial, &bytes, &seed, &changed};
    const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / 4096, 1, 512));
    KW_TRY_VOID(enqueue_helper(5, blocks, 256, arguments));
    initial += rounded_up(bytes, tensor_alignment);
  }
  return {};
}

Result<const DeviceSession::Module*> DeviceSession::module_at(std::uint64_t slot) {
  const auto found = modules_.find(slot);
  if (found == modules_.end()) return refused("no such module is loaded");
  return &found->second;
}

Result<const DeviceSession::Inputs*> DeviceSession::inputs_at(std::uint64_t id) {
  const auto found = inputs_.find(id);
  if (found == inputs_.end()) return refused("no such inputs are loaded");
  return &found->second;
}

Result<void> DeviceSession::load_inputs(const InputsRequest& request, int file) {
  forget_inputs(request.id);
  Inputs made;
  std::uint64_t file_bytes = 0;
  made.bytes = least_zone_bytes;
  for (const InputLayout& tensor : request.tensors) {
    if (tensor.bytes > facts_.memory_bytes) return refused("an input is larger than the device's memory");
    file_bytes += rounded_up(tensor.file_bytes, tensor_alignment);
    made.bytes += rounded_up(tensor.bytes, tensor_alignment) + zone_bytes(tensor.bytes);
  }
  const void* contents = nullptr;
  if (file_bytes > 0) {
    contents = ::mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (contents == MAP_FAILED) return refused("the inputs' file cannot be mapped");
  }
  const auto upload = [&]() -> Result<void> {
    KW_CUDA(cuMemAlloc_v2(&made.base, made.bytes));
    KW_CUDA(cuMemsetD32Async(made.base, poison_word, made.bytes / 4, stream_));
    CUdeviceptr next = made.base + least_zone_bytes;
    const char* from = static_cast<const char*>(contents);
    for (const InputLayout& tensor : request.tensors) {
      if (tensor.recipe) {
        KW_TRY_VOID(draw_input(tensor, from, next));
      } else {
        if (tensor.file_bytes != tensor.bytes) return refused("the inputs' file is not what its list says");
        KW_CUDA(cuMemcpyHtoDAsync_v2(next, from, tensor.bytes, stream_));
      }
      made.tensors.push_back(next);
      made.tensor_bytes.push_back(tensor.bytes);
      from += rounded_up(tensor.file_bytes, tensor_alignment);
      next += rounded_up(tensor.bytes, tensor_alignment) + zone_bytes(tensor.bytes);
    }
    if (helpers_.kernels.empty()) return synchronize();  // bare: nothing is summed up
    KW_TRY_VOID(clear_counters(1));
    KW_TRY_VOID(enqueue_checksum(made.base, made.bytes, 0));
    KW_TRY(const auto sums, read_counters(1));
    made.checksum = sums[0];
    return {};
  };
  auto done = upload();
  if (contents != nullptr) ::munmap(const_cast<void*>(contents), file_bytes);
  if (!done.ok()) {
    if (made.base != 0 && outcome_ != GpuOutcome::fault) cuda_.cuMemFree_v2(made.base);
    return done;
  }
  inputs_[request.id] = std::move(made);
  return {};
}

Result<void> DeviceSession::draw_input(const InputLayout& layout, const char* table, CUdeviceptr to) {
  const DrawRecipe& recipe = *layout.recipe;
  const std::uint64_t table_bytes = recipe.table_elements * recipe.element_bytes;
  if (recipe.element_bytes == 0 || table_bytes != layout.file_bytes || table_bytes > arena_bytes_ ||
      layout.bytes % recipe.element_bytes != 0 || !recipe.is_sound())
    return refused("the recipe of an input makes no sense");
  KW_CUDA(cuMemcpyHtoDAsync_v2(arena_, table, table_bytes, stream_));
  std::uint64_t mask = recipe.table_elements / recipe.parts - 1, key = recipe.key,
                count = layout.bytes / recipe.element_bytes;
  int kind = static_cast<int>(recipe.kind), element_bytes = static_cast<int>(recipe.element_bytes);
  int has_range = recipe.has_range ? 1 : 0;
  double low = recipe.low, high = recipe.high;
  std::uint64_t line_elements = recipe.line_elements, parts = recipe.parts, steady_parts = recipe.steady_parts;
  void* arguments[] = {&arena_, &mask,          &key,   &kind,         &element_bytes, &has_range, &low,
                       &high,   &line_elements, &parts, &steady_parts, &count,         &to};
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(count / 1024, 1, 4096));
  return enqueue_helper(4, blocks, 256, arguments);
}

void DeviceSession::forget_inputs(std::uint64_t id) {
  const auto found = inputs_.find(id);
  if (found == inputs_.end()) return;
  cuda_.cuMemFree_v2(found->second.base);
  inputs_.erase(found);
}

Result<void> DeviceSession::grow_arena(std::uint64_t bytes) {
  if (bytes <= arena_bytes_) return {};
  if (arena_ != 0) KW_CUDA(cuMemFree_v2(arena_));
  arena_ = 0;
  arena_bytes_ = 0;
  const std::uint64_t wanted = rounded_up(bytes + bytes / 4, 2u << 20);
  KW_CUDA(cuMemAlloc_v2(&arena_, wanted));
  arena_bytes_ = wanted;
  return {};
}

std::uint64_t DeviceSession::placement_bytes(const GpuPlan& plan, std::uint64_t shift) {
  std::uint64_t total = shift + least_zone_bytes;
  for (const GpuBuffer& buffer : plan.buffers)
    if (buffer.kind != Buffer::Kind::input)
      total += rounded_up(buffer.bytes, tensor_alignment) + zone_bytes(buffer.bytes);
  return total;
}

Result<DeviceSession::Placement> DeviceSession::place(const GpuPlan& plan, const std::vector<CUdeviceptr>& tensors,
                                                      const std::vector<std::uint64_t>& tensor_bytes,
                                                      std::uint64_t offset, std::uint64_t region_bytes,
                                                      std::uint64_t shift) {
  Placement made;
  made.start = arena_ + offset;
  made.bytes = region_bytes / 4 * 4;
  made.zones.push_back({made.start, shift + least_zone_bytes, -1});
  CUdeviceptr next = made.start + shift + least_zone_bytes;
  std::size_t input = 0;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const GpuBuffer& buffer = plan.buffers[i];
    if (buffer.kind == Buffer::Kind::input) {
      if (input >= tensors.size() || tensor_bytes[input] != buffer.bytes)
        return refused("the plan and the inputs do not belong together");
      made.addresses.push_back(tensors[input++]);
      continue;
    }
    made.addresses.push_back(next);
    // The zone begins with the first whole word after the buffer.
    const std::uint64_t words = rounded_up(buffer.bytes, 4);
    const std::uint64_t whole = rounded_up(buffer.bytes, tensor_alignment) + zone_bytes(buffer.bytes);
    made.zones.push_back({next + words, whole - words, static_cast<std::int64_t>(i)});
    next += whole;
  }
  if (next > made.start + made.bytes || made.start + made.bytes > arena_ + arena_bytes_)
    return refused("the arena is too small");
  made.zones.back().bytes += made.start + made.bytes - next;
  return made;
}

Result<void> DeviceSession::poison(const Placement& placement) {
  KW_CUDA(cuMemsetD32Async(placement.start, poison_word, placement.bytes / 4, stream_));
  return {};
}

Result<void> DeviceSession::enqueue_launch(const Module& module, const GpuLaunch& launch, const Placement& placement) {
  const CUfunction function = module.kernels[launch.kernel];
  std::vector<std::string> bytes;
  std::vector<void*> arguments;
  bytes.reserve(launch.arguments.size());
  for (const GpuArgument& argument : launch.arguments) {
    bytes.push_back(argument.bytes);
    for (const GpuPointer& pointer : argument.pointers) {
      std::uint64_t address = static_cast<std::uint64_t>(pointer.buffer_offset_bytes);
      if (pointer.buffer >= 0) address += placement.addresses[static_cast<std::size_t>(pointer.buffer)];
      std::memcpy(bytes.back().data() + pointer.offset_bytes, &address, sizeof address);
    }
    arguments.push_back(bytes.back().data());
  }
  constexpr std::uint32_t without_asking = 48u << 10;
  if (launch.dynamic_shared_bytes > without_asking)
    KW_CUDA(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                               static_cast<int>(launch.dynamic_shared_bytes)));
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  if (launch.cooperative) {
    KW_CUDA(cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, launch.dynamic_shared_bytes, stream_,
                                      arguments.data()));
  } else {
    KW_CUDA(cuLaunchKernel(function, gx, gy, gz, bx, by, bz, launch.dynamic_shared_bytes, stream_, arguments.data(),
                           nullptr));
  }
  return {};
}

Result<void> DeviceSession::enqueue(const Module& module, const GpuPlan& plan, const Placement& placement) {
  const auto address = [&](const GpuPointer& pointer) {
    return placement.addresses[static_cast<std::size_t>(pointer.buffer)] +
           static_cast<std::uint64_t>(pointer.buffer_offset_bytes);
  };
  for (const GpuStep& step : plan.steps) {
    if (const auto* launch = std::get_if<GpuLaunch>(&step)) {
      KW_TRY_VOID(enqueue_launch(module, *launch, placement));
    } else if (const auto* set = std::get_if<GpuSet>(&step)) {
      KW_CUDA(cuMemsetD8Async(address(set->target), set->value, set->bytes, stream_));
    } else if (const auto* copy = std::get_if<GpuCopy>(&step)) {
      KW_CUDA(cuMemcpyDtoDAsync_v2(address(copy->target), address(copy->source), copy->bytes, stream_));
    }
  }
  return {};
}

Result<void> DeviceSession::enqueue_helper(std::size_t kernel, unsigned blocks, unsigned threads, void** arguments) {
  if (kernel >= helpers_.kernels.size()) return refused("the worker has no device code of its own yet");
  KW_CUDA(cuLaunchKernel(helpers_.kernels[kernel], blocks, 1, 1, threads, 1, 1, 0, stream_, arguments, nullptr));
  return {};
}

}  // namespace kw
