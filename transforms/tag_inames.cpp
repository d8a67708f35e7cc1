#include "transforms/tag_inames.h"

#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/counterexample.h"
#include "core/order/reordered.h"
#include "transforms/prioritize_loops.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// The first axis of its kind that no iname of `k` has.
std::string unused_axis(const Kernel& k, TagKind kind) {
  std::set<int> used;
  for (const auto& [iname, tag] : k.iname_tags)
    if (tag.kind == kind) used.insert(tag.axis);
  int axis = 0;
  while (used.contains(axis)) ++axis;
  return fmt::format("{}{}", kind == TagKind::Group ? "g." : "l.", axis);
}

/// Loops over groups are outermost, unless a priority says otherwise: a sequential loop, such as
/// one over time steps, moves into them. The step that keeps it outside and makes `tagged` legal;
/// empty where none does.
std::string step_that_helps(const Kernel& k, const Kernel& tagged) {
  for (const auto& [group, tag] : tagged.iname_tags) {
    if (tag.kind != TagKind::Group || k.tag(group)) continue;
    std::set<std::string> beside;  // loops in sequence around statements of this one
    for (const InsnPtr& i : k.instructions)
      if (i->inames.count(group))
        for (const std::string& n : i->inames)
          if (!tagged.tag(n)) beside.insert(n);
    constexpr std::size_t kMostTries = 4;  // each is a proof
    if (beside.size() > kMostTries) continue;
    for (const std::string& n : beside) try {
        Kernel first = prioritize_loops(k, {n, group});
        first.iname_tags = tagged.iname_tags;
        reordered(k, std::move(first));
        return fmt::format("prioritize_loops(\"{}, {}\")", n, group);
      } catch (const Error&) {}  // that one does not help
  }
  return {};
}

}  // namespace

std::optional<InameTag> tag_for(const Kernel& k, const std::string& iname,
                                const std::string& text) {
  if (text.empty() || text == "for") return std::nullopt;
  if (text.starts_with("like.")) {
    const std::string other = text.substr(5);
    require_iname(k, other);
    const InameTag* tag = k.tag(other);
    return tag ? std::optional(*tag) : std::nullopt;
  }
  if (text == "unused.g") return tag_for(k, iname, unused_axis(k, TagKind::Group));
  if (text == "unused.l") return tag_for(k, iname, unused_axis(k, TagKind::Local));
  const auto tag = parse_iname_tag(text);
  if (!tag)
    fail_for(
        text, "bad-tag", k.at,
        "no tag `{}` for iname `{}`; there are `for`, {}, `like.INAME`, `unused.g`, `unused.l`{}",
        text, iname, all_tags(), did_you_mean(text, common_tags()));
  return tag;
}

Kernel tag_inames(const Kernel& k, const std::vector<std::pair<std::string, std::string>>& tags,
                  const TagOptions& o) {
  Kernel out = k;
  std::map<std::string, std::string> given;
  for (const auto& [pattern, text] : tags)
    for (const std::string& iname : inames_like(k, {pattern}, o.ignore_nonexistent)) {
      const auto tag = tag_for(out, iname, text);
      const std::string shown = tag ? tag->text : "for";
      if (const auto [before, fresh] = given.try_emplace(iname, shown); !fresh) {
        if (before->second == shown) continue;
        refuse("tagged-iname", k.at, "`{}` is given two tags, `{}` and `{}`", iname, before->second,
               shown);
      }
      const InameTag* old = k.tag(iname);
      if (old && !o.force && !(tag && *tag == *old))
        refuse("tagged-iname", k.at, "`{}` is tagged `{}` already; `force = true` makes it `{}`",
               iname, old->text, shown);
      if (tag)
        out.iname_tags[iname] = *tag;
      else
        out.iname_tags.erase(iname);
    }
  try {
    return reordered(k, out, o.proof);
  } catch (const RefusedByCounterexample& e) {
    Diagnostic d = e.diagnostic();
    if (!d.hint.empty() || d.code != "races" || WithoutReasons::apply()) throw;
    const std::string step = step_that_helps(k, out);
    if (step.empty()) throw;
    d.hint = fmt::format("after `{}` it is legal", step);
    throw RefusedByCounterexample(std::move(d), *e.counterexample());
  }
}

namespace {

/// The table of tags, as text.
std::string tags_text() {
  std::string out = "The tags are ", line = out;
  const auto add = [&](const std::string& next) {
    if (line.size() + next.size() > 100) {
      out.back() = '\n';
      line.clear();
    }
    out += next + " ";
    line += next + " ";
  };
  for (const TagSpelling& s : tag_spellings())
    add(fmt::format("`{}` ({}{}),", s.text, s.help,
                    s.targets == TagSpelling::Targets::Hosts ? "; on `c` and `openmp`" : ""));
  add("and `for` (no tag).");
  out.back() = '\n';
  return out;
}

}  // namespace

extern const Op tag_inames_op;
const Op tag_inames_op{
    .name = "tag_inames",
    .doc =
        "Says how loops run.\n\n" + tags_text() +
        R"(`like.other` gives the tag of another iname, `unused.g` and `unused.l` the first axis that no iname
has. Inames may be shell-style patterns: "i*:unr".

Refuses a tag on a loop that the kernel's dependences do not let run that way, with two instances
that would run at the same time; a second tag on an iname, unless forced; two loops around one
instruction on the same axis.)",
    .params = {{.name = "iname_to_tag",
                .kind = Kind::Tags,
                .help = "tag by iname: {i = \"g.0\"} or \"i:g.0, j:l.0\"",
                .required = true,
                .positional = true},
               {.name = "force",
                .kind = Kind::Bool,
                .help = "replaces tags that are there",
                .fallback = "false",
                .positional = true},
               {.name = "ignore_nonexistent",
                .kind = Kind::Bool,
                .help = "passes over names that match no iname",
                .fallback = "false",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel copy(n: int32, a: float64[n, 4], c: float64[n, 4])
domain {[i, j]: 0 <= i < n and 0 <= j < 4}
c[i, j] = a[i, j]
)",
    .example = R"(knl = lp.tag_inames(knl, {i = "par", j = "unr"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return tag_inames(k, a.pairs("iname_to_tag"),
                            {.force = a.boolean("force"),
                             .ignore_nonexistent = a.boolean("ignore_nonexistent"),
                             .proof = a.proof()});
        },
    .query = {},
};

}  // namespace moonloop
