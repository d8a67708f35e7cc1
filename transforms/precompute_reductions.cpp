#include "core/model/lookup.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/precompute_plan.h"

namespace moonloop {

Expr with_own_reductions(Kernel& k, const Expr& value, const std::map<std::string, Expr>& swept,
                         const Set& known, const Span& at) {
  const std::set<std::string> old = reduction_inames(k, value);
  const std::set<std::string> bounding = inames_bounding(k, old);
  std::vector<std::string> outer;  // inames that stay
  std::vector<std::string> dims(old.begin(), old.end());
  Exprs equal_swept;
  for (const std::string& i : bounding) {
    dims.push_back(i);
    const auto s = swept.find(i);
    if (s == swept.end())
      outer.push_back(i);
    else
      equal_swept.push_back(Expr(Compare{CompareOp::Eq, var(i), s->second}));
  }
  Set points = domain_of(k, dims);
  const std::optional<Set> same = to_condition(conjunction(equal_swept), dims);
  ensure(same.has_value(), "the axes of a buffer are affine");
  points = isl_set_intersect(points.take(), same->copy());
  points = dims_to_params(std::move(points), outer);
  points = to_dims(std::move(points), {old.begin(), old.end()});
  points = gist_of_loops(points, all_to_params(known));

  const InameRewrite rename =
      add_renamed_domain(k, {old.begin(), old.end()}, std::move(points), at);
  return rewrite_inames(expand_rules(k, value), rename);
}

}  // namespace moonloop
