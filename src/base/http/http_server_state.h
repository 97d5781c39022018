#pragma once
// What all connections of a server share: options, counts, the slots of requests in flight, who is connected. Inside
// the module only.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/http/http_server.h"

namespace kw {

class HttpConnection;

// A request's place among those in flight, and in its key's quota; given back when it is destroyed.
class HttpSlot {
 public:
  HttpSlot(std::shared_ptr<HttpServerState> server, std::optional<std::size_t> key)
      : server_(std::move(server)), key_(key) {}
  ~HttpSlot();
  HttpSlot(const HttpSlot&) = delete;
  HttpSlot& operator=(const HttpSlot&) = delete;

  // So many more bytes of the request's body have come. False: all bodies together are too many.
  bool hold(std::size_t bytes);

 private:
  std::shared_ptr<HttpServerState> server_;
  std::optional<std::size_t> key_;
  std::size_t held_bytes_ = 0;
};

struct HttpServerState : std::enable_shared_from_this<HttpServerState> {
  HttpServerState(HttpServerOptions chosen, HttpServer::Handler then);

  // One context and one thread each, so what belongs to a connection needs no locks.
  std::vector<std::unique_ptr<boost::asio::io_context>> contexts;
  std::optional<boost::asio::ssl::context> tls;

  const HttpServerOptions options;
  const std::optional<ApiKeys> keys;  // a copy, which has the same quotas: replies may live longer than the server
  const HttpServer::Handler handler;
  const std::string id_prefix;  // of our request ids: random, so that those of two servers differ
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<bool> draining{false};
  std::atomic<bool> stopped{false};

  std::string new_request_id();
  // An entry that ends in '/' also stands for what is below it.
  static bool is_listed(const std::vector<std::string>& paths, const std::string& path);

  // Null: too many, and `always` is false. The key's own quota has been asked before.
  std::shared_ptr<HttpSlot> take_slot(std::optional<std::size_t> key, bool always);
  void count_answer(int status);
  template <class Change>
  void count(Change change) {
    const std::scoped_lock lock(mutex);
    change(totals);
  }

  // Connections are known from when they are accepted to when they end.
  enum class Room { yes, to_refuse, none };
  Room make_room();  // closes, where there are too many, the one that has waited longest for a request
  void add_connection(const std::shared_ptr<HttpConnection>& connection);
  void remove_connection(const HttpConnection* connection);
  std::vector<std::shared_ptr<HttpConnection>> connections_now();

  mutable std::mutex mutex;
  std::condition_variable changed;  // in_flight or connections went down
  std::size_t in_flight = 0;
  std::size_t bodies_bytes = 0;  // of requests in flight
  std::map<const HttpConnection*, std::weak_ptr<HttpConnection>> connections;
  HttpCounts totals;  // of these the numbers that only grow
};

}  // namespace kw
