#include "transforms/start_at_zero.h"

#include <optional>

#include "core/rewrite/loop_values.h"
#include "transforms/map_domain.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Whether iterations keep their order without a proof if each is that much earlier: this is one
/// number in each iteration of the loops around that run in order, so earlier ones stay earlier.
/// Iterations of a loop that run at the same time would come to meet other ones.
bool stays_in_order(const Kernel& k, const Aff& earlier) {
  for (int p = 0; p < count(isl_aff_dim(earlier.get(), isl_dim_param)); ++p) {
    const auto at = unsigned(p);
    if (yes(isl_aff_involves_dims(earlier.get(), isl_dim_param, at, 1)) &&
        k.tag(isl_aff_get_dim_name(earlier.get(), isl_dim_param, at)))
      return false;
  }
  return true;
}

}  // namespace

Kernel start_at_zero(const Kernel& k, const std::string& iname, const std::string& name,
                     const Span& at) {
  require_iname(k, iname);
  if (const InameTag* tag = k.tag(iname))
    refuse("tagged-iname", k.at, "`{}` is tagged `{}`; let it start at zero first, then tag it",
           iname, tag->text);
  const std::optional<Aff> first = first_value(k, iname);
  if (!first)
    refuse("no-first", k.home_of(iname)->at,
           "`{}` has no first value that is one affine expression of parameters and of the loops "
           "around it",
           iname);
  if (yes(isl_aff_plain_is_zero(first->get())))
    refuse("starts-at-zero", k.home_of(iname)->at, "`{}` starts at zero as it is", iname);
  const std::string fresh = NewInames(k).take(name, iname + "_from_0");
  // As isl writes it: [parameters] -> { [(expression)] }.
  const std::string text = str(PwAff(isl_pw_aff_from_aff(first->copy())));
  const std::size_t brace = text.find('{');
  std::string value = text.substr(text.find('[', brace) + 1);
  value.resize(value.rfind(']'));
  const std::string map = fmt::format("{}{{ [{}] -> [{}] : {} = {} - {} }}", text.substr(0, brace),
                                      iname, fresh, fresh, iname, value);
  return map_domain(k, map, at, stays_in_order(k, *first) ? Proof::LeftOut : Proof::Made);
}

extern const Op start_at_zero_op;
const Op start_at_zero_op{
    .name = "start_at_zero",
    .doc =
        R"(Makes a loop's variable say how far an iteration is from the first one.

The order stays. Loops of parts of a nest, such as those in a block, then have bounds and conditions
in which the place of the block does not stand: these are cheaper, and more often constant.

Refuses a loop that starts at zero anyway, one whose first value is no single affine expression of
parameters and the loops around it, one that has a tag, and what map_domain refuses.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop",
                .required = true,
                .positional = true},
               {.name = "name", .kind = Kind::Str, .help = "of the new loop"}},
    .example_kernel = R"(kernel add(n: int32, y: float64[n], x: float64[n])
domain {[b]: 0 <= 64*b < n}
domain {[i]: 64*b <= i < 64*b + 64 and i < n}
y[i] = y[i] + x[i]
)",
    .example = R"(knl = lp.start_at_zero(knl, "i", {name = "lane"}))",
    .run = [](const Kernel& k,
              const Args& a) { return start_at_zero(k, a.str("iname"), a.str("name"), a.at()); },
    .query = {},
};

}  // namespace moonloop
