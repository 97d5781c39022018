#include "kernel/emulate/finding.h"

#include <algorithm>

namespace kw {

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "out_of_bounds";
    case FindingKind::misaligned:
      return "misaligned";
    case FindingKind::null_pointer:
      return "null_pointer";
    case FindingKind::use_after_free:
      return "use_after_free";
    case FindingKind::input_overwritten:
      return "input_overwritten";
    case FindingKind::uninitialised_address:
      return "uninitialised_address";
    case FindingKind::uninitialised_branch:
      return "uninitialised_branch";
    case FindingKind::shared_race:
      return "shared_race";
    case FindingKind::global_race:
      return "global_race";
    case FindingKind::same_value_race:
      return "same_value_race";
    case FindingKind::cut_short:
      return "cut_short";
    case FindingKind::barrier_divergence:
      return "barrier_divergence";
    case FindingKind::barrier_deadlock:
      return "barrier_deadlock";
    case FindingKind::warp_sync_divergence:
      return "warp_sync_divergence";
    case FindingKind::warp_sync_mask:
      return "warp_sync_mask";
    case FindingKind::endless_loop:
      return "endless_loop";
    case FindingKind::stack_overflow:
      return "stack_overflow";
    case FindingKind::trap:
      return "trap";
    case FindingKind::device_call:
      return "device_call";
    case FindingKind::launch_error:
      return "launch_error";
    case FindingKind::unsupported:
      return "unsupported";
  }
  return "unknown";
}

bool is_note(FindingKind kind) { return kind == FindingKind::same_value_race || kind == FindingKind::cut_short; }

std::string_view advice_for(FindingKind kind) {
  switch (kind) {
    case FindingKind::out_of_bounds:
      return "Compare the index with the array's size before the access.";
    case FindingKind::misaligned:
      return "A vector access needs an address that is a multiple of its size: check the start and the row length.";
    case FindingKind::null_pointer:
      return "The pointer is null or nearly null: check which argument was passed.";
    case FindingKind::use_after_free:
      return "Free the memory after the last kernel that uses it.";
    case FindingKind::input_overwritten:
      return "Inputs must not be changed: write to the output or to scratch memory.";
    case FindingKind::uninitialised_address:
    case FindingKind::uninitialised_branch:
      return "Give the variable a value on every path (for shared memory: write it, then __syncthreads()).";
    case FindingKind::shared_race:
      return "Put __syncthreads() (within one warp: __syncwarp()) between the two accesses.";
    case FindingKind::global_race:
      return "Let one block own each element, use an atomic operation, or split the work into two kernels.";
    case FindingKind::same_value_race:
      return "Let one thread do the store.";
    case FindingKind::barrier_divergence:
      return "Every thread of the block that has not left the kernel must reach the same __syncthreads(): move it out "
             "of "
             "the condition.";
    case FindingKind::barrier_deadlock:
      return "Make sure that all threads that the barrier waits for reach it.";
    case FindingKind::warp_sync_divergence:
      return "All threads named in the mask must reach the call: move it out of the condition, or compute the mask "
             "with __ballot_sync before.";
    case FindingKind::warp_sync_mask:
      return "A thread may only call with a mask that contains its own lane.";
    case FindingKind::endless_loop:
      return "Check the loop's condition and its step.";
    case FindingKind::stack_overflow:
      return "Limit the recursion, or use a loop.";
    case FindingKind::device_call:
      return "Remove device-side printf and malloc.";
    case FindingKind::cut_short:
    case FindingKind::trap:
    case FindingKind::launch_error:
    case FindingKind::unsupported:
      return "";
  }
  return "";
}

std::size_t FindingLog::place_of(FindingKind kind, const PtxOrigin& where) const {
  auto same = [&](const EmulatorFinding& finding) {
    // Without line information the PTX line has to do.
    bool same_place =
        where.line != 0 ? finding.line == where.line : finding.line == 0 && finding.ptx_line == where.ptx_line;
    return finding.kind == kind && same_place;
  };
  return static_cast<std::size_t>(std::find_if(findings_.begin(), findings_.end(), same) - findings_.begin());
}

std::size_t FindingLog::note_to_replace(FindingKind kind) const {
  if (is_note(kind)) return findings_.size();
  auto note = [](const EmulatorFinding& other) { return is_note(other.kind); };
  return static_cast<std::size_t>(std::find_if(findings_.begin(), findings_.end(), note) - findings_.begin());
}

bool FindingLog::would_admit(FindingKind kind, const PtxOrigin& where) const {
  if (place_of(kind, where) < findings_.size()) return false;
  return findings_.size() < limit_ || note_to_replace(kind) < findings_.size();
}

bool FindingLog::admit(FindingKind kind, const PtxOrigin& where) {
  ++occurrences_;
  if (is_note(kind)) ++notes_;
  kinds_ |= std::uint64_t{1} << static_cast<int>(kind);
  if (std::size_t known = place_of(kind, where); known < findings_.size()) {
    ++findings_[known].occurrences;
    return false;
  }
  return would_admit(kind, where);
}

void FindingLog::add(EmulatorFinding finding) {
  if (findings_.size() < limit_) {
    findings_.push_back(std::move(finding));
  } else if (std::size_t note = note_to_replace(finding.kind); note < findings_.size()) {
    findings_[note] = std::move(finding);
  }
}

void FindingLog::take(const FindingLog& other) {
  for (const EmulatorFinding& finding : other.findings_) {
    PtxOrigin where;
    where.line = finding.line;
    where.ptx_line = finding.ptx_line;
    if (const std::size_t known = place_of(finding.kind, where); known < findings_.size())
      findings_[known].occurrences += finding.occurrences;
    else
      add(finding);
  }
  occurrences_ += other.occurrences_;
  notes_ += other.notes_;
  kinds_ |= other.kinds_;
}

void FindingLog::clear() {
  findings_.clear();
  notes_ = 0;
  occurrences_ = 0;
  kinds_ = 0;
}

}  // namespace kw
