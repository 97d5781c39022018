#pragma once
// Test code: a short run in a process of its own that kills itself, or is killed, while it goes on.

#include <optional>

namespace kw {

// `program --killed-run FOLDER EVENTS AHEAD`: goes on with the run in the folder; kills itself with SIGKILL at the
// given event (a sampled token, an answer, a step; 0: never). When it ends, the weights' checksum is in FOLDER/weights.
std::optional<int> run_if_killed_run(int argc, char** argv);

}  // namespace kw
