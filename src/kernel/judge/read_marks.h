#pragma once
// Which bytes of its inputs a kernel reads: each counts once, however often it is loaded. What a kernel must move at
// least, and so how fast it can be at best, follows from that.

#include <cstdint>
#include <vector>

#include "kernel/emulate/access_observer.h"

namespace kw {

// Marks what is loaded.
class ReadMarks : public AccessObserver {
 public:
  explicit ReadMarks(const std::vector<AddressRange>& inputs);

  LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) override;
  void mark(std::uint64_t address, std::uint64_t bytes);

  // Of all bytes of the inputs, those that were read; 0 when there are none.
  double share() const;

 private:
  struct Marked {
    AddressRange range;
    std::vector<bool> bytes;
  };
  std::vector<Marked> inputs_;
};

}  // namespace kw
