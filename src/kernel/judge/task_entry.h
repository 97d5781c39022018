#pragma once
// What the judge keeps for a task, as long as kernels of it come (JudgeOptions::kept_tasks).

#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernel/judge/full_size_truth.h"
#include "kernel/judge/gpu_task.h"
#include "kernel/judge/judge.h"

namespace kw {

// Of scalars, and of what the model reads; the tensors that a GPU gets are private.
inline constexpr std::uint64_t full_size_seed = 7;

struct Judge::TaskEntry {
  TaskEntry(const Task& task, std::string its_identity, const std::string& its_secret, bool want_pytorch,
            DiskCache* cache)
      : book(task, its_secret),
        gpu(task, its_secret, want_pytorch),
        truths(task, its_identity, its_secret, cache),
        secret(its_secret),
        identity(std::move(its_identity)) {}

  // Whether kernels of the task get unusual inputs at full size, when a share of the tasks does: drawn in secret.
  bool gets_unusual_inputs(double share) const;
  // Starts to compute what is right at full size, in the background.
  void prepare_truths(const CaseSet& cases, double unusual_share);
  // For the store of entries: memory that grows with the task's sizes.
  std::uint64_t kept_bytes() const { return book.kept_bytes() + gpu.kept_bytes() + truths.kept_bytes(); }

  CaseBook book;
  GpuTask gpu;
  FullSizeTruths truths;
  std::string secret, identity;
  std::mutex naive_mutex;                                                            // guards what follows
  std::array<std::optional<std::vector<std::uint64_t>>, CaseBook::sets> naive_work;  // by set and question
  std::optional<NaiveTimes> naive;
  std::map<std::size_t, bool> too_heavy;  // by train size: the naive kernel takes too much work there, too
};

}  // namespace kw
