#include "transforms/split_parts.h"

#include "core/order/reference.h"
#include "core/order/reordered.h"
#include "transforms/new_inames.h"
#include "transforms/tag_inames.h"

namespace moonloop {

SplitParts::SplitParts(const Kernel& k, const std::string& iname, bool tagged_check,
                       const std::string& outer_iname, const std::string& inner_iname,
                       const std::string& outer_tag, const std::string& inner_tag, Proof proof)
    : proof_(proof) {
  if (const InameTag* tag = k.tag(iname); tag && tagged_check)
    refuse("tagged-iname", k.at, "`{}` is tagged `{}`; split it first, then tag the parts", iname,
           tag->text);
  was_tagged_ = k.tag(iname) != nullptr;
  NewInames names(k);
  outer = names.take(outer_iname, iname + "_outer");
  inner = names.take(inner_iname, iname + "_inner");
  outer_tag_ = tag_for(k, outer, outer_tag);
  inner_tag_ = tag_for(k, inner, inner_tag);
}

Kernel SplitParts::tagged(const Kernel& k, Kernel split) const {
  if (outer_tag_) split.iname_tags[outer] = *outer_tag_;
  if (inner_tag_) split.iname_tags[inner] = *inner_tag_;
  return reordered(k, std::move(split), proof_);
}

Kernel SplitParts::tagged_in_place(const Kernel& k, Kernel split) const {
  if (outer_tag_ || inner_tag_ || was_tagged_) return tagged(k, std::move(split));
  return keep_reference(k, std::move(split));
}

std::vector<Param> split_params(Param amount, std::vector<Param> more) {
  std::vector<Param> out{{.name = "split_iname",
                          .kind = Kind::Str,
                          .help = "the loop to split",
                          .required = true,
                          .positional = true}};
  out.push_back(std::move(amount));
  out.insert(out.end(),
             {{.name = "outer_iname",
               .kind = Kind::Str,
               .help = "name of the outer loop",
               .fallback = "<iname>_outer"},
              {.name = "inner_iname",
               .kind = Kind::Str,
               .help = "name of the inner loop",
               .fallback = "<iname>_inner"},
              {.name = "outer_tag", .kind = Kind::Str, .help = "tag of the outer loop"},
              {.name = "inner_tag", .kind = Kind::Str, .help = "tag of the inner loop"}});
  out.insert(out.end(), more.begin(), more.end());
  out.insert(out.end(), {{.name = "do_tagged_check",
                          .kind = Kind::Bool,
                          .help = "refuses a loop with a tag; otherwise the tag is dropped",
                          .fallback = "true"},
                         {.name = "within",
                          .kind = Kind::Match,
                          .help = "splits the loop for these instructions only"},
                         unsafe_option()});
  return out;
}

}  // namespace moonloop
