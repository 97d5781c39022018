#include "model/distributed/nccl_library.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/shared_library.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libnccl.so.2";

// KERNELWRIGHT_NCCL, PyTorch's wheel beside the CUDA wheel, or wherever the system finds it: where libtorch is loaded
// already, that is the one that came with it.
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

Result<std::shared_ptr<const NcclCommunicator::Library>> NcclCommunicator::Library::load() {
  std::string reason;
  for (const fs::path& file : candidates()) {
    const auto opened = SharedLibrary::open(file);
    if (!opened.ok()) {
      reason = opened.error().message;
      continue;
    }
    auto found = std::make_shared<Library>();
    const bool complete =
        opened->find(found->get_version, "ncclGetVersion") && opened->find(found->get_unique_id, "ncclGetUniqueId") &&
        opened->find(found->init_rank, "ncclCommInitRankConfig") &&
        opened->find(found->reduce_scatter, "ncclReduceScatter") && opened->find(found->all_gather, "ncclAllGather") &&
        opened->find(found->reduce, "ncclReduce") && opened->find(found->broadcast, "ncclBroadcast") &&
        opened->find(found->group_start, "ncclGroupStart") && opened->find(found->group_end, "ncclGroupEnd") &&
        opened->find(found->async_error, "ncclCommGetAsyncError") &&
        opened->find(found->finalize, "ncclCommFinalize") && opened->find(found->destroy, "ncclCommDestroy") &&
        opened->find(found->abort, "ncclCommAbort") && opened->find(found->error_string, "ncclGetErrorString") &&
        opened->find(found->last_error, "ncclGetLastError");
    if (complete) return std::shared_ptr<const Library>(std::move(found));
    reason = file.string() + " lacks functions of NCCL 2.14";
  }
  return Error{
      "NCCL cannot be loaded: " + reason, "install PyTorch's wheel, or name the library by KERNELWRIGHT_NCCL", {}};
}

}  // namespace kw
