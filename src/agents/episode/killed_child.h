#pragma once
// Test code: conversations in a process of their own that is killed, or kills itself, while they go on.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kw {

// `program --killed-child STORE EVENTS OUT`: eight conversations, with the store; kills itself with SIGKILL at the
// given event (a token, an answer, a verdict, a turn; 0: never). What came of it is written to OUT as JSON.
std::optional<int> run_if_killed_child(int argc, char** argv);

}  // namespace kw
