// Arbitrary bytes as a package: an error, or files that are as the manifest says. Each input is also read with the
// right checksum in its first header, which no mutation finds, and as a manifest alone.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "agents/package/package_reader.h"
#include "base/check.h"
#include "base/hash.h"

namespace {

void check_read(std::string_view bytes) {
  const int descriptor = ::memfd_create("package", MFD_CLOEXEC);
  KW_CHECK(descriptor >= 0);
  KW_CHECK(::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  std::string name, content;
  std::uint64_t all = 0;
  const auto package = kw::read_package(descriptor, [&](const kw::PackagedFile& file, std::string_view part) {
    if (file.name != name) content.clear();
    name = file.name;
    content += part;
    all += part.size();
    KW_CHECK(content.size() <= file.bytes);
    return kw::Result<void>();
  });
  ::close(descriptor);
  if (!package.ok()) return;
  KW_CHECK(all <= bytes.size());
  for (const auto& file : package->manifest.files) KW_CHECK(kw::check_packaged_name(file.name).ok());
  if (!package->manifest.files.empty()) KW_CHECK(kw::sha256_hex(content) == package->manifest.files.back().sha256);
}

// The header's checksum is made right; everything else is the input's.
std::string with_right_checksum(std::string bytes) {
  constexpr std::size_t block = 512, field = 148, field_bytes = 8;
  if (bytes.size() < block) return bytes;
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < block; ++i)
    if (i < field || i >= field + field_bytes) sum += static_cast<unsigned char>(bytes[i]);
  for (std::size_t i = 0; i < 6; ++i) bytes[field + i] = static_cast<char>('0' + ((sum >> (3 * (5 - i))) & 7));
  bytes[field + 6] = '\0';
  bytes[field + 7] = ' ';
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_read(bytes);
  check_read(with_right_checksum(bytes));
  const auto manifest = kw::parse_package_manifest(bytes);
  if (manifest.ok()) KW_CHECK(kw::to_json_text(*manifest) == bytes);
  return 0;
}
