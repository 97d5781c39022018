#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/result.h"

namespace kw {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error{"odd", "give an even number", {"in.txt", 3, 7}};
  return number / 2;
}

Result<int> quarter_of(int number) {
  KW_TRY(const int half, half_of(number));
  return half_of(half);
}

TEST(Result, PassesErrorsOn) {
  EXPECT_EQ(*quarter_of(12), 3);
  ASSERT_FALSE(quarter_of(6).ok());
  EXPECT_EQ(to_string(quarter_of(6).error()), "in.txt:3:7: odd (give an even number)");
}

TEST(ResultDeathTest, ValueOfAnErrorAborts) { EXPECT_DEATH((void)half_of(1).value(), "internal error"); }

TEST(File, WritesAtomicallyAndReadsBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.bin";
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(write_file_atomic(path, "old").ok());
  ASSERT_TRUE(write_file_atomic(path, bytes, Durability::power_loss).ok());
  EXPECT_EQ(*read_file(path), bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "no temporary file stays";
}

TEST(File, RefusesWhatIsNoBoundedRegularFile) {
  const TemporaryFolder folder;
  EXPECT_NE(to_string(read_file(folder.path()).error()).find("is a folder"), std::string::npos);
  EXPECT_NE(to_string(read_file("/dev/zero").error()).find("not a regular file"), std::string::npos);
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_file(pipe).ok()) << "and it does not wait for a writer";
  ASSERT_TRUE(write_file_atomic(folder.path() / "five", "12345").ok());
  EXPECT_EQ(*read_file(folder.path() / "five", 5), "12345");
  EXPECT_FALSE(read_file(folder.path() / "five", 4).ok());
  EXPECT_FALSE(write_file_atomic(folder.path() / "no" / "such", "x").ok());
}

TEST(File, ReadsFilesWhoseSizeTheSystemDoesNotTell) { EXPECT_FALSE(read_file("/proc/self/status")->empty()); }

TEST(Hash, ChecksumInPartsIsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::to_string(i);
  for (const std::size_t part : {1, 7, 240, 1000}) {
    Checksum64 checksum;
    for (std::size_t at = 0; at < bytes.size(); at += part) checksum.add(std::string_view(bytes).substr(at, part));
    EXPECT_EQ(checksum.value(), checksum64(bytes));
  }
  EXPECT_EQ(Checksum64().value(), checksum64(""));
}

TEST(Hash, Sha256OfKnownText) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(Sha256().add("ab").add("c").hex(), Sha256().add("a").add("bc").hex());
  EXPECT_EQ(Sha256().add("ab").add("c").hex(), Sha256().add("ab").add("c").hex());
}

TEST(Random, IsTheSameEverywhere) {
  Random random(42, 7);
  EXPECT_EQ(random.next(), Random(42, 7).next());
  EXPECT_NE(Random(42, 7).next(), Random(42, 8).next());
  EXPECT_NE(Random(42, 7).next(), Random(43, 7).next());
}

TEST(Random, HasTheRightMoments) {
  Random random(1);
  double sum = 0, squares = 0, uniform_sum = 0;
  const int count = 100000;
  std::vector<int> faces(6, 0);
  for (int i = 0; i < count; ++i) {
    const double value = random.normal();
    sum += value;
    squares += value * value;
    uniform_sum += random.uniform();
    ++faces[static_cast<std::size_t>(random.integer(1, 6) - 1)];
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.02);
  EXPECT_NEAR(uniform_sum / count, 0.5, 0.01);
  for (const int face : faces) EXPECT_NEAR(face, count / 6.0, 500);
  EXPECT_EQ(random.integer(5, 5), 5);
  (void)random.integer(INT64_MIN, INT64_MAX);
}

TEST(Progress, SaysRateAndTimeLeft) {
  EXPECT_EQ(progress_line("tasks", 10, 90, 5), "tasks 10/90 (11 %) 2.00/s, 40 s left");
  EXPECT_EQ(progress_line("tasks", 90, 90, 45), "tasks 90/90 (100 %) 2.00/s, 45 s");
  EXPECT_EQ(progress_line("files", 0, 0, 1), "files 0");
  EXPECT_EQ(duration_text(3725), "1 h 2 min");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
}

TEST(Interrupt, AsksForAStop) {
  install_interrupt_handling();
  EXPECT_FALSE(interrupted());
  ::raise(SIGINT);
  EXPECT_TRUE(interrupted());
  clear_interrupt();
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace kw
