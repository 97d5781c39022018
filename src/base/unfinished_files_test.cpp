#include "base/unfinished_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "base/file_error.h"

namespace kw {
namespace {

pid_t a_process_that_ended() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(UnfinishedFiles, OnlyThoseOfTheDeadAreRemoved) {
  const TemporaryFolder folder;
  const std::string dead = std::to_string(a_process_that_ended()), alive = std::to_string(::getpid());
  const auto file = [&](const std::string& name) { return folder.path() / name; };
  const std::vector<std::string> names = {
      "a.json",     "a.json.new." + alive + ".0", "a.json.new." + dead,  "a.json.new." + dead + ".x",
      "a.new.-1.0", "a.json.new." + dead + ".17", "b.new." + dead + ".0"};
  for (const std::string& name : names) ASSERT_TRUE(write_file_atomic(file(name), "text").ok());
  remove_unfinished_files(folder.path());
  EXPECT_FALSE(std::filesystem::exists(file("a.json.new." + dead + ".17")));
  EXPECT_FALSE(std::filesystem::exists(file("b.new." + dead + ".0")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 5);
  remove_unfinished_files(file("not there"));
}

TEST(FileError, AFullDiskIsAMatterOfRoom) {
  EXPECT_EQ(file_error("cannot write", "a/b", ENOSPC).message, "cannot write a/b: No space left on device");
  EXPECT_NE(file_error("cannot write", "a/b", ENOSPC).advice.find("make room"), std::string::npos);
  EXPECT_NE(file_error("cannot write", "a/b", EROFS).advice.find("permissions"), std::string::npos);
  EXPECT_EQ(file_error("cannot read", "a/b", ENOENT).advice, "");
}

}  // namespace
}  // namespace kw
