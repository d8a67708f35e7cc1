#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/lookup.h"
#include "transforms/registry.h"

/// Shared by the transforms that make two loops of one.
namespace moonloop {

/// The loops that come of a split. The checks are made where it is constructed.
class SplitParts {
 public:
  /// `options` has outer_iname, inner_iname, outer_tag, inner_tag, do_tagged_check and proof.
  /// Fails `tagged-iname`, `bad-name`, `name-taken`, `bad-tag`.
  template <typename Options>
  SplitParts(const Kernel& k, const std::string& iname, const Options& o)
      : SplitParts(k, iname, o.do_tagged_check, o.outer_iname, o.inner_iname, o.outer_tag,
                   o.inner_tag, o.proof) {}

  /// `split`, which `k` became, with the parts' tags. Fails `axis-taken` and as check_legal does.
  Kernel tagged(const Kernel& k, Kernel split) const;
  /// The same where `split` is all of `k`'s loop cut into consecutive pieces. Without tags the two
  /// loops then take its place and run the same in the same order: nothing to check.
  Kernel tagged_in_place(const Kernel& k, Kernel split) const;

  std::string outer, inner;

 private:
  SplitParts(const Kernel& k, const std::string& iname, bool tagged_check,
             const std::string& outer_iname, const std::string& inner_iname,
             const std::string& outer_tag, const std::string& inner_tag, Proof proof);

  std::optional<InameTag> outer_tag_, inner_tag_;
  bool was_tagged_ = false;
  Proof proof_;
};

/// The parameters of a row that splits the loop `split_iname`: by `amount`, with `more` options.
std::vector<Param> split_params(Param amount, std::vector<Param> more = {});

/// The options that all have, from a row's arguments.
template <typename Options>
Options split_options(const Args& a) {
  Options o;
  o.outer_iname = a.str("outer_iname");
  o.inner_iname = a.str("inner_iname");
  o.outer_tag = a.str("outer_tag");
  o.inner_tag = a.str("inner_tag");
  o.do_tagged_check = a.boolean("do_tagged_check", true);
  o.within = Match::parse(a.str("within"), a.at());
  o.proof = a.proof();
  return o;
}

}  // namespace moonloop
