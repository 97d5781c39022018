#pragma once
// Cores for two teams that work at the same time: a team whose threads must wait for each other in every product is
// slow where another one's threads are on its cores.

#include <sched.h>

namespace kw {

// While it lives, the calling thread may use only this half of its cores, and so may threads that it starts meanwhile.
// Where there is a single core, both halves are that one.
class HalfOfCores {
 public:
  enum Which { first, second };
  explicit HalfOfCores(Which which);
  ~HalfOfCores();
  HalfOfCores(const HalfOfCores&) = delete;
  HalfOfCores& operator=(const HalfOfCores&) = delete;

  int count() const { return count_; }

 private:
  cpu_set_t before_;
  bool changed_ = false;
  int count_ = 1;
};

}  // namespace kw
