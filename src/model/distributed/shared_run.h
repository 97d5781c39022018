#pragma once
// One run of several ranks: one log and one set of checkpoints, which are rank 0's; the others read what it says. All
// see the same folder (a shared file system, where they are on several machines).

#include <functional>
#include <memory>
#include <optional>

#include "base/run_log/checkpoints.h"
#include "base/run_log/run_log.h"
#include "model/distributed/communicator.h"

namespace kw {

// How long ranks wait for what rank 0 does alone: an exam, a vocabulary, a report.
inline constexpr double alone_s = 24 * 3600;

// Keeps nothing.
std::unique_ptr<RunLog> silent_log();

// Rank 0 first, the others when it is done: what it makes, they find. Null: just once.
template <class Function>
auto first_then_others(Communicator* ranks, const Function& function) -> decltype(function()) {
  const Communicator::Patience patience(ranks, alone_s);
  if (!is_first(ranks)) KW_TRY_VOID(ranks->barrier());
  auto result = function();
  if (ranks != nullptr && ranks->is_first() && result.ok()) KW_TRY_VOID(ranks->barrier());
  return result;
}

// The newest whole checkpoint as rank 0 sees it.
Result<std::optional<Checkpoint>> latest_of_all(Communicator* ranks, const Checkpoints& checkpoints);

// Rank 0 saves; `write` is called on every rank, with a folder that means something to rank 0 alone.
Result<void> save_for_all(Communicator* ranks, Checkpoints& checkpoints, std::int64_t step, std::optional<double> score,
                          const nlohmann::ordered_json& facts,
                          const std::function<Result<void>(const std::filesystem::path&)>& write);

}  // namespace kw
