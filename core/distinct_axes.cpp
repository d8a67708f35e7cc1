#include <algorithm>
#include <map>

#include "core/reference.h"

namespace moonloop {

void require_distinct_axes(const Kernel& k) {
  const bool any = std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                               [](const auto& t) { return t.second.axis >= 0; });
  if (!any) return;
  for (const InsnPtr& insn : k.instructions) {
    std::map<std::pair<TagKind, int>, std::string> taken;
    for (const std::string& i : all_inames(k, *insn)) {
      const InameTag* tag = k.tag(i);
      if (!tag || (tag->kind != TagKind::Group && tag->kind != TagKind::Local)) continue;
      const auto [other, fresh] = taken.try_emplace({tag->kind, tag->axis}, i);
      if (!fresh)
        refuse("axis-taken", insn->at, "`{}` and `{}` would both be `{}` around instruction `{}`",
               other->second, i, tag->text, insn->id);
    }
  }
}

}  // namespace moonloop
