#include "kernel/performance/device_profile.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/file.h"
#include "base/hash.h"
#include "base/installed_files.h"

namespace kw {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t max_profile_bytes = 256u << 10;
constexpr std::array<std::string_view, pipe_count> pipe_keys = {"fp32",    "fp64",   "fp16",   "integer", "special",
                                                                "convert", "tensor", "memory", "shuffle", "control"};

std::vector<std::string_view> words_of(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t end = text.find(separator);
    if (end != 0) words.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return words;
}

std::optional<Pipe> pipe_from(std::string_view key) {
  auto found = std::find(pipe_keys.begin(), pipe_keys.end(), key);
  if (found == pipe_keys.end()) return std::nullopt;
  return static_cast<Pipe>(found - pipe_keys.begin());
}

// Numbers of a YAML map, each wanted exactly once and positive or zero.
struct Numbers {
  const YAML::Node& node;
  std::string file;
  std::string problem;

  void read(const char* key, double& into, bool positive = true) {
    const YAML::Node value = node[key];
    double number = 0;
    bool fits = value && YAML::convert<double>::decode(value, number) && (positive ? number > 0 : number >= 0);
    if (!fits && problem.empty()) problem = std::string(key) + " must be a number" + (positive ? " over 0" : "");
    into = number;
  }
};

Result<std::vector<InstructionCost>> parse_instructions(const std::string& text, const std::string& file) {
  std::vector<InstructionCost> costs;
  for (const YAML::Node& entry : YAML::Load(text)) {
    InstructionCost cost;
    cost.form = entry["form"].as<std::string>("");
    const std::string pipe_name = entry["pipe"].as<std::string>("");
    const auto pipe = pipe_from(pipe_name);
    const Position where{file, entry.Mark().line + 1, 1};
    if (cost.form.empty() || !pipe) return Error{"an instruction needs a form and a known pipe", "", where};
    cost.pipe = *pipe;
    Numbers numbers{entry, file, ""};
    numbers.read("issue", cost.issue_slots, false);
    numbers.read("slots", cost.pipe_slots, false);
    numbers.read("latency", cost.latency_cycles, false);
    if (!numbers.problem.empty()) return Error{numbers.problem, "", where};
    costs.push_back(std::move(cost));
  }
  std::stable_sort(costs.begin(), costs.end(), [](const InstructionCost& a, const InstructionCost& b) {
    return words_of(a.form, ' ').size() > words_of(b.form, ' ').size();
  });
  const bool complete =
      std::any_of(costs.begin(), costs.end(), [](const InstructionCost& cost) { return cost.form == "default"; });
  if (!complete) return Error{"there is no entry for the form `default`", "", {file, 1, 1}};
  return costs;
}

Result<DeviceProfile> parse_profile(const std::string& text, const std::string& file) {
  const YAML::Node root = YAML::Load(text);
  DeviceProfile profile;
  profile.name = root["name"].as<std::string>("");
  const auto architecture = architecture_from_string(root["architecture"].as<std::string>(""));
  if (profile.name.empty() || !architecture)
    return Error{"a profile needs a name and a known architecture", "", {file, 1, 1}};
  profile.architecture = *architecture;
  Numbers numbers{root, file, ""};
  double multiprocessors = 0;
  numbers.read("multiprocessors", multiprocessors);
  profile.multiprocessors = static_cast<int>(multiprocessors);
  numbers.read("clock_ghz", profile.clock_ghz);
  numbers.read("dram_gb_per_s", profile.dram_gb_per_s);
  profile.dram_peak_gb_per_s = 1.1 * profile.dram_gb_per_s;
  if (root["dram_peak_gb_per_s"]) numbers.read("dram_peak_gb_per_s", profile.dram_peak_gb_per_s);
  numbers.read("dram_ramp_us", profile.dram_ramp_us);
  numbers.read("l2_gb_per_s", profile.l2_gb_per_s);
  numbers.read("l2_bytes_per_cycle_and_sm", profile.l2_bytes_per_cycle_and_sm);
  numbers.read("l2_mib", profile.l2_mib);
  numbers.read("l1_kib", profile.l1_kib);
  numbers.read("l1_sectors_per_cycle", profile.l1_sectors_per_cycle);
  numbers.read("l1_lines_per_cycle", profile.l1_lines_per_cycle);
  numbers.read("store_lines_per_cycle", profile.store_lines_per_cycle);
  numbers.read("shared_wavefronts_per_cycle", profile.shared_wavefronts_per_cycle);
  numbers.read("issue_per_cycle", profile.issue_per_cycle);
  numbers.read("tensor_tf32_rate", profile.tensor_tf32_rate);
  numbers.read("tensor_int8_rate", profile.tensor_int8_rate);
  numbers.read("tensor_fp64_rate", profile.tensor_fp64_rate, false);
  numbers.read("l1_latency_cycles", profile.l1_latency_cycles);
  numbers.read("shared_latency_cycles", profile.shared_latency_cycles);
  numbers.read("l2_latency_cycles", profile.l2_latency_cycles);
  numbers.read("dram_latency_cycles", profile.dram_latency_cycles);
  numbers.read("instruction_latency_factor", profile.instruction_latency_factor);
  numbers.read("barrier_cycles", profile.barrier_cycles);
  numbers.read("block_start_cycles", profile.block_start_cycles);
  numbers.read("warp_start_cycles", profile.warp_start_cycles);
  numbers.read("blocks_per_ns", profile.blocks_per_ns);
  numbers.read("branch_cycles", profile.branch_cycles);
  numbers.read("launch_us", profile.launch_us);
  numbers.read("next_launch_us", profile.next_launch_us);
  numbers.read("transfer_us", profile.transfer_us);
  numbers.read("allocation_us", profile.allocation_us, false);
  numbers.read("atomic_same_address_ns", profile.atomic_same_address_ns);
  numbers.read("atomic_line_ns", profile.atomic_line_ns);
  numbers.read("atomic_sectors_per_ns", profile.atomic_sectors_per_ns);
  numbers.read("shared_atomic_cycles", profile.shared_atomic_cycles);
  numbers.read("shared_atomic_loop_cycles", profile.shared_atomic_loop_cycles);
  numbers.read("norm_exponent", profile.norm_exponent);
  numbers.read("uncertainty", profile.uncertainty);
  numbers.read("uncertainty_extrapolated", profile.uncertainty_extrapolated, false);
  const YAML::Node lanes = root["lanes_per_cycle"];
  if (!lanes || !lanes.IsMap()) return Error{"lanes_per_cycle is missing", "", {file, 1, 1}};
  Numbers rates{lanes, file, numbers.problem};
  for (std::size_t i = 0; i < pipe_count; ++i) rates.read(pipe_keys[i].data(), profile.lanes_per_cycle[i]);
  if (!rates.problem.empty()) return Error{rates.problem, "", {file, 1, 1}};
  return profile;
}

}  // namespace

std::string_view name_of(Pipe pipe) {
  static constexpr std::array<std::string_view, pipe_count> names = {
      "fp32 pipe",       "fp64 pipe",   "fp16 pipe",           "int pipe",     "special function pipe",
      "conversion pipe", "tensor pipe", "memory instructions", "shuffle pipe", "branches"};
  return names[static_cast<std::size_t>(pipe)];
}

const InstructionCost& DeviceProfile::cost_of(std::string_view form) const {
  const std::vector<std::string_view> have = words_of(form, '.');
  const InstructionCost* fallback = nullptr;
  for (const InstructionCost& cost : instructions) {
    const std::vector<std::string_view> wanted = words_of(cost.form, ' ');
    if (cost.form == "default") fallback = &cost;
    if (have.empty() || wanted[0] != have[0]) continue;
    const bool all = std::all_of(wanted.begin(), wanted.end(), [&](std::string_view word) {
      return std::find(have.begin(), have.end(), word) != have.end();
    });
    if (all) return cost;
  }
  KW_CHECK(fallback != nullptr);
  return *fallback;
}

Result<fs::path> profiles_folder() {
  return find_installed({"profiles", "KERNELWRIGHT_PROFILES", "instructions.yaml", "the device profiles were"});
}

std::vector<std::string> profile_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".yaml" && entry->path().stem() != "instructions")
      names.push_back(entry->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

static Result<fs::path> profile_file(const std::string& name_or_path) {
  if (name_or_path.find_first_of("/.") != std::string::npos) return fs::path(name_or_path);
  KW_TRY(const fs::path folder, profiles_folder());
  const fs::path file = folder / (name_or_path + ".yaml");
  if (fs::exists(file)) return file;
  std::string known;
  for (const std::string& name : profile_names(folder)) known += (known.empty() ? "" : ", ") + name;
  return Error{"there is no device profile '" + name_or_path + "'", "known: " + known, {}};
}

Result<std::string> read_profile_text(const std::string& name_or_path) {
  KW_TRY(const fs::path file, profile_file(name_or_path));
  return read_file(file, max_profile_bytes);
}

Result<DeviceProfile> load_profile(const std::string& name_or_path) {
  KW_TRY(const fs::path file, profile_file(name_or_path));
  fs::path instructions = file.parent_path() / "instructions.yaml";
  if (!fs::exists(instructions)) {
    KW_TRY(const fs::path folder, profiles_folder());
    instructions = folder / "instructions.yaml";
  }
  KW_TRY(const std::string text, read_file(file, max_profile_bytes));
  KW_TRY(const std::string instruction_text, read_file(instructions, max_profile_bytes));
  // yaml-cpp reports errors by throwing.
  try {
    KW_TRY(DeviceProfile profile, parse_profile(text, file.string()));
    KW_TRY(profile.instructions, parse_instructions(instruction_text, instructions.string()));
    profile.digest = Sha256().add(text).add(instruction_text).hex();
    return profile;
  } catch (const YAML::Exception& error) {
    return Error{error.what(), "", {file.string(), error.mark.line + 1, error.mark.column + 1}};
  }
}

}  // namespace kw
