#pragma once
// What is right at a full size, where a kernel is timed: inputs that are made page by page, from a secret seed, and the
// reference's answer at secret places. Computed once for a task and size, and kept: places, values and bounds take a
// megabyte, the whole output could take a gigabyte.

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/compile/cache.h"
#include "kernel/emulate/lazy_pages.h"
#include "kernel/judge/error_bound.h"
#include "kernel/judge/unusual_inputs.h"
#include "kernel/reference/reference.h"
#include "kernel/task/task.h"

namespace kw {

// An input, as one block after the other and one kernel after the other needs it.
class FullSizeInput {
 public:
  FullSizeInput(std::shared_ptr<const PageSource> source, std::uint64_t bytes)
      : source_(std::move(source)), bytes_(bytes) {}

  // Between kernels: most look at little, and what is forgotten can be drawn again.
  static constexpr std::uint64_t most_kept_bytes = 4u << 20;

  // What was made of it so far, the same for all who ask meanwhile.
  Result<std::shared_ptr<SharedPages>> pages() const;
  void forget_beyond(std::uint64_t bytes) const;
  std::uint64_t kept_bytes() const;  // once nobody looks at it

 private:
  std::shared_ptr<const PageSource> source_;
  std::uint64_t bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<SharedPages> pages_;
};

struct FullSizeTruth {
  Sizes sizes;
  std::optional<InputMix> mix = {};                    // the inputs are unusual ones
  std::vector<std::unique_ptr<FullSizeInput>> inputs;  // those that are tensors, in the task's order
  Positions places;                                    // of each output, rising: chunks of neighbours, or all
  std::vector<OutputTensor> truth;                     // at those places
  std::vector<ErrorBound> bounds;                      // their unstable elements are counted as the places are
};

// The truths of one task.
class FullSizeTruths {
 public:
  // `cache`: where they are kept beyond this process; may be null.
  FullSizeTruths(Task task, std::string identity, std::string secret, DiskCache* cache)
      : task_(std::move(task)), identity_(std::move(identity)), secret_(std::move(secret)), cache_(cache) {}
  ~FullSizeTruths();

  using Answer = Result<std::shared_ptr<const FullSizeTruth>>;
  // Starts to compute, in another thread, what is not known yet, one size after the other. `jumps`: outputs of the task
  // may jump when inputs change in their last bit, so places where they do are looked for. `relative`: the bound of
  // each output where everything was checked; at full size it is no stricter. `fair`: unusual kinds of inputs that the
  // reference copes with.
  void prepare(bool jumps, std::vector<double> relative, std::set<InputKind> fair);
  // Waits for it. An error: the task is too large for a reference on this machine, or the reference failed.
  Answer at(std::size_t train_size);
  // The same for unusual inputs; null where they are no fair question.
  Answer unusual(std::size_t train_size, InputMix mix);
  std::uint64_t kept_bytes() const;  // of what was computed, and of the inputs' pages

 private:
  Answer make(const Sizes& sizes, std::optional<InputMix> mix);
  Answer wait_for(std::size_t answer);

  Task task_;
  std::string identity_, secret_;
  DiskCache* cache_;
  bool jumps_ = false, may_be_elementwise_ = true;
  std::vector<double> relative_;
  std::set<InputKind> fair_;
  mutable std::mutex mutex_;
  std::vector<std::shared_future<Answer>> answers_;  // by train size; then by train size and mix
  std::atomic<std::uint64_t> kept_bytes_ = 0;
  std::atomic<bool> unwanted_ = false;  // nobody waits any more
  std::future<void> working_;
};

// Larger inputs and outputs, all together, are not made here: the judge then says that the full size is unchecked.
inline constexpr std::int64_t largest_truth_bytes = std::int64_t{1} << 30;

}  // namespace kw
