#include "app/cli/data_export.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>

#include "agents/agent/dialect.h"
#include "agents/grammar/problem.h"
#include "base/interrupt.h"
#include "kernel/judge/verdict.h"
#include "kernel/task/task_file.h"
#include "learn/data/parquet.h"
#include "learn/data/store.h"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string text_at(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What the model is asked and what it should say, as training asks it.
class Renderer {
 public:
  static Result<Renderer> make(PromptStyle style) {
    KW_TRY(const auto folder, prompts_folder());
    KW_TRY(PromptBook book, PromptBook::load(folder));
    return Renderer(style, std::move(book));
  }

  // Adds "prompt" (a text; for ChatML "messages" too) and "answer".
  Result<void> add(Json& line) const {
    const std::string kind = text_at(line, "kind");
    KW_TRY(const Task task, parse_task(dumped(line.at("task")), "store"));
    PromptRequest request;
    request.task = &task;
    request.kernel = text_at(line, "kernel");
    Verdict verdict;
    if (line.contains("verdict")) {
      KW_TRY(verdict, verdict_from_json(line["verdict"]));
      request.verdict = &verdict;
    }
    std::string said = text_at(line, "target");
    if (kind == "generate") {
      request.role = AgentRole::generator;
      request.level = level_text(text_at(line, "level"));
    } else if (kind == "report") {
      request.role = AgentRole::tester;
      said = compact_verdict(verdict);
    } else {
      request.role = AgentRole::optimizer;
    }
    KW_TRY(const Prompt prompt, book_.write(style_, request));
    line["prompt"] = prompt.text;
    if (style_ == PromptStyle::chatml) {
      Json messages = Json::array();
      for (const ChatMessage& message : prompt.messages)
        messages.push_back({{"role", message.role}, {"content", message.content}});
      line["messages"] = std::move(messages);
    }
    line["answer"] = answer_text(style_, request.role, said, request.kernel);
    return {};
  }

 private:
  Renderer(PromptStyle style, PromptBook book) : style_(style), book_(std::move(book)) {}

  // One word where every token counts, a phrase for a model that reads English.
  std::string level_text(const std::string& name) const {
    const auto level = level_from_name(name);
    return level && style_ == PromptStyle::chatml ? std::string(description_of(*level)) : name;
  }

  PromptStyle style_;
  PromptBook book_;
};

const std::vector<ParquetColumn>& table_columns() {
  using enum ParquetType;
  static const std::vector<ParquetColumn> columns{
      {"kind", text},         {"split", text},     {"seed", integer},     {"index", integer},       {"writer", text},
      {"level", text},        {"structure", text}, {"fingerprint", text}, {"prompt", text},         {"messages", text},
      {"answer", text},       {"task", text},      {"kernel", text},      {"verdict", text},        {"target", text},
      {"target_level", text}, {"mistake", text},   {"gain", number},      {"speedup_naive", number}};
  return columns;
}

// Nested values as JSON text.
ParquetCell cell_of(const Json& line, const ParquetColumn& column) {
  const auto found = line.find(column.name);
  if (found == line.end() || found->is_null()) return {};
  switch (column.type) {
    case ParquetType::text:
      return found->is_string() ? found->get<std::string>() : dumped(*found);
    case ParquetType::integer:
      return found->is_number_integer() ? ParquetCell(found->get<std::int64_t>()) : ParquetCell();
    case ParquetType::number:
      return found->is_number() ? ParquetCell(found->get<double>()) : ParquetCell();
  }
  return {};
}

class LineWriter {
 public:
  static Result<LineWriter> open(const ExportOptions& options) {
    LineWriter writer;
    if (options.format == ExportFormat::parquet) {
      if (options.out.empty()) return Error{"a Parquet file needs a name", "give it with --out", {}};
      KW_TRY(writer.table_, ParquetWriter::create(options.out, table_columns()));
    } else if (!options.out.empty()) {
      writer.name_ = options.out;
      writer.file_.open(options.out, std::ios::binary);
      if (!writer.file_) return Error{"cannot write", "does its folder exist?", {options.out, 0, 0}};
    }
    return writer;
  }

  Result<void> add(const Json& line) {
    if (!table_) {
      lines() << dumped(line) << "\n";
      return {};
    }
    std::vector<ParquetCell> cells;
    for (const ParquetColumn& column : table_columns()) cells.push_back(cell_of(line, column));
    return table_->add_row(cells);
  }
  Result<void> end_shard() { return table_ ? table_->end_group() : Result<void>(); }
  Result<void> finish() {
    if (table_) return table_->finish();
    lines().flush();
    if (!lines()) return Error{"writing failed; is the disk full?", "", {name_, 0, 0}};
    return {};
  }

 private:
  std::ostream& lines() { return name_.empty() ? std::cout : file_; }

  std::optional<ParquetWriter> table_;
  std::string name_;
  std::ofstream file_;
};

}  // namespace

Result<std::uint64_t> export_store(const ExportOptions& options) {
  KW_TRY(const std::vector<Shard> shards, open_store(options.folder));
  if (shards.empty())
    return Error{"no finished shard here", "make one with kernelwright data make", {options.folder, 0, 0}};
  std::optional<Renderer> renderer;
  if (options.style) {
    KW_TRY(renderer, Renderer::make(*options.style));
  }
  KW_TRY(LineWriter writer, LineWriter::open(options));
  std::uint64_t written = 0;
  for (const Shard& shard : shards) {
    KW_TRY(std::vector<Json> lines, read_shard(shard));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (interrupted()) return Error{"stopped", "the file is not complete", {options.out, 0, 0}};
      Json& line = lines[i];
      const Position where{shard.file.string(), static_cast<int>(i) + 1, 0};
      if (!line.is_object() || !line.contains("task")) return Error{"not an example", "", where};
      if (!options.kind.empty() && text_at(line, "kind") != options.kind) continue;
      if (renderer) {
        if (const auto made = renderer->add(line); !made.ok())
          return Error{made.error().message, made.error().advice, where};
      }
      KW_TRY_VOID(writer.add(line));
      ++written;
    }
    KW_TRY_VOID(writer.end_shard());
  }
  KW_TRY_VOID(writer.finish());
  return written;
}

}  // namespace kw::cli
