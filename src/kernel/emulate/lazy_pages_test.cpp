#include "kernel/emulate/lazy_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kernel/emulate/device_memory.h"

namespace kw {
namespace {

// Each byte is the number of its page.
class NumberedPages : public PageSource {
 public:
  void fill(std::uint64_t offset, std::byte* into, std::size_t bytes) const override {
    ++fills;
    for (std::size_t i = 0; i < bytes; ++i) into[i] = static_cast<std::byte>((offset + i) / LazyPages::page_bytes);
  }
  mutable int fills = 0;
};

TEST(LazyPages, ContentsAreMadeWhenTheyAreTouched) {
  DeviceMemory memory({std::uint64_t{8} << 30, 16});
  const auto source = std::make_shared<NumberedPages>();
  const auto base = memory.allocate_drawn(std::uint64_t{3} << 30, "input x", MemoryAccessRight::read_only, source);
  ASSERT_TRUE(base.ok());
  EXPECT_EQ(source->fills, 0);
  EXPECT_EQ(memory.read(*base + 5 * LazyPages::page_bytes - 1, 2).value(), std::string("\x04\x05"));
  EXPECT_EQ(source->fills, 2);
  EXPECT_EQ(memory.read(*base + 5 * LazyPages::page_bytes, 1).value(), std::string("\x05"));
  EXPECT_EQ(source->fills, 2);
}

TEST(LazyPages, BlankMemoryIsUndefinedUntilItIsWritten) {
  DeviceMemory memory({std::uint64_t{8} << 30, 16});
  const auto base = memory.allocate_blank(std::uint64_t{3} << 30, "output y", MemoryAccessRight::read_write);
  ASSERT_TRUE(base.ok());
  ASSERT_TRUE(memory.write(*base + 100, "abc").ok());
  const auto undefined = memory.undefined(*base + 98, 8);
  ASSERT_TRUE(undefined.ok());
  EXPECT_EQ(undefined->count, 5u);
  EXPECT_EQ(undefined->first_offset, 0u);
}

TEST(LazyPages, WritesAreTakenBackToTheKeptState) {
  DeviceMemory memory({std::uint64_t{1} << 30, 16});
  const auto blank = memory.allocate_blank(1 << 20, "scratch", MemoryAccessRight::read_write);
  ASSERT_TRUE(blank.ok());
  ASSERT_TRUE(memory.write(*blank, "first").ok());
  ASSERT_TRUE(memory.keep_writes().ok());
  ASSERT_TRUE(memory.write(*blank, "other").ok());
  ASSERT_TRUE(memory.write(*blank + 70'000, "more").ok());
  memory.discard_writes();
  EXPECT_EQ(memory.read(*blank, 5).value(), "first");
  EXPECT_EQ(memory.undefined(*blank + 70'000, 4)->count, 4u);
  // And again: what was restored can be written again.
  ASSERT_TRUE(memory.write(*blank, "third").ok());
  memory.discard_writes();
  EXPECT_EQ(memory.read(*blank, 5).value(), "first");
}

TEST(LazyPages, VariablesAreTakenBackToo) {
  DeviceMemory memory;
  ASSERT_TRUE(memory.map(1 << 20, 64, "__device__ counter", MemoryAccessRight::read_write).ok());
  ASSERT_TRUE(memory.fill(1 << 20, 0, 64).ok());
  ASSERT_TRUE(memory.keep_writes().ok());
  ASSERT_TRUE(memory.fill(1 << 20, 9, 64).ok());
  memory.discard_writes();
  EXPECT_EQ(memory.read(1 << 20, 1).value(), std::string(1, '\0'));
}

TEST(LazyPages, WhatIsSharedIsMadeOnceAndNobodyChangesIt) {
  const auto source = std::make_shared<NumberedPages>();
  const auto pages = SharedPages::of(source, (1 << 20) + 100);
  ASSERT_TRUE(pages.ok());
  DeviceMemory one, other;
  const auto base = one.allocate_shared("input x", *pages);
  ASSERT_TRUE(base.ok() && other.allocate_shared("input x", *pages).ok());
  EXPECT_EQ(one.read(*base + 4096, 1).value(), "\x01");
  EXPECT_EQ(other.read(*base + 4097, 1).value(), "\x01");
  EXPECT_EQ(one.read(*base + (1 << 20) + 99, 1).value(), std::string(1, '\0'));  // page 256
  EXPECT_EQ(source->fills, 2);
  EXPECT_EQ((*pages)->made_bytes(), 2 * LazyPages::page_bytes);
  // Whoever would write takes a copy of his own.
  ASSERT_TRUE(one.keep_writes().ok());
  ASSERT_TRUE(one.copy(*base + 4096, *base + 2 * 4096, 4).ok());
  EXPECT_EQ(one.read(*base + 4096, 5).value(), "\x02\x02\x02\x02\x01");
  EXPECT_EQ(one.read(*base + 3 * 4096, 1).value(), "\x03");
  EXPECT_EQ(other.read(*base + 4096, 1).value(), "\x01");
  one.discard_writes();
  EXPECT_EQ(one.read(*base + 4096, 1).value(), "\x01");
  ASSERT_TRUE(other.fill(*base, 9, 4096).ok());
  EXPECT_EQ(one.read(*base, 1).value(), std::string(1, '\0'));
}

TEST(LazyPages, ManyThreadsMakeEachSharedPageOnce) {
  class CountedPages : public PageSource {
   public:
    void fill(std::uint64_t offset, std::byte* into, std::size_t bytes) const override {
      ++fills;
      std::fill_n(into, bytes, static_cast<std::byte>(offset / LazyPages::page_bytes % 251));
    }
    mutable std::atomic<int> fills = 0;
  };
  const auto source = std::make_shared<CountedPages>();
  constexpr std::uint64_t page_count = 300;
  const auto pages = SharedPages::of(source, page_count * LazyPages::page_bytes).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&] {
      DeviceMemory memory;
      const auto base = memory.allocate_shared("input x", pages).value();
      for (std::uint64_t page = 0; page < page_count; ++page) {
        const std::string read = memory.read(base + page * LazyPages::page_bytes, LazyPages::page_bytes).value();
        wrong += read != std::string(LazyPages::page_bytes, static_cast<char>(page % 251));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(source->fills, static_cast<int>(page_count));
}

TEST(LazyPages, CopiesFromDefinedMemoryAreDefined) {
  DeviceMemory memory;
  const auto input =
      memory.allocate_drawn(1 << 16, "input x", MemoryAccessRight::read_only, std::make_shared<NumberedPages>());
  const auto output = memory.allocate_blank(1 << 16, "output y", MemoryAccessRight::read_write);
  ASSERT_TRUE(input.ok() && output.ok());
  ASSERT_TRUE(memory.copy(*output + 8, *input + 4096, 16).ok());
  EXPECT_EQ(memory.undefined(*output, 32)->count, 16u);
  EXPECT_EQ(memory.read(*output + 8, 2).value(), std::string("\x01\x01"));
}

}  // namespace
}  // namespace kw
