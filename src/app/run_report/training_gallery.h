#pragma once
// Conversations worth reading, chosen by rule from what a run has kept: those that gained most, repaired something, are
// typical, or failed.

#include <string>
#include <vector>

#include "agents/episode/episode.h"
#include "app/run_report/run_parts.h"
#include "base/page/html_report.h"

namespace kw {

struct Pick {
  std::size_t index = 0;
  std::string why;  // "largest gain", "repaired", "typical", "failed"
};
// At most `most`, each kind in turn, no task twice while there are others.
std::vector<Pick> chosen_conversations(const std::vector<Episode>& episodes, std::size_t most);

// What cannot be read is added to `missing`.
std::vector<ReportConversation> training_gallery(const RunParts& parts, std::size_t most,
                                                 std::vector<std::string>& missing);

}  // namespace kw
