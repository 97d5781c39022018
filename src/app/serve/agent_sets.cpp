#include "app/serve/agent_sets.h"

#include <algorithm>

#include "base/hash.h"

namespace kw {

AgentSets::AgentSets(AgentServiceOptions options, JudgePool& judges, std::string judge_identity, WorkQueue& later)
    : options_(std::move(options)), judges_(judges), judge_identity_(std::move(judge_identity)), later_(later) {}

AgentSets::~AgentSets() { close(); }

// The last to let go may be a callback on the service's own thread, which cannot wait for itself.
void AgentSets::take_down(AgentService* ended) {
  const auto now = [this, ended] {
    delete ended;
    const std::lock_guard lock(mutex_);
    --alive_;
    changed_.notify_all();
  };
  {
    const std::lock_guard lock(mutex_);
    if (closing_) {
      ended_.push_back(ended);
      changed_.notify_all();
      return;
    }
  }
  if (!later_.submit(now)) std::thread(now).detach();
}

void AgentSets::close() {
  std::vector<std::pair<std::string, std::shared_ptr<AgentService>>> closed;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    closed.swap(sets_);
  }
  for (const auto& [name, set] : closed) set->close();
  closed.clear();
  for (std::unique_lock lock(mutex_); alive_ > 0;) {
    changed_.wait(lock, [this] { return alive_ == 0 || !ended_.empty(); });
    std::vector<AgentService*> now;
    now.swap(ended_);
    lock.unlock();
    for (AgentService* ended : now) delete ended;
    lock.lock();
    alive_ -= now.size();
  }
}

Result<std::shared_ptr<AgentService>> AgentSets::load(const std::string& name, Stay stay) {
  const std::lock_guard one_at_a_time(loading_);
  if (stay == Stay::yes) {
    const std::lock_guard lock(mutex_);
    staying_.insert(name);
  }
  if (auto known = find(name)) return known;
  AgentServiceOptions options = options_;
  options.model = name;
  // A file for each set: a store belongs to one thread at a time.
  if (!options.store.empty()) options.store /= "episodes-" + sha256_hex(name).substr(0, 16) + ".db";
  KW_TRY(std::unique_ptr<AgentService> opened, AgentService::open(options, judges_, judge_identity_));
  std::shared_ptr<AgentService> set(opened.release(), [this](AgentService* ended) { take_down(ended); });
  const std::lock_guard lock(mutex_);
  ++alive_;
  sets_.emplace_back(name, set);
  return set;
}

std::shared_ptr<AgentService> AgentSets::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  if (name.empty()) return sets_.empty() ? nullptr : sets_.front().second;
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const auto& set) { return set.first == name; });
  return found == sets_.end() ? nullptr : found->second;
}

void AgentSets::keep_only(const std::set<std::string>& wanted) {
  std::vector<std::shared_ptr<AgentService>> ended;  // let go after the lock
  const std::lock_guard lock(mutex_);
  std::erase_if(sets_, [&](auto& set) {
    if (wanted.contains(set.first) || staying_.contains(set.first)) return false;
    ended.push_back(std::move(set.second));
    return true;
  });
}

std::vector<std::string> AgentSets::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [name, set] : sets_) all.push_back(name);
  return all;
}

}  // namespace kw
