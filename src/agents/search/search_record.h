#pragma once
// All that a search has paid for: what agents answered, which code kernels became, verdicts and measurements. A search
// that was killed is run again from its beginning: its decisions depend on the seed and on what stands here alone, so
// it takes the same way, asks nobody twice, and goes on where it was.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/search/kernel_look.h"
#include "base/database/database.h"
#include "kernel/judge/verdict.h"

namespace kw {

// Kernels that were said, by question and sample; empty: an answer without one.
using AnsweredKernels = std::vector<std::vector<std::string>>;

class SearchRecord {
 public:
  // In memory alone.
  static std::unique_ptr<SearchRecord> in_memory();
  // In a file, which may hold several searches; found by the identity.
  static Result<std::unique_ptr<SearchRecord>> open(const std::filesystem::path& file, const std::string& identity,
                                                    const std::string& task);

  // By the name of what was asked.
  const AnsweredKernels* answers(const std::string& questions) const;
  Result<void> add_answers(const std::string& questions, AnsweredKernels answers);

  const KernelLook* look(const std::string& kernel) const;
  Result<void> add_looks(const std::vector<std::string>& kernels, const std::vector<KernelLook>& looks);

  // `measurement` 0: the judge's verdict; else the n-th measurement. Null: it is not there.
  std::shared_ptr<const Verdict> verdict(const std::string& kernel, int measurement) const;
  // One that says that the judge failed is not kept.
  Result<void> add_verdict(const std::string& kernel, int measurement, std::shared_ptr<const Verdict> verdict);

  // Rounds that are complete, and the seconds that the search took until the end of each.
  int rounds() const { return static_cast<int>(round_ends_.size()); }
  std::optional<double> seconds_at(int round) const;
  double seconds() const;  // that were spent, of an unfinished round too
  Result<void> end_round(int round, double seconds);
  Result<void> note_seconds(double seconds);

 private:
  SearchRecord() = default;
  Result<void> load();

  std::unique_ptr<Database> database_;  // null: in memory
  std::int64_t search_ = 0;
  double seconds_ = 0;
  std::vector<double> round_ends_;
  std::map<std::string, AnsweredKernels> answers_;
  std::map<std::string, KernelLook, std::less<>> looks_;  // by kernel
  std::map<std::pair<std::string, int>, std::shared_ptr<const Verdict>> verdicts_;
};

}  // namespace kw
