#pragma once
// What the emulator's checks have found, in the words that a person (or an agent) needs to repair it.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/emulate/ptx_module.h"

namespace kw {

enum class FindingKind : std::uint8_t {
  out_of_bounds,
  misaligned,
  null_pointer,
  use_after_free,
  input_overwritten,
  uninitialised_address,
  uninitialised_branch,
  shared_race,
  global_race,
  same_value_race,  // a note: several threads store the same value
  cut_short,        // a note: the run was ended, because there were too many faults
  barrier_divergence,
  barrier_deadlock,
  warp_sync_divergence,
  warp_sync_mask,
  endless_loop,
  stack_overflow,
  trap,
  device_call,  // malloc, a flood of printf: not for a kernel that is judged
  launch_error,
  unsupported,
};
std::string_view name_of(FindingKind kind);
// Says something about the run, nothing against the kernel.
bool is_note(FindingKind kind);

struct EmulatorFinding {
  FindingKind kind = FindingKind::out_of_bounds;
  std::uint32_t line = 0;  // in the user's file; 0: unknown
  std::uint32_t column = 0;
  std::uint32_t ptx_line = 0;
  std::string kernel;
  std::array<std::uint32_t, 3> block{0, 0, 0};
  std::array<std::uint32_t, 3> thread{0, 0, 0};
  std::uint64_t address = 0;  // 0 where there is none
  std::string message;
  std::string advice;
  std::uint64_t occurrences = 1;  // warp instructions that had it
};

// One finding for each kind and line, at most `limit` of them; later occurrences are counted.
class FindingLog {
 public:
  explicit FindingLog(std::size_t limit = 20) : limit_(limit) {}

  // True when it is new and there is room (a note gives way to anything worse): only then is it worth writing the
  // message.
  bool admit(FindingKind kind, const PtxOrigin& where);
  void add(EmulatorFinding finding);
  // What admit() would say.
  bool would_admit(FindingKind kind, const PtxOrigin& where) const;

  const std::vector<EmulatorFinding>& findings() const { return findings_; }
  bool empty() const { return findings_.empty(); }
  std::uint64_t occurrences() const { return occurrences_; }
  std::uint64_t errors() const { return occurrences_ - notes_; }
  // Also of those that found no room: the verdict must not depend on how much is shown.
  bool has(FindingKind kind) const { return (kinds_ >> static_cast<int>(kind) & 1) != 0; }
  // What the other one has, after what is here.
  void take(const FindingLog& other);
  void clear();

 private:
  std::size_t note_to_replace(FindingKind kind) const;  // findings_.size(): none
  std::size_t place_of(FindingKind kind, const PtxOrigin& where) const;

  std::size_t limit_;
  std::vector<EmulatorFinding> findings_;
  std::uint64_t occurrences_ = 0;
  std::uint64_t notes_ = 0;  // of those
  std::uint64_t kinds_ = 0;  // a bit each
};

// The general advice for a kind; findings that know more say more.
std::string_view advice_for(FindingKind kind);

}  // namespace kw
