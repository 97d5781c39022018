#include "agents/episode/agent_package.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/agent/prompt.h"
#include "agents/episode/agent_files.h"
#include "agents/package/package_writer.h"
#include "base/hash.h"
#include "model/decoder/model_name.h"
#include "model/weights/mapped_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Inputs = std::vector<PackageInput>;

// What a model's folder, an adapter and a run are made of. Other files (states of optimizers, caches, photos) stay.
constexpr const char* model_files[] = {"config.json",
                                       "generation_config.json",
                                       "model.safetensors.index.json",
                                       "tokenizer.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "chat_template.jinja",
                                       "vocab.json",
                                       "merges.txt",
                                       "adapter_config.json",
                                       "LICENSE",
                                       "NOTICE"};
constexpr const char* record_files[] = {"config.json", "summary.json"};

// The regular files of a folder that `wanted` takes, as NAME_IN_PACKAGE/FILE.
template <class Wanted>
Result<void> add_folder(Inputs& inputs, const fs::path& folder, const std::string& name, const Wanted& wanted) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && wanted(at->path()))
      inputs.push_back({name + "/" + at->path().filename().string(), at->path(), ""});
  }
  if (failed) return Error{"cannot be read: " + failed.message(), "", {folder.string(), 0, 0}};
  return {};
}

Result<void> add_model(Inputs& inputs, const fs::path& path, const std::string& name) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    inputs.push_back({name + "/" + path.filename().string(), path, ""});
    return {};
  }
  return add_folder(inputs, path, name, [](const fs::path& file) {
    return file.extension() == ".safetensors" ||
           std::ranges::find(model_files, file.filename().string()) != std::end(model_files);
  });
}

Result<void> add_prompts(Inputs& inputs, const AgentSet& agents) {
  fs::path folder = agents.prompts;
  if (folder.empty()) {
    KW_TRY(folder, prompts_folder());
  }
  for (const std::string style : {"chatml", "compact"})
    KW_TRY_VOID(add_folder(inputs, folder / style, "prompts/" + style,
                           [](const fs::path& file) { return file.extension() == ".txt"; }));
  return {};
}

Result<void> add_records(Inputs& inputs, const fs::path& records) {
  std::error_code ignored;
  if (records.empty()) return {};
  for (const char* name : record_files)
    if (fs::is_regular_file(records / name, ignored))
      inputs.push_back({fmt::format("about/{}", name), records / name, ""});
  if (!fs::is_directory(records / "evaluation", ignored)) return {};
  return add_folder(inputs, records / "evaluation", "about/evaluation",
                    [](const fs::path& file) { return file.extension() == ".json"; });
}

Result<PackageBase> named_base(const AgentSet& agents) {
  KW_TRY(const MappedFile file, MappedFile::open(agents.base));
  const auto bytes = file.bytes();
  return PackageBase{base_name(agents), bytes.size(),
                     sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()})};
}

// Nothing that find_agents() or a decoder would refuse on the other machine.
Result<void> check_agents(const AgentFiles& agents) {
  KW_TRY([[maybe_unused]] const Tokenizer tokenizer, agents.base.tokenizer());
  for (const auto& [role, folder] : agents.set.adapters) {
    const auto adapter = load_adapter(folder, agents.base.description(), std::string(to_string(role)));
    if (!adapter.ok()) return adapter.error();
  }
  return {};
}

}  // namespace

Result<PackageManifest> pack_agents(const std::string& name_or_path, const fs::path& out, bool with_base) {
  KW_TRY(const AgentFiles agents, open_agents(name_or_path));
  KW_TRY_VOID(check_agents(agents));
  Inputs inputs;
  PackageBase base;
  std::string base_path;
  if (base_name(agents.set) == smollm2_name && !with_base) {
    KW_TRY(base, named_base(agents.set));
    base_path = base.name;
  } else {
    KW_TRY_VOID(add_model(inputs, agents.set.base, "base"));
    std::error_code ignored;
    base_path = fs::is_directory(agents.set.base, ignored) ? "base" : "base/" + agents.set.base.filename().string();
  }
  std::map<AgentRole, std::string> adapters;
  for (const auto& [role, folder] : agents.set.adapters) {
    adapters[role] = fmt::format("adapters/{}", to_string(role));
    KW_TRY_VOID(add_model(inputs, folder, adapters[role]));
  }
  inputs.push_back({"agents.json", {}, agents_text(base_path, adapters, agents.set.learned_from)});
  KW_TRY_VOID(add_prompts(inputs, agents.set));
  KW_TRY_VOID(add_records(inputs, agents.set.records));
  KW_TRY(const std::string fingerprint, content_hash(agents.set));
  return write_package(out, base, fingerprint, std::move(inputs));
}

}  // namespace kw
