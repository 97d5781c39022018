#include "app/serve/service.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace kw {
namespace {

// What fails at the start is an error with its reason, however little there is yet.
TEST(Service, WithoutItsPageItDoesNotStart) {
  const TemporaryFolder folder;
  const char* chosen = std::getenv("KERNELWRIGHT_WEB");
  const std::string before = chosen != nullptr ? chosen : "";
  ::setenv("KERNELWRIGHT_WEB", (folder.path() / "nothing").c_str(), 1);
  ServeOptions options;
  options.folder = folder.path() / "conversations";
  options.runs = folder.path() / "runs";
  const auto service = Service::start(std::move(options));
  chosen != nullptr ? ::setenv("KERNELWRIGHT_WEB", before.c_str(), 1) : ::unsetenv("KERNELWRIGHT_WEB");
  ASSERT_FALSE(service.ok());
  EXPECT_NE(service.error().message.find("KERNELWRIGHT_WEB"), std::string::npos) << service.error().message;
}

}  // namespace
}  // namespace kw
