#include "agents/package/package_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>

#include <fmt/format.h>

#include "base/content_hash.h"
#include "base/file_error.h"
#include "base/hash.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t part_bytes = std::size_t{1} << 20;

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Gives the content of an input to `take`, in parts.
Result<void> each_part(const PackageInput& input, const std::function<Result<void>(std::string_view)>& take) {
  if (input.source.empty()) return take(input.text);
  OpenFile file(input.source, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) return file_error("cannot read", input.source, errno);
  std::string part(part_bytes, '\0');
  for (;;) {
    const ssize_t count = ::read(file.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error("cannot read", input.source, errno);
    if (count == 0) return {};
    KW_TRY_VOID(take(std::string_view(part).substr(0, static_cast<std::size_t>(count))));
  }
}

Result<PackagedFile> describe(const PackageInput& input) {
  KW_TRY_VOID(check_packaged_name(input.name));
  PackagedFile file;
  file.name = input.name;
  ContentHash hash;
  KW_TRY_VOID(each_part(input, [&](std::string_view bytes) -> Result<void> {
    hash.add(bytes);
    file.bytes += bytes.size();
    if (file.bytes <= max_packaged_file_bytes) return {};
    return Error{"a packaged file has at most 8 GiB", "save the model in shards", {input.source.string(), 0, 0}};
  }));
  file.sha256 = hash.hex();
  return file;
}

class TarWriter {
 public:
  TarWriter(int descriptor, fs::path path) : path_(std::move(path)), archive_(archive_write_new()) {
    KW_CHECK(archive_ != nullptr);
    good_ = archive_write_set_format_ustar(archive_) == ARCHIVE_OK &&
            archive_write_set_bytes_per_block(archive_, 512) == ARCHIVE_OK &&
            archive_write_open_fd(archive_, descriptor) == ARCHIVE_OK;
  }
  ~TarWriter() { archive_write_free(archive_); }
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  Result<void> add(const PackagedFile& file, const PackageInput& input) {
    archive_entry* entry = archive_entry_new();
    KW_CHECK(entry != nullptr);
    archive_entry_set_pathname(entry, file.name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(file.bytes));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_mtime(entry, 0, 0);  // the same agents are the same bytes, whenever they are packed
    good_ = good_ && archive_write_header(archive_, entry) == ARCHIVE_OK;
    archive_entry_free(entry);
    if (!good_) return problem();
    ContentHash hash;
    KW_TRY_VOID(each_part(input, [&](std::string_view bytes) -> Result<void> {
      hash.add(bytes);
      good_ = archive_write_data(archive_, bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size());
      if (good_) return {};
      return problem();
    }));
    if (hash.hex() == file.sha256) return {};
    return Error{
        "the file changed while it was packed", "pack again when nothing writes to it", {input.source.string(), 0, 0}};
  }

  Result<void> close() {
    good_ = good_ && archive_write_close(archive_) == ARCHIVE_OK;
    if (good_) return {};
    return problem();
  }

 private:
  Error problem() const {
    const int number = archive_errno(archive_);
    if (number > 0) return file_error("cannot write", path_, number);
    return Error{"cannot be written: it does not fit its header", "", {path_.string(), 0, 0}};
  }

  fs::path path_;
  archive* archive_;
  bool good_ = true;
};

Result<void> write_tar(const fs::path& path, const PackageManifest& manifest, const std::vector<PackageInput>& inputs) {
  OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (file.get() < 0) return file_error("cannot write", path, errno);
  TarWriter tar(file.get(), path);
  const std::string text = to_json_text(manifest);
  KW_TRY_VOID(tar.add({package_manifest_name, text.size(), sha256_hex(text)}, {package_manifest_name, {}, text}));
  for (std::size_t i = 0; i < inputs.size(); ++i) KW_TRY_VOID(tar.add(manifest.files[i], inputs[i]));
  KW_TRY_VOID(tar.close());
  if (::fsync(file.get()) != 0) return file_error("cannot sync", path, errno);
  return {};
}

}  // namespace

Result<PackageManifest> write_package(const fs::path& out, const PackageBase& base, const std::string& fingerprint,
                                      std::vector<PackageInput> inputs) {
  std::ranges::sort(inputs, {}, &PackageInput::name);
  PackageManifest manifest{base, fingerprint, {}};
  for (const PackageInput& input : inputs) {
    KW_TRY(PackagedFile file, describe(input));
    manifest.files.push_back(std::move(file));
  }
  // A reader's rules, before anything is written.
  const std::string text = to_json_text(manifest);
  if (text.size() > max_package_manifest_bytes) return Error{"these are too many files for a package", "", {}};
  KW_TRY_VOID([&]() -> Result<void> {
    const auto parsed = parse_package_manifest(text);
    if (parsed.ok()) return {};
    return parsed.error();
  }());
  static std::atomic<unsigned> counter{0};
  const fs::path temporary = fmt::format("{}.new.{}.{}", out.string(), ::getpid(), counter++);
  auto written = write_tar(temporary, manifest, inputs);
  if (written.ok() && ::rename(temporary.c_str(), out.c_str()) != 0) written = file_error("cannot write", out, errno);
  if (written.ok()) return manifest;
  ::unlink(temporary.c_str());
  return std::move(written).error();
}

}  // namespace kw
