#pragma once
// Which GPU this program uses. There is one answer for all of it: the judge's workers, PyTorch's references and times,
// models that are trained and sampled, counters. So the choice is made where all of them look, in CUDA_VISIBLE_DEVICES:
// whoever counts GPUs afterwards sees the chosen one alone, as number 0.

#include <string>

#include "base/result.h"

namespace kw {

// To be called before anything of CUDA is used. `number` counts as the driver does, within CUDA_VISIBLE_DEVICES where
// that is set. Whether there is such a GPU is only found where there is a list; otherwise by whoever opens it.
Result<void> choose_gpu(int number);

// For one of several equal processes of this machine: the GPU with its number among those that are there, beginning
// again with the first where they are fewer. It stays as it is where one was named, or where each process is shown one
// alone. Nothing is asked of the driver.
void choose_gpu_of_rank(int local_rank);

// Then a GPU that cannot be used is an error, not a reason to do without.
bool gpu_is_chosen();

// "there is no GPU 5: the machine has 1"; for who asked the driver and was shown none.
std::string no_such_gpu();

}  // namespace kw
