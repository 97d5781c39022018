#include "model/distributed/slots.h"

#include <bit>

#include "base/bytes.h"
#include "base/check.h"

namespace kw {

Result<void> check_slots(std::int64_t slots, const Communicator* ranks) {
  if (slots < 1 || slots > most_slots || !std::has_single_bit(static_cast<std::uint64_t>(slots)))
    return Error{
        "slots are a power of two up to " + std::to_string(most_slots) + ", not " + std::to_string(slots), "", {}};
  if (slots < rank_count(ranks))
    return Error{std::to_string(slots) + " slots are too few for " + std::to_string(rank_count(ranks)) + " ranks",
                 "run.slots says how many parts a step has; a run keeps those that it began with",
                 {}};
  return {};
}

ShareRange own_slots(std::int64_t slots, const Communicator* ranks) {
  return share_of(slots, rank_number(ranks), rank_count(ranks));
}

Result<std::vector<std::string>> share_slots(Communicator* ranks, std::int64_t slots, std::vector<std::string> mine,
                                             std::uint64_t most_bytes) {
  KW_CHECK(static_cast<std::int64_t>(mine.size()) == own_slots(slots, ranks).size());
  if (rank_count(ranks) == 1) return mine;
  ByteWriter writer;
  for (const std::string& slot : mine) writer.text(slot);
  KW_TRY(const auto all, ranks->all_gather(writer.bytes(), most_bytes));
  std::vector<std::string> slots_of_all;
  for (int rank = 0; rank < ranks->size(); ++rank) {
    ByteReader reader(all[static_cast<std::size_t>(rank)]);
    const std::int64_t count = share_of(slots, rank, ranks->size()).size();
    for (std::int64_t i = 0; i < count; ++i) slots_of_all.push_back(reader.text());
    if (!reader.complete())
      return Error{"rank " + std::to_string(rank) + " sent something else than its slots",
                   "start all ranks with the same arguments",
                   {}};
  }
  return slots_of_all;
}

}  // namespace kw
