#pragma once
// A package: all agents of a set in one file, a plain tar (ustar) without compression. Tar, because it is written and
// read from front to end, so that a package can be piped, every system has a program that opens it, and its reader in
// libarchive is small; without compression, because weights hardly shrink. The first file is manifest.json
// (manifest.h); the others follow in its order. The same files always make the same bytes.

#include <filesystem>
#include <string>
#include <vector>

#include "agents/package/manifest.h"
#include "base/result.h"

namespace kw {

// A file to be packed: `text` where `source` is empty.
struct PackageInput {
  std::string name;
  std::filesystem::path source;
  std::string text;
};

// Writes beside `out` and renames. The inputs come in the order of their names.
Result<PackageManifest> write_package(const std::filesystem::path& out, const PackageBase& base,
                                      const std::string& fingerprint, std::vector<PackageInput> inputs);

}  // namespace kw
