#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Values of a rule's parameters that are to be staged, in place of those that the uses need:
/// expressions over inames, which are swept as `sweep_inames` says.
struct FootprintSubscript {
  Exprs index;                              // null where the whole axis is meant
  std::vector<std::optional<Expr>> length;  // of those: values from 0 on
};

struct PrecomputeOptions {
  std::vector<std::string> sweep_inames;
  std::string tag;  // only uses `rule$tag`
  Match within;
  std::optional<std::vector<std::string>>
      storage_axes;                            // parameters and inames; absent: all needed
  std::vector<std::string> precompute_inames;  // by storage axis; empty names are chosen
  std::optional<std::vector<std::string>> precompute_outer_inames;
  std::map<std::string, std::string> storage_axis_to_tag;
  std::optional<std::string> default_tag;  // absent: `l.auto` where work-items share the buffer
  std::string temporary_name, compute_insn_id;
  AddressSpace temporary_address_space = AddressSpace::Auto;
  std::optional<Type> dtype;
  bool fetch_bounding_box = false;
  std::vector<FootprintSubscript> footprints;  // when given, uses outside of them stay as they are
  std::string subject;                         // what messages name; empty: the rule
  Span at;                                     // of the request
  Proof proof = Proof::Made;
};

/// Computes the values of a rule ahead of its uses and keeps them in a temporary.
///
///     for i: c[i] = f(i+1) - f(i)
///
/// becomes, with `i` swept,
///
///     for f_i: f_0[f_i] = <body of f at f_i>
///     for i: c[i] = f_0[i+1] - f_0[i]
///
/// The buffer is as large as the footprint: the values of the rule's parameters (and of inames that
/// its body names) over the swept inames, all other inames staying the same. Axes of length 1 are
/// dropped. The instruction that fills it runs exactly for the footprint where that is convex, else
/// under a condition; with `fetch_bounding_box`, for the box around it. Reductions in the body
/// whose bounds a swept loop sets get inames of their own, bounded by the buffer's.
///
/// Refuses  unknown-rule, unknown-iname; no-match; unused-sweep; not-swept;
///          non-affine-argument; missing-axis, unknown-axis; data-dependent-footprint,
///          unbounded-footprint, empty-footprint; domain-mismatch, bad-temporary; private-sweep,
///          swept-group; bad-outer-inames; stale-value and all that check_legal refuses
/// Cost     one walk over the instructions, isl per use and axis, and the proof
Kernel precompute(const Kernel& k, const std::string& rule, const PrecomputeOptions& o);

}  // namespace moonloop
