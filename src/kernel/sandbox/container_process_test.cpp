// What can be said of containers without a daemon: scripts/docker_sandbox_test.sh runs the hostile corpus in real ones.
#include "kernel/sandbox/container_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/file.h"
#include "kernel/sandbox/contained_worker.h"

namespace kw {
namespace {

// Variables are as before at its end.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(ContainerProcess, OnlyTwoSandboxesHaveNames) {
  const Variable kept(sandbox_variable, "namespaces");
  EXPECT_FALSE(containers_are_wanted());
  EXPECT_TRUE(choose_sandbox("docker").ok());
  EXPECT_TRUE(containers_are_wanted());
  EXPECT_FALSE(choose_sandbox("podman").ok());
  EXPECT_TRUE(choose_sandbox("namespaces").ok());
  EXPECT_FALSE(containers_are_wanted());
}

TEST(ContainerProcess, WithoutDockerItSaysSo) {
  const Variable nowhere("PATH", "/nonexistent");
  const auto process = spawn_in_container({.arguments = {"worker"}});
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().message.find("not in PATH"), std::string::npos);
}

TEST(ContainerProcess, WhatDockerSaysIsTheReason) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder.path() / "docker", "#!/bin/sh\necho \"$@\" >" +
                                                              (folder.path() / "arguments").string() +
                                                              "\necho 'Unable to find image' >&2\nexit 125\n"));
  ASSERT_EQ(::chmod((folder.path() / "docker").c_str(), 0755), 0);
  const Variable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  const Variable place("TMPDIR", folder.path().string());
  SpawnOptions options;
  options.arguments = {"worker"};
  options.environment = {"OMP_NUM_THREADS=1", "LD_LIBRARY_PATH=/of/this/machine"};
  const auto process = spawn_in_container(options);
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().message.find("Unable to find image"), std::string::npos) << process.error().message;
  const std::string arguments = read_file(folder.path() / "arguments").value();
  for (const char* asked : {"--network none", "--read-only", "--cap-drop ALL", "no-new-privileges", "--pull never",
                            "--user 65534:65534", "--pids-limit", "--memory", "OMP_NUM_THREADS=1"})
    EXPECT_NE(arguments.find(asked), std::string::npos) << asked;
  EXPECT_EQ(arguments.find("LD_LIBRARY_PATH"), std::string::npos);
  // Nothing is left behind but what the test put there.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()),
            2);
}

TEST(ContainerProcess, WhatCannotBeInOneIsRefused) {
  const auto process = spawn_in_container({.arguments = {"worker"}, .not_in_container = "kernels on a GPU"});
  ASSERT_FALSE(process.ok());
  EXPECT_NE(process.error().message.find("kernels on a GPU"), std::string::npos);
}

}  // namespace
}  // namespace kw
