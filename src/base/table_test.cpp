#include "base/table.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Table, AlignsColumns) {
  Table table({"name", "µs"}, {Align::left, Align::right});
  table.add({"a", "1.5"});
  table.add({"longer", "100.25"});
  EXPECT_EQ(table.text(),
            "name        µs\n"
            "------  ------\n"
            "a          1.5\n"
            "longer  100.25\n");
}

TEST(Table, WritesBytes) {
  EXPECT_EQ(bytes_text(640), "640 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.2 * (1ull << 30)), "3.2 GiB");
}

}  // namespace
}  // namespace kw
