#include "agents/reward/turn_credit.h"

#include <cmath>
#include <map>
#include <tuple>

namespace kw {

std::vector<double> credit_immediate_and_final(const std::vector<TurnReward>& turns, double final_reward,
                                               const FinalCredit& rule) {
  std::vector<double> credit(turns.size(), 0.0);
  double discounted = final_reward;
  for (std::size_t i = turns.size(); i-- > 0; discounted *= rule.discount) {
    if (turns[i].role == AgentRole::tester) continue;
    credit[i] = rule.immediate * turns[i].reward + rule.final_share * discounted;
  }
  return credit;
}

std::vector<double> credit_discounted_later(const std::vector<TurnReward>& turns, double discount) {
  std::vector<double> credit(turns.size(), 0.0);
  double later = 0;
  for (std::size_t i = turns.size(); i-- > 0;) {
    if (turns[i].role == AgentRole::tester) continue;
    later = turns[i].reward + discount * later;
    credit[i] = later;
  }
  return credit;
}

std::vector<double> advantage_leave_one_out(const std::vector<SampledTurn>& turns) {
  struct Sum {
    double values = 0;
    double turns = 0;
  };
  using Group = std::pair<std::string, AgentRole>;
  std::map<Group, Sum> groups;
  std::map<std::pair<Group, std::int64_t>, Sum> own;
  for (const SampledTurn& turn : turns) {
    const Group group(turn.task, turn.role);
    for (Sum* sum : {&groups[group], &own[{group, turn.sample}]}) {
      sum->values += turn.value;
      sum->turns += 1;
    }
  }
  std::vector<double> advantage;
  advantage.reserve(turns.size());
  for (const SampledTurn& turn : turns) {
    const Group group(turn.task, turn.role);
    const Sum &all = groups[group], &mine = own[{group, turn.sample}];
    const double others = all.turns - mine.turns;
    const bool comparable = turn.role != AgentRole::tester && others > 0;
    advantage.push_back(comparable ? turn.value - (all.values - mine.values) / others : 0.0);
  }
  return advantage;
}

}  // namespace kw
