#pragma once
// From .loc and .file to lines of the user's file. The files are named at the end of the text, so places are collected
// first and resolved afterwards.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kw {

struct PtxPlace {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const PtxPlace&) const = default;
};

class PtxSourceLines {
 public:
  void add_file(std::uint32_t index, std::string_view path);
  // A .loc; returns its number. `inlined_at` (null: not inlined) may itself be the place of an earlier, inlined .loc.
  int add(PtxPlace place, const PtxPlace* inlined_at);

  // For each .loc in order: the nearest place of its inlining chain that is in the user's file; line 0 when none is.
  // The user's file is the one with that name (its folder does not matter), or file 1.
  std::vector<PtxPlace> resolve(std::string_view user_file) const;

 private:
  struct Location {
    PtxPlace place;
    PtxPlace inlined_at;
    bool inlined = false;
    int caller = -1;  // the earlier .loc that inlined_at names
  };
  struct Hash {
    std::size_t operator()(const PtxPlace& place) const;
  };
  struct File {
    std::uint32_t index;
    std::string_view path;
  };
  std::vector<Location> locations_;
  std::vector<File> files_;
  std::unordered_map<PtxPlace, int, Hash> latest_inlined_;  // the last .loc of a place that has a caller
};

}  // namespace kw
