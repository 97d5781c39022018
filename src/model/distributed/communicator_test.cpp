#include "model/distributed/communicator.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <latch>

#include "base/file.h"
#include "base/random.h"
#include "model/distributed/ranks_for_tests.h"

namespace kw {
namespace {

TEST(Communicator, OneRankNeedsNobody) {
  auto ranks = Communicator::join(test_place(0, 1));
  ASSERT_TRUE(ranks.ok());
  EXPECT_TRUE((*ranks)->barrier().ok());
  EXPECT_EQ((*ranks)->broadcast("alone").value(), "alone");
  EXPECT_EQ((*ranks)->all_gather("x", 1).value(), std::vector<std::string>{"x"});
  std::vector<double> values{1.5, -0.0};
  EXPECT_TRUE((*ranks)->all_reduce(values).ok());
  EXPECT_EQ(values[0], 1.5);
  EXPECT_TRUE(any_rank(nullptr, true).value());
}

TEST(Communicator, RanksThatCannotBe) {
  EXPECT_FALSE(Communicator::join(test_place(2, 2)).ok());
  EXPECT_FALSE(Communicator::join(test_place(0, 0)).ok());
  EXPECT_FALSE(Communicator::join(test_place(0, 5000)).ok());
}

TEST(Communicator, SharesThings) {
  std::int64_t end = 0;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(share_of(8, rank, 3).begin, end);
    end = share_of(8, rank, 3).end;
  }
  EXPECT_EQ(end, 8);
}

TEST(Communicator, BroadcastGatherAndSums) {
  for (const int size : {2, 3, 5}) {
    with_ranks(size, [size](Communicator& ranks) {
      for (int root = 0; root < size; ++root) {
        const std::string said =
            "word of " + std::to_string(root) + std::string(static_cast<std::size_t>(root) * 100000, 'x');
        EXPECT_EQ(ranks.broadcast(ranks.rank() == root ? said : "not mine", root).value(), said);
      }
      const std::string mine(static_cast<std::size_t>(ranks.rank()), 'a');
      const auto all = ranks.all_gather(mine, 10);
      ASSERT_TRUE(all.ok());
      for (int rank = 0; rank < size; ++rank)
        EXPECT_EQ((*all)[static_cast<std::size_t>(rank)].size(), static_cast<std::size_t>(rank));
      std::vector<double> values{1.0 * ranks.rank(), 0.1};
      ASSERT_TRUE(ranks.all_reduce(values).ok());
      EXPECT_EQ(values[0], size * (size - 1) / 2.0);
      EXPECT_EQ(any_rank(&ranks, ranks.rank() == size - 1).value(), true);
      EXPECT_EQ(any_rank(&ranks, false).value(), false);
      EXPECT_EQ(first_says(&ranks, ranks.rank() + 0.25).value(), 0.25);
      EXPECT_TRUE(ranks.barrier().ok());
    });
  }
}

TEST(Communicator, ArraysAreGatheredInPlace) {
  constexpr std::int64_t count = 300001;
  with_ranks(3, [](Communicator& ranks) {
    std::vector<ShareRange> ranges;
    for (int rank = 0; rank < 3; ++rank) {
      const ShareRange own = share_of(count, rank, 3);
      ranges.push_back({own.begin * 4, own.end * 4});
    }
    std::vector<float> values(count, -1);
    const ShareRange own = share_of(count, ranks.rank(), 3);
    for (std::int64_t i = own.begin; i < own.end; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
    const auto bytes = std::as_writable_bytes(std::span(values));
    std::vector<float> first(ranks.is_first() ? count : 0, -2);
    const ShareRange mine = ranges[static_cast<std::size_t>(ranks.rank())];
    ASSERT_TRUE(ranks
                    .gather(bytes.subspan(static_cast<std::size_t>(mine.begin), static_cast<std::size_t>(mine.size())),
                            std::as_writable_bytes(std::span(first)), ranges)
                    .ok());
    ASSERT_TRUE(ranks.all_gather(bytes, ranges).ok());
    for (std::size_t i = 0; i < values.size(); i += 997) EXPECT_EQ(values[i], static_cast<float>(i));
    for (std::size_t i = 0; i < first.size(); i += 997) EXPECT_EQ(first[i], static_cast<float>(i));
  });
}

// Ranks with different numbers of addends, an empty range among the shares, more than one stretch.
TEST(Communicator, ReduceScatterHandsOutAllPiecesInOrder) {
  constexpr std::int64_t count = 700000;
  const std::vector<std::int64_t> pieces{1, 3, 2};
  const std::vector<ShareRange> ranges{{0, 600000}, {600000, 600000}, {600000, count}};
  with_ranks(3, [&](Communicator& ranks) {
    const auto rank = static_cast<std::size_t>(ranks.rank());
    std::vector<std::vector<float>> mine(static_cast<std::size_t>(pieces[rank]), std::vector<float>(count));
    for (std::size_t piece = 0; piece < mine.size(); ++piece)
      for (std::size_t i = 0; i < count; ++i)
        mine[piece][i] = static_cast<float>(rank * 10 + piece) + static_cast<float>(i % 7) / 8;
    std::int64_t seen = ranges[rank].begin;
    const auto reduced = ranks.reduce_scatter(
        pieces, ranges,
        [&](std::int64_t piece, ShareRange range) {
          return std::span<const float>(mine[static_cast<std::size_t>(piece)])
              .subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
        },
        [&](std::span<const float* const> all, ShareRange range) {
          EXPECT_EQ(range.begin, seen);
          seen = range.end;
          ASSERT_EQ(all.size(), 6u);
          const float expected[] = {0, 10, 11, 12, 20, 21};
          for (std::size_t addend = 0; addend < 6; ++addend)
            for (const std::int64_t i : {std::int64_t{0}, range.size() - 1})
              EXPECT_EQ(all[addend][i], expected[addend] + static_cast<float>((range.begin + i) % 7) / 8);
        });
    ASSERT_TRUE(reduced.ok()) << to_string(reduced.error());
    EXPECT_EQ(seen, ranges[rank].end);
  });
}

TEST(Communicator, OutOfStepIsNamed) {
  with_ranks(2, [](Communicator& ranks) {
    const auto done = ranks.rank() == 0 ? ranks.barrier() : [&]() -> Result<void> {
      std::vector<double> one(1);
      return ranks.all_reduce(one);
    }();
    ASSERT_FALSE(done.ok());
    const bool told = done.error().message.find("out of step") != std::string::npos;
    EXPECT_TRUE(told) << done.error().message;
    EXPECT_FALSE(ranks.barrier().ok()) << "there is no way back";
  });
}

TEST(Communicator, MoreThanExpectedIsRefused) {
  with_ranks(2, [](Communicator& ranks) {
    const auto all = ranks.all_gather(std::string(ranks.rank() == 1 ? 100 : 10, 'x'), ranks.rank() == 1 ? 1000 : 50);
    if (ranks.rank() == 0) {
      ASSERT_FALSE(all.ok());
      EXPECT_NE(all.error().message.find("rank 1 wants to send 100 bytes"), std::string::npos) << all.error().message;
    }
  });
}

TEST(Communicator, AFailureReachesEverybodyWithItsReason) {
  with_ranks(3, [](Communicator& ranks) {
    if (ranks.rank() == 1) return ranks.fail({"the disk is full", "", {}});
    const auto done = ranks.barrier();
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message.find("rank 1 has failed: the disk is full"), std::string::npos)
        << done.error().message;
  });
}

TEST(Communicator, ARankThatEndsEarlyIsNamed) {
  with_ranks(2, [](Communicator& ranks) {
    if (ranks.rank() == 1) return;
    const auto done = ranks.barrier();
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.error().message.find("rank 1"), std::string::npos);
    EXPECT_NE(done.error().message.find("has ended"), std::string::npos) << done.error().message;
  });
}

TEST(Communicator, ARankThatHangsIsNamedByTheDeadline) {
  std::latch others(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([rank, &others] {
      RankPlace place = test_place(rank, 3);
      place.deadline_s = 0.5;
      auto ranks = Communicator::join(place);
      ASSERT_TRUE(ranks.ok()) << to_string(ranks.error());
      if (rank == 2) return others.wait();
      const auto done = (*ranks)->barrier();
      ASSERT_FALSE(done.ok());
      EXPECT_NE(done.error().message.find("rank 2 did not answer"), std::string::npos) << done.error().message;
      others.count_down();
    });
  }
}

TEST(Communicator, PatienceIsForAWhile) {
  with_ranks(2, [](Communicator& ranks) {
    const Communicator::Patience patience(&ranks, 3600);
    if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(ranks.barrier().ok());
  });
}

TEST(Rendezvous, NamesWhoDidNotCome) {
  std::vector<std::jthread> threads;
  for (const int rank : {0, 1, 3}) {
    threads.emplace_back([rank] {
      RankPlace place = test_place(rank, 5);
      place.join_s = 1.5;
      const auto ranks = Communicator::join(place);
      ASSERT_FALSE(ranks.ok());
      EXPECT_NE(ranks.error().message.find("ranks 2 and 4 did not come within"), std::string::npos)
          << ranks.error().message;
    });
  }
}

TEST(Rendezvous, WithoutRankZeroItSaysWhereItLooked) {
  RankPlace place = test_place(1, 2);
  place.join_s = 0.5;
  const auto ranks = Communicator::join(place);
  ASSERT_FALSE(ranks.ok());
  EXPECT_NE(ranks.error().message.find("rank 0 did not answer at 127.0.0.1"), std::string::npos)
      << ranks.error().message;
}

TEST(Rendezvous, WhoDoesNotKnowTheSecretCannotJoin) {
  std::vector<std::jthread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([rank] {
      RankPlace place = test_place(rank, 2);
      place.join_s = 2;
      if (rank == 1) place.secret = "another";
      const auto ranks = Communicator::join(place);
      ASSERT_FALSE(ranks.ok());
      const char* why = rank == 0 ? "rank 1 did not come" : "another secret";
      EXPECT_NE(ranks.error().message.find(why), std::string::npos) << ranks.error().message;
    });
  }
}

// Bytes of strangers before, during and after: silent, rubbish, half a greeting, a greeting of another job.
TEST(Rendezvous, StrangersHoldNobodyUp) {
  const int port = test_place(0, 2).port;
  std::atomic<bool> over = false;
  std::jthread strangers([&] {
    Random random(5);
    std::vector<Socket> silent;
    while (!over) {
      auto socket = connect_to("127.0.0.1", port + static_cast<int>(random.integer(0, 3)), deadline_in(1));
      if (!socket.ok()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      std::string rubbish(static_cast<std::size_t>(random.integer(0, 300)), '\0');
      for (char& byte : rubbish) byte = static_cast<char>(random.integer(0, 255));
      if (rubbish.size() >= 4 && random.integer(0, 1) == 0) std::memcpy(rubbish.data(), &frame_magic, 4);
      static_cast<void>(send_all(*socket, std::as_bytes(std::span(rubbish)), deadline_in(1)));
      silent.push_back(std::move(socket).value());
      if (silent.size() > 40) silent.clear();
    }
  });
  for (int i = 0; i < 5; ++i) with_ranks(3, [](Communicator& ranks) { EXPECT_TRUE(ranks.barrier().ok()); });
  over = true;
}

// A port that somebody else has is no obstacle, nor is another job's rank 0.
TEST(Rendezvous, JobsAtOnePortDoNotMeet) {
  const auto taken = listen_at(test_place(0, 2).port, false);
  std::vector<std::jthread> threads;
  for (int job = 0; job < 3; ++job) {
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([job, rank] {
        RankPlace place = test_place(rank, 2);
        place.job = "job " + std::to_string(job);
        auto ranks = Communicator::join(place);
        ASSERT_TRUE(ranks.ok()) << to_string(ranks.error());
        EXPECT_EQ((*ranks)->broadcast(std::to_string(job)).value(), std::to_string(job));
      });
    }
  }
}

// kill -9 at a random moment of a storm of exchanges: all others end, and name the one that was killed.
void survive_a_kill(std::uint64_t seed) {
  constexpr int size = 4;
  const TemporaryFolder folder;
  Random random(seed);
  const int victim = static_cast<int>(random.integer(0, size - 1));
  RankPlace shared = test_place(0, size);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      RankPlace place = shared;
      place.rank = rank;
      auto ranks = Communicator::join(place);
      std::string said = ranks.ok() ? "" : to_string(ranks.error());
      std::vector<float> values(200000);
      std::vector<ShareRange> ranges;
      for (int i = 0; i < size; ++i) {
        const ShareRange own = share_of(static_cast<std::int64_t>(values.size()), i, size);
        ranges.push_back({own.begin * 4, own.end * 4});
      }
      std::ofstream(folder.path() / ("ready" + std::to_string(rank))) << "ready";
      while (ranks.ok() && said.empty()) {
        const auto done = (*ranks)->all_gather(std::as_writable_bytes(std::span(values)), ranges);
        if (!done.ok()) said = to_string(done.error());
      }
      std::ofstream(folder.path() / std::to_string(rank)) << said;
      ::_exit(7);
    }
    children.push_back(child);
  }
  for (int rank = 0; rank < size; ++rank)
    while (!std::filesystem::exists(folder.path() / ("ready" + std::to_string(rank))))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::this_thread::sleep_for(std::chrono::microseconds(random.integer(0, 30000)));
  ::kill(children[static_cast<std::size_t>(victim)], SIGKILL);
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    ASSERT_EQ(::waitpid(children[static_cast<std::size_t>(rank)], &status, 0),
              children[static_cast<std::size_t>(rank)]);
    if (rank == victim) continue;
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    const std::string said = read_file(folder.path() / std::to_string(rank)).value();
    EXPECT_NE(said.find("rank " + std::to_string(victim) + " at"), std::string::npos)
        << "seed " << seed << ", rank " << rank << ": " << said;
  }
}

TEST(Communicator, AKilledRankIsNamedByAllOthers) { survive_a_kill(1); }
TEST(CommunicatorSlow, AKilledRankIsNamedByAllOthers) {
  for (std::uint64_t seed = 2; seed < 32; ++seed) survive_a_kill(seed);
}

}  // namespace
}  // namespace kw
