#pragma once
// The judge's GPU: takes a compiled kernel that nothing speaks against so far, executes its launch plans in disposable
// workers, compares values at small, odd and full sizes, and measures its time against the naive kernel's.

#include <atomic>
#include <memory>
#include <string>

#include "kernel/gpu/pool.h"
#include "kernel/judge/case_book.h"
#include "kernel/judge/gpu_task.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct GpuBackendOptions {
  GpuPoolOptions pool;
  bool pytorch = true;  // time PyTorch eager too
  int patience = 1;     // times the usual limits: for drivers that are slow (an emulated one, or one under a debugger)
  // Timings of a size with at most so many bytes of inputs and outputs are laid out before their turn alone: several
  // that wait, each with some sets of them, must fit beside each other.
  std::uint64_t laid_out_ahead_bytes = std::uint64_t{1} << 30;
  bool always_fresh = false;  // a worker of its own for every kernel: slow, for measuring what workers differ by
};

// What is to be judged.
struct GpuSubject {
  const Task& task;
  const KernelBuild& build;
  const CaseSet& cases;
  int set = 0;  // which of the case book's
  std::size_t first_timed_plan = 0;
  std::uint64_t seed = 0;    // private: of places and orders
  double loaded_share = 0;   // of the inputs' bytes that a right answer needs at least, where it is known
  double dram_gb_per_s = 0;  // what memory can deliver; 0: not known
  bool want_time = true;
  bool want_counters = false;
  bool unusual_inputs = true;  // at full size, too
  bool full_size = true;       // false: for debugging tools, under which a full size takes minutes
  // Made by the backend.
  std::vector<std::shared_ptr<const FullSizeCase>> full = {};                             // by train size
  std::vector<std::pair<std::size_t, std::shared_ptr<const FullSizeCase>>> unusual = {};  // with their train size
  std::shared_ptr<const NaiveOnGpu> naive = nullptr;
};

class GpuBackend {
 public:
  // The error says why there is no GPU to judge on. The service must outlive the backend.
  static Result<std::unique_ptr<GpuBackend>> start(CompileService& service, const GpuBackendOptions& options);

  const GpuFacts& facts() const { return pool_->facts(); }
  GpuArchitecture architecture() const { return architecture_; }
  GpuPoolCounts counts() { return pool_->counts(); }
  bool wants_pytorch() const { return options_.pytorch; }

  // Adds to a verdict whose status is `correct` so far. A bad result counts only when it comes from a worker that no
  // other kernel has used.
  void judge(GpuSubject subject, GpuTask& data, Verdict& verdict);

 private:
  friend class GpuTrial;
  GpuBackend(CompileService& service, const GpuBackendOptions& options) : service_(service), options_(options) {}
  Result<void> compile_helpers();
  Result<void> prepare(GpuSubject& subject, GpuTask& data);

  CompileService& service_;
  GpuBackendOptions options_;
  GpuArchitecture architecture_ = GpuArchitecture::sm_90;
  bool use_ptx_ = false;  // the driver is one that takes no cubin
  GpuKernel helpers_;
  TransferRates rates_;
  std::unique_ptr<GpuPool> pool_;
};

}  // namespace kw
