#include "kernel/compile/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "base/test_length.h"
#include "kernel/compile/memory_cache.h"
#include "kernel/compile/service.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

std::string key_of(int n) { return sha256_hex(std::to_string(n)); }

TEST(DiskCache, KeepsWhatWasPut) {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path()});
  EXPECT_FALSE(cache.get(key_of(1)));
  ASSERT_TRUE(cache.put(key_of(1), "one"));
  ASSERT_TRUE(cache.put(key_of(2), ""));
  EXPECT_EQ(cache.get(key_of(1)), "one");
  EXPECT_EQ(cache.get(key_of(2)), "");
  ASSERT_TRUE(cache.put(key_of(1), "two"));
  EXPECT_EQ(DiskCache({.folder = folder.path()}).get(key_of(1)), "two");
  EXPECT_EQ(cache.inspect().entries, 2u);
}

TEST(DiskCache, DamageOfEveryKindIsFoundAndRemoved) {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path()});
  const std::string payload(1000, 'p');
  const auto bytes_after = [&](const std::function<void(std::string&)>& damage) {
    KW_CHECK(cache.put(key_of(1), payload).ok());
    std::string bytes = read_file(cache.path_of(key_of(1))).value();
    damage(bytes);
    std::ofstream(cache.path_of(key_of(1)), std::ios::binary) << bytes;
    EXPECT_FALSE(cache.get(key_of(1)));
    EXPECT_FALSE(fs::exists(cache.path_of(key_of(1))));
  };
  bytes_after([](std::string& bytes) { bytes.resize(0); });
  bytes_after([](std::string& bytes) { bytes.resize(10); });
  bytes_after([](std::string& bytes) { bytes.pop_back(); });
  bytes_after([](std::string& bytes) { bytes.push_back('x'); });
  for (const std::size_t at : {0u, 4u, 8u, 16u, 24u, 100u, 900u})
    bytes_after([=](std::string& bytes) { bytes[at] ^= 1; });
  // A whole entry under the wrong name.
  ASSERT_TRUE(cache.put(key_of(2), payload));
  fs::create_directories(cache.path_of(key_of(3)).parent_path());
  fs::copy_file(cache.path_of(key_of(2)), cache.path_of(key_of(3)));
  EXPECT_FALSE(cache.get(key_of(3)));
}

TEST(DiskCache, LeastRecentlyUsedGoesFirst) {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path(), .max_bytes = 100'000});
  const auto age = [&](int n, int hours) {
    fs::last_write_time(cache.path_of(key_of(n)), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (int n = 0; n < 15; ++n) {
    ASSERT_TRUE(cache.put(key_of(n), std::string(8'000, 'x')));
    if (fs::exists(cache.path_of(key_of(n)))) age(n, 100 - n);
  }
  ASSERT_TRUE(cache.get(key_of(5)));  // used now, so it stays
  cache.evict_if_over_limit();
  const DiskCacheState state = cache.inspect();
  EXPECT_LE(state.bytes, 100'000u);
  EXPECT_GE(state.entries, 8u);
  EXPECT_EQ(state.damaged, 0u);
  EXPECT_TRUE(cache.get(key_of(5)));
  EXPECT_FALSE(cache.get(key_of(0)));
  EXPECT_TRUE(cache.get(key_of(14)));
}

TEST(DiskCache, StaysWithinItsLimitByItself) {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path(), .max_bytes = 1'000'000});
  for (int n = 0; n < 500; ++n) ASSERT_TRUE(cache.put(key_of(n), std::string(10'000, 'x')));
  EXPECT_LE(cache.inspect().bytes, 1'100'000u);
  EXPECT_FALSE(cache.put(key_of(1000), std::string(600'000, 'x')));
}

TEST(DiskCache, AbandonedTemporaryFilesAreCleanedUp) {
  TemporaryFolder folder;
  DiskCache cache({.folder = folder.path()});
  ASSERT_TRUE(cache.put(key_of(1), "one"));
  const fs::path old = cache.path_of(key_of(1)).parent_path() / "something.tmp";
  const fs::path young = cache.path_of(key_of(1)).parent_path() / "another.tmp";
  std::ofstream(old) << "x";
  std::ofstream(young) << "x";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  cache.evict_if_over_limit();
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(cache.get(key_of(1)));
}

TEST(MemoryCache, BoundedAndRecent) {
  MemoryCache<int> cache(100);
  for (int n = 0; n < 4; ++n) cache.put(std::to_string(n), std::make_shared<int>(n), 25);
  EXPECT_TRUE(cache.get("0"));
  cache.put("4", std::make_shared<int>(4), 25);
  EXPECT_TRUE(cache.get("0"));
  EXPECT_FALSE(cache.get("1"));
  cache.put("huge", std::make_shared<int>(9), 26);
  EXPECT_FALSE(cache.get("huge"));
  cache.put("0", std::make_shared<int>(7), 10);
  EXPECT_EQ(*cache.get("0"), 7);
}

// One process of the kill test: compiles source after source through the shared cache and says each key once it was
// reported as stored.
[[noreturn]] void compile_until_killed(const fs::path& folder, int seed, int report) {
  CompileService service({.pool = {.workers = 1}, .disk = {.folder = folder}});
  std::mt19937 random(static_cast<unsigned>(seed));
  for (;;) {
    CompileRequest request;
    request.source = "__global__ void k(int* x) { *x = " + std::to_string(random() % 400) + "; }";
    request.file_name = "k.cu";
    request.want_cubin = false;
    const CompileResult result = service.compile(request);
    if (!result.ok()) ::_exit(9);
    const std::string line = result.key + "\n";
    if (::write(report, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(8);
  }
}

TEST(KilledProcessesSlow, LoseNothingThatWasReportedAsStored) {
  constexpr int processes = 4;
  const int wanted = thorough_tests() ? 500 : 150;
  TemporaryFolder folder;
  std::array<int, 2> reports{};
  ASSERT_EQ(::pipe2(reports.data(), O_NONBLOCK), 0);
  ASSERT_EQ(::fcntl(reports[1], F_SETFL, 0), 0);
  std::mt19937 random(7);
  std::array<pid_t, processes> children{};
  int started = 0;
  const auto start = [&](int slot) {
    const int seed = ++started;
    const pid_t child = ::fork();
    if (child == 0) compile_until_killed(folder.path(), seed, reports[1]);
    children[static_cast<std::size_t>(slot)] = child;
  };
  for (int slot = 0; slot < processes; ++slot) start(slot);

  std::string reported;
  int kills = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::count(reported.begin(), reported.end(), '\n') < wanted && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 250));
    std::array<char, 65536> buffer;
    for (ssize_t got; (got = ::read(reports[0], buffer.data(), buffer.size())) > 0;) {
      reported.append(buffer.data(), static_cast<std::size_t>(got));
    }
    const int slot = static_cast<int>(random() % processes);
    // Long enough for the workers of a new process to start, now and then.
    if (random() % 4 != 0) continue;
    ASSERT_EQ(::kill(children[static_cast<std::size_t>(slot)], SIGKILL), 0);
    int status = 0;
    ASSERT_GT(::waitpid(children[static_cast<std::size_t>(slot)], &status, 0), 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a process ended by itself with " << WEXITSTATUS(status);
    ++kills;
    start(slot);
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  ::close(reports[0]);
  ::close(reports[1]);

  EXPECT_GE(std::count(reported.begin(), reported.end(), '\n'), wanted);
  EXPECT_GT(kills, thorough_tests() ? 10 : 3);
  DiskCache cache({.folder = folder.path()});
  EXPECT_EQ(cache.inspect().damaged, 0u);
  EXPECT_GT(cache.inspect().entries, thorough_tests() ? 100u : 40u);
  std::istringstream keys(reported);
  for (std::string key; keys >> key;) {
    EXPECT_TRUE(key.size() != 64 || cache.get(key)) << key;
  }
}

}  // namespace
}  // namespace kw
