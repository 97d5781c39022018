#pragma once
// What happens in an episode, as the events that clients hear (docs/service.md lists them).

#include <memory>
#include <string>

#include "agents/episode/episode_engine.h"
#include "app/serve/conversation.h"

namespace kw {

// Each hook adds an event; tokens of a turn's first sample are passing ones.
EpisodeHooks events_of(std::shared_ptr<Conversation> conversation);

nlohmann::ordered_json begin_event(const Task& task, const EpisodeOptions& options, const std::string& kernel);
nlohmann::ordered_json end_event(const Result<Episode>& episode);

}  // namespace kw
