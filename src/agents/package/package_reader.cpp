#include "agents/package/package_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "base/content_hash.h"
#include "base/file_error.h"
#include "base/hash.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t block_bytes = 512;  // of tar
constexpr std::size_t read_bytes = std::size_t{256} << 10;

Error foreign(const std::string& reason) { return Error{"this is no package of agents: " + reason, "", {}}; }
Error damaged(const std::string& reason) {
  return Error{"the package is damaged: " + reason, "get the file again, or pack the agents again", {}};
}

// Bytes at a place of the file; fewer where it ends.
Result<std::string> bytes_at(int descriptor, std::uint64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t used = 0;
  while (used < count) {
    const ssize_t got = ::pread(descriptor, bytes.data() + used, count - used, static_cast<off_t>(offset + used));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("cannot read", "the package", errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

// The first block of a package: a ustar header of manifest.json.
bool begins_as_package(std::string_view block) {
  constexpr std::size_t magic_offset = 257;
  const std::string_view name(package_manifest_name);
  return block.size() >= block_bytes && block.substr(0, name.size()) == name && block[name.size()] == '\0' &&
         block.substr(magic_offset, 5) == "ustar";
}

class TarReader {
 public:
  explicit TarReader(int descriptor) : descriptor_(descriptor), archive_(archive_read_new()) {
    KW_CHECK(archive_ != nullptr);
  }
  ~TarReader() { archive_read_free(archive_); }
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  Result<void> open() {
    if (::lseek(descriptor_, 0, SEEK_SET) != 0) return file_error("cannot read", "the package", errno);
    KW_TRY(const std::string block, bytes_at(descriptor_, 0, block_bytes));
    if (!begins_as_package(block)) return foreign("it is no tar file that begins with manifest.json");
    if (archive_read_support_format_tar(archive_) != ARCHIVE_OK ||
        archive_read_open_fd(archive_, descriptor_, read_bytes) != ARCHIVE_OK)
      return foreign("it is no tar file");
    return {};
  }

  // The next file must be this one, right behind what was read, and not a link, a folder or a device. No size: any.
  Result<std::uint64_t> next(const std::string& name, std::uint64_t longest) {
    archive_entry* entry = nullptr;
    if (const int status = archive_read_next_header(archive_, &entry); status != ARCHIVE_OK)
      return damaged(status == ARCHIVE_EOF ? "it ends before " + name : "the header of " + name + " cannot be read");
    // Anything between two files, such as a header that changes the next one's name, moves the next header.
    const auto position = static_cast<std::uint64_t>(archive_read_header_position(archive_));
    if (position != offset_) return damaged("something stands before " + name);
    const char* found = archive_entry_pathname(entry);
    if (!found || name != found) return damaged("another file stands where " + name + " must be");
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || archive_entry_symlink(entry))
      return damaged(name + " is not a plain file");
    const la_int64_t bytes = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;
    if (bytes < 0 || static_cast<std::uint64_t>(bytes) > longest) return damaged(name + " has another size");
    return static_cast<std::uint64_t>(bytes);
  }

  // The content of the file that next() found, and its padding.
  Result<void> content(const std::string& name, std::uint64_t bytes,
                       const std::function<Result<void>(std::string_view)>& take) {
    std::string part(std::min<std::uint64_t>(read_bytes, std::max<std::uint64_t>(bytes, 1)), '\0');
    std::uint64_t left = bytes;
    while (left > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), left));
      const la_ssize_t count = archive_read_data(archive_, part.data(), wanted);
      if (count <= 0) return damaged("it ends within " + name);
      left -= static_cast<std::uint64_t>(count);
      KW_TRY_VOID(take(std::string_view(part).substr(0, static_cast<std::size_t>(count))));
    }
    const std::uint64_t end = offset_ + block_bytes + bytes;
    offset_ = (end + block_bytes - 1) / block_bytes * block_bytes;
    return check_zero(end, offset_ - end, "the padding after " + name);
  }

  // Two empty blocks, and nothing behind them.
  Result<void> end() {
    archive_entry* entry = nullptr;
    if (archive_read_next_header(archive_, &entry) != ARCHIVE_EOF) return damaged("it has more files than it lists");
    return check_zero(offset_, 2 * block_bytes, "its end");
  }

 private:
  Result<void> check_zero(std::uint64_t offset, std::uint64_t count, const std::string& what) const {
    KW_TRY(const std::string bytes, bytes_at(descriptor_, offset, static_cast<std::size_t>(count)));
    if (bytes.size() == count && bytes.find_first_not_of('\0') == std::string::npos) return {};
    return damaged(what + " is not as it was written");
  }

  int descriptor_;
  archive* archive_;
  std::uint64_t offset_ = 0;  // where the next header must be
};

Result<ReadPackage> manifest_from(TarReader& tar, int descriptor) {
  KW_TRY_VOID(tar.open());
  KW_TRY(const std::uint64_t bytes, tar.next(package_manifest_name, max_package_manifest_bytes));
  std::string text;
  KW_TRY_VOID(tar.content(package_manifest_name, bytes, [&](std::string_view part) -> Result<void> {
    text += part;
    return {};
  }));
  auto manifest = parse_package_manifest(text);
  if (!manifest.ok()) {
    Error error = std::move(manifest).error();
    error.message = "the package's manifest cannot be used: " + error.message;
    return error;
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return file_error("cannot read", "the package", errno);
  const std::uint64_t expected = package_bytes(*manifest, text.size());
  const auto actual = static_cast<std::uint64_t>(status.st_size);
  if (actual != expected)
    return damaged(fmt::format("it has {} bytes, {} than the {} that its manifest says", actual,
                               actual < expected ? "fewer" : "more", expected));
  return ReadPackage{std::move(manifest).value(), sha256_hex(text)};
}

Result<void> read_file_of(TarReader& tar, const PackagedFile& file, const PackageSink& sink) {
  KW_TRY(const std::uint64_t bytes, tar.next(file.name, file.bytes));
  if (bytes != file.bytes) return damaged(file.name + " has another size");
  ContentHash hash;
  if (bytes == 0) KW_TRY_VOID(sink(file, {}));
  KW_TRY_VOID(tar.content(file.name, bytes, [&](std::string_view part) {
    hash.add(part);
    return sink(file, part);
  }));
  if (hash.hex() != file.sha256) return damaged(file.name + " does not have the SHA-256 that the manifest says");
  return {};
}

}  // namespace

bool looks_like_package(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  if (path.extension() == ".kwz") return true;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const auto block = bytes_at(descriptor, 0, block_bytes);
  ::close(descriptor);
  return block.ok() && begins_as_package(*block);
}

Result<ReadPackage> read_package_manifest(int descriptor) {
  TarReader tar(descriptor);
  return manifest_from(tar, descriptor);
}

Result<ReadPackage> read_package(int descriptor, const PackageSink& sink) {
  TarReader tar(descriptor);
  KW_TRY(ReadPackage package, manifest_from(tar, descriptor));
  for (const PackagedFile& file : package.manifest.files) KW_TRY_VOID(read_file_of(tar, file, sink));
  KW_TRY_VOID(tar.end());
  return package;
}

Result<ReadPackage> check_package(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return file_error("cannot read", file, errno);
  auto package = read_package(descriptor, [](const PackagedFile&, std::string_view) { return Result<void>(); });
  ::close(descriptor);
  if (package.ok()) return package;
  Error error = std::move(package).error();
  error.where.file = file.string();
  return error;
}

}  // namespace kw
