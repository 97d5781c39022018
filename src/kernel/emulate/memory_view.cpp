#include "kernel/emulate/memory_view.h"

#include <cstring>

#include <fmt/format.h>

#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::uint64_t null_page_bytes = 64 << 10;

const char* verb(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

bool looks_for_races(const Warp& warp) {
  const RunOptions& options = warp.worker->launch->options;
  return options.look_for_races && !options.profiling;
}

// The name that the user gave it: "tile" of _ZZ6kernelPKfE4tile, a variable inside of a function.
std::string plain_name(const std::string& symbol) {
  if (symbol.rfind("_ZZ", 0) != 0) return symbol;
  for (std::size_t at = symbol.rfind('E'); at != std::string::npos && at > 0; at = symbol.rfind('E', at - 1)) {
    std::size_t digits = at + 1;
    while (digits < symbol.size() && symbol[digits] >= '0' && symbol[digits] <= '9') ++digits;
    if (digits == at + 1 || digits - at > 4) continue;
    const std::size_t length = std::stoul(symbol.substr(at + 1, digits - at - 1));
    if (length > 0 && digits + length <= symbol.size()) return symbol.substr(digits, length);
  }
  return symbol;
}

// Counted, and not worth another message: kernels with one fault mostly have it in every thread.
bool said_before(Warp& warp, FindingKind kind, const Instruction& in, int lane) {
  if (warp.worker->log.would_admit(kind, origin_of(warp, in).where)) return false;
  report(warp, kind, in, lane, 0, "");
  return true;
}

bool suspected_before(Warp& warp, FindingKind kind, const Instruction& in, int lane) {
  if (warp.worker->suspects.would_admit(kind, origin_of(warp, in).where)) return false;
  suspect(warp, kind, in, lane, 0, "");
  return true;
}

// As if all of an allocation were touched: a store to each of its pages is cheap for the kernel.
bool make_races(Worker& worker, RaceGranules& races, const Allocation& allocation) {
  const std::uint64_t bytes = 2 * std::uint64_t{allocation.bytes};  // two entries a word
  if (!worker.held.add(bytes)) {
    worker.stop = StopReason::judgement_budget;
    return false;
  }
  races.reset(allocation.bytes);  // paid for with the launch, whichever worker touches it first
  return true;
}

std::string thread_of_entry(const Warp& warp, RaceEntry entry) {
  if (entry < warp.moment.block_start) return "another block";
  std::uint32_t other_warp = static_cast<std::uint32_t>(entry >> 6) & 31;
  if ((entry & race_many) != 0) return fmt::format("several threads of warp {}", other_warp);
  return fmt::format("thread {} of the block", other_warp * warp_lanes + (static_cast<std::uint32_t>(entry) & 31));
}

}  // namespace

std::string shared_place(const Warp& warp, std::uint32_t offset) {
  const LaunchState& launch = *warp.worker->launch;
  const SharedVariable* best = nullptr;
  for (const SharedVariable& variable : launch.program->shared)
    if (variable.offset <= offset && (best == nullptr || variable.offset >= best->offset)) best = &variable;
  if (best == nullptr) return fmt::format("shared memory at {}", offset);
  std::uint32_t bytes = best->dynamic ? launch.arguments.dynamic_shared_bytes : best->bytes;
  std::uint32_t within = offset - best->offset;
  if (within >= bytes)
    return fmt::format("shared memory {} bytes behind the end of {} ({} bytes{})", within - bytes,
                       plain_name(best->name), bytes, best->dynamic ? ", as launched" : "");
  return fmt::format("shared memory {} + {}", plain_name(best->name), within);
}

MemoryView view_of(Warp& warp, Allocation& allocation) {
  MemoryView view;
  view.data = allocation.data.get();
  view.base = allocation.base;
  view.bytes = allocation.bytes;
  view.allocation = &allocation;
  view.writable = allocation.right == MemoryAccessRight::read_write;
  // In a second run only values that come from a race are marked, and they do not get as far as global memory.
  if (!allocation.fully_defined && warp.worker->racy == nullptr) view.defined = allocation.defined.get();
  if (view.writable && looks_for_races(warp)) {
    Worker& worker = *warp.worker;
    auto index = static_cast<std::size_t>(allocation.index);
    if (index >= worker.races.size()) worker.races.resize(worker.launch->memory->allocations().size());
    view.races = &worker.races[index];
    if (view.races->empty() && !make_races(worker, *view.races, allocation)) view.races = nullptr;
  }
  return view;
}

bool refine_races(Warp& warp, const MemoryView& view, int wanted_shift) {
  Worker& worker = *warp.worker;
  const std::uint64_t finer = view.races->held_bytes() << (view.races->shift - wanted_shift);
  if (view.shared) worker.unpaid.units += byte_units(finer);
  // A block has paid for the finest granules of its shared memory; the coarser ones are given back at the launch's end.
  if (!view.shared && !worker.held.add(finer)) {
    worker.stop = StopReason::judgement_budget;
    return false;
  }
  view.races->refine(wanted_shift);
  return true;
}

bool take_pages(Warp& warp, Allocation& allocation, std::uint64_t fresh, bool written) {
  warp.worker->unpaid.units += fresh * work_cost::new_page;
  if (!written || allocation.lazy->hold(fresh)) return true;
  warp.worker->stop = StopReason::judgement_budget;
  return false;
}

MemoryView view_of_shared(Warp& warp) {
  Block& block = *warp.block;
  MemoryView view;
  view.data = block.shared_data.data();
  view.defined = block.shared_defined.data();
  if (looks_for_races(warp)) view.races = &block.shared_races;
  view.bytes = warp.worker->launch->shared_bytes;
  view.shared = true;
  return view;
}

MemoryView view_of_parameters(Warp& warp) {
  LaunchState& launch = *warp.worker->launch;
  MemoryView view;
  view.data = launch.parameters.data();
  view.bytes = launch.program->parameter_bytes;
  view.writable = false;
  return view;
}

PtxSpace space_of_address(std::uint64_t& address) {
  std::uint64_t window = address >> window_shift;
  if (window == static_cast<std::uint64_t>(Window::shared)) {
    address &= window_offset_mask;
    return PtxSpace::shared;
  }
  if (window == static_cast<std::uint64_t>(Window::local)) {
    address &= window_offset_mask;
    return PtxSpace::local;
  }
  if (window == static_cast<std::uint64_t>(Window::param)) {
    address &= window_offset_mask;
    return PtxSpace::param;
  }
  return PtxSpace::global;
}

void addresses_of(Warp& warp, const Instruction& in, const MemoryAccess& access, std::uint64_t* addresses) {
  if (access.wide_base) {
    const std::uint64_t* base = warp.lanes<std::uint64_t>(in.source[0]);
    for (int lane = 0; lane < warp_lanes; ++lane)
      addresses[lane] = base[lane] + static_cast<std::uint64_t>(in.immediate);
  } else {
    const std::uint32_t* base = warp.lanes<std::uint32_t>(in.source[0]);
    for (int lane = 0; lane < warp_lanes; ++lane)
      addresses[lane] = static_cast<std::uint32_t>(base[lane] + static_cast<std::uint32_t>(in.immediate));
  }
}

void report_fault(Warp& warp, const Instruction& in, int lane, PtxSpace space, std::uint64_t address,
                  std::uint32_t bytes, AccessKind kind) {
  const LaunchState& launch = *warp.worker->launch;
  const bool global = space != PtxSpace::shared && space != PtxSpace::local && space != PtxSpace::param;
  const bool null = global && address < null_page_bytes;
  warp.worker->unpaid.units += work_cost::report + launch.memory->allocations().size();
  const Allocation* near = global && !null ? launch.memory->nearest(address) : nullptr;
  const bool freed = near != nullptr && near->freed && address >= near->base && address - near->base < near->bytes;
  const FindingKind finding = null    ? FindingKind::null_pointer
                              : freed ? FindingKind::use_after_free
                                      : FindingKind::out_of_bounds;
  if (said_before(warp, finding, in, lane)) return;
  std::string where;
  if (space == PtxSpace::shared) {
    where = address < launch.shared_bytes + 65536ull ? shared_place(warp, static_cast<std::uint32_t>(address))
                                                     : fmt::format("shared memory at 0x{:x}", address);
    if (launch.shared_bytes == 0) where += "; the kernel was launched without shared memory";
  } else if (space == PtxSpace::local) {
    where = fmt::format("local memory at {}, of which the thread has {} bytes", address,
                        warp.frame->local_base + warp.frame->function->local_bytes);
  } else if (space == PtxSpace::param) {
    where = fmt::format("the kernel's parameters at {}, which have {} bytes", address, launch.program->parameter_bytes);
  } else if (null) {
    where = fmt::format("address 0x{:x}: a null pointer", address);
  } else if (near == nullptr) {
    where = fmt::format("address 0x{:x}, where nothing is allocated", address);
  } else if (freed) {
    where = fmt::format("{} + {}, which has been freed", near->name, address - near->base);
  } else if (address < near->base) {
    where = fmt::format("{} bytes before the start of {} ({} bytes)", near->base - address, near->name, near->bytes);
  } else if (address >= near->base + near->bytes) {
    where = fmt::format("{} bytes behind the end of {} ({} bytes)", address - near->base - near->bytes, near->name,
                        near->bytes);
  } else {
    where = fmt::format("{} + {}, across its end ({} bytes)", near->name, address - near->base, near->bytes);
  }
  report(warp, finding, in, lane, address,
         fmt::format("{} {} {} bytes {}: {}", thread_text(warp, lane), verb(kind), bytes,
                     kind == AccessKind::read ? "from" : "to", where));
}

void report_misaligned(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint32_t bytes) {
  if (said_before(warp, FindingKind::misaligned, in, lane)) return;
  report(warp, FindingKind::misaligned, in, lane, address,
         fmt::format("{}: {} accesses {} bytes at address 0x{:x}, which is not a multiple of {}",
                     thread_text(warp, lane), origin_of(warp, in).form, bytes, address, bytes));
}

void report_read_only(Warp& warp, const Instruction& in, int lane, std::uint64_t address, const MemoryView& view) {
  std::string name = view.allocation != nullptr ? view.allocation->name : "the kernel's parameters";
  report(warp, FindingKind::input_overwritten, in, lane, address,
         fmt::format("{} writes to {} + {}, which is read-only", thread_text(warp, lane), name, address - view.base));
}

void report_race(Warp& warp, const Instruction& in, int lane, const MemoryView& view, std::uint32_t offset,
                 AccessKind kind, RaceEntry earlier, bool earlier_was_read, bool same_value) {
  FindingKind finding = same_value    ? FindingKind::same_value_race
                        : view.shared ? FindingKind::shared_race
                                      : FindingKind::global_race;
  if (warp.worker->racy != nullptr) return;
  const bool suspicion = earlier_was_read || kind == AccessKind::read;
  if (suspicion ? suspected_before(warp, finding, in, lane) : said_before(warp, finding, in, lane)) return;
  bool other_block =
      !view.shared && (earlier < warp.moment.block_start || (earlier_was_read && (earlier & race_flag) != 0));
  std::string what = view.shared ? shared_place(warp, offset) : fmt::format("{} + {}", view.allocation->name, offset);
  std::string who = other_block ? "another block" : thread_of_entry(warp, earlier);
  const std::string message =
      fmt::format("{} {} {}, which {} {} {}{}", thread_text(warp, lane), verb(kind), what, who,
                  who.rfind("several", 0) == 0 ? (earlier_was_read ? "have read" : "have written")
                  : earlier_was_read           ? "has read"
                                               : "has written",
                  other_block ? "in the same launch: blocks are not ordered" : "without a barrier between the two",
                  same_value ? " (the same value)" : "");
  if (suspicion) {
    suspect(warp, finding, in, lane, view.base + offset, message);
  } else {
    report(warp, finding, in, lane, view.base + offset, message);
  }
}

void race_access(Warp& warp, const Instruction& in, const MemoryView& view, int lane, std::uint32_t offset,
                 std::uint32_t bytes, AccessKind kind, bool same_value, bool strong) {
  RaceGranules& races = *view.races;
  int wanted = bytes >= 4 && offset % 4 == 0 ? 2 : bytes >= 2 && offset % 2 == 0 ? 1 : 0;
  if (wanted < races.shift && !refine_races(warp, view, wanted)) return;
  warp.touched_memory = true;
  RaceMoment moment = warp.moment;
  if (view.shared) moment.launch_start = moment.block_start;
  RaceEntry self = moment.warp | lane;
  const bool strong_write = kind == AccessKind::atomic || (strong && kind == AccessKind::write);
  std::uint32_t last = (offset + bytes - 1) >> races.shift;
  for (std::uint32_t granule = offset >> races.shift; granule <= last; ++granule) {
    RaceEntry& writer = races.writers[granule];
    RaceEntry& reader = races.readers[granule];
    bool both_strong = strong_write && (writer & race_flag) != 0;
    const bool read_before = kind != AccessKind::read && unordered_read(warp, moment, reader, self);
    if (!both_strong && unordered_write(warp, moment, writer, self)) {
      report_race(warp, in, lane, view, offset, kind, writer, false, same_value && kind == AccessKind::write);
    } else if (read_before) {
      report_race(warp, in, lane, view, offset, kind, reader, true, false);
    }
    if (kind == AccessKind::read) {
      reader = race_reader_after(reader, self, moment);
      continue;
    }
    if (warp.worker->racy == nullptr && read_before)
      note_later_write(warp, view, lane, granule << races.shift, 1u << races.shift, reader, strong_write);
    writer = moment.now | self | (strong_write ? race_flag : 0);
  }
}

}  // namespace kw
