#include "base/database/database_size.h"

#include <algorithm>

namespace kw {
namespace {

Result<std::uint64_t> number(Database& database, std::string_view pragma) {
  KW_TRY(Statement query, database.prepare(pragma));
  KW_TRY(const bool row, query.step());
  return row ? static_cast<std::uint64_t>(query.integer(0)) : 0;
}

}  // namespace

Result<std::uint64_t> used_bytes(Database& database) {
  KW_TRY(const std::uint64_t pages, number(database, "PRAGMA page_count"));
  KW_TRY(const std::uint64_t free_pages, number(database, "PRAGMA freelist_count"));
  KW_TRY(const std::uint64_t page_bytes, number(database, "PRAGMA page_size"));
  return (pages - std::min(pages, free_pages)) * page_bytes;
}

}  // namespace kw
