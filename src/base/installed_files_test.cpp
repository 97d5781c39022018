#include "base/installed_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace kw {
namespace {

TEST(InstalledFiles, AreFoundByTheVariableOrAboveTheProgram) {
  constexpr InstalledFolder profiles{"profiles", "KERNELWRIGHT_TEST_FOLDER", "instructions.yaml", "the profiles were"};
  ::unsetenv(profiles.variable);
  const auto found = find_installed(profiles);
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  EXPECT_TRUE(std::filesystem::exists(*found / "h200.yaml"));

  ::setenv(profiles.variable, "/tmp", 1);
  EXPECT_EQ(*find_installed(profiles), "/tmp");
  ::setenv(profiles.variable, "/no/such/folder", 1);
  EXPECT_NE(find_installed(profiles).error().message.find("is not a folder"), std::string::npos);
  ::unsetenv(profiles.variable);
}

TEST(InstalledFiles, WhatIsMissingNamesTheVariable) {
  constexpr InstalledFolder nothing{"no_such_folder", "KERNELWRIGHT_TEST_FOLDER", "sign", "the nothings were"};
  const auto missing = find_installed(nothing);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("the nothings were not found"), std::string::npos);
  EXPECT_NE(missing.error().advice.find("KERNELWRIGHT_TEST_FOLDER"), std::string::npos);
  EXPECT_EQ(find_library("libnone.so"), program_folder() / "libnone.so");
}

}  // namespace
}  // namespace kw
