// Counts what the test program allocates, so that tests can bound what a hostile file makes a reader allocate.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "model/weights/hostile_file.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KW_SANITIZED
#endif
#endif

namespace kw {
namespace {
thread_local std::size_t allocated = 0;
}
std::size_t allocated_bytes() { return allocated; }

#ifndef KW_SANITIZED
TEST(AllocationCount, SeesAllocations) {
  const std::size_t before = allocated_bytes();
  const auto memory = std::make_unique<std::string>(1000, 'x');
  EXPECT_GE(allocated_bytes() - before, 1000u);
}
#endif
}  // namespace kw

#ifndef KW_SANITIZED
// The sanitizers have allocators of their own. Not inlined: GCC would see free() of what new gave, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  kw::allocated += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
