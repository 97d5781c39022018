#pragma once
// Test code: bytes of crafted safetensors and GGUF files, good ones to start from and ways to spoil them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace kw {

inline std::span<const std::byte> bytes_of_text(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

template <class T>
std::string little_endian(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

// Bytes asked of the allocator by this thread since the program started (allocation_count_test.cpp); 0 under
// sanitizers.
std::size_t allocated_bytes();

// What reading a bad file may allocate in all: error messages, and values in proportion to the file.
inline std::size_t allocation_limit(std::size_t file_bytes) { return (64u << 10) + 32 * file_bytes; }

// A safetensors file with this header and so many bytes of data.
inline std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  return little_endian<std::uint64_t>(header.size()) + header + std::string(data_bytes, '\1');
}

// GGUF, piece by piece; counts are given, not counted, so that they can lie.
class GgufBytes {
 public:
  GgufBytes(std::uint64_t tensors, std::uint64_t values, std::uint32_t version = 3) {
    bytes_ = "GGUF" + little_endian(version) + little_endian(tensors) + little_endian(values);
  }

  template <class T>
  GgufBytes& number(T value) {
    bytes_ += little_endian(value);
    return *this;
  }
  GgufBytes& string(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_ += text;
    return *this;
  }
  // A key and the number of its value's type.
  GgufBytes& key(std::string_view name, std::uint32_t type) { return string(name).number(type); }
  GgufBytes& text(std::string_view name, std::string_view value) { return key(name, 8).string(value); }
  GgufBytes& u32(std::string_view name, std::uint32_t value) { return key(name, 4).number(value); }
  GgufBytes& tensor(std::string_view name, std::initializer_list<std::uint64_t> sizes, std::uint32_t type,
                    std::uint64_t offset) {
    string(name).number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) number(size);
    return number(type).number(offset);
  }
  GgufBytes& data(std::size_t count, std::size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + count, '\1');
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace kw
