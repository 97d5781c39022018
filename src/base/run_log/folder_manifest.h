#pragma once
// A folder of files with a list of them that tells whether all are as they were written: sizes and checksums against
// torn and flipped bytes. The list is the last file to be written and has a checksum of its own.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

struct ManifestFile {
  std::string name;  // relative to the folder
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

struct FolderManifest {
  nlohmann::ordered_json about;  // whatever the writer says of the folder
  std::vector<ManifestFile> files;
};

// Lists all files of the folder in manifest.json, with everything on the disk before it returns, also the folders.
Result<FolderManifest> seal_folder(const std::filesystem::path& folder, const nlohmann::ordered_json& about);

enum class Verify {
  sizes,     // the list is whole and every file is as long as it says: quick
  checksums  // every byte is read
};
// The error says what is damaged.
Result<FolderManifest> verify_folder(const std::filesystem::path& folder, Verify how);

Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace kw
