#include "model/distributed/nccl.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/shared_library.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libnccl.so.2";
constexpr int success = 0, in_progress = 7;  // ncclResult_t
constexpr int sum = 0;                       // ncclRedOp_t

struct UniqueId {
  std::array<char, 128> bytes;
};

// KERNELWRIGHT_NCCL, PyTorch's wheel beside the CUDA wheel, or wherever the system finds it.
std::vector<fs::path> candidates() {
  std::vector<fs::path> files;
  if (const char* chosen = std::getenv("KERNELWRIGHT_NCCL"); chosen != nullptr && *chosen != 0)
    files.emplace_back(chosen);
  std::vector<fs::path> roots{KW_CUDA_ROOT};
  if (const char* chosen = std::getenv("KERNELWRIGHT_CUDA"); chosen != nullptr && *chosen != 0)
    roots.insert(roots.begin(), fs::path(chosen));
  for (const fs::path& root : roots) {
    const fs::path file = root.parent_path() / "nccl" / "lib" / library_name;
    std::error_code ignored;
    if (fs::exists(file, ignored)) files.push_back(file);
  }
  files.emplace_back(library_name);
  return files;
}

}  // namespace

struct NcclCommunicator::Library {
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*init_rank)(void**, int, UniqueId, int) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, void*, void*) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, void*, void*) = nullptr;
  int (*async_error)(void*, int*) = nullptr;
  int (*abort)(void*) = nullptr;
  int (*destroy)(void*) = nullptr;
  const char* (*error_string)(int) = nullptr;

  static Result<std::shared_ptr<const Library>> load() {
    std::string reason;
    for (const fs::path& file : candidates()) {
      const auto opened = SharedLibrary::open(file);
      if (!opened.ok()) {
        reason = opened.error().message;
        continue;
      }
      auto library = std::make_shared<Library>();
      const bool complete =
          opened->find(library->get_version, "ncclGetVersion") &&
          opened->find(library->get_unique_id, "ncclGetUniqueId") &&
          opened->find(library->init_rank, "ncclCommInitRank") && opened->find(library->all_reduce, "ncclAllReduce") &&
          opened->find(library->reduce_scatter, "ncclReduceScatter") &&
          opened->find(library->all_gather, "ncclAllGather") && opened->find(library->broadcast, "ncclBroadcast") &&
          opened->find(library->async_error, "ncclCommGetAsyncError") &&
          opened->find(library->abort, "ncclCommAbort") && opened->find(library->destroy, "ncclCommDestroy") &&
          opened->find(library->error_string, "ncclGetErrorString");
      if (complete) return std::shared_ptr<const Library>(std::move(library));
      reason = file.string() + " lacks functions of NCCL 2";
    }
    return Error{
        "NCCL cannot be loaded: " + reason, "install PyTorch's wheel, or name the library by KERNELWRIGHT_NCCL", {}};
  }
};

Result<void> NcclCommunicator::check(int result, const char* what) const {
  if (result == success || result == in_progress) return {};
  return Error{std::string("NCCL's ") + what + " failed: " + library_->error_string(result),
               "NCCL_DEBUG=INFO makes it say more",
               {}};
}

Result<std::unique_ptr<NcclCommunicator>> NcclCommunicator::join(Communicator& ranks) {
  std::unique_ptr<NcclCommunicator> made(new NcclCommunicator);
  KW_TRY(made->library_, Library::load());
  made->rank_ = ranks.rank();
  made->size_ = ranks.size();
  UniqueId id{};
  std::string said;
  if (ranks.is_first()) {
    KW_TRY_VOID(made->check(made->library_->get_unique_id(&id), "ncclGetUniqueId"));
    said.assign(id.bytes.data(), id.bytes.size());
  }
  KW_TRY(said, ranks.broadcast(std::move(said)));
  if (said.size() != id.bytes.size()) return Error{"rank 0 sent no id of NCCL's", "", {}};
  std::memcpy(id.bytes.data(), said.data(), said.size());
  KW_TRY_VOID(
      made->check(made->library_->init_rank(&made->communicator_, made->size_, id, made->rank_), "ncclCommInitRank"));
  return made;
}

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ != nullptr) library_->destroy(communicator_);
}

Result<void> NcclCommunicator::all_reduce(const void* from, void* into, std::size_t count, DeviceNumber type,
                                          void* stream) {
  return check(library_->all_reduce(from, into, count, static_cast<int>(type), sum, communicator_, stream),
               "ncclAllReduce");
}

Result<void> NcclCommunicator::reduce_scatter(const void* from, void* into, std::size_t count_of_each,
                                              DeviceNumber type, void* stream) {
  return check(library_->reduce_scatter(from, into, count_of_each, static_cast<int>(type), sum, communicator_, stream),
               "ncclReduceScatter");
}

Result<void> NcclCommunicator::all_gather(const void* from, void* into, std::size_t count_of_each, DeviceNumber type,
                                          void* stream) {
  return check(library_->all_gather(from, into, count_of_each, static_cast<int>(type), communicator_, stream),
               "ncclAllGather");
}

Result<void> NcclCommunicator::broadcast(void* buffer, std::size_t count, DeviceNumber type, int root, void* stream) {
  return check(library_->broadcast(buffer, buffer, count, static_cast<int>(type), root, communicator_, stream),
               "ncclBroadcast");
}

Result<void> NcclCommunicator::wait(const std::function<bool()>& done, double seconds) {
  const Deadline deadline = deadline_in(seconds);
  while (!done()) {
    int state = success;
    KW_TRY_VOID(check(library_->async_error(communicator_, &state), "ncclCommGetAsyncError"));
    const bool failed = state != success && state != in_progress;
    if (failed || std::chrono::steady_clock::now() >= deadline) {
      library_->abort(communicator_);
      communicator_ = nullptr;
      if (failed) return check(state, "collective");
      return Error{
          "NCCL did not end within " + std::to_string(static_cast<long>(seconds + 0.5)) + " s: a rank is missing",
          "",
          {}};
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return {};
}

Result<std::string> NcclCommunicator::version() {
  KW_TRY(const auto library, Library::load());
  int version = 0;
  if (library->get_version(&version) != success) return Error{"NCCL does not know its own version", "", {}};
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace kw
