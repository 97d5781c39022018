#include "app/cli/train_ranks.h"

#include <fmt/format.h>

#include "kernel/gpu/gpu_choice.h"
#include "model/distributed/local_ranks.h"
#include "model/distributed/nccl.h"

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
  // Before anything of CUDA is used, whatever it will be used for.
  choose_gpu_of_rank((*place)->local_rank);
  prepare_shared_gpu((*place)->rank);
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
