#include "app/cli/data_export_verl.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <set>

#include "app/cli/example_prompts.h"
#include "base/interrupt.h"
#include "kernel/task/task_json.h"
#include "learn/data/parquet.h"
#include "learn/data/store.h"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;

// VERL reads `prompt` as messages, gives ground_truth and extra_info to compute_score, and every column to an agent
// loop. The task itself is the ground truth, so that a row needs no file beside it.
const std::vector<ParquetColumn>& verl_columns() {
  using enum ParquetType;
  static const std::vector<ParquetColumn> columns{{"data_source", text},
                                                  {"role", text, "prompt", true},
                                                  {"content", text, "prompt", true},
                                                  {"ability", text},
                                                  {"style", text, "reward_model"},
                                                  {"ground_truth", text, "reward_model"},
                                                  {"index", integer, "extra_info"},
                                                  {"split", text, "extra_info"},
                                                  {"task", text, "extra_info"},
                                                  {"role", text, "extra_info"},
                                                  {"kernel", text, "extra_info"}};
  return columns;
}

class VerlRows {
 public:
  static Result<VerlRows> create(const VerlExport& wanted) {
    if (wanted.out.empty()) return Error{"a Parquet file needs a name", "give it with --out", {}};
    KW_TRY(ExamplePrompts prompts, ExamplePrompts::make(wanted.style));
    KW_TRY(ParquetWriter table, ParquetWriter::create(wanted.out, verl_columns()));
    return VerlRows(std::move(prompts), std::move(table));
  }

  // A line of a store; others than questions to the Generator and the Optimizer are passed over.
  Result<void> add(Json line) {
    const std::string kind = text_at(line, "kind"), name = text_at(line.at("task"), "name");
    if (kind == "report") return {};
    const bool generator = kind == "generate";
    if (generator && !asked_.insert(name).second) return {};
    // How far to go is the policy's to find out.
    line.erase("level");
    KW_TRY_VOID(prompts_.add(line));
    std::vector<std::string> roles, contents;
    for (const Json& message : line.value("messages", Json::array())) {
      roles.push_back(message["role"]);
      contents.push_back(message["content"]);
    }
    if (roles.empty()) {
      roles = {"user"};
      contents = {line["prompt"]};
    }
    const std::string split = text_at(line, "split");
    const std::string kernel = text_at(line, "kernel");
    return table_.add_row({"kernelwright/" + split, roles, contents, std::string("cuda"), std::string("rule"),
                           dumped(line.at("task")), table_.rows(), split, name,
                           std::string(generator ? "generator" : "optimizer"),
                           generator ? ParquetCell() : ParquetCell(kernel)});
  }

  Result<std::uint64_t> finish() {
    KW_TRY_VOID(table_.finish());
    return static_cast<std::uint64_t>(table_.rows());
  }

 private:
  VerlRows(ExamplePrompts prompts, ParquetWriter table) : prompts_(std::move(prompts)), table_(std::move(table)) {}

  ExamplePrompts prompts_;
  ParquetWriter table_;
  std::set<std::string> asked_;
};

Error stopped(const VerlExport& wanted) { return Error{"stopped", "the file is not written", {wanted.out, 0, 0}}; }

Result<void> add_store(const VerlExport& wanted, VerlRows& rows) {
  KW_TRY(const std::vector<Shard> shards, open_store(wanted.folder));
  if (shards.empty())
    return Error{"no finished shard here", "make one with kernelwright data make", {wanted.folder, 0, 0}};
  for (const Shard& shard : shards) {
    KW_TRY(std::vector<Json> lines, read_shard(shard));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (interrupted()) return stopped(wanted);
      const Position where{shard.file.string(), static_cast<int>(i) + 1, 0};
      if (!lines[i].is_object() || !lines[i].contains("task")) return Error{"not an example", "", where};
      if (!wanted.kind.empty() && text_at(lines[i], "kind") != wanted.kind) continue;
      if (const auto added = rows.add(std::move(lines[i])); !added.ok())
        return Error{added.error().message, added.error().advice, where};
    }
  }
  return {};
}

Result<void> add_drawn(const VerlExport& wanted, VerlRows& rows) {
  StreamOptions options = wanted.stream;
  options.naive_too = true;  // what a speedup is stated against
  const ExampleStream stream(options);
  for (std::uint64_t i = 0; i < wanted.count; ++i) {
    if (interrupted()) return stopped(wanted);
    const DrawnTask drawn = stream.task_at(wanted.first + i);
    KW_TRY_VOID(rows.add({{"kind", "generate"}, {"split", name_of(options.split)}, {"task", task_json(drawn.task)}}));
  }
  return {};
}

}  // namespace

Result<std::uint64_t> export_for_verl(const VerlExport& wanted) {
  KW_TRY(VerlRows rows, VerlRows::create(wanted));
  KW_TRY_VOID(wanted.folder.empty() ? add_drawn(wanted, rows) : add_store(wanted, rows));
  return rows.finish();
}

}  // namespace kw::cli
