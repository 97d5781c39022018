#pragma once
// Values by key, made when they are first asked for and kept while there is room. Where there are too many, or they
// take too much memory, those that nobody has asked for longest are forgotten; whoever asks again gets a new one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kw {

struct RecentLimits {
  std::size_t values = 0;
  std::uint64_t bytes = 0;
};

// From any thread. A value says with kept_bytes() how much memory it takes, which may change while it is kept. What
// somebody still holds is not forgotten, because that would free nothing; neither is the newest value.
template <class Value>
class RecentStore {
 public:
  explicit RecentStore(RecentLimits limits) : limits_(limits) {}

  // `make` returns a std::shared_ptr<Value>; it is called under a lock and should leave what is slow for later.
  template <class Make>
  std::shared_ptr<Value> find_or_make(const std::string& key, const Make& make) {
    std::vector<std::shared_ptr<Value>> forgotten;  // ends after the lock: a destructor may take its time
    const std::lock_guard lock(mutex_);
    const auto known = places_.find(key);
    if (known != places_.end()) {
      values_.splice(values_.begin(), values_, known->second);
    } else {
      values_.emplace_front(key, make());
      places_.emplace(key, values_.begin());
    }
    std::shared_ptr<Value> value = values_.front().second;
    forgotten = forget();
    return value;
  }

  // Values grow while they are used: whoever has let one go says so here.
  void trim() {
    std::vector<std::shared_ptr<Value>> forgotten;
    const std::lock_guard lock(mutex_);
    forgotten = forget();
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

  std::uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return kept_bytes();
  }

 private:
  using Values = std::list<std::pair<std::string, std::shared_ptr<Value>>>;

  std::uint64_t kept_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, value] : values_) bytes += value->kept_bytes();
    return bytes;
  }

  // The oldest first. Copies are made under the lock alone, so one that nobody else holds now stays so.
  std::vector<std::shared_ptr<Value>> forget() {
    std::vector<std::shared_ptr<Value>> forgotten;
    std::uint64_t bytes = kept_bytes();
    for (auto at = values_.end(); at != values_.begin();) {
      --at;
      if (at == values_.begin() || (values_.size() <= limits_.values && bytes <= limits_.bytes)) break;
      if (at->second.use_count() > 1) continue;
      bytes -= std::min(bytes, at->second->kept_bytes());
      forgotten.push_back(std::move(at->second));
      places_.erase(at->first);
      at = values_.erase(at);
    }
    return forgotten;
  }

  RecentLimits limits_;
  mutable std::mutex mutex_;
  Values values_;  // the newest first
  std::unordered_map<std::string, typename Values::iterator> places_;
};

}  // namespace kw
