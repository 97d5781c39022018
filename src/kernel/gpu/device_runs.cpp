// The part of a session that executes plans: looking at memory without copying it, collecting outputs, runs, counters.

#include <algorithm>
#include <cstring>

#include "kernel/gpu/device_calls.h"
#include "kernel/gpu/device_session.h"

namespace kw {
namespace {

constexpr std::uint64_t transfer_probe_bytes = 32u << 20;

}  // namespace

Result<void> DeviceSession::enqueue_checksum(CUdeviceptr start, std::uint64_t bytes, std::size_t counter) {
  std::uint64_t words = bytes / 4;
  CUdeviceptr sum = counters_ + counter * sizeof(std::uint64_t);
  void* arguments[] = {&start, &words, &sum};
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(words / 1024, 1, 2048));
  return enqueue_helper(0, blocks, 256, arguments);
}

Result<void> DeviceSession::enqueue_zone_check(const RedZone& zone, std::size_t counter) {
  CUdeviceptr start = zone.start, sum = counters_ + counter * sizeof(std::uint64_t);
  std::uint64_t words = zone.bytes / 4;
  std::uint32_t value = poison_word;
  void* arguments[] = {&start, &words, &value, &sum};
  return enqueue_helper(1, static_cast<unsigned>(std::clamp<std::uint64_t>(words / 1024, 1, 256)), 256, arguments);
}

Result<void> DeviceSession::clear_counters(std::size_t count) {
  KW_CUDA(cuMemsetD32Async(counters_, 0, count * 2, stream_));
  return {};
}

Result<std::vector<std::uint64_t>> DeviceSession::read_counters(std::size_t count) {
  std::vector<std::uint64_t> values(count);
  KW_CUDA(cuMemcpyDtoHAsync_v2(values.data(), counters_, count * sizeof(std::uint64_t), stream_));
  KW_TRY_VOID(synchronize());
  return values;
}

Result<std::size_t> DeviceSession::enqueue_memory_checks(const std::vector<const Placement*>& placements,
                                                         const Inputs& inputs, const Module& module,
                                                         std::size_t first) {
  std::size_t next = first;
  for (const Placement* placement : placements) next += placement->zones.size();
  if (next + 2 > counters_read) return refused("the plans have too many buffers");
  next = first;
  KW_TRY_VOID(enqueue_forgetting(module, next++));
  KW_TRY_VOID(enqueue_checksum(inputs.base, inputs.bytes, next++));
  for (const Placement* placement : placements)
    for (const RedZone& zone : placement->zones) KW_TRY_VOID(enqueue_zone_check(zone, next++));
  return next;
}

MemoryState DeviceSession::memory_state(const std::vector<const Placement*>& placements, const Inputs& inputs,
                                        const std::vector<std::uint64_t>& counters, std::size_t first) {
  MemoryState state;
  state.state_left = counters[first++] != 0;
  state.inputs_changed = counters[first++] != inputs.checksum;
  for (const Placement* placement : placements)
    for (const RedZone& zone : placement->zones)
      if (counters[first++] != 0 && state.overrun_buffer < 0)
        state.overrun_buffer = std::max<std::int64_t>(zone.buffer, 0);
  return state;
}

Result<void> DeviceSession::grow_gather(std::uint64_t bytes) {
  if (bytes <= gather_bytes_) return {};
  if (gather_ != 0) KW_CUDA(cuMemFree_v2(gather_));
  gather_ = 0;
  gather_bytes_ = 0;
  KW_CUDA(cuMemAlloc_v2(&gather_, bytes + bytes / 4));
  // Gaps between what is gathered are read along with it.
  KW_CUDA(cuMemsetD8Async(gather_, 0, bytes + bytes / 4, stream_));
  gather_bytes_ = bytes + bytes / 4;
  return {};
}

Result<void> DeviceSession::enqueue_collect(CUdeviceptr address, std::uint64_t bytes, const OutputSample& sample,
                                            CUdeviceptr to) {
  if (sample.whole()) {
    KW_CUDA(cuMemcpyDtoDAsync_v2(to, address, bytes, stream_));
    return {};
  }
  // The offsets lie behind the sampled bytes.
  CUdeviceptr offsets = to + rounded_up(sample.offsets_bytes.size() * sample.chunk_bytes, tensor_alignment);
  std::uint32_t chunk_bytes = static_cast<std::uint32_t>(sample.chunk_bytes);
  KW_CUDA(cuMemcpyHtoDAsync_v2(offsets, sample.offsets_bytes.data(),
                               sample.offsets_bytes.size() * sizeof(std::uint64_t), stream_));
  void* arguments[] = {&address, &offsets, &bytes, &chunk_bytes, &to};
  return enqueue_helper(2, static_cast<unsigned>(sample.offsets_bytes.size()), 64, arguments);
}

Result<std::vector<std::vector<std::string>>> DeviceSession::read_outputs(const std::vector<Collected>& from) {
  struct Piece {
    CUdeviceptr address;
    std::uint64_t bytes, read_bytes, space_bytes;
    const OutputSample* sample;
  };
  static const OutputSample whole;
  std::vector<std::vector<Piece>> pieces;
  std::uint64_t total = 0;
  for (const Collected& one : from) {
    pieces.emplace_back();
    for (std::size_t i = 0; i < one.plan->buffers.size(); ++i) {
      if (one.plan->buffers[i].kind != Buffer::Kind::output) continue;
      const std::size_t number = pieces.back().size();
      const OutputSample& sample = number < one.samples->size() ? (*one.samples)[number] : whole;
      Piece piece{one.placement->addresses[i], one.plan->buffers[i].bytes, one.plan->buffers[i].bytes, 0, &sample};
      if (!sample.whole()) {
        if (sample.chunk_bytes == 0 || sample.chunk_bytes > piece.bytes) return refused("the sample makes no sense");
        piece.read_bytes = sample.offsets_bytes.size() * sample.chunk_bytes;
      }
      piece.space_bytes = rounded_up(piece.read_bytes, tensor_alignment) +
                          rounded_up(sample.offsets_bytes.size() * sizeof(std::uint64_t), tensor_alignment);
      total += piece.space_bytes;
      if (total > gpu_body_limit / 2) return refused("the outputs are too large to be sent");
      pieces.back().push_back(piece);
    }
  }
  KW_TRY_VOID(grow_gather(std::max<std::uint64_t>(total, tensor_alignment)));
  CUdeviceptr next = gather_;
  for (const auto& list : pieces)
    for (const Piece& piece : list) {
      KW_TRY_VOID(enqueue_collect(piece.address, piece.bytes, *piece.sample, next));
      next += piece.space_bytes;
    }
  std::string bytes(total, '\0');
  KW_CUDA(cuMemcpyDtoHAsync_v2(bytes.data(), gather_, total, stream_));
  KW_TRY_VOID(synchronize());
  std::vector<std::vector<std::string>> outputs;
  std::uint64_t at = 0;
  for (const auto& list : pieces) {
    outputs.emplace_back();
    for (const Piece& piece : list) {
      outputs.back().push_back(bytes.substr(at, piece.read_bytes));
      at += piece.space_bytes;
    }
  }
  return outputs;
}

Result<std::vector<RunReply>> DeviceSession::run(const std::vector<RunRequest>& requests) {
  struct Run {
    const RunRequest* request;
    const Module* module;
    const Inputs* inputs;
    Placement placement;
    std::size_t counter;
  };
  std::vector<Run> runs;
  std::uint64_t total = 0;
  const auto shift_of = [](const RunRequest& request) { return request.placement_seed % 512 * tensor_alignment; };
  for (const RunRequest& request : requests) {
    KW_TRY(const Module* module, module_at(request.slot));
    KW_TRY(const Inputs* inputs, inputs_at(request.inputs));
    if (!is_consistent(request.plan, module->kernels.size())) return refused("the plan is not consistent");
    runs.push_back({&request, module, inputs, {}, 0});
    total += placement_bytes(request.plan, shift_of(request));
  }
  KW_TRY_VOID(grow_arena(total));
  std::uint64_t offset = 0;
  for (Run& run : runs) {
    const std::uint64_t shift = shift_of(*run.request), region = placement_bytes(run.request->plan, shift);
    KW_TRY(run.placement,
           place(run.request->plan, run.inputs->tensors, run.inputs->tensor_bytes, offset, region, shift));
    offset += region;
  }
  KW_TRY_VOID(want_events(2 * runs.size()));
  if (total > 0) KW_CUDA(cuMemsetD32Async(arena_, poison_word, total / 4, stream_));
  KW_TRY_VOID(clear_counters(counters_read));
  std::size_t counter = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    KW_CUDA(cuEventRecord(events_[2 * i], stream_));
    KW_TRY_VOID(enqueue(*run.module, run.request->plan, run.placement));
    KW_CUDA(cuEventRecord(events_[2 * i + 1], stream_));
    run.counter = counter;
    KW_TRY(counter, enqueue_memory_checks({&run.placement}, *run.inputs, *run.module, counter));
  }
  std::vector<Collected> collected;
  for (const Run& run : runs) collected.push_back({&run.request->plan, &run.placement, &run.request->samples});
  KW_TRY(auto outputs, read_outputs(collected));
  KW_TRY(const auto counters, read_counters(counter));
  std::vector<RunReply> replies;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunReply reply;
    float ms = 0;
    KW_CUDA(cuEventElapsedTime(&ms, events_[2 * i], events_[2 * i + 1]));
    reply.time_us = 1000.0 * ms;
    reply.outputs = std::move(outputs[i]);
    reply.memory = memory_state({&runs[i].placement}, *runs[i].inputs, counters, runs[i].counter);
    replies.push_back(std::move(reply));
  }
  // What this kernel left must be of no use to the next.
  if (total > 0) KW_CUDA(cuMemsetD32Async(arena_, poison_word, total / 4, stream_));
  return replies;
}

Result<void> DeviceSession::run_bare(const RunRequest& request) {
  KW_TRY(const Module* module, module_at(request.slot));
  KW_TRY(const Inputs* inputs, inputs_at(request.inputs));
  if (!is_consistent(request.plan, module->kernels.size())) return refused("the plan is not consistent");
  // Allocations of their own, so that a tool knows where each ends.
  Placement placement;
  std::size_t input = 0;
  for (const GpuBuffer& buffer : request.plan.buffers) {
    CUdeviceptr address = 0;
    KW_CUDA(cuMemAlloc_v2(&address, std::max<std::uint64_t>(buffer.bytes, 1)));
    if (buffer.kind == Buffer::Kind::input) {
      if (input >= inputs->tensors.size() || inputs->tensor_bytes[input] != buffer.bytes)
        return refused("the plan and the inputs do not belong together");
      KW_CUDA(cuMemcpyDtoDAsync_v2(address, inputs->tensors[input++], buffer.bytes, stream_));
    }
    placement.addresses.push_back(address);
  }
  KW_TRY_VOID(enqueue(*module, request.plan, placement));
  KW_TRY_VOID(synchronize());
  for (const CUdeviceptr address : placement.addresses) KW_CUDA(cuMemFree_v2(address));
  return {};
}

Result<CounterReport> DeviceSession::profile(const RunRequest& request) {
  KW_TRY(const Module* module, module_at(request.slot));
  KW_TRY(const Inputs* inputs, inputs_at(request.inputs));
  if (!is_consistent(request.plan, module->kernels.size())) return refused("the plan is not consistent");
  const std::uint64_t shift = request.placement_seed % 512 * tensor_alignment;
  const std::uint64_t region = placement_bytes(request.plan, shift);
  KW_TRY_VOID(grow_arena(region));
  KW_TRY(const Placement placement, place(request.plan, inputs->tensors, inputs->tensor_bytes, 0, region, shift));
  if (profiler_ == nullptr) {
    outcome_ = GpuOutcome::refused;  // what CUPTI does not like leaves the context as it is
    KW_TRY(profiler_, CuptiProfiler::create(context_));
  }
  KW_TRY_VOID(poison(placement));
  outcome_ = GpuOutcome::refused;
  return profiler_->profile([&]() -> Result<void> {
    KW_TRY_VOID(enqueue(*module, request.plan, placement));
    return synchronize();
  });
}

Result<TransferRates> DeviceSession::transfer_rates() {
  TransferRates rates;
  void* host = nullptr;
  KW_CUDA(cuMemAllocHost_v2(&host, transfer_probe_bytes));
  KW_TRY_VOID(grow_arena(transfer_probe_bytes));
  const auto timed = [&](bool to_device) -> Result<double> {
    double best_ms = 1e9;
    for (int i = 0; i < 3; ++i) {
      float ms = 0;
      KW_CUDA(cuEventRecord(events_[0], stream_));
      if (to_device) {
        KW_CUDA(cuMemcpyHtoDAsync_v2(arena_, host, transfer_probe_bytes, stream_));
      } else {
        KW_CUDA(cuMemcpyDtoHAsync_v2(host, arena_, transfer_probe_bytes, stream_));
      }
      KW_CUDA(cuEventRecord(events_[1], stream_));
      KW_TRY_VOID(synchronize());
      KW_CUDA(cuEventElapsedTime(&ms, events_[0], events_[1]));
      best_ms = std::min(best_ms, static_cast<double>(ms));
    }
    return static_cast<double>(transfer_probe_bytes) / std::max(best_ms, 1e-6) / 1e6;
  };
  KW_TRY(rates.to_device_gb_per_s, timed(true));
  KW_TRY(rates.to_host_gb_per_s, timed(false));
  KW_CUDA(cuMemFreeHost(host));
  return rates;
}

}  // namespace kw
