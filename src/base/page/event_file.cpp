#include "base/page/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/file.h"
#include "base/file_error.h"

namespace kw {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}

// A checksum of bytes that hold checksums is weak, so TFRecord rotates it and adds a constant.
std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

template <class T>
void put(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

// Protocol buffers: a key is the field's number and how its value is written (0 varint, 1 eight bytes, 2 with a length,
// 5 four).
void put_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}
void put_key(std::string& bytes, unsigned field, unsigned wire) { put_varint(bytes, field << 3 | wire); }
void put_text(std::string& bytes, unsigned field, std::string_view text) {
  put_key(bytes, field, 2);
  put_varint(bytes, text.size());
  bytes += text;
}

constexpr std::size_t event_file_limit_bytes = std::size_t{4} << 30;

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

std::string event_at(std::int64_t step) {
  std::string event;
  put_key(event, 1, 1);  // wall_time
  put(event, now_s());
  put_key(event, 2, 0);  // step
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

Error io_error(const std::string& what, const std::filesystem::path& path) { return file_error(what, path, errno); }

// The step of an encoded event, 0 if it has none; nothing if the bytes are no event.
std::optional<std::int64_t> step_of_event(std::string_view event) {
  std::int64_t step = 0;
  std::size_t at = 0;
  const auto varint = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < event.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(event[at++]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return {};
  };
  while (at < event.size()) {
    const auto key = varint();
    if (!key) return {};
    const std::uint64_t wire = *key & 7;
    std::uint64_t skip = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    if (wire == 0 || wire == 2) {
      const auto value = varint();
      if (!value) return {};
      if (wire == 2) skip = *value;
      if (wire == 0 && *key >> 3 == 2) step = static_cast<std::int64_t>(*value);
    } else if (skip == 0) {
      return {};
    }
    if (skip > event.size() - at) return {};
    at += skip;
  }
  return step;
}

// The whole records at the front of a file that belong to steps up to `step`.
std::string records_until(std::string_view bytes, std::int64_t step) {
  constexpr std::size_t around = 16;  // length, its checksum, the event's checksum
  std::string kept;
  while (bytes.size() >= around) {
    std::uint64_t size = 0;
    std::uint32_t size_crc = 0, event_crc = 0;
    std::memcpy(&size, bytes.data(), sizeof size);
    std::memcpy(&size_crc, bytes.data() + 8, sizeof size_crc);
    if (size_crc != masked_crc(bytes.substr(0, 8)) || size > bytes.size() - around) break;
    const std::string_view event = bytes.substr(12, size);
    std::memcpy(&event_crc, bytes.data() + 12 + size, sizeof event_crc);
    if (event_crc != masked_crc(event)) break;
    const auto at = step_of_event(event);
    if (at && *at <= step) kept += bytes.substr(0, around + size);
    bytes.remove_prefix(around + size);
  }
  return kept;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

Result<EventFile> EventFile::create(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return Error{"cannot make the folder " + folder.string() + ": " + problem.message(), "", {}};
  static std::atomic<int> number{0};
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  const auto path = folder / ("events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now_s())) + "." + host +
                              "." + std::to_string(::getpid()) + "." + std::to_string(number++));
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return io_error("cannot make", path);
  EventFile made(path, file);
  std::string event = event_at(0);
  put_text(event, 3, "brain.Event:2");  // file_version
  KW_TRY_VOID(made.append(event));
  return made;
}

EventFile::~EventFile() {
  if (file_ >= 0) ::close(file_);
}

Result<void> EventFile::write(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    std::string one;
    put_text(one, 1, tag);
    put_key(one, 2, 5);  // simple_value
    put(one, static_cast<float>(value));
    put_text(summary, 1, one);
  }
  std::string event = event_at(step);
  put_text(event, 5, summary);
  return append(event);
}

Result<void> EventFile::write_text(std::int64_t step, std::string_view tag, std::string_view text) {
  std::string plugin;
  put_text(plugin, 1, "text");  // plugin_name
  std::string metadata;
  put_text(metadata, 1, plugin);
  std::string tensor;
  put_key(tensor, 1, 0);      // dtype
  put_varint(tensor, 7);      // DT_STRING
  put_text(tensor, 2, "");    // tensor_shape: one value
  put_text(tensor, 8, text);  // string_val
  std::string one;
  put_text(one, 1, tag);
  put_text(one, 8, tensor);
  put_text(one, 9, metadata);
  std::string summary;
  put_text(summary, 1, one);
  std::string event = event_at(step);
  put_text(event, 5, summary);
  return append(event);
}

Result<void> EventFile::sync() {
  if (::fsync(file_) != 0) return io_error("cannot sync", path_);
  return {};
}

Result<void> drop_events_after(const std::filesystem::path& folder, std::int64_t step) {
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, problem);
       !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem))
    if (entry->path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry->path());
  if (problem) return Error{"cannot list " + folder.string() + ": " + problem.message(), "", {}};
  for (const auto& path : files) {
    KW_TRY(const std::string bytes, read_file(path, event_file_limit_bytes));
    const std::string kept = records_until(bytes, step);
    if (kept.empty()) {
      std::filesystem::remove(path, problem);
      if (problem) return Error{"cannot remove " + path.string() + ": " + problem.message(), "", {}};
    } else if (kept.size() != bytes.size()) {
      KW_TRY_VOID(write_file_atomic(path, kept));
    }
  }
  return {};
}

Result<void> EventFile::append(std::string_view event) {
  std::string record;
  put(record, static_cast<std::uint64_t>(event.size()));
  put(record, masked_crc(record));
  record += event;
  put(record, masked_crc(event));
  for (std::size_t done = 0; done < record.size();) {
    const ::ssize_t count = ::write(file_, record.data() + done, record.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("cannot write", path_);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

}  // namespace kw
