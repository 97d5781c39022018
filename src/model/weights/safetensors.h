#pragma once
// Reading safetensors files: u64 header length, a JSON header, then the tensors' bytes. The file is mapped, nothing is
// copied, and nothing in it is believed: every tensor's type, shape and offsets are checked before the first is handed
// out. As the format demands, the tensors fill the file: no hole, no overlap, no byte left over.
// https://github.com/huggingface/safetensors#format

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/weights/mapped_file.h"
#include "model/weights/tensor.h"

namespace kw {

inline constexpr std::size_t max_safetensors_header_bytes = 100'000'000;
inline constexpr std::size_t max_tensor_dimensions = 16;

struct SafetensorsContent {
  std::vector<TensorView> tensors;              // in the order of their bytes
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// The views point into `file`.
Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> file);

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::filesystem::path& path);
  static Result<SafetensorsFile> open_no_link(const std::filesystem::path& path);

  const std::vector<TensorView>& tensors() const { return content_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return content_.metadata; }
  const TensorView* find(std::string_view name) const;

 private:
  SafetensorsFile(MappedFile file, SafetensorsContent content);
  static Result<SafetensorsFile> read(Result<MappedFile> file, const std::filesystem::path& path);

  MappedFile file_;
  SafetensorsContent content_;
  std::map<std::string_view, std::size_t> index_;  // name -> place in content_.tensors
};

}  // namespace kw
