#pragma once
// An episode as bytes, for another process of the same run: everything that happened, to the last bit. The request's
// task is not in it; who reads it asked for the same episode and knows the task.

#include <string>
#include <string_view>

#include "agents/episode/episode.h"

namespace kw {

std::string to_bytes(const Episode& episode);
// `request` is what the episode was asked for. Bytes that are no such episode are an error.
Result<Episode> episode_from_bytes(std::string_view bytes, EpisodeRequest request);

}  // namespace kw
