#include "app/cli/train_ranks.h"

#include <iostream>

#include "model/distributed/local_ranks.h"

namespace kw::cli {

void add_ranks_option(CLI::App& command, int& ranks) {
  command
      .add_option(
          "--ranks", ranks,
          "processes on this machine that train together; the result does not depend on how many (docs/cluster.md)")
      ->check(CLI::Range(1, most_ranks));
}

void run_with_ranks(Context& context, int ranks, const std::function<Result<void>(Communicator*)>& work) {
  const auto place = rank_place();
  if (!place.ok()) return fail(context, place.error());
  if (!*place && ranks > 0) {
    const auto code = run_local_ranks(ranks);
    if (!code.ok()) return fail(context, code.error());
    context.exit_code = *code;
    return;
  }
  if (!*place) {
    if (const auto done = work(nullptr); !done.ok()) fail(context, done.error());
    return;
  }
  if (ranks > 0 && ranks != (*place)->size)
    return fail(context,
                {fmt::format("{} has started {} ranks, --ranks wants {}", (*place)->launcher, (*place)->size, ranks),
                 "leave --ranks away",
                 {}});
  const auto joined = Communicator::join(**place);
  if (!joined.ok()) return fail(context, joined.error());
  const auto done = work(joined->get());
  if (done.ok()) return;
  (*joined)->fail(done.error());
  Error error = done.error();
  if ((*place)->size > 1)
    error.message = fmt::format("rank {} of {}: {}", (*place)->rank, (*place)->size, error.message);
  fail(context, error);
}

}  // namespace kw::cli
