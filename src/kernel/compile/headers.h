#pragma once
// The headers that a kernel may include, held in memory: the compiler process has no file system. CUDA's device headers
// come from the toolkit's folder, the small standard ones that NVRTC lacks from src/kernel/compile/headers.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace kw {

struct Header {
  std::string name;  // as an #include names it: "cuda_fp16.h", "cuda/std/limits"
  std::string text;  // its own #includes name headers of the set in full, never relative to a folder
  std::vector<std::uint32_t> includes;
};

class HeaderSet {
 public:
  // `cuda_include` may be empty: then only our own headers are there.
  static HeaderSet load(const std::filesystem::path& cuda_include);

  // What `source` includes, directly and through others. Conditions (#if) are not evaluated, so it may be too much,
  // never too little. An unknown name is left out, and the compiler says that it cannot open it.
  std::vector<const Header*> needed_by(std::string_view source) const;

  // Changes whenever any header's name or text does.
  std::uint64_t fingerprint() const { return fingerprint_; }
  bool contains(std::string_view name) const { return index_.count(std::string(name)) != 0; }
  std::size_t size() const { return headers_.size(); }

 private:
  std::vector<Header> headers_;
  std::unordered_map<std::string, std::uint32_t> index_;
  std::uint64_t fingerprint_ = 0;
};

// For advice: "cuda_fp16.h, cuda_bf16.h, ...".
std::string well_known_headers();

}  // namespace kw
