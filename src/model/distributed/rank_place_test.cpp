#include "model/distributed/rank_place.h"

#include <gtest/gtest.h>

#include <map>

namespace kw {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<RankPlace>> place_in(const Variables& variables) {
  return rank_place([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(RankPlace, NobodyStartedRanks) {
  const auto place = place_in({{"PATH", "/bin"}, {"MASTER_ADDR", "left.over"}});
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(place->has_value());
}

TEST(RankPlace, TorchrunIsAskedFirst) {
  const auto place = place_in({{"RANK", "3"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node7"},
                               {"MASTER_PORT", "4000"},
                               {"OMPI_COMM_WORLD_RANK", "0"},
                               {"OMPI_COMM_WORLD_SIZE", "2"},
                               {"TORCHELASTIC_RUN_ID", "abc"}});
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ((*place)->launcher, "torchrun");
  EXPECT_EQ((*place)->rank, 3);
  EXPECT_EQ((*place)->size, 8);
  EXPECT_EQ((*place)->local_rank, 1);
  EXPECT_EQ((*place)->local_size, 2);
  EXPECT_EQ((*place)->address, "node7");
  EXPECT_EQ((*place)->port, 4001) << "torchrun's own store is at 4000";
  EXPECT_EQ((*place)->job, "abc");
}

TEST(RankPlace, OpenMpi) {
  const Variables one_machine{{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                              {"PMIX_NAMESPACE", "prterun-1"}};
  const auto place = place_in(one_machine);
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ((*place)->launcher, "OpenMPI");
  EXPECT_EQ((*place)->rank, 1);
  EXPECT_EQ((*place)->address, "127.0.0.1");
  Variables another = one_machine;
  another["PMIX_NAMESPACE"] = "prterun-2";
  EXPECT_NE((*place)->port, (*place_in(another))->port) << "two jobs begin to look at different ports";
  Variables several = one_machine;
  several["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  several["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  const auto refused = place_in(several);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("MASTER_ADDR"), std::string::npos);
  several["MASTER_ADDR"] = "node1";
  EXPECT_EQ((*place_in(several))->address, "node1");
}

TEST(RankPlace, Slurm) {
  const Variables step{{"SLURM_PROCID", "5"},          {"SLURM_STEP_NUM_TASKS", "8"},         {"SLURM_LOCALID", "1"},
                       {"SLURM_NTASKS_PER_NODE", "4"}, {"SLURM_STEP_NODELIST", "gpu[03-04]"}, {"SLURM_JOB_ID", "77"}};
  const auto place = place_in(step);
  ASSERT_TRUE(place.ok() && place->has_value());
  EXPECT_EQ((*place)->launcher, "Slurm");
  EXPECT_EQ((*place)->rank, 5);
  EXPECT_EQ((*place)->local_rank, 1);
  EXPECT_EQ((*place)->local_size, 4);
  EXPECT_EQ((*place)->address, "gpu03");
  Variables script = step;
  script.erase("SLURM_STEP_NUM_TASKS");
  script["SLURM_NTASKS"] = "8";
  EXPECT_FALSE(place_in(script)->has_value()) << "the script of sbatch is no rank";
  Variables single = step;
  single["SLURM_STEP_NUM_TASKS"] = "1";
  single["SLURM_PROCID"] = "0";
  EXPECT_FALSE(place_in(single)->has_value());
}

TEST(RankPlace, FirstHostOfSlurmsList) {
  EXPECT_EQ(first_slurm_host("a"), "a");
  EXPECT_EQ(first_slurm_host("a,b[1-3]"), "a");
  EXPECT_EQ(first_slurm_host("gpu[03-07,11],login"), "gpu03");
  EXPECT_EQ(first_slurm_host("gpu[3,5]-x,login"), "gpu3-x");
  EXPECT_EQ(first_slurm_host("gpu[3"), "");
  EXPECT_EQ(first_slurm_host(std::string(100000, '[')), "");
}

TEST(RankPlace, NonsenseIsNamed) {
  const auto refusal = [](const Variables& variables) {
    const auto place = place_in(variables);
    return place.ok() ? std::string("accepted") : place.error().message;
  };
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}}).find("RANK is not"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "2"}}).find("RANK=2"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2x"}, {"RANK", "0"}}).find("no whole number"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "999999"}, {"RANK", "0"}}).find("1 to 1024"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "-1"}}).find("RANK=-1"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}})
                .find("MASTER_PORT"),
            std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"KERNELWRIGHT_RANKS_DEADLINE_S", "nan"}}).find("seconds"),
            std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", std::string(5000, 'x')}}).find("too long"),
            std::string::npos);
}

}  // namespace
}  // namespace kw
