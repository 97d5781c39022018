#include "model/weights/weight_folder.h"

#include <algorithm>
#include <set>

#include "base/bounded_json.h"
#include "base/file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_index_bytes = 100'000'000;

// A link may not leave the folder, with one exception: snapshots/REVISION/FILE -> ../../blobs/HASH of the Hugging Face
// cache.
Result<SafetensorsFile> open_shard(const fs::path& folder, const std::string& name) {
  const fs::path path = folder / name;
  std::error_code failure;
  if (!fs::is_symlink(fs::symlink_status(path, failure))) return SafetensorsFile::open_no_link(path);
  const fs::path target = fs::canonical(path, failure);
  if (failure) return Error{"cannot read " + path.string() + ": " + failure.message(), "", {}};
  const fs::path home = fs::canonical(folder, failure);
  const bool inside = target.parent_path() == home;
  const bool cache_blob = home.parent_path().filename() == "snapshots" &&
                          target.parent_path() == home.parent_path().parent_path() / "blobs";
  if (!inside && !cache_blob) {
    return Error{path.string() + " is a symbolic link out of its folder", "put the file itself there", {}};
  }
  return SafetensorsFile::open_no_link(target);
}

using WeightMap = std::map<std::string, std::string>;  // tensor -> shard

Result<WeightMap> read_index(const fs::path& path) {
  const auto refuse = [&](const std::string& why) { return Error{why, "", {path.string()}}; };
  KW_TRY(const std::string text, read_file(path, max_index_bytes));
  auto json = parse_bounded_json(text, JsonBounds{.max_depth = 8, .min_bytes_per_value = 4});
  if (!json.ok()) return refuse(json.error().message);
  const auto found = json->find("weight_map");
  if (found == json->end() || !found->is_object()) return refuse("there is no object 'weight_map'");
  WeightMap weight_map;
  for (const auto& [tensor, shard] : found->items()) {
    if (!shard.is_string()) return refuse("the shard of '" + tensor.substr(0, 200) + "' is not a file name");
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(name) || !name.ends_with(".safetensors")) {
      return refuse("'" + name.substr(0, 200) + "' is not the plain name of a safetensors file");
    }
    weight_map[tensor] = name;
  }
  if (weight_map.empty()) return refuse("'weight_map' names no tensor");
  return weight_map;
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  constexpr std::size_t longest = 255;
  if (name.empty() || name.size() > longest || name.front() == '.') return false;
  return std::ranges::all_of(name, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == '_';
  });
}

Result<WeightFolder> WeightFolder::open(const fs::path& folder) {
  WeightFolder weights;
  std::error_code ignored;
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  WeightMap weight_map;
  if (fs::exists(single, ignored)) {  // wins over an index, as in transformers
    KW_TRY(SafetensorsFile file, open_shard(folder, "model.safetensors"));
    weights.shards_.push_back(std::move(file));
  } else if (fs::exists(index, ignored)) {
    KW_TRY(weight_map, read_index(index));
    std::set<std::string> names;
    for (const auto& [tensor, shard] : weight_map) names.insert(shard);
    if (names.size() > max_shards) return Error{"the model has more than 10000 shards", "", {index.string()}};
    for (const std::string& name : names) {
      KW_TRY(SafetensorsFile file, open_shard(folder, name));
      for (const TensorView& tensor : file.tensors()) {
        const auto listed = weight_map.find(tensor.name);
        if (listed == weight_map.end() || listed->second != name) {
          return Error{"the shard holds '" + tensor.name + "', which the index does not expect there",
                       "",
                       {(folder / name).string()}};
        }
      }
      weights.shards_.push_back(std::move(file));
    }
  } else {
    return Error{folder.string() + " holds neither model.safetensors nor model.safetensors.index.json", "", {}};
  }

  for (const SafetensorsFile& shard : weights.shards_) {
    for (const TensorView& tensor : shard.tensors()) weights.tensors_.push_back(&tensor);
  }
  std::ranges::sort(weights.tensors_, {}, &TensorView::name);
  for (const auto& [tensor, shard] : weight_map) {
    if (weights.find(tensor) == nullptr) {
      return Error{
          "the shard " + shard + " lacks '" + tensor + "', which the index expects there", "", {index.string()}};
    }
  }
  return weights;
}

const TensorView* WeightFolder::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {},
                                              [](const TensorView* tensor) { return std::string_view(tensor->name); });
  return found == tensors_.end() || (*found)->name != name ? nullptr : *found;
}

std::size_t WeightFolder::bytes() const {
  std::size_t total = 0;
  for (const TensorView* tensor : tensors_) total += tensor->bytes.size();
  return total;
}

}  // namespace kw
