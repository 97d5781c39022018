#pragma once
// What Communicator is for host memory, this is for a GPU's: collectives that are queued on a CUDA stream. All ranks
// call the same ones in the same order. NCCL makes them (nccl.h); who uses them needs to know no more than this.
//
// An addition here has an order of its own: sums are equal on all ranks of a run, but not to the bits of another number
// of ranks.

#include <cstddef>
#include <functional>

#include "base/result.h"

namespace kw {

enum class DeviceNumber : int { float32 = 7, bfloat16 = 9 };  // ncclDataType_t

class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // What `calls` queues is begun together, as one piece of work: a call alone costs a launch.
  virtual Result<void> together(const std::function<Result<void>()>& calls) = 0;

  // Pointers are to device memory, `stream` is a CUDA stream. They return when the work is queued. In place: a rank's
  // own part lies at rank() * count_of_each of the whole.
  virtual Result<void> reduce_scatter(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                                      void* stream) = 0;
  virtual Result<void> all_gather(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                                  void* stream) = 0;
  // The sum is for `root` alone; what others' buffers hold afterwards is not said.
  virtual Result<void> reduce(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) = 0;
  virtual Result<void> broadcast(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) = 0;

  // Until `done` is true (an event that the caller looks at), or the ranks' deadline is over. The error names who is
  // missing; what was queued is given up then, so that streams are free, and nothing else works any more.
  virtual Result<void> wait(const std::function<bool()>& done) = 0;
};

}  // namespace kw
