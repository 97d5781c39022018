// What a checkpoint says is on the disk before its name is. Nobody can pull the plug in a test, so fsync() and rename()
// are watched on their way to the system: the program's own definitions come before the C library's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "base/run_log/checkpoints.h"

namespace {

std::vector<std::string>* watched = nullptr;  // "sync PATH", "rename FROM TO"

}  // namespace

extern "C" int fsync(int file) {
  if (watched != nullptr) {
    std::error_code failed;
    const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), failed);
    watched->push_back("sync " + path.string());
  }
  return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int rename(const char* from, const char* to) {
  if (watched != nullptr) watched->push_back(std::string("rename ") + from + " " + to);
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace kw {
namespace {

namespace fs = std::filesystem;

TEST(CheckpointSync, EverythingIsOnTheDiskBeforeTheNameIs) {
  const TemporaryFolder folder;
  const fs::path place = fs::canonical(folder.path());
  auto checkpoints = Checkpoints::open(place).value();
  std::vector<std::string> seen;
  fs::path made;
  watched = &seen;
  const auto saved = checkpoints.save(7, {}, {}, [&](const fs::path& into) -> Result<void> {
    made = into;
    fs::create_directories(into / "optimizer");
    std::ofstream(into / "weights") << "values";
    std::ofstream(into / "optimizer" / "1") << "moments";
    return {};
  });
  watched = nullptr;
  ASSERT_TRUE(saved.ok()) << to_string(saved.error());
  ASSERT_NE(made, saved->folder) << "written under another name";

  const auto at = [&](const std::string& what) { return std::ranges::find(seen, what) - seen.begin(); };
  const auto renamed = at("rename " + made.string() + " " + saved->folder.string());
  ASSERT_LT(renamed, std::ssize(seen)) << "put in place by a single rename";
  for (const char* part : {"weights", "optimizer/1", "optimizer", ""}) {
    const std::string path = part[0] == '\0' ? made.string() : (made / part).string();
    EXPECT_LT(at("sync " + path), renamed) << path << " is not on the disk when its name is";
  }
  // The manifest is written beside its place and renamed into it, too.
  const auto manifest = std::ranges::find_if(seen, [&](const std::string& line) {
    return line.starts_with("sync " + made.string()) && line.find("manifest") != std::string::npos;
  });
  EXPECT_LT(manifest - seen.begin(), renamed);
  const auto last_parent = std::ranges::find(seen.begin() + renamed, seen.end(), "sync " + place.string());
  EXPECT_NE(last_parent, seen.end()) << "the new name itself";
}

}  // namespace
}  // namespace kw
