#include "model/distributed/communicator.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/distributed/rendezvous.h"

namespace kw {
namespace {

constexpr std::int64_t stretch_floats = 1 << 18;  // that reduce_scatter() exchanges of a piece at a time
constexpr std::uint64_t longest_broadcast = std::uint64_t{1} << 30;
constexpr double farewell_s = 2;   // to tell others why we go
constexpr double hearsay_s = 0.5;  // for others to tell us why somebody went

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

ShareRange share_of(std::int64_t count, int rank, int size) { return {count * rank / size, count * (rank + 1) / size}; }

// A connection, and how far the exchange with it is.
struct Communicator::Peer {
  int rank = 0;
  std::string address;
  Socket socket;

  FrameHeader out_header, in_header;
  std::span<const std::byte> out;  // what is left of header, then of the bytes
  std::span<const std::byte> out_bytes;
  std::span<std::byte> in;
  std::span<std::byte> in_bytes;
  bool sending_header = false, reading_header = false;
  bool sends() const { return !out.empty() || sending_header; }
  bool receives() const { return !in.empty() || reading_header; }
};

Communicator::Communicator(const RankPlace& place) : place_(place), deadline_s_(place.deadline_s) {}

Result<std::unique_ptr<Communicator>> Communicator::join(const RankPlace& place) {
  if (place.size < 1 || place.size > most_ranks || place.rank < 0 || place.rank >= place.size)
    return Error{"there is no rank " + std::to_string(place.rank) + " of " + std::to_string(place.size), "", {}};
  KW_TRY(Mesh mesh, meet_ranks(place));
  std::unique_ptr<Communicator> ranks(new Communicator(place));
  ranks->peers_.resize(mesh.peers.size());
  for (int rank = 0; rank < place.size; ++rank) {
    if (rank == place.rank) continue;
    auto peer = std::make_unique<Peer>();
    peer->rank = rank;
    peer->address = mesh.addresses[at(rank)];
    peer->socket = std::move(mesh.peers[at(rank)]);
    ranks->peers_[at(rank)] = std::move(peer);
  }
  KW_TRY_VOID(ranks->barrier());
  return ranks;
}

Communicator::~Communicator() {
  if (!failed_) tell_others(FrameKind::left, {});
}

void Communicator::fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  const std::string reason = "rank " + std::to_string(rank()) + " has failed: " + to_string(error);
  tell_others(FrameKind::failed, reason.substr(0, longest_failure));
}

// A frame that was begun is ended first, or what follows would be read as its bytes.
void Communicator::tell_others(FrameKind kind, std::string_view bytes) {
  const Deadline deadline = deadline_in(farewell_s);
  for (const auto& peer : peers_) {
    if (!peer || !peer->socket.is_open()) continue;
    FrameHeader header;
    header.kind = kind;
    header.sequence = sequence_;
    header.bytes = bytes.size();
    const std::span<const std::byte> unsent[] = {peer->out,
                                                 peer->sending_header ? peer->out_bytes : std::span<const std::byte>(),
                                                 std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(bytes))};
    for (const std::span<const std::byte> part : unsent)
      if (!send_all(peer->socket, part, deadline).ok()) break;
    peer->out = peer->out_bytes = {};
    peer->sending_header = false;
  }
}

Error Communicator::gone(const Peer& peer, const std::string& how) const {
  return {"rank " + std::to_string(peer.rank) + (peer.address.empty() ? "" : " at " + peer.address) + " " + how,
          "look at what it said last; the run can be started again with as many or fewer ranks and goes on from its "
          "last checkpoint",
          {}};
}

// Somebody else may have seen first why everything ends: those are asked before this rank's end is blamed on whoever
// closed the connection to us. A rank that hears of a death tells all others before it goes; what it told us may be
// lost with its connection, and others need a moment to hear of it.
Error Communicator::lost(const Peer& peer) {
  std::optional<Error> reason;
  for (const Deadline patience = deadline_in(hearsay_s); !reason; ::poll(nullptr, 0, 5)) {
    reason = told_by_others(peer);
    if (peers_.size() <= 2 || std::chrono::steady_clock::now() > patience) break;
  }
  return reason ? std::move(*reason) : gone(peer, "has gone without a word: it was killed, or its machine was");
}

std::optional<Error> Communicator::told_by_others(const Peer& peer) {
  for (const auto& other : peers_) {
    if (!other || other->rank == peer.rank || !other->reading_header || other->in.size() != sizeof(FrameHeader))
      continue;
    FrameHeader header;
    const ssize_t came = ::recv(other->socket.fd(), &header, sizeof header, MSG_PEEK | MSG_DONTWAIT);
    if (came != sizeof header || header.magic != frame_magic || header.kind != FrameKind::failed ||
        header.bytes > longest_failure)
      continue;
    std::string reason(header.bytes, '\0');
    const Deadline soon = deadline_in(farewell_s);
    if (receive_all(other->socket, std::as_writable_bytes(std::span(&header, 1)), soon).ok() &&
        receive_all(other->socket, std::as_writable_bytes(std::span(reason)), soon).ok())
      return Error{reason, "", {}};
  }
  return std::nullopt;
}

// The reason goes on to those that wait for us, as it came.
Error Communicator::give_up(Error error) {
  failed_ = true;
  tell_others(FrameKind::failed, error.message.substr(0, longest_failure));
  return error;
}

Result<void> Communicator::all_there() {
  if (failed_) return Error{"the ranks have parted already", "", {}};
  for (const auto& peer : peers_) {
    if (!peer) continue;
    FrameHeader header;
    const bool came = ::recv(peer->socket.fd(), &header, sizeof header, MSG_PEEK | MSG_DONTWAIT) == sizeof header &&
                      header.magic == frame_magic;
    if (came && header.kind == FrameKind::left) continue;
    if (came && header.kind == FrameKind::failed) {
      std::string reason(std::min(header.bytes, longest_failure), '\0');
      const Deadline soon = deadline_in(farewell_s);
      static_cast<void>(receive_all(peer->socket, std::as_writable_bytes(std::span(&header, 1)), soon));
      static_cast<void>(receive_all(peer->socket, std::as_writable_bytes(std::span(reason)), soon));
      return give_up({reason, "", {}});
    }
    pollfd connection{peer->socket.fd(), POLLRDHUP, 0};
    if (::poll(&connection, 1, 0) > 0) return give_up(lost(*peer));
  }
  return {};
}

Error Communicator::late(Collective collective) const {
  std::vector<int> missing;
  for (const auto& peer : peers_)
    if (peer && (peer->receives() || peer->sends())) missing.push_back(peer->rank);
  return {rank_list(missing) + " did not answer within " + std::to_string(std::lround(deadline_s_)) + " s (" +
              to_string(collective) + " " + std::to_string(sequence_) + ")",
          "it hangs, or is much slower than the others; KERNELWRIGHT_RANKS_DEADLINE_S gives it longer",
          {}};
}

Result<void> Communicator::send_some(Peer& peer) {
  while (peer.sends()) {
    if (peer.out.empty()) {
      peer.sending_header = false;
      peer.out = peer.out_bytes;
      continue;
    }
    // With the header alone the system need not send a packet yet.
    const int flags = MSG_NOSIGNAL | (peer.sending_header && !peer.out_bytes.empty() ? MSG_MORE : 0);
    const ssize_t sent = ::send(peer.socket.fd(), peer.out.data(), peer.out.size(), flags);
    if (sent > 0) {
      peer.out = peer.out.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {};
    } else if (errno != EINTR) {
      // It may have said why before it went.
      peer.out = {};
      peer.sending_header = false;
      if (!peer.receives()) return lost(peer);
      return {};
    }
  }
  return {};
}

Result<void> Communicator::read_header(Peer& peer, Collective collective) {
  const FrameHeader& header = peer.in_header;
  if (header.magic != frame_magic) return gone(peer, "speaks another language; start all ranks with the same program");
  if (header.kind == FrameKind::left)
    return gone(peer, "has ended, while this rank goes on: were they started with the same arguments?");
  if (header.kind == FrameKind::failed) {
    std::string reason(std::min(header.bytes, longest_failure), '\0');
    static_cast<void>(receive_all(peer.socket, std::as_writable_bytes(std::span(reason)), deadline_in(farewell_s)));
    return Error{reason, "", {}};
  }
  if (header.kind != FrameKind::data || header.sequence != sequence_ || header.collective != collective ||
      header.bytes != peer.in_bytes.size()) {
    return gone(peer, "is out of step: it is at " + to_string(header.collective) + " " +
                          std::to_string(header.sequence) + " of " + std::to_string(header.bytes) +
                          " bytes, this rank at " + to_string(collective) + " " + std::to_string(sequence_) + " of " +
                          std::to_string(peer.in_bytes.size()));
  }
  return {};
}

Result<void> Communicator::receive_some(Peer& peer, Collective collective) {
  while (peer.receives()) {
    if (peer.in.empty()) {
      KW_TRY_VOID(read_header(peer, collective));
      peer.reading_header = false;
      peer.in = peer.in_bytes;
      continue;
    }
    const ssize_t came = ::recv(peer.socket.fd(), peer.in.data(), peer.in.size(), 0);
    if (came > 0) {
      peer.in = peer.in.subspan(static_cast<std::size_t>(came));
    } else if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return {};
    } else if (came == 0 || errno != EINTR) {
      return lost(peer);
    }
  }
  return {};
}

Result<void> Communicator::exchange(Collective collective, std::span<const std::span<const std::byte>> outgoing,
                                    std::span<const std::span<std::byte>> incoming) {
  if (failed_) return Error{"the ranks have parted already", "", {}};
  ++sequence_;
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->out_bytes = outgoing[at(peer->rank)];
    peer->out_header = {frame_magic, FrameKind::data, sequence_, collective, peer->out_bytes.size()};
    peer->out = std::as_bytes(std::span(&peer->out_header, 1));
    peer->in_bytes = incoming[at(peer->rank)];
    peer->in = std::as_writable_bytes(std::span(&peer->in_header, 1));
    peer->sending_header = peer->reading_header = true;
  }
  const Deadline deadline = deadline_in(deadline_s_);
  std::vector<pollfd> waiting;
  std::vector<Peer*> who;
  for (;;) {
    waiting.clear();
    who.clear();
    for (const auto& peer : peers_) {
      if (!peer || (!peer->sends() && !peer->receives())) continue;
      const short events = static_cast<short>((peer->receives() ? POLLIN : 0) | (peer->sends() ? POLLOUT : 0));
      waiting.push_back({peer->socket.fd(), events, 0});
      who.push_back(peer.get());
    }
    if (waiting.empty()) return {};
    const int patience = poll_patience(deadline);
    const int ready = ::poll(waiting.data(), waiting.size(), patience);
    if (ready == 0 && patience == 0) return give_up(late(collective));
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      if (auto sent = send_some(*who[i]); !sent.ok()) return give_up(std::move(sent).error());
      if (auto came = receive_some(*who[i], collective); !came.ok()) return give_up(std::move(came).error());
    }
  }
}

Result<void> Communicator::barrier() {
  const std::vector<std::span<const std::byte>> nothing(at(size()));
  const std::vector<std::span<std::byte>> expected(at(size()));
  return exchange(Collective::barrier, nothing, expected);
}

Result<std::vector<std::string>> Communicator::all_gather(std::string_view mine, std::uint64_t most_bytes) {
  const std::uint64_t length = mine.size();
  if (length > most_bytes) return Error{"a rank has more to say than the others expect", "", {}};
  std::vector<std::uint64_t> lengths(at(size()), length);
  std::vector<std::span<const std::byte>> outgoing(at(size()), std::as_bytes(std::span(&length, 1)));
  std::vector<std::span<std::byte>> incoming;
  incoming.reserve(at(size()));
  for (std::uint64_t& other : lengths) incoming.push_back(std::as_writable_bytes(std::span(&other, 1)));
  KW_TRY_VOID(exchange(Collective::all_gather, outgoing, incoming));
  std::vector<std::string> all(at(size()));
  for (int other = 0; other < size(); ++other) {
    if (lengths[at(other)] > most_bytes)
      return Error{"rank " + std::to_string(other) + " wants to send " + std::to_string(lengths[at(other)]) +
                       " bytes where at most " + std::to_string(most_bytes) + " are expected",
                   "",
                   {}};
    all[at(other)].resize(other == rank() ? 0 : lengths[at(other)]);
    outgoing[at(other)] = std::as_bytes(std::span(mine));
    incoming[at(other)] = std::as_writable_bytes(std::span(all[at(other)]));
  }
  KW_TRY_VOID(exchange(Collective::all_gather, outgoing, incoming));
  all[at(rank())] = mine;
  return all;
}

Result<std::string> Communicator::broadcast(std::string bytes, int root) {
  KW_CHECK(root >= 0 && root < size());
  if (size() == 1) return bytes;
  const bool speaks = root == rank();
  std::uint64_t length = bytes.size();
  std::vector<std::span<const std::byte>> outgoing(at(size()));
  std::vector<std::span<std::byte>> incoming(at(size()));
  if (speaks) {
    if (length > longest_broadcast) return Error{"too much to tell all ranks at once", "", {}};
    std::ranges::fill(outgoing, std::as_bytes(std::span(&length, 1)));
  } else {
    incoming[at(root)] = std::as_writable_bytes(std::span(&length, 1));
  }
  KW_TRY_VOID(exchange(Collective::broadcast, outgoing, incoming));
  if (length > longest_broadcast) return Error{"rank " + std::to_string(root) + " wants to say too much", "", {}};
  if (speaks) {
    std::ranges::fill(outgoing, std::as_bytes(std::span(bytes)));
  } else {
    bytes.assign(length, '\0');
    incoming[at(root)] = std::as_writable_bytes(std::span(bytes));
  }
  KW_TRY_VOID(exchange(Collective::broadcast, outgoing, incoming));
  return bytes;
}

Result<void> Communicator::all_gather(std::span<std::byte> array, std::span<const ShareRange> ranges) {
  KW_CHECK(static_cast<int>(ranges.size()) == size());
  const auto part = [&](int of) { return array.subspan(at(ranges[at(of)].begin), at(ranges[at(of)].size())); };
  const std::vector<std::span<const std::byte>> outgoing(at(size()), part(rank()));
  std::vector<std::span<std::byte>> incoming;
  incoming.reserve(at(size()));
  for (int other = 0; other < size(); ++other) incoming.push_back(part(other));
  return exchange(Collective::all_gather, outgoing, incoming);
}

Result<void> Communicator::gather(std::span<const std::byte> mine, std::span<std::byte> array,
                                  std::span<const ShareRange> ranges) {
  KW_CHECK(static_cast<int>(ranges.size()) == size());
  std::vector<std::span<const std::byte>> outgoing(at(size()));
  std::vector<std::span<std::byte>> incoming(at(size()));
  if (is_first()) {
    for (int other = 0; other < size(); ++other)
      incoming[at(other)] = array.subspan(at(ranges[at(other)].begin), at(ranges[at(other)].size()));
    std::ranges::copy(mine, incoming[0].begin());
  } else {
    outgoing[0] = mine;
  }
  return exchange(Collective::gather, outgoing, incoming);
}

Result<void> Communicator::all_reduce(std::span<double> values) {
  std::vector<double> all(values.size() * at(size()));
  const std::vector<std::span<const std::byte>> outgoing(at(size()), std::as_bytes(values));
  std::vector<std::span<std::byte>> incoming;
  incoming.reserve(at(size()));
  for (int other = 0; other < size(); ++other)
    incoming.push_back(std::as_writable_bytes(std::span(all).subspan(at(other) * values.size(), values.size())));
  KW_TRY_VOID(exchange(Collective::all_reduce, outgoing, incoming));
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(at(rank()) * values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = all[i];
    for (int other = 1; other < size(); ++other) values[i] += all[at(other) * values.size() + i];
  }
  return {};
}

Result<void> Communicator::reduce_scatter(std::span<const std::int64_t> pieces, std::span<const ShareRange> ranges,
                                          const Piece& piece, const Add& add) {
  KW_CHECK(static_cast<int>(ranges.size()) == size() && pieces.size() == ranges.size());
  std::int64_t longest = 0;
  for (const ShareRange& range : ranges) longest = std::max(longest, range.size());
  const std::int64_t ours = pieces[at(rank())];
  std::vector<std::vector<float>> sent(at(size())), came(at(size()));
  for (std::int64_t offset = 0; offset < longest; offset += stretch_floats) {
    const auto stretch = [&](int of) {
      const ShareRange& range = ranges[at(of)];
      return ShareRange{std::min(range.begin + offset, range.end),
                        std::min(range.begin + offset + stretch_floats, range.end)};
    };
    const ShareRange own = stretch(rank());
    std::vector<std::span<const std::byte>> outgoing(at(size()));
    std::vector<std::span<std::byte>> incoming(at(size()));
    std::vector<const float*> addends;
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) {
        for (std::int64_t i = 0; i < ours; ++i) addends.push_back(piece(i, own).data());
        continue;
      }
      const ShareRange theirs = stretch(other);
      sent[at(other)].clear();
      for (std::int64_t i = 0; i < ours; ++i) {
        const std::span<const float> values = piece(i, theirs);
        sent[at(other)].insert(sent[at(other)].end(), values.begin(), values.end());
      }
      came[at(other)].resize(at(pieces[at(other)] * own.size()));
      outgoing[at(other)] = std::as_bytes(std::span(sent[at(other)]));
      incoming[at(other)] = std::as_writable_bytes(std::span(came[at(other)]));
      for (std::int64_t i = 0; i < pieces[at(other)]; ++i) addends.push_back(came[at(other)].data() + i * own.size());
    }
    KW_TRY_VOID(exchange(Collective::reduce_scatter, outgoing, incoming));
    if (own.size() > 0) add(addends, own);
  }
  return {};
}

Communicator::Patience::Patience(Communicator* ranks, double seconds) : ranks_(ranks) {
  if (ranks_ == nullptr) return;
  before_ = ranks_->deadline_s_;
  ranks_->deadline_s_ = std::max(before_, seconds);
}

Communicator::Patience::~Patience() {
  if (ranks_ != nullptr) ranks_->deadline_s_ = before_;
}

Result<bool> any_rank(Communicator* ranks, bool mine) {
  if (ranks == nullptr) return mine;
  double votes = mine ? 1 : 0;
  KW_TRY_VOID(ranks->all_reduce(std::span(&votes, 1)));
  return votes > 0;
}

Result<double> first_says(Communicator* ranks, double value) {
  if (ranks == nullptr) return value;
  double said = ranks->is_first() ? value : 0;
  KW_TRY_VOID(ranks->all_reduce(std::span(&said, 1)));
  return said;
}

}  // namespace kw
