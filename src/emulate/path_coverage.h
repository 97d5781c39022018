#pragma once
// Which instructions of a kernel were executed, which way their conditions went, and how much was loaded and stored.
// Two of them can be compared: what a large launch does and a checked, small one never did, nobody has checked.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulate/access_observer.h"

namespace kw {

struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class PathCoverage : public AccessObserver {
 public:
  // Ranges that loads and stores are counted in.
  void watch(std::vector<AddressRange> inputs, std::vector<AddressRange> outputs);

  LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) override;

  // A place where `other` did what this one never did: the line in the user's file and the instruction.
  struct Place {
    std::uint32_t line = 0;
    std::string form;
    std::string kernel;
    bool condition = false;  // executed here too, but its condition never went that way
  };
  std::vector<Place> missing(const PathCoverage& other) const;
  // Takes over what `other` has seen; its counts are left alone.
  void merge(const PathCoverage& other);

  // Counted since watch() was called.
  std::uint64_t loaded_bytes() const { return loaded_bytes_; }  // of the inputs
  std::uint64_t stored_bytes() const { return stored_bytes_; }  // of the outputs
  std::uint64_t storing_blocks() const { return storing_blocks_.size(); }
  // The lowest output address that each block has stored to.
  const std::map<std::uint64_t, std::uint64_t>& first_stores() const { return storing_blocks_; }

 private:
  struct Function {
    std::vector<std::uint8_t> seen;    // by origin
    const Program* program = nullptr;  // of the last run; origins are the same each time
  };
  std::uint8_t& flags(const Warp& warp, const Instruction& instruction);
  void count_access(Warp& warp, const Instruction& instruction, LaneMask active);

  std::map<std::string, Function, std::less<>> kernels_;
  const Program* last_program_ = nullptr;
  Function* last_ = nullptr;
  std::vector<AddressRange> inputs_, outputs_;
  std::uint64_t loaded_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
  std::map<std::uint64_t, std::uint64_t> storing_blocks_;  // launch-unique block number -> lowest address
};

}  // namespace kw
