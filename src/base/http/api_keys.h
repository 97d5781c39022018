#pragma once
// Who may use the service, and how much. The file has a line for each key, and never the key itself:
//
//   # name  SHA-256 of the key, hexadecimal  [requests a minute  [requests in flight]]
//   alice   5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8  600  16
//
// A plain hash is enough because keys are long and random (`make_key`); a password would need a slow one.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct ApiKeyQuota {
  int requests_per_minute = 0;  // 0: no limit; as many may also come at once
  int in_flight = 0;            // 0: no limit
};

class ApiKeys {
 public:
  using Clock = std::chrono::steady_clock;

  static Result<ApiKeys> load(const std::filesystem::path& path);
  static Result<ApiKeys> parse(std::string_view text, const std::string& file_name);

  // A new key: "kw-" and 43 letters and digits, 256 random bits. It is shown once and stored nowhere.
  static std::string make_key();
  static std::string line_for(std::string_view name, std::string_view key, ApiKeyQuota quota = {});

  std::size_t size() const;

  // The number of the key, or nullopt. Every stored hash is compared in constant time and none is left out, so the time
  // says nothing about how close a guess came.
  std::optional<std::size_t> check(std::string_view key) const;
  const std::string& name(std::size_t who) const;

  struct Admission {
    bool admitted = false;
    int retry_after_s = 0;    // where it is not: when to come again
    std::string_view reason;  // and why, as a message says it
  };
  // One request. Each that is admitted must be released when it is answered. Any thread.
  Admission admit(std::size_t who, Clock::time_point now = Clock::now()) const;
  void release(std::size_t who) const;

 private:
  struct State;
  explicit ApiKeys(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace kw
