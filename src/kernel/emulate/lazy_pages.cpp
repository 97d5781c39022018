#include "kernel/emulate/lazy_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/check.h"

namespace kw {
namespace {

constexpr std::uint64_t tile_bytes_wanted = 1 << 20;  // smaller tiles are repeated: each takes a mapping of its own

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + LazyPages::page_bytes - 1) / LazyPages::page_bytes * LazyPages::page_bytes;
}

// A file in memory that holds the tile a whole number of times; its pages are shared by all places that show it.
struct TileFile {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  ~TileFile() {
    if (descriptor >= 0) close(descriptor);
  }
};

bool fill_tile_file(TileFile& file, std::string_view tile) {
  std::string content(tile);
  while (content.size() < tile_bytes_wanted) content += tile;
  content.resize(content.size() / LazyPages::page_bytes * LazyPages::page_bytes);  // elements stay aligned
  file.bytes = content.size();
  file.descriptor = memfd_create("kernelwright-tile", MFD_CLOEXEC);
  if (file.descriptor < 0) return false;
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written = ::write(file.descriptor, content.data() + done, content.size() - done);
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

void HostMemoryRelease::operator()(std::byte* memory) const {
  if (borrowed) return;
  if (mapped_bytes != 0)
    munmap(memory, mapped_bytes);
  else
    delete[] memory;
}

Result<HostMemory> map_lazily(std::uint64_t bytes, std::string_view tile) {
  const std::uint64_t mapped = whole_pages(bytes);
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return Error{fmt::format("cannot reserve {} bytes of address space", bytes), "", {}};
  HostMemory memory(static_cast<std::byte*>(start), {mapped});
  // A huge page for each of some scattered stores would cost more than everything else.
  madvise(start, mapped, MADV_NOHUGEPAGE);
  if (tile.empty()) return memory;
  TileFile file;
  if (!fill_tile_file(file, tile)) return Error{"cannot make a file in memory for input contents", "", {}};
  for (std::uint64_t offset = 0; offset < mapped; offset += file.bytes) {
    const std::uint64_t part = std::min(file.bytes, mapped - offset);
    if (mmap(memory.get() + offset, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             file.descriptor, 0) == MAP_FAILED)
      return Error{fmt::format("cannot map input contents for {} bytes", bytes), "", {}};
  }
  return memory;
}

Result<std::shared_ptr<SharedPages>> SharedPages::of(std::shared_ptr<const PageSource> source, std::uint64_t bytes) {
  KW_TRY(HostMemory memory, map_lazily(bytes + host_padding_bytes, {}));
  return std::shared_ptr<SharedPages>(new SharedPages(std::move(source), bytes, std::move(memory)));
}

SharedPages::SharedPages(std::shared_ptr<const PageSource> source, std::uint64_t bytes, HostMemory memory)
    : source_(std::move(source)),
      bytes_(bytes),
      memory_(std::move(memory)),
      states_(bytes / LazyPages::page_bytes + 1) {}

void SharedPages::make(std::uint64_t page) {
  std::atomic<std::uint8_t>& state = states_[page];
  if (state.load(std::memory_order_acquire) == made) return;
  std::uint8_t expected = absent;
  if (state.compare_exchange_strong(expected, being_made, std::memory_order_acquire)) {
    const std::uint64_t offset = page * LazyPages::page_bytes;
    if (offset < bytes_)
      source_->fill(offset, memory_.get() + offset, std::min(LazyPages::page_bytes, bytes_ - offset));
    made_pages_.fetch_add(1, std::memory_order_relaxed);
    state.store(made, std::memory_order_release);
    state.notify_all();
    return;
  }
  state.wait(being_made, std::memory_order_acquire);  // microseconds
}

std::uint64_t SharedPages::made_bytes() const {
  return made_pages_.load(std::memory_order_relaxed) * LazyPages::page_bytes;
}

LazyPages::LazyPages(std::shared_ptr<SharedPages> shared, WorkBudget* budget)
    : bytes_(shared->bytes()),
      data_(shared->data()),
      shared_(std::move(shared)),
      read_(bytes_ / page_bytes + 1),
      written_(bytes_ / page_bytes + 1),
      held_(budget) {}

LazyPages::LazyPages(std::uint64_t bytes, std::byte* data, std::byte* defined, std::shared_ptr<const PageSource> source,
                     WorkBudget* budget)
    : bytes_(bytes),
      data_(data),
      defined_(defined),
      source_(std::move(source)),
      read_(bytes / page_bytes + 1),
      written_(bytes / page_bytes + 1),
      made_(source_ != nullptr ? bytes / page_bytes + 1 : 0),
      held_(budget) {}

std::uint64_t LazyPages::touch_new(std::uint64_t first, std::uint64_t last, bool write) {
  KW_CHECK(shared_ == nullptr || !write);
  std::vector<bool>& pages = write ? written_ : read_;
  std::uint64_t fresh = 0;
  for (std::uint64_t page = first; page <= last; ++page) {
    if (pages[page]) continue;
    ++fresh;
    pages[page] = true;
    if (shared_ != nullptr) shared_->make(page);
    if (source_ != nullptr && !made_[page]) {
      made_[page] = true;
      const std::uint64_t offset = page * page_bytes;
      source_->fill(offset, data_ + offset, std::min(page_bytes, bytes_ - offset));
    }
    if (write && kept_) save(page);
  }
  return fresh;
}

void LazyPages::save(std::uint64_t page) {
  const std::byte* data = data_ + page * page_bytes;
  SavedPage saved{page, {data, data + page_bytes}, {}};
  if (defined_ != nullptr) {
    const std::byte* defined = defined_ + page * page_bytes;
    saved.defined.assign(defined, defined + page_bytes);
  }
  saved_.push_back(std::move(saved));
}

void LazyPages::keep() {
  kept_ = true;
  saved_.clear();
  written_.assign(written_.size(), false);
}

void LazyPages::discard() {
  if (kept_) {
    for (const SavedPage& saved : saved_) {
      std::copy(saved.data.begin(), saved.data.end(), data_ + saved.page * page_bytes);
      if (defined_ != nullptr)
        std::copy(saved.defined.begin(), saved.defined.end(), defined_ + saved.page * page_bytes);
      written_[saved.page] = false;
    }
    saved_.clear();
    return;
  }
  if (shared_ != nullptr) return read_.assign(read_.size(), false);  // so that it is charged for as others are
  madvise(data_, whole_pages(bytes_), MADV_DONTNEED);
  if (defined_ != nullptr) madvise(defined_, whole_pages(bytes_), MADV_DONTNEED);
  read_.assign(read_.size(), false);
  written_.assign(written_.size(), false);
  made_.assign(made_.size(), false);
  held_.release();
}

}  // namespace kw
