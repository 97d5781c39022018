#pragma once
// The agents as operators of a search: the Generator writes kernels from nothing, the Optimizer varies a parent. They
// are asked as in a conversation (agents/episode), but a question may be about any kernel of the population.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent/dialect.h"
#include "agents/search/candidate.h"
#include "agents/search/search_record.h"
#include "kernel/task/task.h"
#include "model/rollout/answer_source.h"

namespace kw {

struct SearchQuestion {
  SearchOperator from = SearchOperator::generator;
  int parent = -1;    // of the Optimizer
  std::string level;  // of the Generator; may be empty
  std::int64_t samples = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

// What the Optimizer is shown of a parent.
struct ShownKernel {
  std::string kernel;
  AskedNames names = AskedNames::learned;
  std::shared_ptr<const Verdict> verdict;
  std::vector<TriedKernel> tried;  // its ancestors, the oldest first
};

struct AgentLimits {
  std::int64_t answer_tokens = 1024;
  float top_p = 1;
  bool constrain = true;
  std::int64_t most_resamples = 2;
  std::string device = {};  // facts that an Optimizer is told; empty: none
};

class SearchAgents {
 public:
  using AdapterOf = std::function<std::int32_t(AgentRole)>;

  // Everything outlives it. It alone advances the answers.
  SearchAgents(AnswerSource& answers, const Dialect& dialect, AdapterOf adapter_of, const Task& task,
               AgentLimits limits = {});

  // The kernels of all questions, in the task's order of parameters. `shown` is asked about parents. `go_on` is called
  // between steps; once it says no, what is in progress is dropped, and there is no result. A question that cannot be
  // asked (its prompt is too long for the model) has no answers.
  Result<std::optional<AnsweredKernels>> ask(const std::vector<SearchQuestion>& questions,
                                             const std::function<ShownKernel(int parent)>& shown,
                                             const std::function<bool()>& go_on);

  std::int64_t sampled_tokens() const { return answers_.statistics().sampled_tokens; }

 private:
  struct Asked {
    const NormalForm* form = nullptr;
    std::string given;  // the kernel that an Optimizer is shown
    std::vector<std::string> kernels;
  };
  Result<std::optional<RequestId>> submit(const SearchQuestion& question, const std::function<ShownKernel(int)>& shown,
                                          Asked& asked);

  AnswerSource& answers_;
  const Dialect& dialect_;
  Scribe scribe_;
  AdapterOf adapter_of_;
  AgentLimits limits_;
  NormalForm learned_, kept_;  // the task as it is asked
};

}  // namespace kw
