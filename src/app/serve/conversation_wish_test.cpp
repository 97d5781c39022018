#include "app/serve/conversation_wish.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

struct Read {
  ConversationWish wish;
  bool refused = false;
};

Read read(const char* body, bool optimize = true) {
  RequestFields fields(nlohmann::json::parse(body));
  Read made{read_conversation_wish(fields, optimize), false};
  made.refused = fields.problem().has_value();
  return made;
}

TEST(ConversationWish, SaysWhichKernelItGoesOnWith) {
  const Read plain = read(R"({"task": "softmax"})");
  EXPECT_FALSE(plain.refused);
  EXPECT_EQ(plain.wish.library, LibraryUse::baseline);
  EXPECT_EQ(plain.wish.options.from, ContinueFrom::best);
  const Read last = read(R"({"task": "softmax", "from": "last"})");
  EXPECT_EQ(last.wish.library, LibraryUse::baseline);
  EXPECT_EQ(last.wish.options.from, ContinueFrom::last);
  const Read library = read(R"({"task": "softmax", "from": "library"})");
  EXPECT_FALSE(library.refused);
  EXPECT_EQ(library.wish.library, LibraryUse::begin);
  EXPECT_EQ(library.wish.options.from, ContinueFrom::best);
}

TEST(ConversationWish, BeginsWithOneKernelAtMost) {
  EXPECT_TRUE(read(R"({"task": "softmax", "from": "worst"})").refused);
  EXPECT_TRUE(read(R"({"task": "softmax", "from": "library", "kernel": "mine"})").refused);
  EXPECT_TRUE(read(R"({"task": "softmax", "from": "library"})", false).refused) << "/v1/generate has one turn";
  EXPECT_EQ(read(R"({"task": "softmax"})", false).wish.library, LibraryUse::baseline);
}

}  // namespace
}  // namespace kw
