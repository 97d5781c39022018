#pragma once
// A file's bytes without reading them first: the page cache is the buffer, and a tensor that nobody asks for costs
// nothing. A file that another process truncates while it is mapped raises SIGBUS on access; weights are replaced by
// renaming, never in place, so our own writers do not do that.

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace kw {

class MappedFile {
 public:
  // Refuses folders, devices and pipes. An empty file has no bytes.
  static Result<MappedFile> open(const std::filesystem::path& path);
  // As above, and the last component may not be a symbolic link.
  static Result<MappedFile> open_no_link(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  static Result<MappedFile> open_with(const std::filesystem::path& path, int flags);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kw
