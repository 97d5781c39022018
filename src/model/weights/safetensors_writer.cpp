#include "model/weights/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/file_error.h"
#include "model/weights/weight_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

Error system_error(const std::string& what, const fs::path& path) { return file_error(what, path, errno); }

// A file under a temporary name, removed again unless it is published.
class UnpublishedFile {
 public:
  explicit UnpublishedFile(const fs::path& path) : path_(path) {
    static std::atomic<unsigned> counter{0};
    temporary_ = path.string() + ".new." + std::to_string(::getpid()) + "." + std::to_string(counter++);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  ~UnpublishedFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!published_) ::unlink(temporary_.c_str());
  }
  UnpublishedFile(const UnpublishedFile&) = delete;
  UnpublishedFile& operator=(const UnpublishedFile&) = delete;

  Result<void> write(std::span<const std::byte> bytes) {
    if (fd_ < 0) return system_error("cannot write", temporary_);
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error("cannot write", temporary_);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  Result<void> sync() {
    if (fd_ < 0 || ::fsync(fd_) != 0) return system_error("cannot write", temporary_);
    return {};
  }

  Result<void> publish() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("cannot write", path_);
    published_ = true;
    return {};
  }

 private:
  fs::path path_;
  fs::path temporary_;
  int fd_ = -1;
  bool published_ = false;
};

// The rename itself is durable only when the folder is synced.
Result<void> sync_folder(const fs::path& folder) {
  const fs::path path = folder.empty() ? fs::path(".") : folder;
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("cannot sync", path);
  const int status = ::fsync(fd);
  ::close(fd);
  if (status != 0) return system_error("cannot sync", path);
  return {};
}

Result<std::int64_t> byte_count(const OutgoingTensor& tensor) {
  const auto count = element_count(tensor.shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(bytes_of(tensor.type)), &bytes)) {
    return Error{"the tensor '" + tensor.name + "' has the impossible shape " + to_string(tensor.shape), "", {}};
  }
  return bytes;
}

Result<std::string> make_header(const std::vector<OutgoingTensor>& tensors, const SafetensorsMetadata& metadata) {
  OrderedJson header = OrderedJson::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  // Built as text: looking a key up in ordered_json takes time in proportion to its size.
  std::string text = header.dump();
  text.pop_back();
  std::int64_t offset = 0;
  for (const OutgoingTensor& tensor : tensors) {
    KW_TRY(const std::int64_t bytes, byte_count(tensor));
    OrderedJson entry;
    entry["dtype"] = safetensors_name(tensor.type);
    entry["shape"] = tensor.shape;
    std::int64_t end = 0;
    if (__builtin_add_overflow(offset, bytes, &end)) return Error{"the tensors take more than 2^63 bytes", "", {}};
    entry["data_offsets"] = {offset, end};
    offset = end;
    try {
      text += (text.size() > 1 ? "," : "") + OrderedJson(tensor.name).dump() + ":" + entry.dump();
    } catch (const OrderedJson::exception&) {
      return Error{"the name of a tensor is not valid UTF-8", "", {}};
    }
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

Result<void> write_content(UnpublishedFile& file, std::vector<OutgoingTensor> tensors,
                           const SafetensorsMetadata& metadata) {
  std::ranges::sort(tensors, [](const OutgoingTensor& left, const OutgoingTensor& right) {
    return left.type != right.type ? left.type > right.type : left.name < right.name;
  });
  std::set<std::string_view> names;
  for (const OutgoingTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) return Error{"two tensors are named '" + tensor.name + "'", "", {}};
  }
  KW_TRY(const std::string header, make_header(tensors, metadata));
  const std::uint64_t length = header.size();
  KW_TRY_VOID(file.write(std::as_bytes(std::span(&length, 1))));
  KW_TRY_VOID(file.write(std::as_bytes(std::span(header))));
  std::vector<std::byte> scratch;
  for (const OutgoingTensor& tensor : tensors) {
    KW_TRY(const auto bytes, tensor.bytes(scratch));
    KW_TRY(const std::int64_t expected, byte_count(tensor));
    if (static_cast<std::int64_t>(bytes.size()) != expected) {
      return Error{"the tensor '" + tensor.name + "' came with " + std::to_string(bytes.size()) + " bytes instead of " +
                       std::to_string(expected),
                   "",
                   {}};
    }
    KW_TRY_VOID(file.write(bytes));
  }
  return file.sync();
}

std::string shard_name(std::size_t number, std::size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, count);
  return name;
}

bool is_weight_file(const std::string& name) {
  return name == "model.safetensors" || name == "model.safetensors.index.json" ||
         (name.starts_with("model-") && name.ends_with(".safetensors") && name.find("-of-") != std::string::npos);
}

void remove_other_weights(const fs::path& folder, const std::set<std::string>& keep) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_weight_file(name) && !keep.contains(name)) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path, ignored);
}

}  // namespace

OutgoingTensor outgoing(const TensorView& view) {
  return {view.name, view.type, view.shape,
          [bytes = view.bytes](std::vector<std::byte>&) -> Result<std::span<const std::byte>> { return bytes; }};
}

OutgoingTensor outgoing_floats(std::string name, Shape shape, std::span<const float> values, ElementType type) {
  return {std::move(name), type, std::move(shape),
          [values, type](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
            if (type == ElementType::f32) return std::as_bytes(values);
            KW_TRY(scratch, encode_floats(values, type));
            return std::span<const std::byte>(scratch);
          }};
}

Result<void> write_safetensors(const fs::path& path, std::vector<OutgoingTensor> tensors,
                               const SafetensorsMetadata& metadata) {
  UnpublishedFile file(path);
  KW_TRY_VOID(write_content(file, std::move(tensors), metadata));
  KW_TRY_VOID(file.publish());
  return sync_folder(path.parent_path());
}

Result<void> write_weight_folder(const fs::path& folder, std::vector<OutgoingTensor> tensors,
                                 std::int64_t max_shard_bytes) {
  std::vector<std::vector<OutgoingTensor>> shards(1);
  std::int64_t total_bytes = 0;
  std::int64_t shard_bytes = 0;
  for (OutgoingTensor& tensor : tensors) {
    KW_TRY(const std::int64_t bytes, byte_count(tensor));
    if (max_shard_bytes > 0 && !shards.back().empty() && bytes > max_shard_bytes - shard_bytes) {
      shards.emplace_back();
      shard_bytes = 0;
    }
    shards.back().push_back(std::move(tensor));
    shard_bytes += bytes;
    total_bytes += bytes;
  }
  if (shards.size() == 1) {
    KW_TRY_VOID(write_safetensors(folder / "model.safetensors", std::move(shards[0])));
    remove_other_weights(folder, {"model.safetensors"});
    return {};
  }

  nlohmann::json index;  // sorted keys, as transformers writes them
  index["metadata"]["total_size"] = total_bytes;
  std::set<std::string> names{"model.safetensors.index.json"};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i + 1, shards.size());
    for (const OutgoingTensor& tensor : shards[i]) {
      if (!index["weight_map"].emplace(tensor.name, name).second) {
        return Error{"two tensors are named '" + tensor.name + "'", "", {}};
      }
    }
    names.insert(name);
  }
  // All of it is on the disk before the first name changes.
  std::vector<std::unique_ptr<UnpublishedFile>> files;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    files.push_back(std::make_unique<UnpublishedFile>(folder / shard_name(i + 1, shards.size())));
    KW_TRY_VOID(write_content(*files.back(), std::move(shards[i]), pytorch_metadata));
  }
  for (const auto& file : files) KW_TRY_VOID(file->publish());
  KW_TRY_VOID(write_file_atomic(folder / "model.safetensors.index.json", index.dump(2) + "\n", Durability::power_loss));
  remove_other_weights(folder, names);
  return sync_folder(folder);
}

}  // namespace kw
