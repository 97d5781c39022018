#pragma once
// NCCL, loaded at run time. The id that its ranks need is exchanged through a Communicator, which also says who is
// missing: NCCL itself knows ranks only as connections that end, or do not.
//
// Its calls never block: each is looked after until it is queued or the ranks' deadline is over. For comparison,
// KERNELWRIGHT_NCCL_BLOCKING=1 lets them block: that saves NCCL a thread for each, and where a rank is missing at the
// first of them, nothing ends the wait.
//
// Several ranks on one GPU are refused by NCCL, unless each takes itself for a machine of its own; they talk over
// sockets then. That is for tests of the collectives on one card, KERNELWRIGHT_RANKS_SHARE_GPU=1: how fast it is says
// nothing about real links.

#include <memory>
#include <string>

#include "model/distributed/communicator.h"
#include "model/distributed/device_collectives.h"

namespace kw {

class NcclCommunicator final : public DeviceCollectives {
 public:
  // A collective: all ranks call it, each with its own CUDA device current. `gpu` names that device, so that two ranks
  // on one are found; empty: nobody looks. An error says what is missing: the library, a GPU, a rank. `ranks` must
  // outlive it.
  static Result<std::unique_ptr<NcclCommunicator>> join(Communicator& ranks, const std::string& gpu = "");
  // Ends what is still queued without waiting for others.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // "2.28.9"; an error says why the library cannot be loaded.
  static Result<std::string> version();

  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  Result<void> together(const std::function<Result<void>()>& calls) override;
  Result<void> reduce_scatter(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                              void* stream) override;
  Result<void> all_gather(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                          void* stream) override;
  Result<void> reduce(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) override;
  Result<void> broadcast(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) override;
  Result<void> wait(const std::function<bool()>& done) override;

 private:
  struct Library;
  NcclCommunicator() = default;
  // What a call gave back: queued, or on its way to be (then it is waited for, unless others are to join it).
  Result<void> queued(int result, const char* what);
  Result<void> settle(const char* what);
  Error failure(int result, const char* what) const;
  Error blame(int result, const char* what);
  void give_up();

  std::shared_ptr<const Library> library_;
  Communicator* ranks_ = nullptr;
  void* communicator_ = nullptr;
  bool outstanding_ = false;  // work was queued that nobody has waited for
  bool together_ = false;
};

// KERNELWRIGHT_RANKS_SHARE_GPU=1 in the environment.
bool ranks_may_share_a_gpu();
// Then: what NCCL must find in the environment, unless it is there. Before NCCL is used, and before threads begin.
void prepare_shared_gpu(int rank);

}  // namespace kw
