#pragma once
// How many pages of keys and values a decoder takes: no more than its rows can ever fill, and never so much of the
// device that nothing is left for training beside it, or for another program's model.

#include <algorithm>
#include <cstdint>

namespace kw {

struct PageNeeds {
  std::int64_t page_bytes = 1;
  std::int64_t page_tokens = 16;
  std::int64_t rows = 1;
  std::int64_t context = 1;
  std::int64_t most_bytes = 0;
  std::int64_t free_bytes = 0;  // of the device; 0: not known
};

inline std::int64_t decoder_pages(const PageNeeds& needs) {
  // A row may begin a page that it does not fill; a shared prompt's last page is copied.
  const std::int64_t useful = needs.rows * ((needs.context + needs.page_tokens - 1) / needs.page_tokens + 1);
  std::int64_t bytes = needs.most_bytes;
  if (needs.free_bytes > 0) bytes = std::min(bytes, needs.free_bytes * 2 / 5);
  return std::max<std::int64_t>(1, std::min(useful, bytes / needs.page_bytes));
}

}  // namespace kw
