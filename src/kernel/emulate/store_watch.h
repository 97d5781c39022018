#pragma once
// Remembers which line of the user's file stored to an address last.

#include <cstdint>

#include "kernel/emulate/access_observer.h"

namespace kw {

class StoreWatch : public AccessObserver {
 public:
  StoreWatch(std::uint64_t address, std::uint32_t bytes) : address_(address), bytes_(bytes) {}

  LaneMask executes(Warp& warp, const Instruction& instruction, LaneMask mask, LaneMask active) override;

  std::uint32_t line() const { return line_; }  // 0: nothing was stored there

 private:
  std::uint64_t address_;
  std::uint32_t bytes_;
  std::uint32_t line_ = 0;
};

}  // namespace kw
