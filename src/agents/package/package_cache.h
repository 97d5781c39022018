#pragma once
// Packages that were opened: their files lie in the cache folder, under the SHA-256 of the manifest, so a package is
// extracted once, however often and by however many processes it is opened.

#include <filesystem>

#include "agents/package/manifest.h"
#include "base/result.h"

namespace kw {

struct OpenedPackage {
  PackageManifest manifest;
  std::filesystem::path folder;
};

// Extracts what is not in the cache yet; every byte is compared with the manifest before the folder has its name. What
// is there is used when its files have the right sizes, and extracted again otherwise. Errors name the package.
Result<OpenedPackage> open_package(const std::filesystem::path& file);

}  // namespace kw
