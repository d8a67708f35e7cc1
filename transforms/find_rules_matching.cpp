#include "transforms/find_rules_matching.h"

#include "core/model/match.h"
#include "transforms/registry.h"

namespace moonloop {

std::vector<std::string> find_rules_matching(const Kernel& k, const std::string& pattern) {
  std::vector<std::string> out;
  for (const Rule& r : k.rules)
    if (glob_match(pattern, r.name)) out.push_back(r.name);
  return out;
}

extern const Op find_rules_matching_op;
const Op find_rules_matching_op{
    .name = "find_rules_matching",
    .doc = R"(Lists the substitution rules whose names match a shell-style pattern.

The list may be empty.)",
    .params = {{.name = "pattern",
                .kind = Kind::Str,
                .help = "such as \"u_acc*\"",
                .required = true,
                .positional = true}},
    .example_kernel = R"(kernel rules(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
f(x) := x*a[x]
b[i] = f(i)
)",
    .example = R"(for _, name in ipairs(lp.find_rules_matching(knl, "f*")) do
  knl = lp.expand_subst(knl, name)
end)",
    .run = {},
    .query =
        [](const Kernel& k, const Args& a) {
          ValueList out;
          for (std::string& name : find_rules_matching(k, a.str("pattern")))
            out.push_back(Value{std::move(name)});
          return Value{std::move(out)};
        },
};

}  // namespace moonloop
