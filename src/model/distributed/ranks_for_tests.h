#pragma once
// Test code: several ranks as threads of one process.

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "model/distributed/communicator.h"

namespace kw {

inline RankPlace test_place(int rank, int size) {
  RankPlace place;
  place.rank = rank;
  place.size = size;
  place.local_rank = rank;
  place.local_size = size;
  // Tests of other programs that run at the same time look elsewhere first, and are another job.
  place.port = 20000 + static_cast<int>(::getpid() % 500) * 16;
  place.job = "test " + std::to_string(::getpid());
  place.secret = "a secret";
  place.join_s = 60;
  place.deadline_s = 120;
  return place;
}

// `body` on each of them; errors of joining are failures.
inline void with_ranks(int size, const std::function<void(Communicator&)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([rank, size, &body] {
      auto ranks = Communicator::join(test_place(rank, size));
      ASSERT_TRUE(ranks.ok()) << to_string(ranks.error());
      body(**ranks);
    });
  }
}

}  // namespace kw
