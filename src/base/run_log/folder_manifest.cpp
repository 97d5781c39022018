#include "base/run_log/folder_manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/file_error.h"
#include "base/hash.h"
#include "base/run_log/json_text.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view manifest_name = "manifest.json";
constexpr std::string_view manifest_sum_name = "manifest.sum";
constexpr std::size_t manifest_limit_bytes = 16u << 20;
constexpr std::size_t files_limit = 10'000;

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

Error system_error(const std::string& what, const fs::path& path) { return file_error(what, path, errno); }

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Links and pipes are not followed: what is listed are plain files of this folder.
constexpr int read_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

Result<std::uint64_t> checksum_of(int file, const fs::path& path) {
  Checksum64 checksum;
  std::string piece(1u << 20, '\0');
  for (;;) {
    const ssize_t count = ::read(file, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", path);
    if (count == 0) return checksum.value();
    checksum.add(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
  }
}

Result<std::uint64_t> plain_file_bytes(int file, const fs::path& path) {
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) return system_error("cannot read", path);
  if (!S_ISREG(status.st_mode)) return Error{path.string() + " is not a plain file", "", {}};
  return static_cast<std::uint64_t>(status.st_size);
}

Result<ManifestFile> seal_file(const fs::path& folder, const fs::path& path) {
  const OpenFile file(path, read_flags);
  KW_TRY(const std::uint64_t bytes, plain_file_bytes(file.get(), path));
  KW_TRY(const std::uint64_t checksum, checksum_of(file.get(), path));
  if (::fsync(file.get()) != 0) return system_error("cannot sync", path);
  return ManifestFile{path.lexically_relative(folder).generic_string(), bytes, checksum};
}

Result<void> verify_file(const fs::path& folder, const ManifestFile& expected, Verify how) {
  const fs::path path = folder / expected.name;
  const OpenFile file(path, read_flags);
  KW_TRY(const std::uint64_t bytes, plain_file_bytes(file.get(), path));
  if (bytes != expected.bytes)
    return Error{fmt::format("{} has {} bytes instead of {}", path.string(), bytes, expected.bytes), "", {}};
  if (how == Verify::sizes) return {};
  KW_TRY(const std::uint64_t checksum, checksum_of(file.get(), path));
  if (checksum != expected.checksum) return Error{path.string() + " is damaged: its checksum is another", "", {}};
  return {};
}

Result<std::uint64_t> from_hex(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  std::uint64_t number = 0;
  if (text == nullptr || text->size() != 16) return Error{"a checksum is not 16 hexadecimal digits", "", {}};
  const auto [end, code] = std::from_chars(text->data(), text->data() + 16, number, 16);
  if (code != std::errc() || end != text->data() + 16) return Error{"a checksum is not hexadecimal", "", {}};
  return number;
}

bool stays_inside(const fs::path& name) {
  return !name.empty() && name.is_relative() &&
         std::ranges::none_of(name, [](const fs::path& part) { return part == ".."; });
}

Result<FolderManifest> parse_manifest(const std::string& text) {
  const auto parsed = parse_bounded_ordered_json(text, stored_json);
  if (!parsed.ok()) return Error{"the list of files cannot be read: " + parsed.error().message, "", {}};
  const Json& json = *parsed;
  if (!json.contains("about") || !json.contains("files") || !json["files"].is_array() ||
      json["files"].size() > files_limit)
    return Error{"the list of files is not one", "", {}};
  FolderManifest manifest{.about = json["about"], .files = {}};
  for (const Json& row : json["files"]) {
    const bool complete = row.is_object() && row.contains("name") && row["name"].is_string() && row.contains("bytes") &&
                          row["bytes"].is_number_unsigned() && row.contains("checksum");
    if (!complete || !stays_inside(row["name"].get<std::string>())) return Error{"the list has a bad row", "", {}};
    KW_TRY(const std::uint64_t checksum, from_hex(row["checksum"]));
    manifest.files.push_back({row["name"].get<std::string>(), row["bytes"].get<std::uint64_t>(), checksum});
  }
  return manifest;
}

}  // namespace

Result<void> sync_folder(const fs::path& folder) {
  const OpenFile opened(folder, O_RDONLY | O_DIRECTORY);
  if (opened.get() < 0 || ::fsync(opened.get()) != 0) return system_error("cannot sync", folder);
  return {};
}

Result<FolderManifest> seal_folder(const fs::path& folder, const Json& about) {
  FolderManifest manifest{.about = about, .files = {}};
  std::error_code failure;
  fs::recursive_directory_iterator walk(folder, failure);
  for (; !failure && walk != fs::recursive_directory_iterator(); walk.increment(failure)) {
    if (walk->is_directory(failure) && !walk->is_symlink(failure)) {
      KW_TRY_VOID(sync_folder(walk->path()));
      continue;
    }
    KW_TRY(ManifestFile sealed, seal_file(folder, walk->path()));
    manifest.files.push_back(std::move(sealed));
    if (manifest.files.size() > files_limit) return Error{folder.string() + " has too many files", "", {}};
  }
  if (failure) return Error{"cannot list " + folder.string() + ": " + failure.message(), "", {}};
  std::ranges::sort(manifest.files, {}, &ManifestFile::name);

  Json files = Json::array();
  for (const auto& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksum", hex(file.checksum)}});
  const Json json = {{"about", about}, {"files", std::move(files)}};
  const std::string text = json_text(json, 2) + "\n";
  if (text.size() > manifest_limit_bytes) return Error{"the facts of " + folder.string() + " are too long", "", {}};
  KW_TRY_VOID(write_file_atomic(folder / manifest_name, text, Durability::power_loss));
  KW_TRY_VOID(write_file_atomic(folder / manifest_sum_name, hex(checksum64(text)) + "\n", Durability::power_loss));
  return manifest;
}

Result<FolderManifest> verify_folder(const fs::path& folder, Verify how) {
  KW_TRY(const std::string text, read_file(folder / manifest_name, manifest_limit_bytes));
  KW_TRY(const std::string sum, read_file(folder / manifest_sum_name, 64));
  if (sum != hex(checksum64(text)) + "\n")
    return Error{(folder / manifest_name).string() + " is damaged: its checksum is another", "", {}};
  auto manifest = parse_manifest(text);
  if (!manifest.ok()) return Error{(folder / manifest_name).string() + ": " + manifest.error().message, "", {}};
  for (const ManifestFile& file : manifest->files) KW_TRY_VOID(verify_file(folder, file, how));
  return manifest;
}

}  // namespace kw
