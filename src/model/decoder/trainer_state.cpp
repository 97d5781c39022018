#include "model/decoder/trainer_state.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "base/bounded_json.h"
#include "base/file.h"
#include "base/hash.h"
#include "model/weights/mapped_file.h"
#include "model/weights/safetensors.h"
#include "model/weights/safetensors_writer.h"
#include "model/weights/weight_folder.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::int64_t state_format = 1;
constexpr const char* description_name = "state.json";
constexpr std::size_t max_description_bytes = 1u << 20;

std::string checksum_of(std::span<const std::byte> bytes) {
  return std::to_string(checksum64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

Error damaged(const fs::path& path, const std::string& what) {
  return Error{"the training state is damaged: " + what, "restore an older one", {path.string(), 0, 0}};
}

ElementType type_of(const TrainablePart::Array& array) { return array.is_float ? ElementType::f32 : ElementType::u8; }

std::size_t whole_bytes(const TrainablePart::Array& array) {
  return array.shares.empty() ? array.bytes.size() : static_cast<std::size_t>(array.shares.back().end);
}

std::int64_t elements_of(const TrainablePart::Array& array) {
  return static_cast<std::int64_t>(whole_bytes(array) / bytes_of(type_of(array)));
}

// Rank 0 names the array whose turn it is; all send it their shares.
OutgoingTensor outgoing_shared(const TrainablePart::Array& array, Communicator& ranks) {
  return {array.name,
          type_of(array),
          {elements_of(array)},
          [array, &ranks](std::vector<std::byte>& scratch) -> Result<std::span<const std::byte>> {
            KW_TRY_VOID(ranks.broadcast(array.name));
            scratch.resize(whole_bytes(array));
            KW_TRY_VOID(ranks.gather(array.bytes, scratch, array.shares));
            return std::span<const std::byte>(scratch);
          }};
}

// Of ranks that write nothing, until rank 0 has all.
Result<void> send_shares(Communicator& ranks, std::span<TrainablePart* const> parts) {
  for (;;) {
    KW_TRY(const std::string wanted, ranks.broadcast(""));
    if (wanted.empty()) return {};
    bool found = false;
    for (TrainablePart* part : parts) {
      for (const TrainablePart::Array& array : part->arrays()) {
        if (array.name != wanted) continue;
        found = true;
        KW_TRY_VOID(ranks.gather(array.bytes, {}, array.shares));
      }
    }
    if (!found) return Error{"rank 0 saves something else than this rank has", "", {}};
  }
}

bool is_state_file(const std::string& name) { return name.starts_with("state-") && name.ends_with(".safetensors"); }

}  // namespace

Result<void> save_trainer_state(const fs::path& folder, const TrainerState& state,
                                std::span<TrainablePart* const> parts, Communicator* ranks) {
  const bool shared = rank_count(ranks) > 1;
  if (shared && std::ranges::any_of(parts, [](const TrainablePart* part) { return part->used; }))
    return Error{"ranks save between steps alone: each has a part of the gradient", "", {}};
  if (!is_first(ranks)) return send_shares(*ranks, parts);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{"cannot make the folder " + folder.string() + ": " + error.message(), "", {}};
  // A name that no earlier state has: state.json must never name a file of another state.
  std::string name = "state-" + std::to_string(state.weights_version) + ".safetensors";
  for (int i = 1; fs::exists(folder / name, error); ++i) {
    name = "state-" + std::to_string(state.weights_version) + "-" + std::to_string(i) + ".safetensors";
  }

  Json description;
  description["format"] = state_format;
  description["weights_version"] = state.weights_version;
  description["model"] = state.model;
  description["tensors"] = name;
  std::vector<OutgoingTensor> tensors;
  for (TrainablePart* part : parts) {
    description["parts"][part->name()] = {{"steps", part->steps}, {"used", part->used}};
    if (part->has_muon()) description["parts"][part->name()]["optimizer"] = "muon";
    for (const TrainablePart::Array& array : part->arrays()) {
      if (array.is_gradient && !part->used) continue;  // zero
      tensors.push_back(shared && !array.shares.empty()
                            ? outgoing_shared(array, *ranks)
                            : outgoing(TensorView{array.name, type_of(array), {elements_of(array)}, array.bytes}));
    }
  }
  KW_TRY_VOID(write_safetensors(folder / name, std::move(tensors), {}));
  if (shared) KW_TRY_VOID(ranks->broadcast(""));
  KW_TRY(const MappedFile file, MappedFile::open(folder / name));
  description["checksum"] = checksum_of(file.bytes());
  KW_TRY_VOID(write_file_atomic(folder / description_name, description.dump(2) + "\n", Durability::power_loss));

  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string other = entry.path().filename().string();
    if (is_state_file(other) && other != name) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
  return {};
}

Result<TrainerState> restore_trainer_state(const fs::path& folder, const std::string& model,
                                           std::span<TrainablePart* const> parts, int rank) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const fs::path description_path = folder / description_name;
  KW_TRY(const std::string text, read_file(description_path, max_description_bytes));
  const auto parsed = parse_bounded_json(text);
  if (!parsed.ok()) return damaged(description_path, parsed.error().message);
  const Json& description = *parsed;
  KW_TRY(const std::int64_t format, json_integer(description, "format", 1, largest));
  if (format != state_format) {
    return Error{"the training state has the format " + std::to_string(format) + ", this program reads " +
                     std::to_string(state_format),
                 "",
                 {description_path.string(), 0, 0}};
  }
  TrainerState state;
  KW_TRY(state.weights_version, json_integer(description, "weights_version", 0, largest));
  KW_TRY(state.model, json_string_or(description, "model", ""));
  if (state.model != model) {
    return Error{"the training state is of a model of another shape", "", {description_path.string(), 0, 0}};
  }
  KW_TRY(const std::string name, json_string_or(description, "tensors", ""));
  if (!is_plain_file_name(name) || !is_state_file(name)) return damaged(description_path, "it names no file");
  const auto part_list = description.find("parts");
  if (part_list == description.end() || !part_list->is_object() || part_list->size() != parts.size()) {
    return Error{"the training state has other parts than this trainer: other adapters or another value head",
                 "",
                 {description_path.string(), 0, 0}};
  }

  const fs::path path = folder / name;
  KW_TRY(const MappedFile file, MappedFile::open_no_link(path));
  KW_TRY(const std::string checksum, json_string_or(description, "checksum", ""));
  if (checksum_of(file.bytes()) != checksum) return damaged(path, "its checksum is another");
  const auto content = parse_safetensors(file.bytes());
  if (!content.ok()) return damaged(path, content.error().message);

  struct Copy {
    std::span<std::byte> to;
    std::span<const std::byte> from;
    bool is_zero = false;
  };
  struct PartState {
    TrainablePart* part;
    std::int64_t steps;
    bool used;
  };
  std::vector<Copy> copies;
  std::vector<PartState> part_states;
  std::size_t taken = 0;
  for (TrainablePart* part : parts) {
    const auto found = part_list->find(part->name());
    if (found == part_list->end() || !found->is_object()) {
      return Error{"the training state has no part '" + part->name() + "'", "", {description_path.string(), 0, 0}};
    }
    KW_TRY(const std::int64_t steps, json_integer(*found, "steps", 0, largest));
    KW_TRY(const bool used, json_bool_or(*found, "used", false));
    KW_TRY(const std::string optimizer, json_string_or(*found, "optimizer", "adamw"));
    if (optimizer != (part->has_muon() ? "muon" : "adamw")) {
      return Error{"the training state was left by another optimizer than this trainer's",
                   "continue with the optimizer that began",
                   {description_path.string(), 0, 0}};
    }
    part_states.push_back({part, steps, used});
    for (const TrainablePart::Array& array : part->arrays()) {
      if (array.is_gradient && !used) {
        copies.push_back({array.bytes, {}, true});
        continue;
      }
      const auto tensor = std::ranges::find(content->tensors, array.name, &TensorView::name);
      if (tensor == content->tensors.end() || tensor->type != type_of(array) ||
          tensor->bytes.size() != whole_bytes(array)) {
        return Error{"the training state does not fit: '" + array.name + "' is missing or of another size",
                     "the ranks of adapters and the optimizer's precision must be those of the saved run",
                     {path.string(), 0, 0}};
      }
      const std::size_t begin =
          array.shares.empty() ? 0 : static_cast<std::size_t>(array.shares[static_cast<std::size_t>(rank)].begin);
      copies.push_back({array.bytes, tensor->bytes.subspan(begin, array.bytes.size()), false});
      ++taken;
    }
  }
  if (taken != content->tensors.size()) return damaged(path, "it has tensors that belong to no part");

  for (const Copy& copy : copies) {
    if (copy.is_zero) {
      std::ranges::fill(copy.to, std::byte{0});
    } else if (!copy.to.empty()) {
      std::memcpy(copy.to.data(), copy.from.data(), copy.to.size());
    }
  }
  for (const PartState& restored : part_states) {
    restored.part->steps = restored.steps;
    restored.part->used = restored.used;
  }
  return state;
}

}  // namespace kw
