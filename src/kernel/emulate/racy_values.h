#pragma once
// Whether a race matters. A read that nothing orders with a write is no mistake yet: its value may never be used (a
// border that is selected away), or an atomic operation may check it (the first read of a compare-and-swap loop). So
// the first run of a launch only collects such reads. When there are any, the launch is run again, in the same order,
// with the marks for undefined values standing for "came from a racing read" instead: whether one of them decides a
// branch, an address or what is stored is then known, without a cost for launches that do not race.

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/emulate/program.h"
#include "kernel/emulate/race_shadow.h"

namespace kw {

struct Warp;
struct MemoryView;

// Writes to a word that another thread had read before, with nothing between the two: found in the first run when the
// write comes, needed in the second when the read comes.
class LaterWrites {
 public:
  struct Key {
    std::uint64_t space = 0;  // a block's shared memory, or an allocation
    std::uint64_t block = 0;  // ~0: reads of other blocks
    std::uint32_t word = 0;
    bool operator==(const Key&) const = default;
  };
  struct Write {
    RaceEntry interval = 0;   // the block's last barrier
    RaceEntry barrier = 0;    // reads of other warps are unordered from here
    RaceEntry warp_sync = 0;  // and of other lanes of its warp from here
    RaceEntry until = 0;
    std::int32_t thread = 0;  // warp | lane; `several` when there are more
    std::uint8_t bytes = 0;   // of the word, a bit each
    bool strong = true;       // all of them atomic or volatile
    static constexpr std::int32_t several = -1;
  };

  // False: there are too many; every read that races counts as used then.
  bool add(const Key& key, const Write& write);
  // The write that a read at this time, in the same block, is not ordered with.
  const Write* find(const Key& key, RaceEntry now, RaceEntry thread, std::uint8_t bytes) const;
  const Write* find_other_block(const Key& key, RaceEntry now, std::uint8_t bytes) const;
  bool overflown() const { return overflown_; }
  void lose() { overflown_ = true; }  // times have been renumbered: what is here means nothing any more

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, std::vector<Write>, Hash> writes_;
  std::size_t count_ = 0;
  bool overflown_ = false;
};

// Of the second run. A guess is a plain read of a word that others change by atomic operations alone: whoever then
// compares and swaps that word finds out whether it was right.
struct RacyValues {
  struct Guess {
    int lane = 0;
    std::uint64_t address = 0;  // with the window
    std::uint32_t bytes = 0;
    bool checked = false;  // an atomic operation has looked at the word since
  };
  struct Decision {  // a branch by an unchecked guess
    int lane = 0;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    std::uint32_t branch = 0;  // origin
    bool taken = false;
  };
  struct WarpState {
    LaneMask certain = 0;  // lanes that hold a racing value that is no guess
    std::vector<Guess> guesses;
    std::vector<Decision> decisions;
  };
  struct Side {
    std::uint64_t updated = 0;  // lanes that then updated the word atomically
    std::uint64_t left = 0;     // and that did not
  };

  const LaterWrites* later = nullptr;
  std::unordered_map<const Warp*, WarpState> warps;
  std::map<std::pair<std::uint32_t, bool>, Side> decisions;  // by branch and whether it was taken
  bool used = false;
};

enum class ReadRace : std::uint8_t { none, strong, plain };  // by the writes that it races with
enum class RacyUse : std::uint8_t { branch, other };

// --- the first run
void note_later_write(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes,
                      RaceEntry reader, bool strong);

// --- the second run; `warp.worker->racy` is not null
// Does this read race, and with what? To be asked before it is recorded. Remembers guesses.
ReadRace racing_read(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes,
                     bool strong_read);
void hold_racy_value(Warp& warp, LaneMask lanes);  // from memory: nobody's guess any more
void use_racy_value(Warp& warp, const Instruction& instruction, LaneMask lanes, RacyUse use, LaneMask taken = 0);
// An atomic operation of this lane has read the word: `equal` where it compared, and found what it expected.
void check_guess(Warp& warp, const MemoryView& view, int lane, std::uint32_t offset, std::uint32_t bytes, bool equal);
void end_guesses(RacyValues& racy, const Warp* warp);  // the block is over
bool racy_values_were_used(RacyValues& racy);

}  // namespace kw
