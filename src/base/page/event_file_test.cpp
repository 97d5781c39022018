#include "base/page/event_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "base/random.h"

namespace kw {
namespace {

// A reader of its own, as far as scalars need one.
struct Scalar {
  std::int64_t step = 0;
  std::string tag;
  float value = 0;
};

template <class T>
T take(const std::string& bytes, std::size_t& at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

std::uint64_t take_varint(const std::string& bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(at++));
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return rotated << 15 | rotated >> 17;
}

void read_event(const std::string& event, std::vector<Scalar>& scalars, std::string& version) {
  std::int64_t step = 0;
  for (std::size_t at = 0; at < event.size();) {
    const std::uint64_t key = take_varint(event, at);
    if (key == (1 << 3 | 1)) {
      EXPECT_GT(take<double>(event, at), 1.7e9);
    } else if (key == (2 << 3)) {
      step = static_cast<std::int64_t>(take_varint(event, at));
    } else {
      ASSERT_EQ(key & 7, 2u);
      const std::size_t size = take_varint(event, at);
      const std::string part = event.substr(at, size);
      at += size;
      if (key >> 3 == 3) version = part;
      for (std::size_t in = 0; key >> 3 == 5 && in < part.size();) {
        ASSERT_EQ(take_varint(part, in), 1u << 3 | 2);
        const std::size_t value_end = take_varint(part, in) + in;
        Scalar scalar{step, "", 0};
        ASSERT_EQ(take_varint(part, in), 1u << 3 | 2);
        const std::size_t tag = take_varint(part, in);
        scalar.tag = part.substr(in, tag);
        in += tag;
        ASSERT_EQ(take_varint(part, in), 2u << 3 | 5);
        scalar.value = take<float>(part, in);
        ASSERT_EQ(in, value_end);
        scalars.push_back(scalar);
      }
    }
  }
}

void read_records(const std::string& bytes, std::vector<Scalar>& scalars, std::string& version) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t start = at;
    const auto size = take<std::uint64_t>(bytes, at);
    ASSERT_EQ(unmasked(take<std::uint32_t>(bytes, at)), crc32c(bytes.substr(start, 8)));
    const std::string event = bytes.substr(at, size);
    at += size;
    ASSERT_EQ(unmasked(take<std::uint32_t>(bytes, at)), crc32c(event));
    read_event(event, scalars, version);
  }
}

TEST(EventFile, ChecksumOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);            // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
}

TEST(EventFile, WhatIsWrittenIsRead) {
  TemporaryFolder folder;
  const auto runs = folder.path() / "run" / "one";
  {
    auto file = EventFile::create(runs);
    ASSERT_TRUE(file.ok()) << to_string(file.error());
    ASSERT_TRUE(file->write(0, {{"actor/loss", 1.5}, {"judge/pass_rate", 0.25}}).ok());
    ASSERT_TRUE(file->write(1'000'000'000'000, {{"actor/loss", -2}}).ok());
    const auto other = EventFile::create(runs);
    ASSERT_TRUE(other.ok());
    EXPECT_NE(other->path(), file->path());

    std::vector<Scalar> scalars;
    std::string version;
    read_records(read_file(file->path()).value(), scalars, version);
    EXPECT_EQ(version, "brain.Event:2");
    ASSERT_EQ(scalars.size(), 3u);
    EXPECT_EQ(scalars[1].tag, "judge/pass_rate");
    EXPECT_EQ(scalars[1].value, 0.25f);
    EXPECT_EQ(scalars[2].step, 1'000'000'000'000);
    EXPECT_EQ(scalars[2].value, -2.0f);
  }
}

TEST(EventFile, WhatWasLoggedAfterAStepCanBeTakenOut) {
  TemporaryFolder folder;
  std::filesystem::path path;
  {
    auto file = EventFile::create(folder.path());
    path = file->path();
    for (const int step : {0, 3, 7, 5, 300}) ASSERT_TRUE(file->write(step, {{"loss", step}}).ok());
    ASSERT_TRUE(file->write_text(6, "sample", "text").ok());
    ASSERT_TRUE(file->sync().ok());
  }
  std::string whole = read_file(path).value();
  ASSERT_TRUE(write_file_atomic(path, whole + whole.substr(0, 20)).ok());  // torn
  ASSERT_TRUE(write_file_atomic(folder.path() / "other", "untouched").ok());
  ASSERT_TRUE(drop_events_after(folder.path(), 5).ok());
  std::vector<Scalar> scalars;
  std::string version;
  read_records(read_file(path).value(), scalars, version);
  EXPECT_EQ(version, "brain.Event:2");
  ASSERT_EQ(scalars.size(), 3u);
  EXPECT_EQ(scalars[2].step, 5);
  EXPECT_EQ(read_file(folder.path() / "other").value(), "untouched");
  ASSERT_TRUE(drop_events_after(folder.path(), -1).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(EventFile, DamagedFilesAreCutWhereTheDamageIs) {
  TemporaryFolder folder;
  std::filesystem::path path;
  {
    auto file = EventFile::create(folder.path());
    path = file->path();
    for (int step = 0; step < 20; ++step) ASSERT_TRUE(file->write(step, {{"loss", step}}).ok());
  }
  const std::string whole = read_file(path).value();
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    const auto place = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1));
    bytes[place] = static_cast<char>(bytes[place] ^ (1 << random.integer(0, 7)));
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    ASSERT_TRUE(drop_events_after(folder.path(), 100).ok());
    const auto kept = read_file(path);
    if (!kept.ok()) continue;
    EXPECT_TRUE(kept->size() <= place && whole.starts_with(*kept));
  }
}

TEST(EventFile, SaysWhyItCannotBeMade) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder.path() / "taken", "x").ok());
  EXPECT_FALSE(EventFile::create(folder.path() / "taken").ok());
}

}  // namespace
}  // namespace kw
