#include "agents/package/manifest.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/bounded_json.h"
#include "base/hash.h"

namespace kw {
namespace {

using Json = nlohmann::json;

constexpr const char* format_name = "kernelwright-agents";
constexpr std::int64_t format_version = 1;
constexpr std::size_t max_name_bytes = 100;
constexpr std::ptrdiff_t max_name_parts = 8;
constexpr std::uint64_t tar_block_bytes = 512;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-+").find(c) != std::string_view::npos;
}

// A name that is shown must not steer the terminal.
std::string shown(std::string_view name) {
  std::string text(name.substr(0, max_name_bytes));
  for (char& c : text)
    if (!is_name_character(c) && c != '/') c = '?';
  return text;
}

Result<void> check_keys(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      return Error{"unknown key '" + shown(key) + "'", "", {}};
  return {};
}

Result<std::string> parse_sha256(const Json& object, const std::string& key) {
  KW_TRY(std::string text, json_string_or(object, key, ""));
  const bool digits =
      std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (text.size() != 64 || !digits) return Error{"'" + key + "' is not 64 hexadecimal digits", "", {}};
  return text;
}

Result<PackageBase> parse_base(const Json& json) {
  const auto found = json.find("base");
  if (found == json.end() || !found->is_object()) return Error{"'base' is not an object", "", {}};
  PackageBase base;
  KW_TRY(const bool carried, json_bool_or(*found, "carried", false));
  if (carried) {
    KW_TRY_VOID(check_keys(*found, {"carried"}));
    return base;
  }
  KW_TRY_VOID(check_keys(*found, {"carried", "name", "bytes", "sha256"}));
  KW_TRY(base.name, json_string_or(*found, "name", ""));
  if (base.name.find('/') != std::string::npos || !check_packaged_name(base.name).ok())
    return Error{"the base has no name that `model fetch` could know", "", {}};
  KW_TRY(const std::int64_t bytes, json_integer(*found, "bytes", 0, max_package_bytes));
  base.bytes = static_cast<std::uint64_t>(bytes);
  KW_TRY(base.sha256, parse_sha256(*found, "sha256"));
  return base;
}

Result<PackagedFile> parse_file(const Json& json) {
  if (!json.is_object()) return Error{"an entry of 'files' is not an object", "", {}};
  KW_TRY_VOID(check_keys(json, {"name", "bytes", "sha256"}));
  PackagedFile file;
  KW_TRY(file.name, json_string_or(json, "name", ""));
  KW_TRY_VOID(check_packaged_name(file.name));
  KW_TRY(const std::int64_t bytes, json_integer(json, "bytes", 0, max_packaged_file_bytes));
  file.bytes = static_cast<std::uint64_t>(bytes);
  KW_TRY(file.sha256, parse_sha256(json, "sha256"));
  return file;
}

// No file twice, none that is also another one's folder, and not more than may be.
Result<void> check_together(const std::vector<PackagedFile>& files) {
  std::set<std::string> names, folders;
  std::uint64_t bytes = 0;
  for (const PackagedFile& file : files) {
    if (file.name == package_manifest_name || !names.insert(file.name).second)
      return Error{"the file '" + file.name + "' is there twice", "", {}};
    for (std::size_t at = file.name.find('/'); at != std::string::npos; at = file.name.find('/', at + 1))
      folders.insert(file.name.substr(0, at));
    bytes += file.bytes;
  }
  for (const std::string& folder : folders)
    if (names.contains(folder) || folder == package_manifest_name)
      return Error{"'" + folder + "' is a file and a folder", "", {}};
  if (bytes > max_package_bytes) return Error{"the files have more bytes than a package may have", "", {}};
  return {};
}

nlohmann::ordered_json json_of(const PackageManifest& manifest) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson json{{"format", format_name}, {"version", format_version}};
  const PackageBase& base = manifest.base;
  if (base.name.empty())
    json["base"] = {{"carried", true}};
  else
    json["base"] = {{"carried", false}, {"name", base.name}, {"bytes", base.bytes}, {"sha256", base.sha256}};
  json["fingerprint"] = manifest.fingerprint;
  json["files"] = OrderedJson::array();
  for (const PackagedFile& file : manifest.files)
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  return json;
}

}  // namespace

Result<void> check_packaged_name(std::string_view name) {
  const Error bad{fmt::format("'{}' is no name that a packaged file may have", shown(name)),
                  "letters, digits and ._-+ in at most 8 parts that do not begin with a point; at most 100 bytes",
                  {}};
  if (name.empty() || name.size() > max_name_bytes || std::ranges::count(name, '/') >= max_name_parts) return bad;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part.front() == '.' || !std::ranges::all_of(part, is_name_character)) return bad;
    begin = end + 1;
  }
  return {};
}

Result<PackageManifest> parse_package_manifest(std::string_view text) {
  KW_TRY(const Json json, parse_bounded_json(text, {.max_depth = 4, .max_values = 8 * max_package_files}));
  KW_TRY(const std::string format, json_string_or(json, "format", ""));
  if (format != format_name) return Error{"it is not of the format " + std::string(format_name), "", {}};
  KW_TRY(const std::int64_t version, json_integer(json, "version", 1, 1'000'000));
  if (version != format_version)
    return Error{fmt::format("its version is {}; this program knows {}", version, format_version),
                 "use a newer kernelwright",
                 {}};
  KW_TRY_VOID(check_keys(json, {"format", "version", "base", "fingerprint", "files", "checksum"}));
  PackageManifest manifest;
  KW_TRY(manifest.base, parse_base(json));
  KW_TRY(manifest.fingerprint, parse_sha256(json, "fingerprint"));
  const auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return Error{"'files' is not a list", "", {}};
  if (files->size() > max_package_files)
    return Error{fmt::format("{} files; a package has at most {}", files->size(), max_package_files), "", {}};
  for (const Json& entry : *files) {
    KW_TRY(PackagedFile file, parse_file(entry));
    manifest.files.push_back(std::move(file));
  }
  KW_TRY_VOID(check_together(manifest.files));
  // One manifest, one text: a byte that changed and still means something is found, too.
  if (to_json_text(manifest) != text) return Error{"it was changed after it was written", "", {}};
  return manifest;
}

std::string to_json_text(const PackageManifest& manifest) {
  nlohmann::ordered_json json = json_of(manifest);
  json["checksum"] = sha256_hex(json.dump());
  return json.dump(2) + "\n";
}

std::uint64_t package_bytes(const PackageManifest& manifest, std::size_t manifest_bytes) {
  const auto stored = [](std::uint64_t bytes) {
    return tar_block_bytes + (bytes + tar_block_bytes - 1) / tar_block_bytes * tar_block_bytes;
  };
  std::uint64_t bytes = stored(manifest_bytes) + 2 * tar_block_bytes;
  for (const PackagedFile& file : manifest.files) bytes += stored(file.bytes);
  return bytes;
}

}  // namespace kw
