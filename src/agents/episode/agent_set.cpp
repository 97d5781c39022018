#include "agents/episode/agent_set.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "agents/endpoint/endpoint_name.h"
#include "agents/package/package_cache.h"
#include "agents/package/package_reader.h"
#include "base/bounded_json.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/installed_files.h"
#include "base/run_log/run_log.h"
#include "model/decoder/model_name.h"
#include "model/weights/mapped_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr const char* agents_file = "agents.json";
constexpr std::size_t max_agents_file_bytes = 64u << 10;
constexpr std::size_t max_path_bytes = 4096;
constexpr std::size_t max_benchmarks = 16, max_benchmark_bytes = 64;
constexpr const char* shipped[] = {"tiny", "smollm2"};

Error in_file(Error error, const fs::path& file) {
  error.where.file = file.string();
  return error;
}

Result<fs::path> shipped_folder(const std::string& name) {
  KW_TRY(const fs::path weights,
         find_installed({"weights", "KERNELWRIGHT_WEIGHTS", "tiny/agents.json", "the shipped agents were"}));
  std::error_code ignored;
  if (fs::exists(weights / name / agents_file, ignored)) return weights / name;
  return Error{
      fmt::format("the agents '{}' are not in {} (KERNELWRIGHT_WEIGHTS chooses another)", name, weights.string()),
      "name agents that are there, or a model's folder",
      {}};
}

Result<fs::path> path_from(const nlohmann::json& value, const std::string& what) {
  if (!value.is_string()) return Error{what + " is not a text", "", {}};
  const std::string text = value.get<std::string>();
  if (text.empty() || text.size() > max_path_bytes || text.find('\0') != std::string::npos)
    return Error{what + " is no path", "", {}};
  return fs::path(text);
}

Result<std::set<std::string>> benchmarks_from(const nlohmann::json& value) {
  std::set<std::string> names;
  if (!value.is_array() || value.size() > max_benchmarks) return Error{"'learned_from' is no short list", "", {}};
  for (const nlohmann::json& one : value) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty() ||
        one.get_ref<const std::string&>().size() > max_benchmark_bytes)
      return Error{"'learned_from' holds something that is no name of a benchmark", "", {}};
    names.insert(one.get<std::string>());
  }
  return names;
}

Result<AgentSet> parse_agents(const std::string& text, const fs::path& folder) {
  KW_TRY(const nlohmann::json json, parse_bounded_json(text));
  KW_TRY([[maybe_unused]] const std::int64_t format, json_integer(json, "format", 1, 1));
  for (const auto& [key, value] : json.items())
    if (key != "format" && key != "base" && key != "adapters" && key != "learned_from")
      return Error{"unknown key '" + key + "'", "", {}};
  if (!json.contains("base")) return Error{"'base' is missing", "a path from this folder, or a fetched name", {}};
  AgentSet agents;
  KW_TRY(const fs::path base, path_from(json["base"], "'base'"));
  std::error_code ignored;
  if (base == smollm2_name && !fs::exists(folder / base, ignored)) {
    KW_TRY(agents.base, model_path(smollm2_name));
  } else {
    agents.base = (folder / base).lexically_normal();
  }
  if (json.contains("learned_from")) {
    KW_TRY(agents.learned_from, benchmarks_from(json["learned_from"]));
  }
  const auto adapters = json.find("adapters");
  if (adapters == json.end()) return agents;
  if (!adapters->is_object()) return Error{"'adapters' is not an object", "", {}};
  for (const auto& [name, value] : adapters->items()) {
    const auto role = agent_role_from_string(name);
    if (!role) return Error{"there is no agent '" + name + "'", "generator, optimizer or tester", {}};
    KW_TRY(const fs::path path, path_from(value, "the adapter of the " + name));
    agents.adapters[*role] = (folder / path).lexically_normal();
  }
  return agents;
}

Result<void> add_file(Sha256& hash, const fs::path& file) {
  KW_TRY(const MappedFile mapped, MappedFile::open(file));
  const auto bytes = mapped.bytes();
  // Not a defence against forgery: it tells one training from the next, and a base has gigabytes.
  hash.add(file.filename().string());
  hash.add(
      fmt::format("{} {:016x}", bytes.size(), checksum64({reinterpret_cast<const char*>(bytes.data()), bytes.size()})));
  return {};
}

// What a model or an adapter is made of; other files of its folder do not count.
Result<void> add_path(Sha256& hash, const fs::path& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return add_file(hash, path);
  std::vector<fs::path> files;
  for (fs::directory_iterator at(path, failure), end; !failure && at != end; at.increment(failure)) {
    const fs::path& file = at->path();
    const std::string name = file.filename().string();
    if (file.extension() == ".safetensors" || name == "config.json" || name == "adapter_config.json" ||
        name == "tokenizer.json" || name == "model.safetensors.index.json")
      files.push_back(file);
  }
  if (failure) return Error{"cannot be read: " + failure.message(), "", {path.string(), 0, 0}};
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) KW_TRY_VOID(add_file(hash, file));
  return {};
}

// Where runs keep their agents, the last stage first.
constexpr const char* agents_of_runs[] = {"agents", "rl/agents", "compatibility/agents", "sft/agents"};

// The agents' folder of a run; empty: this is no run.
Result<fs::path> agents_of_run(const fs::path& folder) {
  std::error_code ignored;
  for (const char* place : agents_of_runs)
    if (fs::exists(folder / place / agents_file, ignored)) return folder / place;
  if (fs::exists(folder / "pipeline.json", ignored) || fs::is_directory(folder / "checkpoints", ignored))
    return Error{"this run has no agents yet", "let it finish its training first", {folder.string(), 0, 0}};
  return fs::path();
}

Result<AgentSet> agents_in(const fs::path& folder) {
  const fs::path file = folder / agents_file;
  KW_TRY(const std::string text, read_file(file, max_agents_file_bytes));
  auto agents = parse_agents(text, folder);
  if (!agents.ok()) return in_file(agents.error(), file);
  return agents;
}

// A stranger wrote agents.json in it: it may name what the package brings, and the base that the manifest names.
Result<void> check_inside(const AgentSet& agents, const OpenedPackage& package) {
  std::error_code ignored;
  const auto inside = [&](const fs::path& path) {
    const fs::path relative = path.lexically_relative(package.folder);
    return !relative.empty() && *relative.begin() != ".." && fs::exists(path, ignored);
  };
  for (const auto& [role, path] : agents.adapters)
    if (!inside(path)) return Error{fmt::format("the package does not have the {}'s adapter", to_string(role)), "", {}};
  const PackageBase& base = package.manifest.base;
  if (base.name.empty()) {
    if (inside(agents.base)) return {};
    return Error{"the package does not have the base that its agents.json names", "", {}};
  }
  KW_TRY(const fs::path here, model_path(base.name));
  if (agents.base != here) return Error{"agents.json and manifest.json name different bases", "", {}};
  if (fs::file_size(here, ignored) == base.bytes) return {};
  return Error{fmt::format("the {} that is here is not the one that these agents are for", base.name),
               "pack the agents again, --with-base",
               {here.string(), 0, 0}};
}

Result<AgentSet> agents_in_package(const fs::path& file) {
  KW_TRY(const OpenedPackage package, open_package(file));
  KW_TRY(AgentSet agents, agents_in(package.folder));
  if (const auto checked = check_inside(agents, package); !checked.ok()) {
    Error error = checked.error();
    return error.where.file.empty() ? in_file(std::move(error), file) : error;
  }
  std::error_code ignored;
  if (fs::is_directory(package.folder / "prompts", ignored)) agents.prompts = package.folder / "prompts";
  if (fs::is_directory(package.folder / "about", ignored)) agents.records = package.folder / "about";
  return agents;
}

}  // namespace

Result<AgentSet> find_agents(const std::string& name_or_path) {
  if (looks_like_endpoint(name_or_path))
    return Error{"agents of an endpoint own no weights here: they can talk, but not be trained, packed or looked into",
                 "keep what they solve with `train gather`, and teach it to a model of yours with `train sft`",
                 {}};
  fs::path folder = name_or_path;
  fs::path records;
  std::error_code ignored;
  if (looks_like_package(folder)) return agents_in_package(folder);
  if (std::find(std::begin(shipped), std::end(shipped), name_or_path) != std::end(shipped) &&
      !fs::exists(folder, ignored)) {
    KW_TRY(folder, shipped_folder(name_or_path));
  }
  if (!fs::exists(folder / agents_file, ignored)) {
    const bool here = fs::is_directory(folder, ignored);
    const fs::path run = here || folder.is_absolute() ? folder : runs_folder() / folder;
    KW_TRY(const fs::path trained, agents_of_run(run));
    if (!trained.empty()) {
      folder = trained;
      records = run;
    }
  }
  if (!fs::exists(folder / agents_file, ignored)) {
    AgentSet agents;
    KW_TRY(agents.base, model_path(name_or_path));
    return agents;
  }
  KW_TRY(AgentSet agents, agents_in(folder));
  agents.records = records;
  return agents;
}

Result<std::set<std::string>> learned_from_of_adapter(const fs::path& folder) {
  std::error_code ignored;
  const fs::path beside = fs::absolute(folder, ignored).lexically_normal().parent_path();
  if (ignored || !fs::exists(beside / agents_file, ignored)) return std::set<std::string>();
  KW_TRY(AgentSet agents, agents_in(beside));
  return std::move(agents.learned_from);
}

std::string agents_text(const std::string& base, const std::map<AgentRole, std::string>& adapters,
                        const std::set<std::string>& learned_from) {
  nlohmann::ordered_json json{{"format", 1}, {"base", base}, {"adapters", nlohmann::ordered_json::object()}};
  for (const auto& [role, path] : adapters) json["adapters"][std::string(to_string(role))] = path;
  if (!learned_from.empty()) json["learned_from"] = learned_from;
  return json.dump(2) + "\n";
}

Result<void> write_agents_file(const fs::path& folder, const std::string& base,
                               const std::map<AgentRole, std::string>& adapters,
                               const std::set<std::string>& learned_from) {
  return write_file_atomic(folder / agents_file, agents_text(base, adapters, learned_from));
}

Result<std::string> content_hash(const AgentSet& agents) {
  Sha256 hash;
  KW_TRY_VOID(add_path(hash, agents.base));
  for (const auto& [role, path] : agents.adapters) {
    hash.add(to_string(role));
    KW_TRY_VOID(add_path(hash, path));
  }
  return hash.hex();
}

}  // namespace kw
