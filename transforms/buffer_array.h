#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"
#include "core/order/reordered.h"

namespace moonloop {

struct BufferOptions {
  std::vector<std::string> buffer_inames;  // the buffer holds what these run over
  Expr init_expression;                    // over `base`; null: `base`
  Expr store_expression;                   // over `base` and `buffer`; null: `buffer`
  bool init = true;                        // false: all of it that is stored is written before
  bool store = true;
  Match within;
  std::optional<std::string> default_tag;  // absent: `l.auto` where work-items share the buffer
  std::string temporary_name;              // `<array>_buf`
  AddressSpace temporary_scope = AddressSpace::Auto;
  bool fetch_bounding_box = false;
  /// A subscript that is not affine may be any of its axis: all of the axis is in the buffer.
  bool whole_axes = false;
  /// All selected accesses are part of updates `c[e] = c[e] op x` of one operation, of which
  /// `init_expression` is the neutral element and that `store_expression` applies: the caller has
  /// proved it. Stores are updates too, of elements whose buffer is no longer neutral; atomic ones
  /// inside of loops. Updates of a buffer that work-items share are atomic.
  bool updates = false;
  Span at;
  Proof proof = Proof::Made;
};

/// Lets instructions work on a copy of part of an array, which is filled before and written back
/// after.
///
///     for j: for i: c[i] = c[i] + a[i, j]
///
/// becomes, with `j` and `i` as buffer inames,
///
///     for c_init_0: c_buf[c_init_0] = c[c_init_0]
///     for j: for i: c_buf[i] = c_buf[i] + a[i, j]
///     for c_store_0: c[c_store_0] = c_buf[c_store_0]
///
/// Only elements that are written are stored. `init_expression = "0"` with
/// `store_expression = "base + buffer"` is for accumulations: the caller says that their terms may
/// be added in another order.
///
/// Refuses  unknown-array, unknown-iname; no-match; unused-sweep; not-swept; non-affine-argument,
///          linear-access, sub-array; data-dependent-footprint, unbounded-footprint;
///          private-sweep, swept-group; not-proved (the values of the expressions); lost-store;
///          undefined-buffer; stale-value (another instruction uses the array in between) and all
///          that check_legal refuses
/// Cost     one walk over the instructions, isl per access and axis, and the proof
Kernel buffer_array(const Kernel& k, const std::string& array, const BufferOptions& o);

}  // namespace moonloop
