#pragma once
// Reading a package that nobody vouches for. Its layout leaves no freedom: every file is where the manifest's sizes put
// it, everything between files is zero, nothing follows. So a flipped, lost or added byte is found; what is not found
// (how the checksum of a tar header is spelt) changes nothing that is read.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "agents/package/manifest.h"
#include "base/result.h"

namespace kw {

// Whether a path names a package: its content begins as one, or its name ends in .kwz.
bool looks_like_package(const std::filesystem::path& path);

// Bytes of a file as they come. Called at least once for each file; an error ends the reading.
using PackageSink = std::function<Result<void>(const PackagedFile& file, std::string_view bytes)>;

struct ReadPackage {
  PackageManifest manifest;
  std::string manifest_sha256;  // names the content of the whole package
};

// Reads an open file from its beginning, every byte, and compares it with the manifest. What was given to the sink
// before an error came is not to be used.
Result<ReadPackage> read_package(int descriptor, const PackageSink& sink);
// The manifest alone, and whether the file is as long as it says.
Result<ReadPackage> read_package_manifest(int descriptor);

// read_package() of a file that nobody wants the content of.
Result<ReadPackage> check_package(const std::filesystem::path& file);

}  // namespace kw
