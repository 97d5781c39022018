#include "agents/agent/prompt_values.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/table.h"
#include "kernel/source/rules_unicode.h"
#include "kernel/source/sanitise.h"

namespace kw {
namespace {

constexpr std::size_t findings_shown = 5;
constexpr std::size_t hints_shown = 4;
constexpr std::size_t hot_lines_shown = 5;
constexpr std::size_t resources_shown = 4;
constexpr std::size_t tried_shown = 8;
constexpr std::size_t compact_lines_shown = 4;
constexpr std::size_t message_bytes = 300;
constexpr std::size_t source_bytes = 120;

std::string one_line(std::string_view text, std::size_t bytes) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCharacter character = decode_utf8(text, at);
    const bool bad = !character.valid || character.code_point < 0x20 || is_hidden(character.code_point);
    if (line.size() + character.bytes > bytes) break;
    if (bad) {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      line += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  const std::size_t first = line.find_first_not_of(' '), last = line.find_last_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first, last - first + 1);
}

std::string line_of(std::string_view text, std::int64_t number) {
  std::size_t at = 0;
  for (std::int64_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n', at);
    if (number <= 0 || end == std::string_view::npos) return "";
    at = end + 1;
  }
  return number <= 0 ? "" : one_line(text.substr(at, text.substr(at).find('\n')), source_bytes);
}

std::string line_number(std::int64_t line) { return line > 0 ? std::to_string(line) : ""; }

std::string ratio_text(const std::optional<double>& ratio) {
  if (!ratio || !std::isfinite(*ratio)) return "";
  return *ratio < 10 ? fmt::format("{:.1f}", *ratio) : fmt::format("{:.0f}", *ratio);
}

std::string shape_text(const TensorSpec& tensor) {
  std::string text;
  for (const Expression& extent : tensor.shape) text += (text.empty() ? "" : ", ") + extent.text();
  return tensor.is_scalar() ? "a scalar" : fmt::format("shape ({})", text);
}

std::string_view short_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return "f32";
    case Dtype::float16:
      return "f16";
    case Dtype::bfloat16:
      return "bf16";
    case Dtype::float64:
      return "f64";
    case Dtype::int32:
      return "i32";
    case Dtype::int64:
      return "i64";
    case Dtype::int8:
      return "i8";
    case Dtype::uint8:
      return "u8";
    case Dtype::boolean:
      return "bool";
  }
  return "";
}

std::string compact_tensors(const std::vector<TensorSpec>& tensors) {
  std::string text;
  for (const TensorSpec& tensor : tensors) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", tensor.name, short_name(tensor.dtype));
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) text += (i == 0 ? "[" : ",") + tensor.shape[i].text();
    if (!tensor.is_scalar()) text += "]";
  }
  return text;
}

TemplateList finding_list(const std::vector<VerdictFinding>& findings, std::size_t most, std::string_view kernel) {
  TemplateList list;
  for (std::size_t i = 0; i < std::min(findings.size(), most); ++i)
    list.push_back({{"line", line_number(findings[i].line)},
                    {"kind", one_line(findings[i].kind, source_bytes)},
                    {"message", one_line(findings[i].message, message_bytes)},
                    {"advice", one_line(findings[i].advice, message_bytes)},
                    {"source", line_of(kernel, findings[i].line)}});
  return list;
}

void add_task(const Task& task, TemplateValues& values) {
  values["task"] = task.name;
  values["summary"] = task.summary;
  std::string pytorch = task.pytorch;
  while (!pytorch.empty() && pytorch.back() == '\n') pytorch.pop_back();
  values["pytorch"] = pytorch;
  values["launcher"] = task.launcher_declaration();
  values["signature"] = compact_signature(task);
  values["operation"] = compact_operation(task);
  TemplateList tensors, sizes;
  for (const auto* side : {&task.inputs, &task.outputs})
    for (const TensorSpec& tensor : *side)
      tensors.push_back({{"role", side == &task.inputs ? "input" : "output"},
                         {"name", tensor.name},
                         {"dtype", std::string(name_of(tensor.dtype))},
                         {"type", std::string(cuda_type_of(tensor.dtype))},
                         {"shape", shape_text(tensor)}});
  for (const Sizes& each : task.sizes_train) sizes.push_back({{"size", to_string(each)}});
  values["tensors"] = tensors;
  values["sizes"] = sizes;
}

void add_verdict(const Verdict& verdict, std::string_view kernel, TemplateValues& values) {
  values["status"] = std::string(to_string(verdict.status));
  values["status_text"] = one_line(verdict.summary, message_bytes);
  values["verdict"] = compact_verdict(verdict);
  const auto failed =
      std::count_if(verdict.cases.begin(), verdict.cases.end(), [](const CaseVerdict& one) { return !one.ok; });
  if (failed > 0) values["failed_cases"] = fmt::format("{} of {} cases fail.", failed, verdict.cases.size());
  values["findings"] = finding_list(verdict.findings, findings_shown, kernel);
  values["hints"] = finding_list(verdict.hints, hints_shown, kernel);
  if (verdict.time_us) values["time_us"] = fmt::format("{:.2f}", *verdict.time_us);
  values["time_source"] = one_line(verdict.time_source, source_bytes);
  values["speedup"] = ratio_text(verdict.speedup_naive);
  values["limiter"] =
      one_line(verdict.measured_limiter.empty() ? verdict.limiter : verdict.measured_limiter, source_bytes);
  TemplateList hot_lines, resources;
  for (const HotLine& hot : verdict.hot_lines)
    if (hot_lines.size() < hot_lines_shown)
      hot_lines.push_back({{"line", line_number(hot.line)},
                           {"share", fmt::format("{:.0f}", 100 * hot.share)},
                           {"reason", one_line(hot.reason, message_bytes)},
                           {"source", line_of(kernel, hot.line)}});
  for (const KernelUse& use : verdict.resources)
    if (resources.size() < resources_shown)
      resources.push_back({{"name", one_line(use.kernel, source_bytes)},
                           {"registers", std::to_string(use.registers)},
                           {"shared", bytes_text(static_cast<double>(use.shared_bytes))},
                           {"occupancy", fmt::format("{:.0f}", 100 * use.occupancy)},
                           {"limited_by", one_line(use.occupancy_limiter, source_bytes)},
                           {"spilled", use.spill_bytes > 0 ? bytes_text(use.spill_bytes) : ""}});
  values["hot_lines"] = hot_lines;
  values["resources"] = resources;
}

// Longer than any run of backticks in the kernel, so that the kernel cannot close it.
std::string fence_around(std::string_view kernel) {
  std::size_t longest = 2, run = 0;
  for (const char c : kernel) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

}  // namespace

std::string compact_signature(const Task& task) {
  return compact_tensors(task.inputs) + ">" + compact_tensors(task.outputs);
}

std::string compact_operation(const Task& task) {
  std::vector<std::string> lines;
  std::size_t indent = std::string::npos;
  for (std::size_t at = 0; at < task.pytorch.size();) {
    const std::size_t end = std::min(task.pytorch.find('\n', at), task.pytorch.size());
    std::string line = task.pytorch.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.starts_with("def reference(")) continue;
    indent = std::min(indent, first);
    lines.push_back(std::move(line));
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line.substr(indent);
  constexpr std::string_view word = "return ";
  return lines.size() == 1 && text.starts_with(word) ? text.substr(word.size()) : text;
}

std::string compact_verdict(const Verdict& verdict) {
  std::string text(to_string(verdict.status));
  std::size_t lines = 0;
  if (!verdict.correct) {
    for (const VerdictFinding& finding : verdict.findings)
      if (finding.line > 0 && lines++ < compact_lines_shown)
        text += fmt::format("\n{} {}", finding.line, one_line(finding.kind, source_bytes));
    return text;
  }
  if (const std::string speedup = ratio_text(verdict.speedup_naive); !speedup.empty()) text += " " + speedup + "x";
  if (!verdict.limiter.empty()) text += " " + one_line(verdict.limiter, source_bytes);
  for (const HotLine& hot : verdict.hot_lines)
    if (hot.line > 0 && lines++ < compact_lines_shown) text += fmt::format("\n{} {:.0f}%", hot.line, 100 * hot.share);
  return text;
}

std::vector<std::string> compact_keywords() {
  return {"<|gen|>",   "<|opt|>",     "<|test|>",   "<|level|>", "<|target|>",
          "<|tried|>", "<|verdict|>", "<|kernel|>", "<|end|>"};
}

std::string kernel_for_prompt(const std::string& kernel) {
  const std::string clean = sanitise(kernel);
  std::string text;
  text.reserve(clean.size());
  for (const char c : clean) {
    if (c == '\n')
      while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
    text += c;
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

TemplateValues prompt_values(const PromptRequest& request) {
  TemplateValues values;
  for (const char* name :
       {"task",    "summary",     "pytorch", "launcher",     "signature",   "operation",    "level",
        "target",  "kernel",      "fence",   "status",       "status_text", "verdict",      "time_us",
        "speedup", "time_source", "limiter", "failed_cases", "device",      "short_answers"})
    values[name] = std::string();
  for (const char* name : {"tensors", "sizes", "findings", "hints", "hot_lines", "resources", "tried"})
    values[name] = TemplateList{};
  if (request.task != nullptr) add_task(*request.task, values);
  values["level"] = one_line(request.level, source_bytes);
  values["target"] = ratio_text(request.target);
  values["device"] = one_line(request.device, message_bytes);
  if (request.short_answers) values["short_answers"] = std::string("yes");
  const std::string kernel = kernel_for_prompt(request.kernel);
  values["kernel"] = kernel;
  values["fence"] = fence_around(kernel);
  if (request.verdict != nullptr) add_verdict(*request.verdict, kernel, values);
  TemplateList tried;
  const std::size_t skipped = request.tried.size() > tried_shown ? request.tried.size() - tried_shown : 0;
  for (std::size_t i = skipped; i < request.tried.size(); ++i) {
    const TriedKernel& before = request.tried[i];
    const std::string speedup = ratio_text(before.speedup);
    tried.push_back({{"number", std::to_string(i + 1)},
                     {"strategies", to_string(before.strategies)},
                     {"result", std::string(to_string(before.status)) + (speedup.empty() ? "" : " " + speedup + "x")}});
  }
  values["tried"] = tried;
  return values;
}

}  // namespace kw
