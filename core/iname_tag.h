#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/expr.h"

namespace moonloop {

/// How a loop runs.
enum class TagKind {
  Ord,         // sequential, order kept
  Unroll,      // `unr`
  UnrollHint,  // `unr_hint`, `unr_hint.N`
  Par,         // `par`: iterations may run at the same time
  Simd,        // `simd`
  Group,       // `g.N`
  Local,       // `l.N`
  LocalAuto,   // `l.auto`
  Ilp,         // `ilp`, `ilp.unr`, `ilp.seq`
  Vec,         // `vec`
  MatrixUnit,  // `mma`: in order, by the matrix units of the hardware where it has some
};
struct InameTag {
  TagKind kind;
  int axis = -1;     // of Group, Local; N of UnrollHint
  std::string text;  // as written and printed
  Span at;
  bool operator==(const InameTag& o) const { return kind == o.kind && axis == o.axis; }
};
/// `g.0`, `unr`, `ord`, `for` (no tag) …; nothing for an unknown text.
std::optional<InameTag> parse_iname_tag(std::string_view text);

}  // namespace moonloop
