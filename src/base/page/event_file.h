#pragma once
// TensorBoard's event files: scalars and texts by tag and step, appended one record at a time, so that a run can be
// watched and a kill loses nothing that was written. Records are TFRecords (length, masked CRC-32C, bytes, masked
// CRC-32C) around protocol buffers of tensorflow/core/util/event.proto; the few fields that these need are encoded
// here.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kw {

class EventFile {
 public:
  // events.out.tfevents.TIME.HOST.PID.NUMBER in the folder, which is made if need be. Each call makes a new file:
  // TensorBoard joins them by time.
  static Result<EventFile> create(const std::filesystem::path& folder);
  EventFile(EventFile&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  EventFile& operator=(EventFile&&) = delete;
  ~EventFile();

  // All scalars of one step are one record, written with one call of the system.
  Result<void> write(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars);
  // Shown on TensorBoard's page for texts, as Markdown.
  Result<void> write_text(std::int64_t step, std::string_view tag, std::string_view text);
  // What was written is on the disk.
  Result<void> sync();
  const std::filesystem::path& path() const { return path_; }

 private:
  EventFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  Result<void> append(std::string_view event);

  std::filesystem::path path_;
  int file_ = -1;
};

// Takes out of all event files of the folder what was logged after the step, and a torn record at an end: TensorBoard
// then shows a run that was resumed there as if nothing had happened.
Result<void> drop_events_after(const std::filesystem::path& folder, std::int64_t step);

// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace kw
