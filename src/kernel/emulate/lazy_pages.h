#pragma once
// Memory of a full-size launch, of which only some blocks are run: it costs nothing until it is touched. Which pages
// were touched is known, so that their contents can be made late and their changes taken back.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work_budget.h"

namespace kw {

// Host memory that is either from the heap or a mapping, or somebody else's.
struct HostMemoryRelease {
  std::size_t mapped_bytes = 0;  // 0: from the heap
  bool borrowed = false;
  void operator()(std::byte* memory) const;
};
using HostMemory = std::unique_ptr<std::byte[], HostMemoryRelease>;

inline constexpr std::size_t host_padding_bytes = 64;  // vector loads may look behind the end

// A mapping that shows `tile` again and again (cut to whole pages when it is over 1 MiB); zeros when it is empty.
// Private: who writes gets a copy of the page.
Result<HostMemory> map_lazily(std::uint64_t bytes, std::string_view tile);

// Makes contents when they are first touched.
class PageSource {
 public:
  virtual ~PageSource() = default;
  // `bytes` of the contents from `offset` on. Beyond their end: anything.
  virtual void fill(std::uint64_t offset, std::byte* into, std::size_t bytes) const = 0;
};

// What a source makes, in memory that many allocations show at the same time, from any thread: each page is made once.
// Nobody may write there; DeviceMemory takes a copy of its own before it would.
class SharedPages {
 public:
  static Result<std::shared_ptr<SharedPages>> of(std::shared_ptr<const PageSource> source, std::uint64_t bytes);

  void make(std::uint64_t page);
  std::byte* data() const { return memory_.get(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t made_bytes() const;
  const std::shared_ptr<const PageSource>& source() const { return source_; }

 private:
  enum State : std::uint8_t { absent, being_made, made };
  SharedPages(std::shared_ptr<const PageSource> source, std::uint64_t bytes, HostMemory memory);

  std::shared_ptr<const PageSource> source_;
  std::uint64_t bytes_ = 0;
  HostMemory memory_;
  std::vector<std::atomic<std::uint8_t>> states_;  // of each page
  std::atomic<std::uint64_t> made_pages_ = 0;
};

class LazyPages {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // `defined` is the shadow of the contents, mapped too, or null where that is not recorded. Both must outlive this.
  LazyPages(std::uint64_t bytes, std::byte* data, std::byte* defined, std::shared_ptr<const PageSource> source,
            WorkBudget* budget);
  // That show contents which others show, too.
  LazyPages(std::shared_ptr<SharedPages> shared, WorkBudget* budget);
  const std::shared_ptr<SharedPages>& shared() const { return shared_; }

  // Says that these bytes will be read or written. How many pages are touched in this way for the first time: nearly
  // always none.
  std::uint64_t touch(std::uint64_t offset, std::uint64_t bytes, bool write) {
    const std::uint64_t first = offset / page_bytes, last = (offset + bytes - 1) / page_bytes;
    if (first == last && (write ? written_ : read_)[first]) return 0;
    return touch_new(first, last, write);
  }
  // Memory that so many new pages take. False: there is none left.
  bool hold(std::uint64_t fresh) { return held_.add(fresh * held_bytes_of_page()); }

  // From now on discard() goes back to this state, before that to the first one.
  void keep();
  void discard();

 private:
  struct SavedPage {
    std::uint64_t page = 0;
    std::vector<std::byte> data, defined;
  };
  std::uint64_t touch_new(std::uint64_t first, std::uint64_t last, bool write);
  std::uint64_t held_bytes_of_page() const { return page_bytes * (defined_ != nullptr ? 2 : 1) * (kept_ ? 2 : 1); }
  void save(std::uint64_t page);

  std::uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  std::byte* defined_ = nullptr;
  std::shared_ptr<const PageSource> source_;
  std::shared_ptr<SharedPages> shared_;
  std::vector<bool> read_, written_;  // since keep(); a page that was read has its contents
  std::vector<bool> made_;            // contents from the source
  std::vector<SavedPage> saved_;      // as they were at keep()
  bool kept_ = false;
  HeldMemory held_;  // of pages that were written: those are the process's own
};

}  // namespace kw
