// Writing findings: where, who, what, in one sentence.

#include <fmt/format.h>

#include "kernel/emulate/warp.h"
#include "kernel/emulate/work_cost.h"

namespace kw {

const InstructionOrigin& origin_of(const Warp& warp, const Instruction& in) {
  return warp.worker->launch->program->origins[in.origin];
}

std::array<std::uint32_t, 3> thread_index(const Warp& warp, int lane) {
  const auto& shape = warp.worker->launch->arguments.block;
  std::uint32_t linear = warp.first_thread + static_cast<std::uint32_t>(lane);
  return {linear % shape[0], linear / shape[0] % shape[1], linear / shape[0] / shape[1]};
}

std::string thread_text(const Warp& warp, int lane) {
  auto thread = thread_index(warp, lane);
  const auto& block = warp.block->index;
  return fmt::format("block ({},{},{}) thread ({},{},{})", block[0], block[1], block[2], thread[0], thread[1],
                     thread[2]);
}

namespace {

EmulatorFinding finding_about(const Warp& warp, FindingKind kind, const Instruction& in, int lane,
                              std::uint64_t address, const std::string& message, std::string_view advice = {}) {
  const InstructionOrigin& origin = origin_of(warp, in);
  EmulatorFinding finding;
  finding.kind = kind;
  finding.line = origin.where.line;
  finding.column = origin.where.column;
  finding.ptx_line = origin.where.ptx_line;
  finding.kernel = warp.worker->launch->program->kernel;
  finding.block = warp.block->index;
  finding.thread = thread_index(warp, lane);
  finding.address = address;
  finding.message = message;
  finding.advice = advice.empty() ? advice_for(kind) : advice;
  return finding;
}

}  // namespace

void report(Warp& warp, FindingKind kind, const Instruction& in, int lane, std::uint64_t address,
            const std::string& message, std::string_view advice) {
  Worker& worker = *warp.worker;
  worker.unpaid.units += work_cost::report;
  if (worker.launch->options.profiling || worker.racy != nullptr) return;
  const InstructionOrigin& origin = origin_of(warp, in);
  bool fresh = worker.log.admit(kind, origin.where);
  if (fresh) worker.log.add(finding_about(warp, kind, in, lane, address, message, advice));
  if (worker.log.errors() <= worker.launch->limits.faulting_instructions || worker.stop != StopReason::none) return;
  worker.stop = StopReason::too_many_faults;
  if (worker.log.admit(FindingKind::cut_short, origin.where))
    worker.log.add(finding_about(
        warp, FindingKind::cut_short, in, lane, 0,
        fmt::format("the run was ended here, after {} faulting instructions: what the kernel does later is not known",
                    worker.launch->limits.faulting_instructions)));
}

void suspect(Warp& warp, FindingKind kind, const Instruction& in, int lane, std::uint64_t address,
             const std::string& message) {
  Worker& worker = *warp.worker;
  worker.unpaid.units += work_cost::report;
  if (worker.racy == nullptr && worker.suspects.admit(kind, origin_of(warp, in).where))
    worker.suspects.add(finding_about(warp, kind, in, lane, address, message));
}

std::string stray_text(const StrayShuffle& stray) {
  return fmt::format("block ({},{},{}) thread ({},{},{}): lane {} takes the value of lane {}, which is not there",
                     stray.block[0], stray.block[1], stray.block[2], stray.thread[0], stray.thread[1], stray.thread[2],
                     stray.lane, stray.source);
}

void report_undefined(Warp& warp, FindingKind kind, const Instruction& in, LaneMask lanes, const char* what) {
  if (warp.worker->racy != nullptr) {
    use_racy_value(warp, in, lanes, RacyUse::other);
    return;
  }
  int lane = __builtin_ctz(lanes);
  if (const StrayShuffle& stray = warp.worker->stray; stray.instruction != nullptr) {
    report(warp, FindingKind::warp_sync_divergence, *stray.instruction, lane, 0,
           fmt::format("{}; {} at line {} depends on it", stray_text(stray), what, origin_of(warp, in).where.line));
    return;
  }
  report(warp, kind, in, lane, 0,
         fmt::format("{}: {} depends on a value that was never written ({})", thread_text(warp, lane), what,
                     origin_of(warp, in).form));
}

}  // namespace kw
