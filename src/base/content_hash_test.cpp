#include "base/content_hash.h"

#include <gtest/gtest.h>

#include "base/hash.h"

namespace kw {
namespace {

TEST(ContentHash, IsThatOfTheWhole) {
  const std::string text(100'000, 'k');
  ContentHash parts;
  for (std::size_t at = 0; at < text.size(); at += 777) parts.add(std::string_view(text).substr(at, 777));
  EXPECT_EQ(parts.hex(), sha256_hex(text));
  // What `printf '' | sha256sum` prints.
  EXPECT_EQ(ContentHash().hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace kw
