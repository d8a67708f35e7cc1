#include <algorithm>
#include <map>

#include "core/infer/reductions.h"
#include "core/order/reference.h"

namespace moonloop {
namespace {

/// Two inames of these that number the same axis, and its tag.
struct Clash {
  std::string first, second, tag;
};
std::optional<Clash> axis_clash(const Kernel& k, const std::set<std::string>& inames) {
  std::map<std::pair<TagKind, int>, std::string> taken;
  for (const std::string& i : inames) {
    const InameTag* tag = k.tag(i);
    if (!tag || (tag->kind != TagKind::Group && tag->kind != TagKind::Local)) continue;
    const auto [other, fresh] = taken.try_emplace({tag->kind, tag->axis}, i);
    if (!fresh) return Clash{other->second, i, tag->text};
  }
  return std::nullopt;
}

/// The same for a statement, whose reductions may use an axis one after the other.
std::optional<Clash> axis_clash(const Kernel& k, const InsnPtr& insn) {
  const auto clash = axis_clash(k, all_inames(k, *insn));
  if (!clash || axis_clash(k, insn->inames)) return clash;
  Kernel alone = k;
  alone.instructions = {insn};
  for (const InsnPtr& part : realize_reductions(alone).instructions)
    if (auto within = axis_clash(k, part->inames)) return within;
  return std::nullopt;
}

}  // namespace

void require_distinct_axes(const Kernel& k) {
  const bool any = std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                               [](const auto& t) { return t.second.axis >= 0; });
  if (!any) return;
  const std::set<std::string>* clear = nullptr;  // the latest inames without a clash
  for (const InsnPtr& insn : k.instructions) {
    const bool plain = !may_reduce(k, *insn);
    if (plain && clear && *clear == insn->inames) continue;
    if (const auto clash = axis_clash(k, insn))
      refuse("axis-taken", insn->at, "`{}` and `{}` would both be `{}` around instruction `{}`",
             clash->first, clash->second, clash->tag, insn->id);
    if (plain) clear = &insn->inames;
  }
}

}  // namespace moonloop
