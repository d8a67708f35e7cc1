#include "transforms/split_iname.h"

#include "loop_kit.h"
#include "transforms/map_domain.h"

using namespace moonloop;

namespace {
const char* kScale = "kernel scale\ndomain {[i]: 0 <= i < n}\nc[i] = 2*a[i] {id=w}\n";
}

TEST_CASE("split_iname: the parts stand in the place of the loop") {
  const Kernel before = parsed(kScale);
  const Kernel k = split_iname(before, "i", 4);
  CHECK(line(k, "w") == "c[i_inner + 4*i_outer] = 2*a[i_inner + 4*i_outer]");
  CHECK(k.inames() == std::vector<std::string>{"i_outer", "i_inner"});
  CHECK(k.loop_order == std::vector<std::string>{"i_outer", "i_inner"});
  CHECK(same_set(k.domains[0].set,
                 "{[i_outer, i_inner]: 0 <= i_inner < 4 and 0 <= i_inner + 4*i_outer < n}"));
  CHECK(conserves(before, k));
  CHECK(tree(k) == "for i_outer\n  for i_inner\n    w\n");
}

TEST_CASE("split_iname: any domain and length keeps each instance") {
  for (const char* domain : {"{[i]: 0 <= i < n}", "{[i]: -7 <= i < n}", "{[i]: k <= i <= n}",
                             "{[i]: 0 <= i < n and i mod 3 = 1}", "{[i]: 0 <= i < 10}",
                             "{[i]: (0 <= i < 5) or (9 <= i < n)}"})
    for (const std::int64_t length : {1, 3, 16}) {
      CAPTURE(domain);
      CAPTURE(length);
      const Kernel before =
          parsed(std::string("kernel f\ndomain ") + domain + "\nc[i] = 1.0 {id=w}\n");
      CHECK(conserves(before, split_iname(before, "i", length)));
    }
}

TEST_CASE("split_iname: the parts of a rounded loop have bounds without quotients") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i and 16*floor(i/16) < n and 0 <= j and 8*floor(j/8) < n}\n"
      "domain [n, i] -> {[k]: 16*floor(i/16) <= k < n}\nc[i, j, k] = 1.0 {id=w}\n");
  const Kernel once = split_iname(before, "i", 16), both = split_iname(once, "j", 8);
  CHECK(conserves(before, once));
  CHECK(conserves(before, both));
  CHECK(str(both.domains[0].set) ==
        "[n] -> { [i_outer, i_inner, j_outer, j_inner] : i_outer >= 0 and 16i_outer < n and 0 <= "
        "i_inner <= 15 and j_outer >= 0 and 8j_outer < n and 0 <= j_inner <= 7 }");
  // What is inside of the loop says nothing about the place in a piece.
  CHECK(same_set(both.domains[1].set, "[i_outer, n] -> {[k]: 16*i_outer <= k < n}"));
  // Another length leaves it open what the quotient is.
  CHECK(str(split_iname(before, "i", 12).domains[0].set).find("floor") != std::string::npos);
  for (const std::int64_t length : {2, 3, 4, 5, 8, 12, 32, 48}) {
    CAPTURE(length);
    const Kernel k = split_iname(before, "i", length);
    CHECK(conserves(before, k));
    CHECK(conserves(before, split_iname(k, "i_outer", 4)));
    CHECK(conserves(before, split_iname(split_iname(k, "i_inner", 2), "j", length)));
  }
}

TEST_CASE("split_iname: triangular nests, also from a parent domain") {
  const Kernel one =
      parsed("kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j <= i}\nc[i, j] = 1.0 {id=w}\n");
  CHECK(conserves(one, split_iname(one, "i", 4)));
  CHECK(conserves(one, split_iname(split_iname(one, "j", 4), "i", 8)));
  const Kernel two = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\nc[i, j] = 1.0 {id=w}\n");
  const Kernel split = split_iname(two, "i", 4);
  CHECK(conserves(two, split));
  CHECK(same_set(all_to_params(split.domains[1].set),
                 "[i_outer, i_inner, j] -> { : 0 <= j <= i_inner + 4*i_outer}"));
}

TEST_CASE("split_iname: reductions bind both parts") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k < n}\nc[i] = sum(k, a[i, k]) {id=w}\n");
  const Kernel k = split_iname(before, "k", 8);
  CHECK(line(k, "w") == "c[i] = sum((k_outer, k_inner), a[i, k_inner + 8*k_outer])");
  CHECK(conserves(before, k));
}

TEST_CASE("split_iname: within splits some instructions and leaves the loop to the others") {
  const Kernel before =
      parsed("kernel f\ndomain {[i]: 0 <= i < n}\nb[i] = 1.0 {id=x}\nc[i] = 2.0 {id=y}\n");
  const Kernel k = split_iname(before, "i", 4, {.within = Match::parse("id:y")});
  CHECK(k.find_insn("x")->inames == std::set<std::string>{"i"});
  CHECK(k.find_insn("y")->inames == std::set<std::string>{"i_inner", "i_outer"});
  CHECK(k.has_iname("i"));
  CHECK(conserves(before, k));
  CHECK(message([&] { split_iname(before, "i", 4, {.within = Match::parse("id:z")}); }) ==
        "no instruction that `within` selects uses `i`");
}

TEST_CASE("split_iname: within copies a rule that both sides use") {
  const Kernel before = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ng(x) := x + i\n"
      "b[i] = g(1.0) {id=x}\nc[i] = g(2.0) {id=y}\n");
  const Kernel k = split_iname(before, "i", 4, {.within = Match::parse("id:y")});
  CHECK(line(k, "x") == "b[i] = g(1.0)");
  REQUIRE(k.rules.size() == 2);
  CHECK(to_string(expand_rules(k, k.find_insn("y")->rhs)) == "2.0 + (i_inner + 4*i_outer)");
  CHECK(conserves(before, k));
}

TEST_CASE("split_iname: a loop with slabs is not split again, which would forget them") {
  const Kernel k = split_iname(parsed(kScale), "i", 16, {.slabs = {0, 1}});
  CHECK(message([&] { split_iname(k, "i_outer", 4); }) ==
        "`i_outer` has slabs, which are first and last iterations of that loop alone; change the "
        "loop first, and ask for slabs with the last split");
  CHECK(message([&] {
          map_domain(k, "{[i_outer] -> [p]: p = 2 + i_outer}");
        }).starts_with("`i_outer` has slabs"));
  CHECK(message([&] { split_iname(k, "i_inner", 4); }) == "legal");
}

TEST_CASE("split_iname: names, tags, slabs and priorities") {
  Kernel before =
      parsed("kernel f\ndomain {[i, j]: 0 <= i < n and 0 <= j < n}\nc[i, j] = 1.0 {id=w}\n");
  before.priorities = {{"j", "i"}};
  const Kernel k = split_iname(before, "i", 4,
                               {.outer_iname = "io",
                                .inner_iname = "ii",
                                .outer_tag = "g.0",
                                .inner_tag = "unr",
                                .slabs = {1, 2}});
  CHECK(k.tag("io")->text == "g.0");
  CHECK(k.tag("ii")->text == "unr");
  CHECK(k.slabs.at("io") == std::pair<int, int>{1, 2});
  CHECK(k.priorities == std::vector<std::vector<std::string>>{{"j", "io", "ii"}});
}

TEST_CASE("split_iname: what it refuses") {
  const Kernel k = parsed(kScale);
  CHECK(message([&] { split_iname(k, "z", 4); }) == "no iname `z` in kernel `scale`; it has `i`");
  CHECK(message([&] { split_iname(k, "i", 0); }) ==
        "`i` cannot be split into pieces of length 0; it must be at least 1");
  CHECK(message([&] { split_iname(k, "i", 1LL << 40); }) ==
        "`i` cannot be split into pieces of length 1099511627776; inames are int32");
  CHECK(message([&] {
          split_iname(k, "i", 4, {.slabs = {0, -1}});
        }) == "slabs (0, -1) of `i` are not between 0 and 1000");
  CHECK(message([&] { split_iname(k, "i", 4, {.outer_iname = "a"}); }) ==
        "the name `a` is in use in kernel `scale`");
  CHECK(message([&] { split_iname(k, "i", 4, {.outer_iname = "i o"}); }) ==
        "`i o` is not a name: names are letters, digits and `_`");
  CHECK(message([&] { split_iname(k, "i", 4, {.outer_iname = "p", .inner_iname = "p"}); }) ==
        "two new inames are named `p`");
  CHECK(code_of([&] { split_iname(k, "i", 4, {.outer_tag = "q.0"}); }) == "bad-tag");
  const Kernel tagged = apply(k, "tag_inames", {text("i:par")});
  CHECK(message([&] { split_iname(tagged, "i", 4); }) ==
        "`i` is tagged `par`; split it first, then tag the parts");
  CHECK(split_iname(tagged, "i", 4, {.do_tagged_check = false}).iname_tags.empty());
}

TEST_CASE("split_iname: tags for the parts are proved") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 1 <= i < n}\na[i] = a[i-1] {id=w}\n");
  CHECK(message([&] { split_iname(k, "i", 4, {.inner_tag = "l.0"}); }) != "legal");
  CHECK(message([&] { split_iname(k, "i", 4, {.inner_tag = "unr"}); }) == "legal");
  const Kernel far = parsed("kernel f\ndomain {[i]: 4 <= i < n}\na[i] = a[i-4] {id=w}\n");
  CHECK(message([&] { split_iname(far, "i", 4, {.inner_tag = "par"}); }) == "legal");
  CHECK(code_of([&] { split_iname(far, "i", 5, {.inner_tag = "par"}); }) == "races");
}

TEST_CASE("split_iname: as a script calls it, and the step in the trace") {
  const Kernel k =
      apply(parsed(kScale), "split_iname", {text("i"), number(128)}, {{"outer_tag", text("par")}});
  REQUIRE(k.trace.size() == 1);
  CHECK(k.trace[0].name == "split_iname");
  CHECK(message([&] {
          apply(k, "split_iname", {text("j"), number(4)});
        }) ==
        "bad argument #2 to 'split_iname' (kernel 'scale' has no iname 'j'; it has i_outer, "
        "i_inner)");
}

TEST_CASE("unsafe leaves the proof out and lists the claim") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 1 <= i < n}\na[i] = a[i-1] {id=w}\n");
  CHECK(code_of([&] {
          apply(k, "split_iname", {text("i"), number(4)}, {{"inner_tag", text("par")}});
        }) == "races");
  const Kernel u = apply(k, "split_iname", {text("i"), number(4)},
                         {{"inner_tag", text("par")}, {"unsafe", flag(true)}});
  REQUIRE(u.claims.size() == 1);
  CHECK(u.claims[0].kind == Claim::Kind::Unsafe);
  CHECK(u.claims[0].step == "split_iname(\"i\", 4, {inner_tag = \"par\", unsafe = true})");
  CHECK(u.reference == nullptr);
}
