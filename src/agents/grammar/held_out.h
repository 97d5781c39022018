#pragma once
// What is kept for evaluation. A problem's structure alone decides, so neither seed, names, sizes, constants, element
// type nor style can bring a held-out problem into training.

#include <span>

#include "agents/grammar/problem.h"

namespace kw {

enum class DataSplit : std::uint8_t {
  train,
  composition,  // parts that training knows, put together as it never does: about a tenth of all combinations
  novel,        // a family that training never shows
  suite,        // what a held-out task of tasks/ asks for: never drawn for anything
};
std::string_view name_of(DataSplit split);
std::optional<DataSplit> split_from_name(std::string_view name);

// Families that training never shows. None of them has a task in tasks/ with split train.
std::span<const Family> novel_families();

DataSplit split_of(const Problem& problem);
// The same when the structure is known already.
DataSplit split_of(const Problem& problem, const std::string& structure);

// From a structure's text alone, as stores hold it; nothing when it names no family.
std::optional<DataSplit> split_of_structure(std::string_view structure);

}  // namespace kw
