#pragma once
// What a package of agents says of itself: manifest.json, its first file. It lists every other file with size and
// SHA-256, so a reader knows what must come before it comes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

inline constexpr const char* package_manifest_name = "manifest.json";
inline constexpr std::size_t max_package_manifest_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_package_files = 4096;
// Of one file: what a tar header can say. Of all: more than any base that the program can load.
inline constexpr std::uint64_t max_packaged_file_bytes = (std::uint64_t{8} << 30) - 1;
inline constexpr std::uint64_t max_package_bytes = std::uint64_t{256} << 30;

struct PackagedFile {
  std::string name;  // "adapters/generator/adapter_model.safetensors"
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 lowercase hexadecimal digits

  friend bool operator==(const PackagedFile&, const PackagedFile&) = default;
};

// The base that the agents' adapters are for.
struct PackageBase {
  std::string name;         // a name that `model fetch` knows; empty: the package carries the base
  std::uint64_t bytes = 0;  // of the file that was there when the package was made
  std::string sha256;

  friend bool operator==(const PackageBase&, const PackageBase&) = default;
};

struct PackageManifest {
  PackageBase base;
  std::string fingerprint;  // of base, tokenizer and adapters: content_hash() of agents/episode/agent_set.h
  std::vector<PackagedFile> files;

  friend bool operator==(const PackageManifest&, const PackageManifest&) = default;
};

// A name that can do no harm in any folder: letters, digits and "._-+" in at most 8 parts that do not begin with a
// point; at most 100 bytes.
Result<void> check_packaged_name(std::string_view name);

// Refuses another format or version, unknown keys, bad names, the same file twice, what is over the bounds, and every
// text but the one that to_json_text() writes, which ends with a checksum.
Result<PackageManifest> parse_package_manifest(std::string_view text);
std::string to_json_text(const PackageManifest& manifest);

// Of the tar file, to the byte: headers, padding and the two empty blocks at its end.
std::uint64_t package_bytes(const PackageManifest& manifest, std::size_t manifest_bytes);

}  // namespace kw
