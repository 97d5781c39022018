#pragma once
// The right kernels of a search, kept by what they do and by what limits them: the few fastest of each pair of
// strategies and limiter. A kernel that is slower today but different may have the faster children.
//
// Parents are chosen best first, with exploration: a place that has been tried often comes later, and now and then
// any place is taken.

#include <map>
#include <string>
#include <vector>

#include "agents/search/candidate.h"
#include "base/random.h"

namespace kw {

inline constexpr std::size_t most_of_a_niche = 4;
inline constexpr std::size_t most_niches = 64;

struct Niche {
  std::string strategies;    // "shared_memory, tiling"
  std::string limiter;       // "dram bandwidth"
  std::vector<int> members;  // candidates, the fastest first; at most most_of_a_niche
  int tried = 0;             // times that a parent was taken from here
};

class Population {
 public:
  // What became of a right candidate.
  enum class Place { left_out, joined, leads };  // leads: the fastest of its niche now, or the first
  Place add(const Candidate& candidate);
  // Its time has changed: it was measured, or measured again.
  void update(const Candidate& candidate);
  // It was found to be wrong after all.
  void remove(int candidate);

  bool empty() const { return members_.empty(); }
  std::size_t size() const { return members_.size(); }
  // The one with the fastest member first.
  std::vector<Niche> niches() const;
  // -1: there is none.
  int fastest() const;
  // A parent for the next proposal; not empty. Counts as a try.
  int choose(Random& random);
  bool holds(int candidate) const { return members_.contains(candidate); }

 private:
  using Key = std::pair<std::string, std::string>;  // strategies, limiter
  struct Member {
    Key key;
    double us = 0;
  };
  void sort(Niche& niche);
  void drop_slowest_niche();

  std::map<Key, Niche> niches_;
  std::map<int, Member> members_;  // by candidate
};

}  // namespace kw
