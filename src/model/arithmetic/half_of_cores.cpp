#include "model/arithmetic/half_of_cores.h"

namespace kw {

HalfOfCores::HalfOfCores(Which which) {
  CPU_ZERO(&before_);
  if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const int all = CPU_COUNT(&before_);
  if (all < 2) return;
  const int of_first = (all + 1) / 2;
  cpu_set_t half;
  CPU_ZERO(&half);
  for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &before_)) continue;
    if ((seen++ < of_first) == (which == first)) CPU_SET(core, &half);
  }
  count_ = CPU_COUNT(&half);
  changed_ = ::sched_setaffinity(0, sizeof half, &half) == 0;
}

HalfOfCores::~HalfOfCores() {
  if (changed_) static_cast<void>(::sched_setaffinity(0, sizeof before_, &before_));
}

}  // namespace kw
