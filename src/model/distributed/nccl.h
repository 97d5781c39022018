#pragma once
// NCCL, loaded at run time: what Communicator is for host memory, this is for a GPU's. The id that its ranks need is
// exchanged through a Communicator, which also says who is missing before NCCL would wait for them.
//
// UNTESTED on GPUs: that the library loads and has these functions is tested where its wheel is installed; collectives
// were never run, and no trainer uses them yet (ranks train on the CPU alone). NCCL adds in an order of its own: its
// sums are equal on all ranks of one run, but not to the bits of another number of ranks.

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/distributed/communicator.h"

namespace kw {

enum class DeviceNumber : int { float32 = 7, float64 = 8, bfloat16 = 9 };  // ncclDataType_t

class NcclCommunicator {
 public:
  // A collective: all ranks call it, each with its own CUDA device current. An error says what is missing: the library,
  // a GPU, a rank.
  static Result<std::unique_ptr<NcclCommunicator>> join(Communicator& ranks);
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // "2.28.9"; an error says why the library cannot be loaded.
  static Result<std::string> version();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Pointers are to device memory, `stream` is a CUDA stream. They return when the work is queued; sums and maxima may
  // be in place.
  Result<void> all_reduce(const void* from, void* into, std::size_t count, DeviceNumber type, void* stream);
  Result<void> reduce_scatter(const void* from, void* into, std::size_t count_of_each, DeviceNumber type, void* stream);
  Result<void> all_gather(const void* from, void* into, std::size_t count_of_each, DeviceNumber type, void* stream);
  Result<void> broadcast(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream);

  // Waits until `done` (an event that the caller looks at) or the deadline. When a rank has gone, NCCL's own queue
  // never ends: it is aborted then, so that the caller's streams are free, and the error says so.
  Result<void> wait(const std::function<bool()>& done, double seconds);

 private:
  struct Library;
  NcclCommunicator() = default;
  Result<void> check(int result, const char* what) const;

  std::shared_ptr<const Library> library_;
  void* communicator_ = nullptr;
  int rank_ = 0, size_ = 1;
};

}  // namespace kw
