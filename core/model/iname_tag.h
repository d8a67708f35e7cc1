#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/expr/expr.h"

namespace moonloop {

/// How a loop runs; core/model/iname_tags.def has one row or more for each.
enum class TagKind {
  Ord,
  Unroll,
  UnrollHint,
  Par,
  Simd,
  Group,
  Local,
  LocalAuto,
  Ilp,
  Vec,
  MatrixUnit,
};
struct InameTag {
  TagKind kind;
  int axis = -1;     // of Group, Local; N of UnrollHint
  std::string text;  // as written and printed
  Span at;
  bool operator==(const InameTag& o) const { return kind == o.kind && axis == o.axis; }
};

/// How the order relation treats the iterations of a loop.
enum class TagRun {
  InOrder,
  Threads,    // at the same time; they put their parts of a reduction together
  Vector,     // the same, of one loop's lanes
  Groups,     // at the same time
  WorkItems,  // members of a team, all of which run a statement before the next one
  Lanes,      // the same, within a work-item
};
TagRun run_of(TagKind kind);

/// A row of the table.
struct TagSpelling {
  enum class Argument { None, Axis, Number };
  enum class Targets { All, Hosts };
  TagKind kind;
  std::string_view text;  // N stands for the argument
  Argument argument;
  TagRun run;
  Targets targets;
  std::string_view help;
};
/// Without aliases, in the table's order.
const std::vector<TagSpelling>& tag_spellings();

/// Texts to offer: `for`, and all spellings, on the axes 0 to 2.
const std::vector<std::string>& common_tags();
/// All spellings, as a message lists them: "`ord`, `unr`, …".
std::string all_tags();

/// `g.0`, `unr`, `ord`, `for` (no tag) …; nothing for an unknown text.
std::optional<InameTag> parse_iname_tag(std::string_view text);
/// As written, else as the table has it.
std::string tag_text(const InameTag& tag);
/// Whether devices run such loops.
bool is_for_devices(TagKind kind);

bool is_work_item(const InameTag* tag);  // `l.N`, `l.auto`
bool is_lane(const InameTag* tag);       // `ilp`, `vec`
/// Either of them: not a loop of the tree, but a team, all of which run a statement before the next
/// one.
bool in_team(const InameTag* tag);
/// Threads or groups: loops of the tree whose iterations go to any free one.
bool is_spread(TagRun run);
bool is_spread(const InameTag* tag);  // `par`, `g.N`
/// Whether iterations of a loop with this tag may run at the same time (`par`, `g.N`, `simd`, …).
bool is_parallel(const InameTag* tag);
/// The same, except for those that combine their parts of a reduction (`par`, `simd`).
bool is_parallel_not_shared(const InameTag* tag);
bool is_never_parallel(const InameTag* tag);  // gives the sequential meaning

}  // namespace moonloop
