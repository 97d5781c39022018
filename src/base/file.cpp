#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/file_error.h"

namespace kw {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error(const std::string& what, const std::filesystem::path& path) { return file_error(what, path, errno); }

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_error("cannot read", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_error("cannot read", path);
  if (S_ISDIR(status.st_mode)) return Error{path.string() + " is a folder, not a file", "", {}};
  if (!S_ISREG(status.st_mode)) return Error{path.string() + " is not a regular file", "", {}};
  const auto too_big = [&] {
    return Error{path.string() + " is larger than the limit of " + std::to_string(limit_bytes) + " bytes", "", {}};
  };
  if (static_cast<std::size_t>(status.st_size) > limit_bytes) return too_big();
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) {
      // The file may have grown, or be one whose size the system does not tell (/proc).
      if (used >= limit_bytes) {
        char extra = 0;
        if (::read(file.get(), &extra, 1) > 0) return too_big();
        break;
      }
      bytes.resize(std::min(limit_bytes, used + 4096));
    }
    const ssize_t count = ::read(file.get(), bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", path);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
  }
  bytes.resize(used);
  return bytes;
}

Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view bytes, Durability durability) {
  // Process and counter make the name unique among all writers on this machine.
  static std::atomic<unsigned> counter{0};
  const std::filesystem::path temporary =
      path.string() + ".new." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file.get() < 0) return system_error("cannot write", temporary);
    std::size_t written = 0;
    while (written < bytes.size()) {
      const ssize_t count = ::write(file.get(), bytes.data() + written, bytes.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const Error error = system_error("cannot write", temporary);
        ::unlink(temporary.c_str());
        return error;
      }
      written += static_cast<std::size_t>(count);
    }
    if (durability == Durability::power_loss && ::fsync(file.get()) != 0) {
      const Error error = system_error("cannot sync", temporary);
      ::unlink(temporary.c_str());
      return error;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = system_error("cannot write", path);
    ::unlink(temporary.c_str());
    return error;
  }
  if (durability == Durability::power_loss) {
    const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0 || ::fsync(folder.get()) != 0) return system_error("cannot sync", parent);
  }
  return {};
}

std::filesystem::path cache_folder() {
  if (const char* own = std::getenv("KERNELWRIGHT_CACHE"); own && *own) return own;
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::filesystem::path(xdg) / "kernelwright";
  if (const char* home = std::getenv("HOME"); home && *home) {
    return std::filesystem::path(home) / ".cache" / "kernelwright";
  }
  return std::filesystem::temp_directory_path() / ("kernelwright-" + std::to_string(::getuid()));
}

std::filesystem::path program_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::current_path() : program.parent_path();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kernelwright-XXXXXX").string();
  KW_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // a destructor has nobody to tell
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace kw
