#include "model/distributed/nccl.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "model/distributed/nccl_library.h"

namespace kw {
namespace {

constexpr auto look_every = std::chrono::microseconds(50);
constexpr auto look_at_ranks_every = std::chrono::seconds(1);
constexpr double hearsay_s = 2;    // for a connection to end as well, where NCCL's has
constexpr double farewell_s = 20;  // for NCCL to end what every rank has ended

int number(DeviceNumber type) { return static_cast<int>(type); }

// Two ranks on one device would be refused by NCCL, in words that name neither.
Result<void> check_devices(Communicator& ranks, const std::string& gpu) {
  constexpr std::uint64_t longest_name = 256;
  KW_TRY(const auto all, ranks.all_gather(gpu.substr(0, longest_name), longest_name));
  for (std::size_t second = 1; second < all.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (all[first].empty() || all[first] != all[second] || ranks_may_share_a_gpu()) continue;
      return Error{
          "ranks " + std::to_string(first) + " and " + std::to_string(second) + " have the same GPU, " + all[first],
          "as many ranks as GPUs; or, to try ranks out on one card, KERNELWRIGHT_RANKS_SHARE_GPU=1",
          {}};
    }
  }
  return {};
}

}  // namespace

bool ranks_may_share_a_gpu() {
  const char* given = std::getenv("KERNELWRIGHT_RANKS_SHARE_GPU");
  return given != nullptr && std::string_view(given) == "1";
}

void prepare_shared_gpu(int rank) {
  if (!ranks_may_share_a_gpu()) return;
  ::setenv("NCCL_HOSTID", ("kernelwright-rank-" + std::to_string(rank)).c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  for (const char* name : {"NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) ::setenv(name, "1", 0);
}

Error NcclCommunicator::failure(int result, const char* what) const {
  std::string message = std::string("NCCL's ") + what + " failed: " + library_->error_string(result);
  const char* detail = communicator_ != nullptr ? library_->last_error(communicator_) : nullptr;
  if (detail != nullptr && *detail != 0) message += std::string(", ") + detail;
  return {message, "NCCL_DEBUG=INFO makes it say more", {}};
}

// NCCL's own words name nobody; whose connection has ended, or who said that it failed, is known here.
Error NcclCommunicator::blame(int result, const char* what) {
  Error error = failure(result, what);
  give_up();
  for (const Deadline deadline = deadline_in(hearsay_s); std::chrono::steady_clock::now() < deadline;) {
    const auto all_there = ranks_->all_there();
    if (!all_there.ok()) return all_there.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return error;
}

void NcclCommunicator::give_up() {
  if (communicator_ != nullptr) library_->abort(communicator_);
  communicator_ = nullptr;
}

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::join(Communicator& ranks, const std::string& gpu) {
  KW_TRY_VOID(check_devices(ranks, gpu));
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator);
  made->ranks_ = &ranks;
  KW_TRY(made->library_, Library::load());
  NcclUniqueId id{};
  std::string said;
  if (ranks.is_first()) {
    const int result = made->library_->get_unique_id(&id);
    if (result != nccl_success) return made->failure(result, "ncclGetUniqueId");
    said.assign(id.bytes.data(), id.bytes.size());
  }
  KW_TRY(said, ranks.broadcast(std::move(said)));
  if (said.size() != id.bytes.size()) return Error{"rank 0 sent no id of NCCL's", "", {}};
  std::memcpy(id.bytes.data(), said.data(), said.size());
  NcclConfig config;
  const char* blocking = std::getenv("KERNELWRIGHT_NCCL_BLOCKING");
  config.blocking = blocking != nullptr && std::string_view(blocking) == "1" ? 1 : 0;
  KW_TRY_VOID(made->queued(made->library_->init_rank(&made->communicator_, made->size(), id, made->rank(), &config),
                           "ncclCommInitRankConfig"));
  made->outstanding_ = false;
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ == nullptr) return;
  if (outstanding_) {
    give_up();
    return;
  }
  // All ranks come here when they have done the same work; one that does not is not waited for.
  int state = library_->finalize(communicator_);
  for (const Deadline deadline = deadline_in(farewell_s);
       state == nccl_in_progress && std::chrono::steady_clock::now() < deadline;) {
    std::this_thread::sleep_for(look_every);
    if (library_->async_error(communicator_, &state) != nccl_success) break;
  }
  if (state == nccl_success) {
    library_->destroy(communicator_);
  } else {
    give_up();
  }
}

Result<void> NcclCommunicator::queued(int result, const char* what) {
  if (result != nccl_success && result != nccl_in_progress) return blame(result, what);
  outstanding_ = size() > 1;
  return together_ || result == nccl_success ? Result<void>() : settle(what);
}

// Until the call itself is through: its work is on the stream then.
Result<void> NcclCommunicator::settle(const char* what) {
  int state = nccl_in_progress;
  KW_TRY_VOID(wait([&] {
    if (communicator_ == nullptr || library_->async_error(communicator_, &state) != nccl_success) return true;
    return state != nccl_in_progress;
  }));
  outstanding_ = size() > 1;
  return state == nccl_success ? Result<void>() : blame(state, what);
}

Result<void> NcclCommunicator::together(const std::function<Result<void>()>& calls) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  KW_TRY_VOID(queued(library_->group_start(), "ncclGroupStart"));
  together_ = true;
  const auto called = calls();
  together_ = false;
  const int ended = library_->group_end();
  KW_TRY_VOID(called);
  return queued(ended, "group of collectives");
}

Result<void> NcclCommunicator::reduce_scatter(const void* from, void* into, std::size_t count_of_each,
                                              DeviceNumber type, void* stream) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  return queued(library_->reduce_scatter(from, into, count_of_each, number(type), nccl_sum, communicator_, stream),
                "ncclReduceScatter");
}

Result<void> NcclCommunicator::all_gather(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                                          void* stream) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  return queued(library_->all_gather(from, into, count_of_each, number(type), communicator_, stream), "ncclAllGather");
}

Result<void> NcclCommunicator::reduce(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  return queued(library_->reduce(buffer, buffer, count, number(type), nccl_sum, root, communicator_, stream),
                "ncclReduce");
}

Result<void> NcclCommunicator::broadcast(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  return queued(library_->broadcast(buffer, buffer, count, number(type), root, communicator_, stream), "ncclBroadcast");
}

Result<void> NcclCommunicator::wait(const std::function<bool()>& done) {
  if (communicator_ == nullptr) return Error{"NCCL was given up before", "", {}};
  const auto begun = std::chrono::steady_clock::now();
  const Deadline deadline = deadline_in(ranks_->deadline_s());
  Deadline look_at_ranks = begun + look_at_ranks_every;
  while (!done()) {
    int state = nccl_success;
    const int asked = library_->async_error(communicator_, &state);
    if (asked != nccl_success) return blame(asked, "ncclCommGetAsyncError");
    if (state != nccl_success && state != nccl_in_progress) return blame(state, "collective");
    const auto now = std::chrono::steady_clock::now();
    if (now >= look_at_ranks) {
      const auto all_there = ranks_->all_there();
      if (!all_there.ok()) give_up();
      KW_TRY_VOID(all_there);
      look_at_ranks = now + look_at_ranks_every;
    }
    if (now >= deadline) {
      give_up();
      return Error{"NCCL did not end within " + std::to_string(static_cast<long>(ranks_->deadline_s() + 0.5)) +
                       " s, though all ranks are connected",
                   "KERNELWRIGHT_RANKS_DEADLINE_S gives it longer",
                   {}};
    }
    // Short work is waited for closely, so that a step does not grow by the length of a nap.
    if (now - begun > std::chrono::milliseconds(20)) {
      std::this_thread::sleep_for(look_every);
    } else {
      std::this_thread::yield();
    }
  }
  outstanding_ = false;
  return {};
}

Result<std::string> NcclCommunicator::version() {
  KW_TRY(const auto library, Library::load());
  int version = 0;
  if (library->get_version(&version) != nccl_success) return Error{"NCCL does not know its own version", "", {}};
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace kw
