// Bounds that depend on loops cut by chunk_iname.
#include "core/model/domain.h"
#include "core/model/joined_loops.h"
#include "core/sets/budget.h"
#include "tests/codegen/kit.h"
#include "transforms/chunk_iname.h"
#include "transforms/split_iname.h"

using namespace moonloop;

namespace {

Exprs subscripts(const Kernel& k) {
  Exprs out;
  for (const InsnPtr& i : k.instructions)
    for (const Expr& e : i->lhs)
      walk(e, [&](const Expr& x) {
        if (const auto* l = x.as<Load>()) out.insert(out.end(), l->index.begin(), l->index.end());
        return true;
      });
  return out;
}

/// Whether the instances are those of the loops where the names have their values, for small n.
bool same_instances(const Kernel& k, const std::vector<std::string>& loops,
                    const LoopJoiner::InValues& found) {
  std::vector<std::string> dims = loops;
  for (const auto& v : found.values) dims.push_back(v.name);
  Set after = to_dims(found.instances, dims);
  for (const auto& v : found.values) {
    const Expr value = index_add({v.start, var(v.inner)});
    const Expr is = Expr(Compare{CompareOp::Eq, var(v.name), value});
    after = isl_set_intersect(after.take(), to_condition(is, dims)->take());
    // No value is outside of its range.
    Set others = isl_set_complement(to_dims(v.range, {v.name}).take());
    if (!yes(isl_set_is_disjoint(after.get(), to_dims(others, dims).get()))) return false;
  }
  const Set before = domain_of(k, loops);
  after = to_dims(after, loops);
  bool same = true;
  for (int n = 0; n < 40; ++n) {
    const auto at = [n](const Set& s) {
      const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, "n");
      return p < 0 ? s : Set(isl_set_fix_si(s.copy(), isl_dim_param, unsigned(p), n));
    };
    same = same && yes(isl_set_is_equal(at(before).get(), at(after).get()));
  }
  return same;
}

Kernel rows(const std::string& i, const std::string& j) {
  return kernel("kernel rows(n: int32, a: float64[n + 9, 2*n + 9])\ndomain {[i]: " + i +
                "}\ndomain {[j]: " + j + "}\na[i, j] = 2*a[i, j] {id=s}\n");
}

}  // namespace

TEST_CASE("piece values: instances in terms of the loops that were cut") {
  const std::pair<std::string, std::string> domains[] = {
      {"0 <= i < n", "0 <= j <= i"},
      {"0 <= i < n", "0 <= j < i"},
      {"2 <= i < n", "n - i <= j < n"},
      {"0 <= i and 2*i < n", "0 <= j <= i mod 2"},
      {"0 <= i < n and i mod 3 = 1", "i <= j < n"},
      {"0 <= i < n", "0 <= j < n and i - 1 <= j <= i + 1"},
      {"0 <= i < n", "0 <= j < 2*i and j mod 2 = 0"},
  };
  for (const auto& [i, j] : domains) {
    CAPTURE(i);
    CAPTURE(j);
    const Kernel original = rows(i, j);
    const Kernel once = chunk_iname(original, "i", 4);
    const Kernel pieces[] = {once, chunk_iname(once, "i_inner", 3),
                             split_iname(chunk_iname(original, "i", 9), "i_outer", 2)};
    for (const Kernel& k : pieces) {
      std::vector<std::string> loops(k.instructions[0]->inames.begin(),
                                     k.instructions[0]->inames.end());
      const auto found = LoopJoiner(k).in_values(loops, subscripts(k));
      REQUIRE(found);
      CHECK(found->values.size() == (&k == &pieces[1] ? 2 : 1));
      CHECK(same_instances(k, loops, *found));
      CHECK(isl_set_n_basic_set(found->instances.get()) == 1);
    }
    // Loops that leave one of the value's inames open.
    CHECK_FALSE(LoopJoiner(once).in_values({"i_outer", "j"}, subscripts(once)));
  }
}

TEST_CASE("piece values: other beginnings than those of even pieces have no bounds in one part") {
  const auto found = [](const std::string& start, const std::string& domain) {
    const Kernel k = kernel("kernel f(n: int32, a: float64[n])\ndomain {[o, i]: " + domain +
                            "}\na[" + start + " + i] = 0\n");
    return LoopJoiner(k).in_values({"o", "i"}, subscripts(k)).has_value();
  };
  const std::string thirds =
      "(0 if o == 0 else n // 3 + min(1, n % 3) if o == 1 else "
      "2*(n // 3) + min(2, n % 3))";
  CHECK(found(thirds, "0 <= o <= 2 and i >= 0 and 3*i + o < n"));
  CHECK_FALSE(found(thirds, "0 <= o <= 2 and i >= 0 and 3*i + o <= n"));
  CHECK_FALSE(found(thirds, "0 <= o <= 2 and i >= -1 and 3*i + o < n"));
  CHECK_FALSE(found(thirds, "0 <= o <= 3 and i >= 0 and 3*i + o < n"));
  CHECK_FALSE(found("(0 if o == 0 else n // 3 if o == 1 else 2*(n // 3))",
                    "0 <= o <= 2 and i >= 0 and 3*i + o < n"));
  CHECK(found("(0 if o == 0 else 4 if o == 1 else 7)", "0 <= o <= 2 and i >= 0 and 3*i + o < 10"));
  CHECK_FALSE(
      found("(0 if o == 0 else 4 if o == 1 else 7)", "0 <= o <= 2 and i >= 0 and 3*i + o < 11"));
}

TEST_CASE("piece values: a triangle's bounds in pieces, and in pieces of pieces") {
  Kernel k = kernel(R"(
kernel lower(n: int32, a: float64[n, n], c: float64[n])
domain {[i, j]: 0 <= j <= i < n}
c[i] = c[i] + 2*a[i, j]
)");
  ChunkOptions in_parallel;
  in_parallel.outer_tag = "par";
  k = chunk_iname(k, "i", 16, in_parallel);
  CHECK_GOLDEN("triangle_in_pieces.c", generate(k, Target::OpenMP).source);
  CHECK_GOLDEN("triangle_in_pieces_of_pieces.c",
               generate(chunk_iname(k, "i_inner", 3), Target::OpenMP).source);
}

// Differential test, seeds 3886593 and 39819047: a case for each combination of pieces took the
// budget.
TEST_CASE("piece values: many pieces of pieces with quotients in their bounds") {
  Kernel k = kernel(R"(
kernel k(n: int32, b: float32[3*n + 12], p: float32[3*n + 12, 3*n + 12])
domain {[i]: 0 <= i and 2*i < n}
domain {[d]: 0 <= d <= i mod 2}
assume n >= 5
p[i, d] = p[i, d] + b[i + d]
)");
  k = chunk_iname(chunk_iname(k, "i", 4), "i_inner", 4);
  const IslBudget budget(5'000'000);
  const std::string source = function(generate(k, Target::C).source);
  CHECK(source.size() < 1500);
  CHECK(source.find("||") == std::string::npos);
}

// Differential test, seed 14500972: `k < n` was left out for what is known of `i`, and what is
// known of `i` relied on there being such an iteration of the piece.
TEST_CASE("piece values: iterations that a piece does not have are left out") {
  Kernel k = kernel(R"(
kernel k(n: int32, a: float64[n + 4], b: inout float64[n + 4])
domain {[i, j, k]: 0 <= j < i < n and 0 <= k < n and j - 1 <= k <= j + 1}
assume n >= 5
b[j + 1] = 0.25*(b[j + 2] + a[i + 3]) {if=i <= k}
)");
  const std::string source = function(generate(chunk_iname(k, "i", 2), Target::C).source);
  CHECK(source.find("if (i_outer + 2*i_inner + 1 < n)\n") != std::string::npos);
}

// Differential test, seed 17600281: a work-item's bound is not known outside of the loop over them.
TEST_CASE("piece values: of pieces of a loop that each work-item bounds") {
  Kernel k = kernel(R"(
kernel k(n: int32, p: int64[3*n + 12, 3*n + 12], cnt: in int32[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < len}
<int32> len = cnt[i] % 5              {inames=i}
p[n - i + 3, 0] = 1 - p[i + 1, j + 3] {inames=i:j}
)",
                    {{"i", "l.1"}});
  const std::string source =
      function(generate(chunk_iname(chunk_iname(k, "j", 2), "j_inner", 3), Target::C).source);
  // The loop over the pieces has the iterations of all work-items, and each has a condition.
  const std::size_t loop = source.find("for (int32_t j_inner_inner"),
                    items = source.rfind("for (int32_t i = 0");
  REQUIRE(loop != std::string::npos);
  CHECK(loop < items);
  CHECK(source.substr(loop, items - loop).find("len[") == std::string::npos);
}
