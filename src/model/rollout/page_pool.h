#pragma once
// Which pages of keys and values are free, and how many sequences read each of the others. The content is the
// decoder's business.

#include <cstdint>
#include <optional>
#include <vector>

namespace kw {

class PagePool {
 public:
  explicit PagePool(std::int64_t pages);

  std::int64_t size() const { return static_cast<std::int64_t>(references_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t used() const { return size() - free(); }

  // A page with one owner, or nothing when all are in use. The page that was released last comes first: it is the
  // likeliest to be in a cache.
  std::optional<std::int32_t> take();
  void share(std::int32_t page);    // one owner more
  void release(std::int32_t page);  // one owner less; the last one frees it
  std::int32_t owners(std::int32_t page) const { return references_.at(static_cast<std::size_t>(page)); }

 private:
  std::vector<std::int32_t> references_;
  std::vector<std::int32_t> free_;
};

}  // namespace kw
