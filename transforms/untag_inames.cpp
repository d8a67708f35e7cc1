#include "transforms/untag_inames.h"

#include "core/model/lookup.h"
#include "core/order/reordered.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// `g` names all tags `g.N`.
bool is_of_type(const InameTag& tag, const std::string& type) {
  return type.empty() || tag.text == type ||
         (tag.text.starts_with(type) && tag.text[type.size()] == '.');
}

}  // namespace

Kernel untag_inames(const Kernel& k, const std::vector<std::string>& inames,
                    const std::string& tag_type, Proof proof) {
  Kernel out = k;
  for (const std::string& iname : inames_like(k, inames)) {
    const InameTag* tag = k.tag(iname);
    if (!tag) refuse("untagged-iname", k.at, "`{}` has no tag", iname);
    if (!is_of_type(*tag, tag_type))
      refuse("untagged-iname", k.at, "`{}` has no tag `{}`; it is tagged `{}`", iname, tag_type,
             tag->text);
    out.iname_tags.erase(iname);
  }
  return reordered(k, std::move(out), proof);
}

extern const Op untag_inames_op;
const Op untag_inames_op{
    .name = "untag_inames",
    .doc = R"(Takes the tags off inames: their loops run in order again.

Refuses an iname without a tag, or with a tag other than the one named.)",
    .params = {{.name = "iname_to_untag",
                .kind = Kind::Names,
                .help = "inames or shell-style patterns",
                .required = true,
                .positional = true},
               {.name = "tag_type",
                .kind = Kind::Str,
                .help = "the tag to take off, such as \"unr\", \"g.0\" or \"g\"; any if absent",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1
)",
    .example = R"(knl = lp.tag_inames(knl, "i:par")
knl = lp.untag_inames(knl, "i", "par"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return untag_inames(k, a.names("iname_to_untag"), a.str("tag_type"), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
