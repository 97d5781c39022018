#include "model/rollout/page_pool.h"

#include "base/check.h"

namespace kw {

PagePool::PagePool(std::int64_t pages) : references_(static_cast<std::size_t>(pages)) {
  free_.reserve(references_.size());
  for (std::int64_t page = pages; page > 0; --page) free_.push_back(static_cast<std::int32_t>(page - 1));
}

std::optional<std::int32_t> PagePool::take() {
  if (free_.empty()) return std::nullopt;
  const std::int32_t page = free_.back();
  free_.pop_back();
  references_[static_cast<std::size_t>(page)] = 1;
  return page;
}

void PagePool::share(std::int32_t page) {
  KW_CHECK(owners(page) > 0);
  ++references_[static_cast<std::size_t>(page)];
}

void PagePool::release(std::int32_t page) {
  KW_CHECK(owners(page) > 0);
  if (--references_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

}  // namespace kw
