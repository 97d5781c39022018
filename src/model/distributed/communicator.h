#pragma once
// Several equal processes, the ranks, that work on one thing: each has a number, and all call the same collectives in
// the same order. Every collective ends by its deadline; when a rank is missing, the error names it, on all others.
//
// On the CPU this is TCP, every rank connected to every other. Why not what exists: gloo's headers are not in PyTorch's
// wheel, its code is inside libtorch, which this program keeps out of its own process, and it promises no order of
// additions; MPI ends or hangs when a rank is killed, and its order is its own business too. What is needed here is
// little: one exchange between all ranks, from which the collectives are made, with sums in an order that never
// changes. On GPUs NCCL does the same (nccl.h).
//
// Not done: rings and trees (every rank talks to every other: right for tens of ranks, not for thousands), encryption,
// ranks that come back: a run that lost one ends, and is started again from its last checkpoint.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/distributed/frame.h"
#include "model/distributed/rank_place.h"
#include "model/distributed/socket.h"

namespace kw {

// [begin, end) of some array.
struct ShareRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const ShareRange&, const ShareRange&) = default;
};
// Which of `count` things belong to a rank: neighbours, as evenly as it goes.
ShareRange share_of(std::int64_t count, int rank, int size);

// Belongs to one thread. After an error it is of no use: the run is over, and every rank knows why.
class Communicator {
 public:
  // Waits for all ranks. A single one needs nobody.
  static Result<std::unique_ptr<Communicator>> join(const RankPlace& place);
  // Says that it leaves: as it should, unless fail() was called.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  bool is_first() const { return place_.rank == 0; }
  const RankPlace& place() const { return place_; }

  Result<void> barrier();
  // Rank `root`'s bytes, on every rank.
  Result<std::string> broadcast(std::string bytes, int root = 0);
  // Everybody's, by rank. Nobody's may be longer than `most_bytes`.
  Result<std::vector<std::string>> all_gather(std::string_view mine, std::uint64_t most_bytes);
  // Everybody has its own range of the array; afterwards all have all of it. One range for each rank, without gaps.
  Result<void> all_gather(std::span<std::byte> array, std::span<const ShareRange> ranges);
  // The same, for rank 0 alone.
  Result<void> gather(std::span<const std::byte> mine, std::span<std::byte> array, std::span<const ShareRange> ranges);
  // Sums by element, on all ranks; added in the order of ranks, so the bits are the same on all of them. (They depend
  // on how many ranks there are: gradients are added by slots.h instead.)
  Result<void> all_reduce(std::span<double> values);

  // Of who waits for something else that ranks do together (nccl.h): how long, and, without waiting, whether a rank has
  // gone or failed meanwhile; the error names it. A rank that has ended as it should is no error.
  double deadline_s() const { return deadline_s_; }
  Result<void> all_there();

  // One for each of our pieces of an array and for each rank: what reduce_scatter() is to send.
  using Piece = std::function<std::span<const float>(std::int64_t piece, ShareRange range)>;
  // Adds up one stretch of our range: the pieces of all ranks, by rank and then in their order, each as long as `into`.
  using Add = std::function<void(std::span<const float* const> pieces, ShareRange range)>;
  // Each rank has pieces[rank] addends of the whole array and ends with the sum over its own range. How the sum is made
  // is the caller's business; memory is bounded however long the array is.
  Result<void> reduce_scatter(std::span<const std::int64_t> pieces, std::span<const ShareRange> ranges,
                              const Piece& piece, const Add& add);

  // While it lives, collectives wait so long: for what one rank does alone while the others wait (an exam).
  class Patience {
   public:
    Patience(Communicator* ranks, double seconds);
    ~Patience();
    Patience(const Patience&) = delete;
    Patience& operator=(const Patience&) = delete;

   private:
    Communicator* ranks_;
    double before_ = 0;
  };

  // Tells all others that this rank gives up, and why. Nothing else works afterwards.
  void fail(const Error& error);

 private:
  struct Peer;

  explicit Communicator(const RankPlace& place);
  // Everybody sends everybody something of known length and gets what it was told to expect.
  Result<void> exchange(Collective collective, std::span<const std::span<const std::byte>> outgoing,
                        std::span<const std::span<std::byte>> incoming);
  Result<void> send_some(Peer& peer);
  Result<void> receive_some(Peer& peer, Collective collective);
  Result<void> read_header(Peer& peer, Collective collective);
  Error gone(const Peer& peer, const std::string& how) const;
  Error lost(const Peer& peer);
  std::optional<Error> told_by_others(const Peer& peer);
  Error late(Collective collective) const;
  Error give_up(Error error);
  void tell_others(FrameKind kind, std::string_view bytes);

  RankPlace place_;
  double deadline_s_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; our own is null
  std::uint32_t sequence_ = 0;
  bool failed_ = false;
};

// For code that works with and without ranks: null is a single process.
inline bool is_first(const Communicator* ranks) { return ranks == nullptr || ranks->is_first(); }
inline int rank_count(const Communicator* ranks) { return ranks == nullptr ? 1 : ranks->size(); }
inline int rank_number(const Communicator* ranks) { return ranks == nullptr ? 0 : ranks->rank(); }
// True on all ranks when it is on one.
Result<bool> any_rank(Communicator* ranks, bool mine);
// What rank 0 says.
Result<double> first_says(Communicator* ranks, double value);

}  // namespace kw
