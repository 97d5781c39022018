#include "model/weights/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kw {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) { return open_with(path, 0); }

Result<MappedFile> MappedFile::open_no_link(const std::filesystem::path& path) { return open_with(path, O_NOFOLLOW); }

Result<MappedFile> MappedFile::open_with(const std::filesystem::path& path, int flags) {
  const auto refuse = [&](const std::string& why) {
    return Error{"cannot read " + path.string() + ": " + why, "", {}};
  };
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
  if (fd < 0) {
    return refuse(errno == ELOOP && (flags & O_NOFOLLOW) != 0 ? "it is a symbolic link" : std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return refuse("it is not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    ::close(fd);
    return MappedFile(nullptr, 0);
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int map_error = errno;
  ::close(fd);
  if (data == MAP_FAILED) return refuse(std::strerror(map_error));
  ::madvise(data, size, MADV_WILLNEED);  // advice only: without it reading is slower, not wrong
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace kw
