#pragma once
// The most recently used results, in memory, bounded in bytes. For any number of threads.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace kw {

template <class Value>
class MemoryCache {
 public:
  explicit MemoryCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  std::shared_ptr<const Value> get(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  void put(const std::string& key, std::shared_ptr<const Value> value, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > max_bytes_ / 4) return;
    if (const auto found = index_.find(key); found != index_.end()) {
      bytes_ -= found->second->bytes;
      order_.erase(found->second);
      index_.erase(found);
    }
    order_.push_front({key, std::move(value), bytes});
    index_.emplace(key, order_.begin());
    bytes_ += bytes;
    while (bytes_ > max_bytes_) {
      bytes_ -= order_.back().bytes;
      index_.erase(order_.back().key);
      order_.pop_back();
    }
  }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Value> value;
    std::size_t bytes;
  };

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> order_;  // most recent first
  std::unordered_map<std::string, typename std::list<Entry>::iterator> index_;
  std::size_t bytes_ = 0;
};

}  // namespace kw
