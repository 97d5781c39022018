#pragma once
// A conversation that another model had, told in the learner's own words: the same question in the prompts of its
// dialect, the same kernel as the answer that it is taught. For answers without token ids of ours, which came from an
// endpoint.

#include "agents/agent/dialect.h"
#include "agents/episode/episode_store.h"
#include "agents/normal_form/normal_form.h"

namespace kw {

class RetoldConversation {
 public:
  // Fails where the store does not have the task.
  static Result<RetoldConversation> from(const StoredEpisode& stored);

  struct Retold {
    std::vector<TokenId> prompt;
    std::vector<TokenId> answer;  // with the stop token
  };
  // The sample has a kernel. Fails where the dialect cannot ask that: a kernel that is too long for a prompt.
  Result<Retold> tell(const Turn& turn, const TurnSample& sample, Scribe& scribe) const;

 private:
  RetoldConversation() = default;
  Episode episode_;  // all of its turns
  NormalForm asked_;
};

}  // namespace kw
