#include "model/distributed/slots.h"

#include "base/random.h"
#include "model/distributed/ranks_for_tests.h"

namespace kw {
namespace {

struct Said {
  SlotNode node;
  std::string text;
};

std::vector<Said> added(std::int64_t first, std::int64_t end) {
  std::vector<Said> nodes;
  for (std::int64_t slot = first; slot < end; ++slot)
    append_slot(nodes, Said{{0, slot}, std::to_string(slot)},
                [](Said& left, const Said& right) { left.text = "(" + left.text + "+" + right.text + ")"; });
  return nodes;
}

TEST(Slots, AreAddedAlongOneTreeWhoeverHasWhich) {
  const auto whole = added(0, 8);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].text, "(((0+1)+(2+3))+((4+5)+(6+7)))");
  for (int size = 1; size <= 8; ++size) {
    std::vector<Said> nodes;
    for (int rank = 0; rank < size; ++rank) {
      const ShareRange own = share_of(8, rank, size);
      for (Said& node : added(own.begin, own.end))
        append_slot(nodes, std::move(node),
                    [](Said& left, const Said& right) { left.text = "(" + left.text + "+" + right.text + ")"; });
    }
    ASSERT_EQ(nodes.size(), 1u) << size;
    EXPECT_EQ(nodes[0].text, whole[0].text) << size;
  }
}

TEST(Slots, WhatCannotBeIsRefused) {
  EXPECT_TRUE(check_slots(1, nullptr).ok());
  EXPECT_TRUE(check_slots(1024, nullptr).ok());
  for (const std::int64_t slots : {-8, 0, 3, 12, 2048}) EXPECT_FALSE(check_slots(slots, nullptr).ok()) << slots;
  with_ranks(3, [](Communicator& ranks) {
    EXPECT_TRUE(check_slots(4, &ranks).ok());
    EXPECT_FALSE(check_slots(2, &ranks).ok());
  });
}

TEST(Slots, EverybodyLearnsWhatAllSlotsCameTo) {
  for (const int size : {1, 2, 3}) {
    with_ranks(size, [](Communicator& ranks) {
      std::vector<std::string> mine;
      const ShareRange own = own_slots(8, &ranks);
      for (std::int64_t slot = own.begin; slot < own.end; ++slot)
        mine.push_back(std::string(static_cast<std::size_t>(slot), 'x'));
      const auto all = share_slots(&ranks, 8, mine, 1000);
      ASSERT_TRUE(all.ok()) << to_string(all.error());
      ASSERT_EQ(all->size(), 8u);
      for (std::size_t slot = 0; slot < 8; ++slot) EXPECT_EQ((*all)[slot].size(), slot);
    });
  }
}

TEST(Slots, WorkIsSpreadOverThem) {
  EXPECT_EQ(slot_at(0, 100, 8), 0);
  EXPECT_EQ(slot_at(99, 100, 8), 7);
  EXPECT_EQ(slot_at(500, 100, 8), 7);
  EXPECT_EQ(slot_at(0, 0, 8), 0);
  EXPECT_EQ(slot_at(77, 100, 1), 0);
}

}  // namespace
}  // namespace kw
