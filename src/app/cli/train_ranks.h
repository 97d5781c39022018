#pragma once
// Training commands as one of several ranks: `--ranks N`, or what torchrun, mpirun or srun have started.

#include <functional>

#include "app/cli/command.h"
#include "model/distributed/communicator.h"

namespace kw::cli {

void add_ranks_option(CLI::App& command, int& ranks);

// Calls `work` with the ranks that this process is one of, with null where there are none, or starts `ranks` processes
// that do. An error of `work` is shown here and told to the other ranks.
void run_with_ranks(Context& context, int ranks, const std::function<Result<void>(Communicator*)>& work);

}  // namespace kw::cli
