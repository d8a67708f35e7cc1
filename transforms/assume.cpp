#include "transforms/assume.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/rewrite/parameters.h"
#include "transforms/registry.h"

namespace moonloop {

Kernel assume(const Kernel& k, const std::string& assumption, const Span& at) {
  Set s = assumption.find('{') == std::string::npos ? parse_assumption(assumption, at)
                                                    : parse_set(assumption, at);
  if (!yes(isl_set_is_params(s.get())))
    fail("bad-domain", at,
         "`{}` is about a tuple; an assumption is about parameters, `[n] -> {{ : n > 0 }}`",
         assumption);
  const std::vector<std::string> known = parameters_of(k);
  for (const std::string& p : param_names(s)) {
    if (std::find(known.begin(), known.end(), p) != known.end()) continue;
    const char* what = k.has_iname(p)        ? " is an iname"
                       : k.find_temporary(p) ? " is computed"
                       : k.find_arg(p)       ? " is an array"
                                             : "";
    fail("unknown-parameter", k.at, "no parameter `{}` in kernel `{}`{}; it has {}", p, k.name,
         *what ? fmt::format(" (`{}`{})", p, what) : "",
         known.empty() ? "none" : quoted_list(known));
  }
  Kernel out = with_assumption(k, s);
  if (yes(isl_set_is_empty(out.assumptions.get())))
    refuse("empty-assumptions", k.at, "`{}` contradicts what kernel `{}` assumes{}", assumption,
           k.name, k.assumptions ? fmt::format(", `{}`", to_string(from_set(k.assumptions))) : "");
  return out;
}

extern const Op assume_op;
const Op assume_op{
    .name = "assume",
    .doc = R"(Adds an assumption about parameters, in isl's notation.

Transforms, checks and code may rely on it; running the kernel checks it.

Refuses names that are not parameters, and what contradicts the assumptions that are there.)",
    .params = {{.name = "assumption",
                .kind = Kind::Str,
                .help = "constraints such as \"n mod 16 = 0 and n >= 16\"",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1
)",
    .example = R"(knl = lp.assume(knl, "n mod 4 = 0")
knl = lp.split_iname(knl, "i", 4))",
    .run = [](const Kernel& k, const Args& a) { return assume(k, a.str("assumption"), a.at()); },
    .query = {},
};

}  // namespace moonloop
