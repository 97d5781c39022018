#include "kernel/emulated_driver/work.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

#include "kernel/emulated_driver/intruder.h"
#include "kernel/emulated_driver/state.h"

namespace kw::emulated_driver {
namespace {

constexpr double launch_time_ns = 2'000;
constexpr double thread_instructions_per_ns = 100;
constexpr double copy_bytes_per_ns = 1'000;  // 1000 GB/s

// The host bytes of a range of the device, which must lie in one allocation; nullptr: it does not.
std::byte* host_bytes(Device& device, CUdeviceptr address, std::uint64_t bytes) {
  Allocation* allocation = device.memory.find(address);
  if (allocation == nullptr || !allocation->holds(address, bytes)) return nullptr;
  allocation->pristine = false;
  return allocation->data.get() + (address - allocation->base);
}

// What the driver refuses when the work is given to it.
struct Check {
  Device& device;

  CUresult range(CUdeviceptr address, std::uint64_t bytes) const {
    return bytes == 0 || host_bytes(device, address, bytes) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  CUresult host(const void* pointer, std::uint64_t bytes) const {
    return bytes == 0 || pointer != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  CUresult operator()(const KernelWork& work) const {
    return device.has_function(work.function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }
  CUresult operator()(const FillWork& work) const {
    if (work.target % work.value_bytes != 0 || work.count > device_memory_bytes) return CUDA_ERROR_INVALID_VALUE;
    return range(work.target, work.count * work.value_bytes);
  }
  CUresult operator()(const CopyToDeviceWork& work) const {
    const CUresult target = range(work.target, work.bytes);
    return target != CUDA_SUCCESS ? target : host(work.source, work.bytes);
  }
  CUresult operator()(const CopyToHostWork& work) const {
    const CUresult source = range(work.source, work.bytes);
    return source != CUDA_SUCCESS ? source : host(work.target, work.bytes);
  }
  CUresult operator()(const CopyOnDeviceWork& work) const {
    const CUresult target = range(work.target, work.bytes);
    return target != CUDA_SUCCESS ? target : range(work.source, work.bytes);
  }
};

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// What hardware would make of the findings: it knows faults and hanging, and nothing of races, undefined values and
// divergence.
CUresult fault_of(const RunResult& result) {
  bool deadlock = false;
  for (const EmulatorFinding& finding : result.findings) {
    switch (finding.kind) {
      case FindingKind::out_of_bounds:
      case FindingKind::null_pointer:
      case FindingKind::use_after_free:
      case FindingKind::input_overwritten:  // a store to the kernel's own parameters
      case FindingKind::stack_overflow:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      case FindingKind::misaligned:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
      case FindingKind::trap:
        return finding.message.find("failed an assertion") != std::string::npos ? CUDA_ERROR_ASSERT
                                                                                : CUDA_ERROR_LAUNCH_FAILED;
      case FindingKind::device_call:  // printf is silent and malloc gives null
        break;
      case FindingKind::barrier_deadlock:
        deadlock = true;
        break;
      default:
        break;
    }
  }
  if (result.status == RunStatus::fault) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (deadlock) hang();
  return CUDA_SUCCESS;
}

struct Run {
  Device& device;

  CUresult intrude(const LaunchArguments& arguments) const {
    std::uint64_t orders = 0, results = 0;
    std::uint32_t bytes = 0;
    if (arguments.parameters.size() != 3) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(&orders, arguments.parameters[0].data(), sizeof orders);
    std::memcpy(&bytes, arguments.parameters[1].data(), sizeof bytes);
    std::memcpy(&results, arguments.parameters[2].data(), sizeof results);
    const std::byte* text = host_bytes(device, orders, bytes);
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::vector<int> found = carry_out(std::string(reinterpret_cast<const char*>(text), bytes));
    std::byte* to = host_bytes(device, results, found.size() * sizeof(int));
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(to, found.data(), found.size() * sizeof(int));
    return CUDA_SUCCESS;
  }

  CUresult operator()(const KernelWork& work) const {
    if (work.function->name == intruder_kernel) return intrude(work.arguments);
    const CUmodule module = work.function->module;
    if (const CUresult placed = put_variables_in_place(device, module); placed != CUDA_SUCCESS) return placed;
    RunLimits limits;
    limits.warp_instructions = std::numeric_limits<std::int64_t>::max() / 2;  // an endless kernel hangs, as on hardware
    // Races are counted as well: they must neither end the run nor take the place of a fault.
    limits.faulting_instructions = std::numeric_limits<std::uint64_t>::max();
    limits.findings = 1'000;
    limits.shared_bytes = shared_bytes_optin;
    const auto result = module->code.run(device.memory, work.arguments, limits);
    if (!result.ok()) {
      std::fprintf(stderr, "emulated driver: %s\n", to_string(result.error()).c_str());
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (result->status == RunStatus::launch_error) return CUDA_ERROR_INVALID_VALUE;
    if (result->status == RunStatus::unsupported) {
      std::fprintf(stderr, "emulated driver: %s: %s is not emulated\n", work.function->name.c_str(),
                   result->unsupported.c_str());
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    device.pass(launch_time_ns +
                static_cast<double>(result->statistics.thread_instructions) / thread_instructions_per_ns);
    device.fault = fault_of(*result);
    return CUDA_SUCCESS;
  }

  CUresult operator()(const FillWork& work) const {
    std::byte* target = host_bytes(device, work.target, work.count * work.value_bytes);
    if (work.count == 0) return copied(0);
    if (work.value_bytes == 1)
      std::memset(target, static_cast<int>(work.value & 0xff), work.count);
    else
      std::fill_n(reinterpret_cast<std::uint32_t*>(target), work.count, work.value);
    return copied(work.count * work.value_bytes);
  }
  CUresult operator()(const CopyToDeviceWork& work) const {
    if (work.bytes != 0) std::memcpy(host_bytes(device, work.target, work.bytes), work.source, work.bytes);
    return copied(work.bytes);
  }
  CUresult operator()(const CopyToHostWork& work) const {
    if (work.bytes != 0) std::memcpy(work.target, host_bytes(device, work.source, work.bytes), work.bytes);
    return copied(work.bytes);
  }
  CUresult operator()(const CopyOnDeviceWork& work) const {
    if (work.bytes != 0)
      std::memmove(host_bytes(device, work.target, work.bytes), host_bytes(device, work.source, work.bytes),
                   work.bytes);
    return copied(work.bytes);
  }
  CUresult copied(std::uint64_t bytes) const {
    device.pass(launch_time_ns + static_cast<double>(bytes) / copy_bytes_per_ns);
    return CUDA_SUCCESS;
  }
};

}  // namespace

// Checked again: what a graph uses may have been freed since it was captured.
CUresult run(Device& device, const Work& work) {
  if (const CUresult fine = std::visit(Check{device}, work); fine != CUDA_SUCCESS) return fine;
  return std::visit(Run{device}, work);
}

CUresult submit(Device& device, CUstream stream, Work work) {
  if (!device.has_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult fine = std::visit(Check{device}, work); fine != CUDA_SUCCESS) return fine;
  const bool by_default = !device.streams.has(stream);
  if (!by_default && stream->capturing) {
    if (!stream->capture_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->captured.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  // The default stream would have to wait for a stream that does not run.
  if (CUstream_st* other =
          device.streams.find_if([](const CUstream_st& each) { return each.capturing && each.blocking; });
      by_default && other != nullptr) {
    other->capture_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return run(device, work);
}

}  // namespace kw::emulated_driver
