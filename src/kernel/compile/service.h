#pragma once
// compile(): the front door, the canonical form, the caches and the pool of workers in one call.

#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/file.h"
#include "kernel/compile/cache.h"
#include "kernel/compile/compilation.h"
#include "kernel/compile/memory_cache.h"
#include "kernel/compile/pool.h"

namespace kw {

struct ServiceOptions {
  PoolOptions pool;
  bool disk_cache = true;
  DiskCacheOptions disk = {kw::cache_folder() / "compile"};
  std::size_t memory_cache_bytes = 256u << 20;
};

class CompileService {
 public:
  explicit CompileService(ServiceOptions options = {});
  ~CompileService();

  // Blocks; from any number of threads. The workers start with the first source that is in no cache. Equal requests at
  // the same time are compiled once.
  CompileResult compile(const CompileRequest& request);

  // Starts the workers, if they are not there yet, and says what they are.
  Result<PoolFacts> facts();
  CompilePool& pool();
  DiskCache* disk_cache() { return disk_ ? &*disk_ : nullptr; }

 private:
  std::shared_ptr<const JobResult> compile_job(const std::string& key, CompilerJob job, const CompileLimits& limits,
                                               bool& from_cache);
  std::shared_ptr<const JobResult> from_disk(const std::string& key);
  void store(const std::string& key, const std::shared_ptr<const JobResult>& result);
  const std::string& compiler_identity();

  const ServiceOptions options_;
  std::optional<DiskCache> disk_;
  MemoryCache<CompileResult> finished_;  // by the request as it came
  MemoryCache<JobResult> compiled_;      // by the canonical key

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<std::shared_ptr<const JobResult>>> running_;
  std::unique_ptr<CompilePool> pool_;
  std::once_flag identity_once_;
  std::string compiler_identity_;
};

// The options that NVRTC gets. Their text comes from the request alone, never from the source.
std::vector<std::string> nvrtc_options(const CompileRequest& request, std::string_view canonical_source);

}  // namespace kw
