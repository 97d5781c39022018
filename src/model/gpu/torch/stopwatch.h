#pragma once
// Where device time goes, by events between the pieces of a pass. Off unless asked for; costs nothing then.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/gpu/torch/torch_headers.h"

namespace kw {

class Stopwatch {
 public:
  bool enabled = false;

  // The time since the last mark belongs to `piece`; null: to nothing.
  void mark(const char* piece);
  // "piece  ms  share" lines of everything since the last call; waits for the device.
  std::string report();

 private:
  std::vector<std::pair<const char*, at::cuda::CUDAEvent>> marks_;
};

}  // namespace kw
