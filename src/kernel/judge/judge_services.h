#pragma once
// Judges on other machines, or in other processes: services (`kernelwright serve`) that are asked in place of our own
// judge. Kernels go to whoever has room (base/http/server_pool.h). Before its first kernel, a service must prove that
// it has this run's secret, and be alike to all others: the same backend, GPU, profile and rules. So the verdict is the
// same whoever gives it.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/server_pool.h"
#include "kernel/judge/judge_facts.h"

namespace kw {

// "http://a:8000,http://b:8000,unix:/tmp/kw.sock": does it name services, rather than a backend?
bool names_judge_services(std::string_view where);
// Each once, at most 256.
Result<std::vector<HttpUrl>> parse_judge_services(std::string_view where);

struct JudgeServicesOptions {
  std::string where;           // as above
  std::string secret;          // of this run
  std::string purpose;         // "verdict", "training" or "exam": how the services are to judge
  std::string rules;           // that such a judge of our own has; empty: whatever they have
  std::string profile_digest;  // of the profile that is wanted; empty: whatever they have
  ServerPoolLimits limits = {};
};

class JudgeServices {
 public:
  static Result<std::unique_ptr<JudgeServices>> open(JudgeServicesOptions options);

  // As Judge::judge(). The kernel has at most max_kernel_file_bytes and is not empty.
  Verdict judge(const Task& task, std::string_view kernel_text, const std::string& file);

  // Of all of them: they are alike.
  const JudgeFacts& facts() const { return *facts_; }
  // Threads that may wait for verdicts so that no service does.
  int workers() const;
  std::vector<ServerCounts> counts() const { return pool_->counts(); }

 private:
  explicit JudgeServices(JudgeServicesOptions options) : options_(std::move(options)) {}
  HttpCall greeting();
  Result<std::size_t> check(const HttpUrl& server, const HttpResponse& answer);

  const JudgeServicesOptions options_;
  std::string challenge_;
  std::mutex mutex_;
  std::optional<JudgeFacts> facts_;  // of the first one that was greeted
  std::string first_;                // its name
  std::unique_ptr<ServerPool> pool_;
};

// The body of POST /v1/judge for one kernel; texts that are no UTF-8 travel as hexadecimal digits.
std::string judge_question(const Task& task, std::string_view kernel_text, std::string_view purpose);

}  // namespace kw
