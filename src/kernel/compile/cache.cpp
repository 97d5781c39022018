#include "kernel/compile/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t entry_magic = 0x4b574345;
constexpr std::uint32_t entry_version = 1;
constexpr std::uint64_t entry_limit_bytes = 256u << 20;
constexpr auto touch_interval = std::chrono::hours(1);      // how exact "recently used" is
constexpr auto abandoned_after = std::chrono::minutes(10);  // a temporary file that old has no writer any more
constexpr std::size_t key_digits = 64;

struct EntryHead {
  std::uint32_t magic = entry_magic;
  std::uint32_t version = entry_version;
  std::uint64_t payload_bytes = 0;
  std::uint64_t checksum = 0;
  char key[key_digits] = {};  // an entry that was renamed or copied to another key is not valid
};

bool is_key(std::string_view text) {
  return text.size() == key_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string with_head(const std::string& key, std::string_view payload) {
  EntryHead head;
  head.payload_bytes = payload.size();
  head.checksum = checksum64(payload);
  std::memcpy(head.key, key.data(), key_digits);
  std::string bytes(sizeof head + payload.size(), '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof head);
  return bytes;
}

// The payload of a file that is whole and belongs to the key.
std::optional<std::string_view> checked(const std::string& bytes, std::string_view key) {
  EntryHead head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::string_view payload = std::string_view(bytes).substr(sizeof head);
  const bool valid = head.magic == entry_magic && head.version == entry_version &&
                     head.payload_bytes == payload.size() && std::string_view(head.key, key_digits) == key &&
                     head.checksum == checksum64(payload);
  return valid ? std::optional(payload) : std::nullopt;
}

void touch_if_old(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  const auto age = std::chrono::seconds(std::time(nullptr) - status.st_mtim.tv_sec);
  if (age > touch_interval) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

struct StoredFile {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t used_at = 0;
  bool is_entry = false;
};

std::vector<StoredFile> files_below(const fs::path& folder) {
  std::vector<StoredFile> files;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, options, error), end; !error && it != end; it.increment(error)) {
    struct stat status {};
    // A file may have gone since its name was read.
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    files.push_back({it->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec,
                     is_key(it->path().filename().string())});
  }
  return files;
}

// Held by the one process that evicts.
class EvictionLock {
 public:
  explicit EvictionLock(const fs::path& file) : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    held_ = file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) == 0;
  }
  ~EvictionLock() {
    if (file_ >= 0) ::close(file_);
  }
  EvictionLock(const EvictionLock&) = delete;
  EvictionLock& operator=(const EvictionLock&) = delete;
  bool held() const { return held_; }

 private:
  int file_;
  bool held_ = false;
};

constexpr const char* lock_name = "eviction.lock";

}  // namespace

DiskCache::DiskCache(DiskCacheOptions options) : options_(std::move(options)) {}

fs::path DiskCache::path_of(const std::string& key) const {
  KW_CHECK(is_key(key));
  return options_.folder / key.substr(0, 2) / key.substr(2, 2) / key;
}

std::optional<std::string> DiskCache::get(const std::string& key) {
  const fs::path path = path_of(key);
  Result<std::string> bytes = read_file(path, entry_limit_bytes);
  if (!bytes) return std::nullopt;
  const std::optional<std::string_view> payload = checked(*bytes, key);
  if (!payload) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
  }
  touch_if_old(path);
  bytes->erase(0, sizeof(EntryHead));
  return std::move(*bytes);
}

Result<void> DiskCache::put(const std::string& key, std::string_view payload) {
  const fs::path path = path_of(key);
  if (payload.size() > std::min(entry_limit_bytes, options_.max_bytes / 4)) {
    return Error{"the entry is too large for the cache", "", {}};
  }
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return Error{"cannot make " + path.parent_path().string() + ": " + error.message(), "", {}};
  KW_TRY_VOID(write_file_atomic(path, with_head(key, payload), Durability::process_crash));

  bool look = false;
  {
    const std::lock_guard lock(mutex_);
    // The first write of a process looks, too, with one chance in 64 (by the key): many short processes fill it as
    // well.
    look = written_bytes_ == 0 && key[5] == '0' && key[6] < '4';
    written_bytes_ += payload.size() + 1;
    if (written_bytes_ > options_.max_bytes / 32) look = true;
    if (look) written_bytes_ = 1;
  }
  if (look) evict_if_over_limit();
  return {};
}

void DiskCache::evict_if_over_limit() {
  const EvictionLock lock(options_.folder / lock_name);
  if (!lock.held()) return;
  std::vector<StoredFile> files = files_below(options_.folder);
  std::error_code ignored;
  const std::int64_t now = std::time(nullptr);
  std::uint64_t total = 0;
  for (const StoredFile& file : files) {
    if (file.is_entry) {
      total += file.bytes;
    } else if (file.path.filename() != lock_name && std::chrono::seconds(now - file.used_at) > abandoned_after) {
      fs::remove(file.path, ignored);
    }
  }
  if (total <= options_.max_bytes) return;
  std::sort(files.begin(), files.end(), [](const StoredFile& a, const StoredFile& b) { return a.used_at < b.used_at; });
  const std::uint64_t target = options_.max_bytes / 5 * 4;
  for (const StoredFile& file : files) {
    if (total <= target) break;
    if (file.is_entry && fs::remove(file.path, ignored)) total -= file.bytes;
  }
}

DiskCacheState DiskCache::inspect() const {
  DiskCacheState state;
  for (const StoredFile& file : files_below(options_.folder)) {
    if (!file.is_entry) continue;
    ++state.entries;
    state.bytes += file.bytes;
    const Result<std::string> bytes = read_file(file.path, entry_limit_bytes);
    if (!bytes || !checked(*bytes, file.path.filename().string())) ++state.damaged;
  }
  return state;
}

}  // namespace kw
