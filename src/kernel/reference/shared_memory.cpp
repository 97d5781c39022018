#include "kernel/reference/shared_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kw {
namespace {

constexpr std::uint64_t least_bytes = 1u << 20;
constexpr std::uint64_t kept_bytes = 16u << 20;  // beyond it pages go back to the system between requests

Error no_memory() { return Error{std::string("no memory to share with a reference: ") + std::strerror(errno), "", {}}; }

}  // namespace

Result<SharedMemory> SharedMemory::make() {
  const int descriptor = ::memfd_create("reference", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return no_memory();
  SharedMemory made(descriptor);
  if (::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return no_memory();
  return made;
}

SharedMemory SharedMemory::adopt(int descriptor) { return SharedMemory(descriptor); }

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> SharedMemory::grow(std::uint64_t bytes) {
  if (bytes <= bytes_) return {};
  const std::uint64_t wanted = (std::max({bytes, 2 * bytes_, least_bytes}) + 4095) / 4096 * 4096;
  if (::ftruncate(descriptor_, static_cast<off_t>(wanted)) != 0) return no_memory();
  return map(wanted);
}

Result<void> SharedMemory::map(std::uint64_t bytes) {
  if (bytes == bytes_) return {};
  void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place == MAP_FAILED) return no_memory();
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = static_cast<char*>(place);
  bytes_ = bytes;
  return {};
}

void SharedMemory::forget() {
  if (bytes_ <= kept_bytes) return;
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes_));
}

}  // namespace kw
