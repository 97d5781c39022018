#include "agents/episode/prompt_files.h"

#include "base/file.h"
#include "base/hash.h"

namespace kw {

Result<std::string> prompts_hash(const Dialect& dialect, const std::filesystem::path& folder) {
  const bool compact = dialect.style() == PromptStyle::compact;
  Sha256 hash;
  for (const AgentRole role : {AgentRole::generator, AgentRole::optimizer, AgentRole::tester})
    for (const char* part : {"", "_system", "_user"}) {
      if (compact != (*part == '\0')) continue;
      const std::string name = std::string(to_string(role)) + part + ".txt";
      KW_TRY(const std::string text, read_file(folder / (compact ? "compact" : "chatml") / name, max_template_bytes));
      hash.add(name).add(text);
    }
  return hash.hex();
}

}  // namespace kw
