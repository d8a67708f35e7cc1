// The fluxes of an atmosphere model among Loo.py's own tests, done by Moonloop: two kernels become
// one, whose fluxes are staged in memory that is shared.
#include "tests/runtime/loopy_kit.h"
#include "transforms/fuse_kernels.h"

using namespace moonloop;
using namespace moonloop::test;

namespace {

/// Derivatives along one axis of each element's cube: `there` is where a flux is taken.
Kernel derivatives(const std::string& name, const std::string& there, const std::string& row,
                   int jacobian) {
  const auto g = [&](int n) { return "G[e, " + std::to_string(n) + ", " + there + "]"; };
  const auto q = [&](int n) { return "Q[e, " + std::to_string(n) + ", " + there + "]"; };
  std::string text =
      "kernel " + name + R"((els: int32, G: float64[els, 5, 4, 4, 4], D: float64[4, 4],
    Q: float64[els, 3, 4, 4, 4], rhs: inout float64[els, 3, 4, 4, 4])
domain {[e, k, j, i, n]: 0 <= e < els and 0 <= k, j, i, n < 4}
assume els >= 1
for e, k, j, i, n
  with {tags=prep}
)";
  text += "    <> U = " + q(0) + "\n    <> V = " + q(1) + "\n    <> R = 1 + " + q(2) + "\n";
  text += "    <> Jx = " + g(jacobian) + "\n    <> Jy = " + g(jacobian + 1) + "\n";
  text += R"(    <> P = sqrt(R)
    <> along = (Jx*U + Jy*V)/R
  end
  <> JD = G[e, 4, k, j, i]*D[)" +
          row + R"(, n]
  <> fu = U*along + Jx*P
  <> fv = V*along + Jy*P
  <> fr = R*along
  rhs[e, 0, k, j, i] = rhs[e, 0, k, j, i] - JD*fu  {id=u}
  rhs[e, 1, k, j, i] = rhs[e, 1, k, j, i] - JD*fv  {id=v}
  rhs[e, 2, k, j, i] = rhs[e, 2, k, j, i] - JD*fr  {id=r}
end
)";
  return parsed(text);
}

/// Both directions in the loops over elements and points, each with a loop of its own for its sum.
Kernel both_directions() {
  Composition c = fuse_kernels(
      {derivatives("across", "k, j, n", "i", 0), derivatives("down", "k, n, i", "j", 2)},
      {.suffixes = {"_r", "_s"}});
  Kernel k = c.kernel;
  for (const auto& [later, earlier] : c.shared)
    if (earlier != "n")
      k = step(k, "rename_iname", {word(later), word(earlier)}, {{"existing_ok", Value{true}}});
  return prioritize(k, "e, k, j, i");
}

}  // namespace

TEST_CASE("as in Loo.py: fluxes in two directions, in memory of the group that they share") {
  const Kernel original = both_directions();
  REQUIRE(original.has_iname("n_0"));
  run_everywhere(original, original, {{"els", "2"}});
  bool lanes = false;
  SUBCASE("one layer at a time") {}
  SUBCASE("two layers side by side") { lanes = true; }

  Kernel k = tag(original, "e:g.0, j:l.1, i:l.0");
  k = prefetch(k, "D[:, :]", "", with(kShared, "fetch_outer_inames", word("e")));
  for (const char* direction : {"_r", "_s"})
    for (const char* name : {"U", "V", "R", "Jx", "Jy", "P", "along", "JD"})
      k = step(k, "assignment_to_subst", {word(std::string(name) + direction)});
  if (lanes) k = split(k, "k", 2, "", "ilp");

  const std::string more = lanes ? ", k_inner" : "", layer = lanes ? ", kk" : "";
  std::map<std::string, std::vector<std::string>> stores;
  for (const char* flux : {"fu", "fv", "fr"})
    for (const char* direction : {"_r", "_s"}) {
      const std::string name = std::string(flux) + direction;
      const bool across = std::string(direction) == "_r";
      k = step(k, "assignment_to_subst", {word(name)});
      k = precompute(k, name + "_subst", (across ? "j, n" : "i, n_0") + more,
                     {{"temporary_name", word("store_" + name)},
                      {"precompute_inames", word((across ? "jj, ii" : "ii, jj") + layer)},
                      {"default_tag", Value{false}}});
      k = step(k, "tag_array_axes",
               {word("store_" + name), word(lanes    ? "N1, N0, N2"
                                            : across ? "N1, N0"
                                                     : "N0, N1")});
      stores[direction].push_back("store_" + name);
    }
  for (const char* id : {"v", "r"}) {
    const std::string loop = std::string("_") + id;
    k = step(k, "duplicate_inames", {word("n"), word(std::string("id:") + id), word("n" + loop)});
    k = step(k, "duplicate_inames",
             {word("n_0"), word(std::string("id:") + id + "_0"), word("m" + loop)});
  }
  k = tag(k, lanes ? "ii:l.0, jj:l.1, kk:ilp" : "ii:l.0, jj:l.1");
  // A flux is stored where the one before is not needed any more.
  for (const auto& [later, before] : {std::pair("fv_r_subst", "u"),
                                      {"fr_r_subst", "v"},
                                      {"fv_s_subst", "u_0"},
                                      {"fr_s_subst", "v_0"}})
    k = step(k, "add_dependency",
             {word(std::string("id:") + later), word(std::string("id:") + before)});
  for (const auto& [direction, all] : stores) k = step(k, "alias_temporaries", {names(all)});
  if (!lanes) k = prefetch(k, "Q[e, :, k, jj, ii]", "", kShared);
  for (const char* id : {"u", "v", "r"}) {
    ValueDict terms{{"init_expression", word("0")}, {"store_expression", word("base + buffer")}};
    terms.emplace_back("within", word(std::string("id:") + id + " or id:" + id + "_0"));
    terms.emplace_back("default_tag", word("for"));
    k = lanes ? step(k, "buffer_array", {word("rhs"), word("k_inner")}, terms)
              : step(k, "buffer_array", {word("rhs"), names({})}, terms);
  }
  for (const char* els : {"1", "3"}) run_everywhere(k, original, {{"els", els}});
  CHECK(count(generate(k, Target::OpenCL).source, "__local double temp_storage") == 2);
}
