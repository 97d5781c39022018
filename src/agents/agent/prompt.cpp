#include "agents/agent/prompt.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/file.h"
#include "base/installed_files.h"
#include "model/tokenizer/unicode_text.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// One item in every list, so that names inside {{#each}} are checked too.
TemplateValues values_for_check() {
  Task task;
  task.inputs.push_back({});
  task.outputs.push_back({});
  task.sizes_train.push_back({});
  Verdict verdict;
  verdict.findings.push_back({});
  verdict.hints.push_back({});
  verdict.hot_lines.push_back({});
  verdict.resources.push_back({});
  PromptRequest request;
  request.task = &task;
  request.verdict = &verdict;
  request.tried.push_back({});
  return prompt_values(request);
}

Result<void> check_request(const PromptRequest& request) {
  if (request.task == nullptr) return Error{"a prompt needs a task", "", {}};
  const bool needs_kernel = request.role != AgentRole::generator;
  if (needs_kernel && request.kernel.empty())
    return Error{fmt::format("the {} needs a kernel", to_string(request.role)), "", {}};
  if (request.role == AgentRole::optimizer && request.verdict == nullptr)
    return Error{"the optimizer needs the verdict of its kernel", "", {}};
  if (request.kernel.size() > max_prompt_kernel_bytes)
    return Error{"the kernel is too long for a prompt", "at most 64 KiB", {}};
  if (!is_valid_utf8(request.kernel) || request.kernel.find('\0') != std::string::npos)
    return Error{"the kernel is no text", "", {}};
  return {};
}

std::string without_last_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Result<fs::path> prompts_folder() {
  return find_installed({"prompts", "KERNELWRIGHT_PROMPTS", "chatml/generator_user.txt", "the prompts were"});
}

Result<PromptBook> PromptBook::load(const fs::path& folder) {
  PromptBook book;
  const TemplateValues values = values_for_check();
  for (const AgentRole role : {AgentRole::generator, AgentRole::optimizer, AgentRole::tester})
    for (const char* pattern : {"compact/{}", "chatml/{}_system", "chatml/{}_user"}) {
      const std::string name = fmt::format(fmt::runtime(pattern), to_string(role));
      const fs::path file = folder / (name + ".txt");
      KW_TRY(const std::string text, read_file(file, max_template_bytes));
      if (!is_valid_utf8(text)) return Error{"not UTF-8", "", {file.string(), 0, 0}};
      KW_TRY(Template parsed, Template::parse(text, file.string()));
      KW_TRY(const std::string rendered, parsed.render(values));
      book.templates_.emplace(name, std::move(parsed));
    }
  return book;
}

Result<Prompt> PromptBook::write(PromptStyle style, const PromptRequest& request) const {
  KW_TRY_VOID(check_request(request));
  const TemplateValues values = prompt_values(request);
  const std::string role(to_string(request.role));
  Prompt prompt;
  prompt.style = style;
  if (style == PromptStyle::compact) {
    KW_TRY(std::string text, templates_.at("compact/" + role).render(values));
    prompt.text = without_last_line_end(std::move(text));
    return prompt;
  }
  for (const char* who : {"system", "user"}) {
    KW_TRY(std::string content, templates_.at("chatml/" + role + "_" + who).render(values));
    prompt.messages.push_back({who, without_last_line_end(std::move(content))});
  }
  prompt.text = chatml_text(prompt.messages);
  return prompt;
}

Result<std::string> PromptBook::system_message(AgentRole role) const {
  const Task no_task;
  PromptRequest request;
  request.role = role;
  request.task = &no_task;
  KW_TRY(std::string text,
         templates_.at(fmt::format("chatml/{}_system", to_string(role))).render(prompt_values(request)));
  return without_last_line_end(std::move(text));
}

}  // namespace kw
