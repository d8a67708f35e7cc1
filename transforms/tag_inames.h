#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

struct TagOptions {
  bool force = false;               // replaces tags that are there
  bool ignore_nonexistent = false;  // names and patterns that match no iname are passed over
  Proof proof = Proof::Made;
};

/// Sets how loops run.
///
///     for i: for j: c[i, j] = a[i, j]   becomes
///     parallel groups i: work-items j: c[i, j] = a[i, j]
///
/// \param tags  pairs of an iname or a shell-style pattern, and a tag: `ord`, `unr`, `unr_hint.N`,
///              `par`, `simd`, `g.N`, `l.N`, `l.auto`, `ilp`, `ilp.seq`, `vec`; `for` (no tag);
///              `like.other` (the tag of another iname); `unused.g` and `unused.l` (the first axis
///              that no iname has)
/// Refuses      unknown-iname, no-match  no such iname
///              bad-tag                  no such tag
///              tagged-iname             it has another tag, without `force`
///              axis-taken               an instruction would be in two loops on one axis
///              and all that check_legal refuses
Kernel tag_inames(const Kernel& k, const std::vector<std::pair<std::string, std::string>>& tags,
                  const TagOptions& o = {});

/// Fails `bad-tag` unless `text` is a tag that tag_inames takes for `iname`. An empty text and
/// `for` mean no tag: nothing.
std::optional<InameTag> tag_for(const Kernel& k, const std::string& iname, const std::string& text);

}  // namespace moonloop
