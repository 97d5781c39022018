#include "base/shared_library.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(SharedLibrary, FindsFunctions) {
  const auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok()) << to_string(library.error());
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->find(cosine, "cos"));
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_FALSE(library->find(cosine, "no_such_function"));
  EXPECT_EQ(cosine, nullptr);
}

TEST(SharedLibrary, TheReasonNamesWhatIsMissing) {
  const auto library = SharedLibrary::open("libno_such_library.so.1");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("libno_such_library.so.1"), std::string::npos);
}

}  // namespace
}  // namespace kw
