#include "agents/package/package_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include <fmt/format.h>

#include "agents/package/package_reader.h"
#include "base/file.h"
#include "base/file_error.h"
#include "base/unfinished_files.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

// A folder that is removed unless it got its name.
class UnfinishedFolder {
 public:
  explicit UnfinishedFolder(const fs::path& name) {
    static std::atomic<unsigned> counter{0};
    path_ = fmt::format("{}.new.{}.{}", name.string(), ::getpid(), counter++);
  }
  ~UnfinishedFolder() {
    std::error_code ignored;  // a destructor has nobody to tell
    fs::remove_all(path_, ignored);
  }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Writes the files of a package into a folder that nobody else knows.
class Extraction {
 public:
  explicit Extraction(fs::path folder) : folder_(std::move(folder)) {}

  Result<void> take(const PackagedFile& file, std::string_view bytes) {
    if (file.name != open_name_) KW_TRY_VOID(begin(file));
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return file_error("cannot write", folder_ / file.name, errno);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

 private:
  Result<void> begin(const PackagedFile& file) {
    const fs::path path = folder_ / file.name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) return file_error("cannot create", path.parent_path(), failed.value());
    // Nobody edits a cache: read only. The folder is new, so nothing can be there already.
    descriptor_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
    if (descriptor_.get() < 0) return file_error("cannot write", path, errno);
    open_name_ = file.name;
    return {};
  }

  fs::path folder_;
  std::string open_name_;
  Descriptor descriptor_;
};

bool is_complete(const fs::path& folder, const PackageManifest& manifest) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) return false;
  for (const PackagedFile& file : manifest.files) {
    const fs::file_status status = fs::symlink_status(folder / file.name, failed);
    if (failed || status.type() != fs::file_type::regular) return false;
    if (fs::file_size(folder / file.name, failed) != file.bytes || failed) return false;
  }
  return true;
}

// Gives a whole folder its name. Another process may be first; its folder holds the same.
Result<void> place(const fs::path& whole, const fs::path& name, const PackageManifest& manifest) {
  constexpr int attempts = 16;  // each lost to another process that changes the same folder
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (::rename(whole.c_str(), name.c_str()) == 0) return {};
    const int number = errno;
    if (is_complete(name, manifest)) return {};
    if (number != EEXIST && number != ENOTEMPTY && number != ENOTDIR) return file_error("cannot write", name, number);
    const UnfinishedFolder aside(name);  // what is there is damaged
    ::rename(name.c_str(), aside.path().c_str());
  }
  return Error{"other processes keep changing it", "", {name.string(), 0, 0}};
}

Result<OpenedPackage> open_from(int descriptor) {
  KW_TRY(ReadPackage read, read_package_manifest(descriptor));
  const fs::path cache = cache_folder() / "agents";
  OpenedPackage opened{std::move(read.manifest), cache / read.manifest_sha256};
  if (is_complete(opened.folder, opened.manifest)) return opened;
  std::error_code failed;
  fs::create_directories(cache, failed);
  if (failed) return file_error("cannot create", cache, failed.value());
  remove_unfinished_files(cache);  // of processes that were killed
  const UnfinishedFolder unfinished(opened.folder);
  fs::create_directory(unfinished.path(), failed);
  if (failed) return file_error("cannot create", unfinished.path(), failed.value());
  Extraction extraction(unfinished.path());
  KW_TRY(const ReadPackage all, read_package(descriptor, [&](const PackagedFile& file, std::string_view bytes) {
           return extraction.take(file, bytes);
         }));
  if (all.manifest_sha256 != read.manifest_sha256) return Error{"the package changes while it is read", "", {}};
  KW_TRY_VOID(place(unfinished.path(), opened.folder, opened.manifest));
  return opened;
}

}  // namespace

Result<OpenedPackage> open_package(const fs::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (descriptor.get() < 0) return file_error("cannot read", file, errno);
  auto opened = open_from(descriptor.get());
  if (opened.ok()) return opened;
  Error error = std::move(opened).error();
  if (error.where.file.empty()) error.where.file = file.string();
  return error;
}

}  // namespace kw
