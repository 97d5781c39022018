#pragma once
// One optimizer step that ranks share: the slots' gradients are added along their tree (model/distributed/slots.h),
// each rank gets the sum of its own range, moves it, and hands the moved values to the others. One process takes the
// same steps over the same slots, so it ends with the same bits.

#include <span>

#include "model/decoder/trainable_part.h"

namespace kw {

// Sums of all slots of all ranks into the parts' gradients, each in its rank's own range. What any rank has used, all
// have. `look`: whether all ranks have the same values is looked at, too. Null: this process has all slots.
Result<void> reduce_gradients(Communicator* ranks, std::span<TrainablePart* const> parts, bool look);

// Of the part's whole gradient; the same on all ranks.
Result<double> gradient_squares(ThreadTeam& team, Communicator* ranks, const TrainablePart& part);

// Everybody's moved values, on all ranks.
Result<void> gather_values(Communicator& ranks, std::span<TrainablePart* const> parts);

}  // namespace kw
