#pragma once
// The library of kernels (agents/program) in a conversation: for a task that has no naive kernel it writes the one that
// speedups are stated against, and a conversation may begin with it.

#include <memory>
#include <string>

#include "agents/episode/episode.h"

namespace kw {

// Whether the library's kernel is written and judged before the conversation begins.
bool asks_library(const EpisodeRequest& request);

// Not judged yet. Where the program is not understood there is no kernel, and `problem` names the construct.
LibraryKernel library_kernel(const Task& task);

// The task that it is judged for: with it as the naive kernel, unless there is one.
std::shared_ptr<const Task> task_with_library(std::shared_ptr<const Task> task, const std::string& kernel);

// Its verdict has come, for `task`. Where it is right and has a time, the conversation is about that task, and begins
// with the kernel if that was wanted. Else nothing changes, and `problem` says why.
void take_library_kernel(Episode& episode, std::shared_ptr<const Task> task, std::shared_ptr<const Verdict> verdict);

// "Speedups are stated against the library's kernel (12.30 us, modelled).", or why they are not. Empty: it was not
// asked, or has not been judged yet.
std::string library_text(const Episode& episode);

}  // namespace kw
