#include "kernel/emulate/ptx_parser_lines.h"

#include "kernel/emulate/ptx_parser_names.h"

namespace kw {

std::size_t PtxSourceLines::Hash::operator()(const PtxPlace& place) const {
  const std::uint32_t words[] = {place.file, place.line, place.column};
  return seeded_hash(std::string_view(reinterpret_cast<const char*>(words), sizeof words));
}

void PtxSourceLines::add_file(std::uint32_t index, std::string_view path) { files_.push_back({index, path}); }

int PtxSourceLines::add(PtxPlace place, const PtxPlace* inlined_at) {
  const int number = static_cast<int>(locations_.size());
  Location location{place, {}, inlined_at != nullptr, -1};
  if (inlined_at) {
    location.inlined_at = *inlined_at;
    if (const auto found = latest_inlined_.find(*inlined_at); found != latest_inlined_.end()) {
      location.caller = found->second;
    }
    latest_inlined_[place] = number;
  }
  locations_.push_back(location);
  return number;
}

std::vector<PtxPlace> PtxSourceLines::resolve(std::string_view user_file) const {
  std::uint32_t user_index = 1;
  for (const File& file : files_) {
    const std::string_view base = file.path.substr(file.path.find_last_of('/') + 1);
    if (base == user_file) {
      user_index = file.index;
      break;
    }
  }
  // A caller is always an earlier .loc, so one pass is enough.
  std::vector<PtxPlace> places(locations_.size());
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& location = locations_[i];
    if (location.place.file == user_index) {
      places[i] = location.place;
    } else if (location.inlined && location.inlined_at.file == user_index) {
      places[i] = location.inlined_at;
    } else if (location.caller >= 0) {
      places[i] = places[static_cast<std::size_t>(location.caller)];
    }
  }
  return places;
}

}  // namespace kw
