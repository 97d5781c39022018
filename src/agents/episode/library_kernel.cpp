#include "agents/episode/library_kernel.h"

#include <fmt/format.h>

#include "agents/program/read_program.h"
#include "agents/program/write_program.h"

namespace kw {
namespace {

std::string without_end(std::string sentence) {
  while (sentence.ends_with('.') || sentence.ends_with('\n')) sentence.pop_back();
  return sentence;
}

std::string no_kernel(const Error& why) {
  return fmt::format("The library has no kernel for this task: {}.", without_end(why.message));
}

// Why a judged kernel is not used; empty: it is.
std::string problem_of(const Verdict& verdict) {
  if (!rank_of(verdict).right)
    return fmt::format("The library's kernel is not used, it was judged {}: {}.", to_string(verdict.status),
                       without_end(verdict.summary));
  if (!verdict.time_us) return "The library's kernel is not used: it is right, and its time is not known.";
  return "";
}

}  // namespace

bool asks_library(const EpisodeRequest& request) {
  switch (request.library) {
    case LibraryUse::none:
      return false;
    case LibraryUse::baseline:
      return request.task->naive.empty();
    case LibraryUse::begin:
      return request.kernel.empty();
  }
  return false;
}

LibraryKernel library_kernel(const Task& task) {
  const auto graph = program::read_program(task);
  if (!graph.ok()) return {"", nullptr, no_kernel(graph.error())};
  const auto kernel = program::write_program(task, *graph);
  if (!kernel.ok()) return {"", nullptr, no_kernel(kernel.error())};
  return {*kernel, nullptr, ""};
}

std::shared_ptr<const Task> task_with_library(std::shared_ptr<const Task> task, const std::string& kernel) {
  if (!task->naive.empty()) return task;
  auto with = std::make_shared<Task>(*task);
  with->naive = kernel;
  with->naive_file = "library.cu";
  return with;
}

void take_library_kernel(Episode& episode, std::shared_ptr<const Task> task, std::shared_ptr<const Verdict> verdict) {
  LibraryKernel& library = episode.library.value();
  library.problem = problem_of(*verdict);
  library.verdict = std::move(verdict);
  if (!library.problem.empty()) return;
  EpisodeRequest& request = episode.request;
  if (request.task->naive.empty()) episode.naive_writer = KernelWriter::library;
  request.task = std::move(task);
  if (request.library != LibraryUse::begin) return;
  request.kernel = library.kernel;
  request.kernel_writer = KernelWriter::library;
  request.verdict = library.verdict;
}

std::string library_text(const Episode& episode) {
  if (!episode.library) return "";
  const LibraryKernel& library = *episode.library;
  const bool begins = episode.request.kernel_writer == KernelWriter::library;
  if (!library.problem.empty() || !library.verdict) return library.problem;
  const std::string time = fmt::format("{:.2f} us, {}", *library.verdict->time_us, library.verdict->time_source);
  if (episode.naive_writer != KernelWriter::library)
    return fmt::format("The conversation begins with the library's kernel ({}).", time);
  return fmt::format("Speedups are stated against the library's kernel ({}){}.", time,
                     begins ? ", which the conversation begins with" : "");
}

}  // namespace kw
