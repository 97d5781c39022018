#pragma once
// How ranks find each other: all connect to rank 0, tell it where they listen, get everybody's address from it, and
// connect to each other. Both sides prove that they know the secret (HMAC-SHA256 of the other's nonce) before anything
// they say is believed; what is sent afterwards is neither encrypted nor signed.
//
// Not torchrun's store: its protocol is PyTorch's own business and changes with it. A port beside the store's is
// enough.

#include <vector>

#include "model/distributed/rank_place.h"
#include "model/distributed/socket.h"

namespace kw {

// How many ports from the named one on are tried: the first ones may belong to another program, or another job.
inline constexpr int rendezvous_ports = 16;

struct Mesh {
  std::vector<Socket> peers;           // by rank; our own place is empty
  std::vector<std::string> addresses;  // for messages
};

// An error names the ranks that did not come.
Result<Mesh> meet_ranks(const RankPlace& place);

// "rank 2", "ranks 2 and 5", "ranks 1, 2, 3 and 9 more".
std::string rank_list(const std::vector<int>& ranks);

}  // namespace kw
