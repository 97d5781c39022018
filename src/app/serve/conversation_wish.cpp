#include "app/serve/conversation_wish.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agents/grammar/problem.h"

namespace kw {
namespace {

constexpr std::int64_t max_turns = 20, max_samples = 64, max_answer_tokens = 8192;
constexpr std::size_t max_kernel_bytes = 64u << 10;
// As the command line has it: the likeliest answer when there is one, different ones when there are several.
constexpr double temperature_of_several = 0.8;

// What the service's own ids look like: as hard to guess, and unlike anybody else's.
bool is_conversation_id(std::string_view text) {
  constexpr std::string_view prefix = "conv-";
  return text.size() == prefix.size() + 32 && text.starts_with(prefix) &&
         text.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

// Which kernel it goes on with; the library's is one to begin with.
void read_from(RequestFields& fields, ConversationWish& wish) {
  const std::string from = fields.text("from", "best", 100);
  if (from != "best" && from != "last" && from != "library")
    return fields.refuse("from", "must be best, last or library");
  if (from == "library" && !wish.kernel.empty()) return fields.refuse("from", "is library, and there is a kernel, too");
  if (from == "library") wish.library = LibraryUse::begin;
  wish.options.from = from == "last" ? ContinueFrom::last : ContinueFrom::best;
}

}  // namespace

ConversationWish read_conversation_wish(RequestFields& fields, bool optimize) {
  ConversationWish wish;
  wish.optimize = optimize;
  wish.task = fields.value("task");
  if (wish.task.is_null()) fields.refuse("task", "is missing: a name of the suite, or {\"yaml\": the task's text}");
  wish.level = fields.text("level", "", 100);
  const auto levels = all_level_names();
  if (!wish.level.empty() && std::find(levels.begin(), levels.end(), wish.level) == levels.end())
    fields.refuse("level", fmt::format("must be one of {}", fmt::join(levels, ", ")));
  wish.model = fields.text("model", "", 256);
  wish.user = fields.text("user", "", 256);
  wish.stream = fields.flag("stream", false);
  wish.id = fields.text("id", "", 100);
  if (!wish.id.empty() && !is_conversation_id(wish.id))
    fields.refuse("id", "must be conv- and 32 random hexadecimal digits");
  if (optimize) wish.kernel = fields.text("kernel", "", max_kernel_bytes);
  for (const char* key : {"kernel", "turns", "target", "from"})
    if (!optimize && fields.has(key)) fields.refuse(key, "belongs to /v1/optimize");

  auto options = episode_options(fields.text("reward", "weighted", 100));
  if (!options.ok()) {
    fields.refuse("reward", options.error().message);
    return wish;
  }
  wish.options = std::move(options).value();
  EpisodeOptions& chosen = wish.options;
  chosen.turns = optimize ? static_cast<int>(fields.integer("turns", 3, 1, max_turns)) : 1;
  chosen.samples = fields.integer("samples", optimize ? 4 : 1, 1, max_samples);
  chosen.seed = static_cast<std::uint64_t>(fields.integer("seed", 1, 0, INT64_MAX));
  chosen.temperature =
      static_cast<float>(fields.number("temperature", chosen.samples > 1 ? temperature_of_several : 0, 0, 100));
  chosen.top_p = static_cast<float>(fields.number("top_p", 1, 0, 1));
  chosen.answer_tokens = fields.integer("max_tokens", 1024, 1, max_answer_tokens);
  if (optimize && fields.has("target")) chosen.stop_speedup = fields.number("target", 1, 1e-6, 1e6);
  if (optimize) read_from(fields, wish);
  return wish;
}

}  // namespace kw
