#include "learn/data/search_pairs.h"

#include <algorithm>

#include <fmt/format.h>

#include "agents/agent/constant_answer.h"
#include "agents/agent/kernel_constants.h"
#include "base/database/database.h"
#include "base/file.h"
#include "base/hash.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task_json.h"
#include "learn/data/judged_task.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_kernels = 100'000;

struct SearchedKernel {
  std::string text;
  Verdict verdict;
  bool measured = false;
};

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Error damaged(const std::filesystem::path& record, const std::string& why) {
  return {"the record of the search is damaged: " + why, "", {record.string(), 0, 0}};
}

// The newest measurement of each kernel, or the judge's verdict where there is none.
Result<std::map<std::string, SearchedKernel>> read_kernels(const std::filesystem::path& record,
                                                           const std::string& task) {
  if (!std::filesystem::exists(record)) return Error{"there is no such file", "", {record.string(), 0, 0}};
  KW_TRY(Database database, Database::open(record));
  auto query = database.prepare(
      "SELECT v.kernel, v.measurement, v.verdict FROM searches s JOIN search_verdicts v ON v.search = s.id "
      "WHERE s.task = ? ORDER BY s.id, v.kernel, v.measurement");
  if (!query.ok())
    return Error{"this is no record of searches", "name what optimize --store has written", {record.string(), 0, 0}};
  KW_TRY_VOID(query->bind(task));
  std::map<std::string, SearchedKernel> kernels;
  for (;;) {
    KW_TRY(const bool more, query->step());
    if (!more) break;
    const Json json = Json::parse(query->text(2), nullptr, false);
    if (json.is_discarded()) return damaged(record, "a verdict is no JSON");
    auto verdict = verdict_from_json(json);
    if (!verdict.ok()) return damaged(record, verdict.error().message);
    std::string text(query->text(0));
    SearchedKernel& kernel = kernels[text];
    const bool measured = verdict->time_source == "measured";
    // A measurement lacks what the first judgement says of the code.
    if (!kernel.text.empty() && verdict->ptx_fingerprint.empty())
      verdict->ptx_fingerprint = kernel.verdict.ptx_fingerprint;
    kernel = {std::move(text), std::move(*verdict), measured};
    if (kernels.size() > most_kernels) return Error{"the record has too many kernels", "", {record.string(), 0, 0}};
  }
  return kernels;
}

class PairMaker {
 public:
  PairMaker(const Task& task, const SearchPairOptions& options) : task_(task_json(task)), options_(options) {}

  SearchPairs of(const std::map<std::string, SearchedKernel>& kernels) {
    pairs_.kernels = kernels.size();
    std::vector<const SearchedKernel*> right;
    for (const auto& [text, kernel] : kernels) {
      if (!kernel.verdict.correct || !kernel.verdict.time_us || !(*kernel.verdict.time_us > 0)) continue;
      ++pairs_.right;
      if (options_.held_out_code.contains(kernel.verdict.ptx_fingerprint))
        ++pairs_.dropped["code of a held-out task of the suite"];
      else
        right.push_back(&kernel);
    }
    std::ranges::stable_sort(right, {}, [](const SearchedKernel* each) { return *each->verdict.time_us; });
    for (const SearchedKernel* kernel : right) add_pairs_of(*kernel, right);
    return std::move(pairs_);
  }

 private:
  // `faster` comes in the order of times.
  void add_pairs_of(const SearchedKernel& kernel, const std::vector<const SearchedKernel*>& faster) {
    bool any = false, constants = false;
    for (const SearchedKernel* target : faster) {
      if (target->measured != kernel.measured) continue;
      const double gain = *kernel.verdict.time_us / *target->verdict.time_us;
      if (gain < options_.least_gain || (any && constants)) break;
      const std::string change = constants ? "" : constants_between(kernel.text, target->text);
      if (any && change.empty()) continue;
      add(kernel, *target, gain, change);
      any = true;
      constants = constants || !change.empty();
    }
  }

  void add(const SearchedKernel& kernel, const SearchedKernel& target, double gain, const std::string& change) {
    Json line{{"kind", "optimise"},
              {"seed", 0},
              {"index", 0},
              {"split", "train"},
              {"writer", "search"},
              {"fingerprint", kernel.verdict.fingerprint},
              {"ptx_fingerprint", kernel.verdict.ptx_fingerprint},
              {"task", task_},
              {"kernel", kernel.text},
              {"verdict", verdict_extract(kernel.verdict)},
              {"target", target.text},
              {"target_fingerprint", target.verdict.fingerprint},
              {"gain", gain}};
    if (!change.empty()) line["constants"] = change;
    if (!change.empty()) ++pairs_.of_constants;
    pairs_.lines.push_back(std::move(line));
  }

  const Json task_;
  const SearchPairOptions& options_;
  SearchPairs pairs_;
};

}  // namespace

std::string constants_between(const std::string& kernel, const std::string& target) {
  const auto before = kernel_constants(kernel), after = kernel_constants(target);
  if (before.size() != after.size()) return "";
  std::string answer;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    // Constants may share places ("block 256", and of the launcher alone): what is left over changes nothing more.
    const std::string more = fmt::format("{}{} = {}", answer.empty() ? "" : ", ", before[i].name, after[i].value);
    const auto so_far = parse_constant_answer(answer + more, kernel);
    if (!so_far.ok()) return "";
    answer += more;
    if (so_far->kernel == target) return answer;
  }
  return "";
}

Result<SearchPairs> pairs_of_searches(const std::filesystem::path& record, const Task& task,
                                      const SearchPairOptions& options) {
  if (task.split == Split::holdout)
    return Error{"the task '" + task.name + "' is held out: kernels for it are for tests, not for training", "", {}};
  KW_TRY(const auto kernels, read_kernels(record, task.name));
  if (kernels.empty())
    return Error{"the record has no search of the task '" + task.name + "'", "", {record.string(), 0, 0}};
  return PairMaker(task, options).of(kernels);
}

Result<void> write_search_store(const std::filesystem::path& folder, const SearchPairs& pairs) {
  if (std::filesystem::exists(folder / "shard-00000.json"))
    return Error{"there is a store already", "give another folder", {folder.string(), 0, 0}};
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return Error{"cannot make the folder: " + problem.message(), "", {folder.string(), 0, 0}};
  std::string text;
  for (const Json& line : pairs.lines) text += text_of(line) + "\n";
  KW_TRY_VOID(write_file_atomic(folder / "shard-00000.jsonl", text, Durability::power_loss));
  const Json description{{"shard", 0},
                         {"bytes", text.size()},
                         {"sha256", sha256_hex(text)},
                         {"written", pairs.kernels},
                         {"right", pairs.right},
                         {"kept", {{"optimise", pairs.lines.size()}}},
                         {"dropped", pairs.dropped}};
  return write_file_atomic(folder / "shard-00000.json", text_of(description) + "\n", Durability::power_loss);
}

}  // namespace kw
