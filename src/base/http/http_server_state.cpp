#include "base/http/http_server_state.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/check.h"
#include "base/http/http_connection.h"

namespace kw {
namespace {

// Connections above the limit that are told so; more are closed without a word.
constexpr std::size_t max_refused_connections = 64;

std::string random_prefix() {
  std::uint32_t number = 0;
  KW_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) == 1);
  return fmt::format("{:08x}", number);
}

}  // namespace

HttpSlot::~HttpSlot() {
  if (key_) server_->keys->release(*key_);
  const std::scoped_lock lock(server_->mutex);
  --server_->in_flight;
  server_->bodies_bytes -= held_bytes_;
  server_->changed.notify_all();
}

bool HttpSlot::hold(std::size_t bytes) {
  const std::scoped_lock lock(server_->mutex);
  if (bytes > server_->options.limits.max_bodies_bytes - server_->bodies_bytes) return false;
  server_->bodies_bytes += bytes;
  held_bytes_ += bytes;
  return true;
}

HttpServerState::HttpServerState(HttpServerOptions chosen, HttpServer::Handler then)
    : options(std::move(chosen)),
      keys(options.keys == nullptr ? std::nullopt : std::optional<ApiKeys>(*options.keys)),
      handler(std::move(then)),
      id_prefix(random_prefix()) {}

std::string HttpServerState::new_request_id() { return fmt::format("{}-{:06}", id_prefix, next_id++); }

bool HttpServerState::is_listed(const std::vector<std::string>& paths, const std::string& path) {
  return std::ranges::any_of(paths, [&](const std::string& listed) {
    return path == listed || (listed.size() > 1 && listed.ends_with('/') && path.starts_with(listed));
  });
}

std::shared_ptr<HttpSlot> HttpServerState::take_slot(std::optional<std::size_t> key, bool always) {
  {
    const std::scoped_lock lock(mutex);
    if (in_flight >= options.limits.max_in_flight && !always) return nullptr;
    ++in_flight;
  }
  return std::make_shared<HttpSlot>(shared_from_this(), key);
}

void HttpServerState::count_answer(int status) {
  const std::scoped_lock lock(mutex);
  ++totals.requests_total;
  ++totals.answers_by_class[static_cast<std::size_t>(std::clamp(status / 100, 0, 5))];
}

HttpServerState::Room HttpServerState::make_room() {
  std::shared_ptr<HttpConnection> longest;
  {
    const std::scoped_lock lock(mutex);
    ++totals.connections_total;
    if (connections.size() < options.limits.max_connections) return Room::yes;
    ++totals.refused;
    if (connections.size() >= options.limits.max_connections + max_refused_connections) return Room::none;
    auto chosen = connections.end();
    std::int64_t since_ns = INT64_MAX;
    for (auto it = connections.begin(); it != connections.end(); ++it) {
      const std::int64_t its_ns = it->first->waiting_since_ns;
      if (its_ns == 0 || its_ns >= since_ns) continue;
      chosen = it;
      since_ns = its_ns;
    }
    if (chosen != connections.end()) longest = chosen->second.lock();
    if (longest != nullptr) longest->waiting_since_ns = 0;  // so that nobody chooses it again
  }
  if (longest == nullptr) return Room::to_refuse;
  longest->evict();
  return Room::yes;
}

void HttpServerState::add_connection(const std::shared_ptr<HttpConnection>& connection) {
  const std::scoped_lock lock(mutex);
  connections.emplace(connection.get(), connection);
}

void HttpServerState::remove_connection(const HttpConnection* connection) {
  const std::scoped_lock lock(mutex);
  connections.erase(connection);
  changed.notify_all();
}

std::vector<std::shared_ptr<HttpConnection>> HttpServerState::connections_now() {
  std::vector<std::shared_ptr<HttpConnection>> now;
  const std::scoped_lock lock(mutex);
  now.reserve(connections.size());
  for (const auto& [pointer, weak] : connections) {
    if (auto connection = weak.lock()) now.push_back(std::move(connection));
  }
  return now;
}

}  // namespace kw
