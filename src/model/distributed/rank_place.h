#pragma once
// Which of several equal processes this one is, and where the others meet: what a launcher says in environment
// variables. torchrun's names come first, then OpenMPI's, then Slurm's, so that a program under Ray, a script or a test
// only has to set torchrun's.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace kw {

inline constexpr int most_ranks = 1024;

struct RankPlace {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the ranks of this machine
  std::string address = "127.0.0.1";   // rank 0 listens there ...
  int port = 29500;                    // ... at this port, or at one of the next `rendezvous_ports`
  std::string job;                     // tells jobs apart that use the same port
  std::string secret;                  // KERNELWRIGHT_RANKS_SECRET: who does not know it cannot join; may be empty
  double join_s = 120;                 // KERNELWRIGHT_RANKS_JOIN_S: how long ranks wait for each other at the start
  double deadline_s = 600;             // KERNELWRIGHT_RANKS_DEADLINE_S: and then in each collective
  std::string launcher;                // "torchrun", "OpenMPI", "Slurm"
};

// A variable's value; none: it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

// None: nobody started several ranks. An error names the variable that makes no sense.
Result<std::optional<RankPlace>> rank_place(const Environment& environment);
Result<std::optional<RankPlace>> rank_place();  // of this process

// The first host of Slurm's list: "gpu[03-07,11],login" gives "gpu03"; empty where it cannot be read.
std::string first_slurm_host(const std::string& list);

}  // namespace kw
