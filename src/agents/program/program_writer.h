#pragma once
// What write_program() works with; for its own sources only. write_program.cpp has the file and the launches,
// write_stages.cpp one kernel for each kind of node, write_reductions.cpp the loops of reductions, ContractionWriter
// matrix products and convolutions on tensor cores, AttentionWriter attention.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agents/program/addressing.h"
#include "agents/program/attention.h"
#include "agents/program/contraction.h"
#include "agents/program/graph.h"
#include "agents/program/schedule.h"
#include "base/result.h"
#include "kernel/task/task.h"

namespace kw::program {

inline constexpr int threads_of_block = 256;
inline constexpr std::int64_t first_inner_axis = 1000;  // axes of reductions inside of a stage

// `i0`, and `k0` for an axis of a reduction inside of a stage.
std::string axis_name(std::int64_t place);
// `total += value;`
std::string combination_text(Combine combine, const std::string& total, const std::string& value);
// `begin(a, b, c)end` over as many lines as it takes.
std::string listed(const std::string& begin, const std::vector<std::string>& items, const std::string& end, int indent);
// How a value of one type is written where another one lies.
std::string stored_text(const std::string& value, Dtype computed, Dtype stored);
// An extent as a factor: `(n - 1)`.
std::string bracketed(const Extent& extent);
// By four columns more.
std::string indented(const std::string& lines);

// The body of a kernel while it is written.
struct KernelText {
  std::string lines;
  std::set<NodeId> reads;
  std::vector<std::string> sizes;  // each once
  std::set<std::int64_t> axes;
  std::map<std::string, std::string> scratch;  // what it reads that is no tensor of the graph: name and type
  int locals = 0;
  int indent = 1;

  void add(std::string_view line) {
    lines.append(static_cast<std::size_t>(indent) * 2, ' ');
    lines.append(line) += '\n';
  }
  bool has_size(const std::string& name) const { return std::find(sizes.begin(), sizes.end(), name) != sizes.end(); }
  void note(const Extent& extent) {
    for (std::string& name : extent.names())
      if (!has_size(name)) sizes.push_back(std::move(name));
  }
  // What a part of a kernel uses is used by the kernel.
  void take_over(const KernelText& part);
};

// Axes that are made from one number, the last one running fastest; those that the lines name.
using AxisExtent = std::pair<std::int64_t, Extent>;
void decode_axes(KernelText& kernel, const std::string& flat, const std::vector<AxisExtent>& axes,
                 const std::string& lines);

class ProgramWriter {
  friend class ContractionWriter;
  friend class AttentionWriter;

 public:
  ProgramWriter(const Task& task, Graph graph);
  Result<std::string> write();

 private:
  // What a reduction computes in each step, with axes of its own.
  struct Loop {
    TermId body = -1;  // resolved
    std::vector<std::int64_t> places;
  };

  // How a sum of float32 keeps its digits.
  enum class Adding : std::uint8_t { plain, in_parts, in_double };

  // Where a thread's loops over a long sum end a part of it: the loop's place, and its strip's length where it is cut.
  struct PartOfSum {
    int loop = -1, strip = 0;
  };

  struct OpenLoops {
    TermId body = -1;
    std::string part = {};  // what a part is added up in; empty: the sum has no parts
    int part_indent = 0;    // of the loop that ends a part
  };

  void soften_outputs();
  void name_tensors();
  std::string fresh(std::string name);
  std::string fresh_local(KernelText& kernel);
  bool is_output(NodeId id) const;
  Dtype stored_as(NodeId id) const;
  bool is_large(const Extent& count) const;
  bool wants_every_digit() const;

  std::vector<std::string> values_of(KernelText& kernel, const std::vector<TermId>& terms,
                                     const std::map<TermId, std::string>& known);
  void note_sizes(KernelText& kernel, const std::vector<TermId>& terms) const;
  std::string element_text(KernelText& kernel, const Term& load, const std::string& offset,
                           const std::map<TermId, std::string>& known);
  JoinedAxes joined_space(const std::vector<TermId>& roots, const Extents& shape);

  Result<void> write_stage(const Stage& stage);
  Result<void> write_scan(const Stage& stage);
  Result<void> write_scatter(const Stage& stage);
  Result<std::string> scatter_text(const Node& node, Dtype stored, const std::string& target,
                                   const std::string& value) const;

  Result<std::map<TermId, std::string>> write_reductions(KernelText& kernel, TermId body, const Stage& stage);
  Loop loop_of(const Node& node, std::vector<TermId> outer);
  Result<std::string> write_reduction(KernelText& kernel, const Node& node, const Loop& loop, const AxisMap& outer,
                                      bool block);
  Adding adding_of(const Node& node, TermId body, bool block) const;
  PartOfSum part_of_sum(const std::vector<Extent>& loops) const;
  OpenLoops open_loops(KernelText& kernel, const Node& node, const Loop& loop, const Extents& shape, TermId body,
                       bool in_parts);
  OpenLoops open_block_loop(KernelText& kernel, TermId body, const std::string& step, const std::string& type,
                            const Extent& length, bool cut);
  void open_part(KernelText& kernel, OpenLoops& loops);
  void write_step(KernelText& kernel, const Node& node, const std::string& total, const std::string& best,
                  const std::string& step, const std::string& value) const;
  std::string write_block_sum(KernelText& kernel, const Node& node, Dtype type, const std::string& total,
                              const std::string& best, bool wide);

  // `const int i1 = at % cols;` for each axis of a space from a flat place in it.
  void decode(KernelText& kernel, const std::string& flat, const std::string& type, const Extents& shape,
              const std::vector<std::string>& axes, const std::set<std::size_t>* wanted = nullptr);
  // Of a kernel, with the arguments of its launch. `target`: what it writes, with its type.
  std::pair<std::vector<std::string>, std::vector<std::string>> parameters_of(const KernelText& kernel,
                                                                              const std::string& target) const;
  void finish(const Stage& stage, KernelText& body, const Extents& space, bool block);
  std::string comment_of(const Stage& stage) const;
  std::string file() const;

  const Task& task_;
  const std::vector<Sizes> all_sizes_;
  Graph graph_;
  Sizes sizes_;
  Schedule schedule_;
  Addressing addressing_;
  std::set<std::string> taken_;
  std::vector<std::string> names_, kernels_;  // by node
  std::string kernels_text_, launches_text_;
  std::map<NodeId, Attention> attentions_;
  std::set<NodeId> kept_in_16_bits_;
  std::set<Arithmetic> contracted_, attended_;  // what contractions and attentions use
  int next_inner_ = 0, launches_ = 0;
};

}  // namespace kw::program
