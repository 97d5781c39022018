#include "model/distributed/rendezvous.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/hash.h"
#include "base/log.h"
#include "model/distributed/frame.h"
#include "model/distributed/hmac.h"

namespace kw {
namespace {

constexpr double handshake_s = 5;                // that a connection gets to prove itself
constexpr int most_handshakes = 256;             // at a time
constexpr std::size_t most_connections = 16384;  // that are looked at at all: each costs a thread's stack
constexpr std::size_t nonce_bytes = 16, mac_bytes = 64;
constexpr std::size_t longest_address = 64;

using Nonce = std::array<char, nonce_bytes>;
using Mac = std::array<char, mac_bytes>;

// First words of who connects.
struct Hello {
  std::uint32_t magic = frame_magic;
  std::uint32_t rank = 0, size = 0;
  std::uint32_t listens_at = 0;
  Nonce nonce{};
  Mac job{};  // SHA-256 of its name
};
struct Welcome {
  std::uint32_t magic = frame_magic;
  Nonce nonce{};
  Mac mac{};
};
struct Proof {
  Mac mac{};
};
struct Address {
  std::uint32_t port = 0;
  std::array<char, longest_address> host{};  // empty: rank 0's
};

template <class T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

Result<Nonce> new_nonce() {
  Nonce nonce;
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    return Error{"the system has no random bytes", "", {}};
  return nonce;
}

Mac hash_of(std::string_view text) {
  const std::string hex = sha256_hex(text);
  Mac mac;
  std::ranges::copy(hex, mac.begin());
  return mac;
}

std::string_view text_of(const auto& chars) { return {chars.data(), chars.size()}; }

// `side` keeps one side's proof from serving as the other's.
Mac proof_of(const std::string& secret, std::string_view side, const Hello& hello, const Nonce& answer) {
  std::string said(side);
  said.append(reinterpret_cast<const char*>(&hello), sizeof hello).append(text_of(answer));
  const std::string hex = hmac_sha256_hex(secret, said);
  Mac mac;
  std::ranges::copy(hex, mac.begin());
  return mac;
}

// Takes as long wherever they differ.
bool equal(const Mac& left, const Mac& right) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < mac_bytes; ++i) differs |= static_cast<unsigned char>(left[i] ^ right[i]);
  return differs == 0;
}

struct Visitor {
  Socket socket;
  int rank = 0;
  int listens_at = 0;
};

// Takes connections of the ranks above this one, many at a time: one that says nothing holds nobody up.
class Door {
 public:
  Door(const RankPlace& place, Listener listener) : place_(place), listener_(std::move(listener)) {
    visitors_.resize(static_cast<std::size_t>(place.size));
    thread_ = std::jthread([this](const std::stop_token& stop) { take_connections(stop); });
  }
  ~Door() {
    thread_.request_stop();
    thread_.join();
    {
      // Who says nothing holds nobody up here either.
      const std::lock_guard lock(mutex_);
      for (const int fd : unproven_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::jthread& handshake : handshakes_) handshake.join();
  }
  int port() const { return listener_.port; }

  // Those that have not come by the deadline; visitors are handed out once.
  std::vector<int> wait(Deadline deadline) {
    for (;;) {
      std::vector<int> missing;
      {
        const std::lock_guard lock(mutex_);
        for (int rank = place_.rank + 1; rank < place_.size; ++rank)
          if (!visitors_[static_cast<std::size_t>(rank)]) missing.push_back(rank);
      }
      if (missing.empty() || std::chrono::steady_clock::now() >= deadline) return missing;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::optional<Visitor> take(int rank) {
    const std::lock_guard lock(mutex_);
    return std::exchange(visitors_[static_cast<std::size_t>(rank)], std::nullopt);
  }

 private:
  void take_connections(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting{listener_.socket.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      Socket socket(::accept4(listener_.socket.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open() || handshakes_.size() >= most_connections) continue;
      const std::lock_guard lock(mutex_);
      if (unproven_.size() >= most_handshakes) continue;
      unproven_.insert(socket.fd());
      handshakes_.emplace_back([this, taken = std::move(socket)]() mutable {
        auto visitor = greet(taken);
        const std::lock_guard seats(mutex_);
        unproven_.erase(taken.fd());
        if (!visitor) return taken.close();
        visitor->socket = std::move(taken);
        auto& seat = visitors_[static_cast<std::size_t>(visitor->rank)];
        if (!seat) seat = std::move(visitor);  // the second who says so is turned away
      });
    }
  }

  // The socket stays the caller's.
  std::optional<Visitor> greet(const Socket& socket) {
    prepare_connection(socket);
    const Deadline deadline = deadline_in(handshake_s);
    Hello hello;
    if (!receive_all(socket, bytes_of(hello), deadline).ok()) return {};
    const bool ours = hello.magic == frame_magic && hello.size == static_cast<std::uint32_t>(place_.size) &&
                      hello.rank > static_cast<std::uint32_t>(place_.rank) && hello.rank < hello.size &&
                      hello.listens_at <= 65535 && hello.job == hash_of(place_.job);
    const auto nonce = new_nonce();
    if (!ours || !nonce.ok()) return {};
    Welcome welcome;
    welcome.nonce = *nonce;
    welcome.mac = proof_of(place_.secret, "listens", hello, *nonce);
    Proof proof;
    if (!send_all(socket, bytes_of(welcome), deadline).ok() || !receive_all(socket, bytes_of(proof), deadline).ok())
      return {};
    if (!equal(proof.mac, proof_of(place_.secret, "connects", hello, *nonce))) {
      log_event(LogLevel::warn, "rank_refused", {{"address", peer_address(socket)}, {"rank", hello.rank}});
      return {};
    }
    return Visitor{Socket(), static_cast<int>(hello.rank), static_cast<int>(hello.listens_at)};
  }

  const RankPlace& place_;
  Listener listener_;
  std::mutex mutex_;
  std::vector<std::optional<Visitor>> visitors_;  // by rank
  std::set<int> unproven_;                        // descriptors of handshakes that go on
  std::vector<std::jthread> handshakes_;          // thread_ alone adds to them
  std::jthread thread_;
};

// One attempt; the error says how far it came.
Result<Socket> knock(const RankPlace& place, const std::string& host, int port, int listens_at, Deadline deadline) {
  KW_TRY(Socket socket, connect_to(host, port, deadline));
  Hello hello;
  hello.rank = static_cast<std::uint32_t>(place.rank);
  hello.size = static_cast<std::uint32_t>(place.size);
  hello.listens_at = static_cast<std::uint32_t>(listens_at);
  hello.job = hash_of(place.job);
  KW_TRY(hello.nonce, new_nonce());
  KW_TRY_VOID(send_all(socket, bytes_of(hello), deadline));
  Welcome welcome;
  KW_TRY_VOID(receive_all(socket, bytes_of(welcome), deadline));
  if (welcome.magic != frame_magic)
    return Error{"somebody else listens at " + host + ":" + std::to_string(port), "", {}};
  if (!equal(welcome.mac, proof_of(place.secret, "listens", hello, welcome.nonce)))
    return Error{"who listens at " + host + ":" + std::to_string(port) + " has another secret",
                 "give all ranks the same KERNELWRIGHT_RANKS_SECRET",
                 {}};
  Proof proof{proof_of(place.secret, "connects", hello, welcome.nonce)};
  KW_TRY_VOID(send_all(socket, bytes_of(proof), deadline));
  return socket;
}

// Rank 0 may come later, and at any of the ports.
Result<Socket> find_first(const RankPlace& place, int listens_at, Deadline deadline) {
  std::string last = "nobody listens there";
  while (std::chrono::steady_clock::now() < deadline) {
    for (int i = 0; i < rendezvous_ports && place.port + i <= 65535; ++i) {
      const Deadline soon = std::min(deadline, deadline_in(handshake_s));
      auto knocked = knock(place, place.address, place.port + i, listens_at, soon);
      if (knocked.ok()) return knocked;
      if (!knocked.error().message.starts_with("cannot connect")) last = knocked.error().message;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Error{"rank 0 did not answer at " + place.address + ", ports " + std::to_string(place.port) + " to " +
                   std::to_string(place.port + rendezvous_ports - 1) + ": " + last,
               "look at what rank 0 says; are MASTER_ADDR and MASTER_PORT right?",
               {}};
}

Error missing_ranks(const std::vector<int>& ranks, double seconds) {
  return {rank_list(ranks) + " did not come within " + std::to_string(std::lround(seconds)) + " s",
          "look at what they say themselves; KERNELWRIGHT_RANKS_JOIN_S gives them longer",
          {}};
}

Result<Listener> listen_first(const RankPlace& place) {
  for (int i = 0; i < rendezvous_ports && place.port + i <= 65535; ++i)
    if (auto listener = listen_at(place.port + i, !is_loopback(place.address)); listener.ok()) return listener;
  return Error{"rank 0 cannot listen at any port from " + std::to_string(place.port) + " to " +
                   std::to_string(place.port + rendezvous_ports - 1),
               "set MASTER_PORT to another one",
               {}};
}

// Tells those who came who else did, or who did not.
Result<Mesh> host_ranks(const RankPlace& place, Deadline deadline) {
  KW_TRY(Listener listener, listen_first(place));
  Door door(place, std::move(listener));
  const std::vector<int> missing = door.wait(deadline);
  Mesh mesh;
  mesh.peers.resize(static_cast<std::size_t>(place.size));
  mesh.addresses.resize(mesh.peers.size());
  std::vector<Address> table(mesh.peers.size());
  for (int rank = 1; rank < place.size; ++rank) {
    auto visitor = door.take(rank);
    if (!visitor) continue;
    const auto at = static_cast<std::size_t>(rank);
    const std::string host = peer_address(visitor->socket);
    table[at].port = static_cast<std::uint32_t>(visitor->listens_at);
    if (!is_loopback(host)) std::ranges::copy(host.substr(0, longest_address - 1), table[at].host.begin());
    mesh.addresses[at] = host;
    mesh.peers[at] = std::move(visitor->socket);
  }
  const Deadline soon = deadline_in(handshake_s);
  for (int rank = 1; rank < place.size; ++rank) {
    const Socket& socket = mesh.peers[static_cast<std::size_t>(rank)];
    if (!socket.is_open()) continue;
    FrameHeader header;
    const std::string reason = missing.empty() ? "" : missing_ranks(missing, place.join_s).message;
    header.kind = missing.empty() ? FrameKind::data : FrameKind::failed;
    header.bytes = missing.empty() ? std::span(table).size_bytes() : reason.size();
    // Who cannot be told is missed in the first collective, by its number.
    if (!send_all(socket, bytes_of(header), soon).ok()) continue;
    static_cast<void>(
        send_all(socket, missing.empty() ? std::as_bytes(std::span(table)) : std::as_bytes(std::span(reason)), soon));
  }
  if (!missing.empty()) return missing_ranks(missing, place.join_s);
  return mesh;
}

Result<std::vector<Address>> receive_table(const RankPlace& place, const Socket& first, Deadline deadline) {
  FrameHeader header;
  if (const auto came = receive_all(first, bytes_of(header), deadline); !came.ok())
    return Error{
        "rank 0 went away before all ranks had met: " + came.error().message, "look at what it says itself", {}};
  std::vector<Address> table(static_cast<std::size_t>(place.size));
  if (header.magic == frame_magic && header.kind == FrameKind::failed && header.bytes <= longest_failure) {
    std::string reason(header.bytes, '\0');
    KW_TRY_VOID(receive_all(first, std::as_writable_bytes(std::span(reason)), deadline));
    return Error{reason, "look at what they say themselves", {}};
  }
  if (header.magic != frame_magic || header.kind != FrameKind::data || header.bytes != std::span(table).size_bytes())
    return Error{"rank 0 speaks another language", "start all ranks with the same program", {}};
  KW_TRY_VOID(receive_all(first, std::as_writable_bytes(std::span(table)), deadline));
  return table;
}

Result<Mesh> join_ranks(const RankPlace& place, Deadline deadline) {
  KW_TRY(Listener listener, listen_at(0, !is_loopback(place.address)));
  Door door(place, std::move(listener));
  Mesh mesh;
  mesh.peers.resize(static_cast<std::size_t>(place.size));
  mesh.addresses.assign(mesh.peers.size(), place.address);
  KW_TRY(mesh.peers[0], find_first(place, door.port(), deadline));
  // Rank 0 waits for the others as long as we do, and then says who is missing.
  const Deadline patient = deadline + std::chrono::seconds(10);
  KW_TRY(const std::vector<Address> table, receive_table(place, mesh.peers[0], patient));
  for (int rank = 1; rank < place.rank; ++rank) {
    const Address& address = table[static_cast<std::size_t>(rank)];
    if (address.port == 0 || address.port > 65535)
      return Error{"rank 0 says nonsense about rank " + std::to_string(rank), "", {}};
    const std::string host(address.host.data(), ::strnlen(address.host.data(), longest_address));
    auto& there = mesh.addresses[static_cast<std::size_t>(rank)];
    if (!host.empty()) there = host;
    auto knocked = knock(place, there, static_cast<int>(address.port), 0, patient);
    if (!knocked.ok())
      return Error{
          "rank " + std::to_string(rank) + " at " + there + " cannot be reached: " + knocked.error().message, "", {}};
    mesh.peers[static_cast<std::size_t>(rank)] = std::move(knocked).value();
  }
  if (const std::vector<int> missing = door.wait(patient); !missing.empty())
    return missing_ranks(missing, place.join_s);
  for (int rank = place.rank + 1; rank < place.size; ++rank) {
    auto visitor = door.take(rank);
    mesh.addresses[static_cast<std::size_t>(rank)] = peer_address(visitor->socket);
    mesh.peers[static_cast<std::size_t>(rank)] = std::move(visitor->socket);
  }
  return mesh;
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t named = 4;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), named); ++i) {
    const bool last = i + 1 == ranks.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(ranks[i]);
  }
  if (ranks.size() > named) text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}

Result<Mesh> meet_ranks(const RankPlace& place) {
  const Deadline deadline = deadline_in(place.join_s);
  if (place.size == 1) return Mesh{std::vector<Socket>(1), {place.address}};
  return place.rank == 0 ? host_ranks(place, deadline) : join_ranks(place, deadline);
}

}  // namespace kw
