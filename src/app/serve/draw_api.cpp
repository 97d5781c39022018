#include "app/serve/draw_api.h"

#include <algorithm>
#include <limits>

#include "agents/grammar/stream.h"
#include "app/serve/api_json.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

StreamOptions read_stream(RequestFields& fields) {
  StreamOptions options;
  options.naive_too = true;
  options.seed = static_cast<std::uint64_t>(fields.integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max()));
  const auto split = split_from_name(fields.text("split", "train", 100));
  if (!split || *split == DataSplit::suite) fields.refuse("split", "must be train, composition or novel");
  options.split = split.value_or(DataSplit::train);
  const auto novel = novel_families();
  for (const std::string& name : fields.texts("families", family_count)) {
    const auto family = family_from_name(name);
    const bool held_out = family && std::find(novel.begin(), novel.end(), *family) != novel.end();
    if (!family || held_out != (options.split == DataSplit::novel))
      fields.refuse("families", "has a family that this split does not have");
    else
      options.families.push_back(*family);
  }
  return options;
}

}  // namespace

HttpResponse draw_response(const HttpRequest& request) {
  RequestFields fields(request);
  const StreamOptions options = read_stream(fields);
  const std::int64_t first = fields.integer("first", 0, 0, std::numeric_limits<std::int64_t>::max() - most_drawn_tasks);
  const std::int64_t count = fields.integer("count", 1, 1, most_drawn_tasks);
  if (fields.problem()) return *fields.problem();
  const ExampleStream stream(options);
  Json tasks = Json::array();
  for (std::int64_t i = first; i < first + count; ++i) {
    const DrawnTask drawn = stream.task_at(static_cast<std::uint64_t>(i));
    tasks.push_back({{"index", i}, {"structure", drawn.structure}, {"task", task_json(drawn.task)}});
  }
  return json_response({{"tasks", std::move(tasks)}});
}

}  // namespace kw
