#include "base/unfinished_files.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

namespace kw {
namespace {

constexpr std::string_view unfinished_mark = ".new.";

// The process that writes `NAME.new.PID.NUMBER`; 0: it is not such a name.
pid_t writer_of(std::string_view name) {
  const std::size_t mark = name.rfind(unfinished_mark);
  if (mark == std::string_view::npos) return 0;
  const std::string_view numbers = name.substr(mark + unfinished_mark.size());
  const std::size_t point = numbers.find('.');
  if (point == std::string_view::npos || point + 1 == numbers.size()) return 0;
  pid_t process = 0;
  unsigned number = 0;
  const char* middle = numbers.data() + point;
  const char* end = numbers.data() + numbers.size();
  const auto [process_end, process_code] = std::from_chars(numbers.data(), middle, process);
  const auto [number_end, number_code] = std::from_chars(middle + 1, end, number);
  const bool read =
      process_code == std::errc() && process_end == middle && number_code == std::errc() && number_end == end;
  return read && process > 0 ? process : 0;
}

}  // namespace

void remove_unfinished_files(const std::filesystem::path& folder) {
  std::error_code ignored;  // they are only in the way
  std::vector<std::filesystem::path> abandoned;
  for (std::filesystem::directory_iterator entry(folder, ignored);
       !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
    const pid_t writer = writer_of(entry->path().filename().string());
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) abandoned.push_back(entry->path());
  }
  for (const auto& path : abandoned) std::filesystem::remove_all(path, ignored);
}

}  // namespace kw
