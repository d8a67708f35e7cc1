#include <doctest/doctest.h>

#include <algorithm>

#include "core/model/memo.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "tests/one_kernel.h"

using namespace moonloop;

namespace {

Kernel tagged(Kernel k, const std::vector<std::pair<std::string, std::string>>& tags) {
  for (const auto& [iname, tag] : tags) k.iname_tags[iname] = *parse_iname_tag(tag);
  return k;
}

/// The refusal's message, or `legal`.
std::string verdict(const Kernel& k) {
  try {
    check_legal(k);
    return "legal";
  } catch (const Refused& e) { return e.diagnostic().text; }
}
std::string code(const Kernel& k) {
  try {
    check_legal(k);
    return "legal";
  } catch (const Refused& e) { return e.diagnostic().code; }
}

Kernel with_order(const Kernel& k, const std::vector<std::string>& outer_to_inner) {
  Kernel after = k;
  after.priorities.push_back(outer_to_inner);
  return keep_reference(k, after);
}

}  // namespace

TEST_CASE("legality: a temporary of two loops is private in each that writes it first") {
  const std::string head =
      "kernel f(n, a: float64[n], b: float64[n], c: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ntemp t: float64\n";
  const auto loops = [&](const std::string& between, const std::string& second) {
    return parsed(head + "t = 2*a[i] {id=w, inames=i}\nb[i] = t*t {id=r, inames=i}\n" + between +
                  second + "c[j] = t + j {id=last, inames=j}\n");
  };
  const Kernel both = loops("", "t = b[j] {id=v, inames=j, dep=r}\n");
  for (const char* tag : {"par", "g.0", "simd"}) {
    CHECK(verdict(tagged(both, {{"i", tag}})) == "legal");
    CHECK(verdict(tagged(both, {{"j", tag}})) == "legal");
    CHECK(verdict(tagged(both, {{"i", tag}, {"j", tag}})) == "legal");
  }
  // The second one reads the result of the first one: its last value, in each iteration or before.
  CHECK(
      verdict(tagged(loops("", ""), {{"i", "par"}})) ==
      "tagging `i` as `par` would run w[i=0] and r[i=1] at the same time, but w[i=0] writes t and "
      "r[i=1] reads it (n=2)");
  CHECK(code(tagged(loops("", "t = t + b[j] {id=v, inames=j, dep=r}\n"), {{"i", "par"}})) ==
        "races");
  CHECK(code(tagged(loops("", "t = t + b[j] {id=v, inames=j, dep=r}\n"), {{"j", "par"}})) ==
        "races");
  // As does a statement between the two, whose value comes from the first.
  CHECK(code(tagged(
            loops("a[0] = t {id=between, dep=r}\n", "t = b[j] {id=v, inames=j, dep=between}\n"),
            {{"i", "par"}})) == "races");
  CHECK(code(tagged(
            loops("a[0] = t {id=between, dep=r}\n", "t = b[j] {id=v, inames=j, dep=between}\n"),
            {{"j", "par"}})) == "races");
  // Unless it has its own value.
  const std::string own = "t = 7 {id=own, dep=r}\na[0] = t {id=between, dep=own}\n";
  const Kernel three = loops(own, "t = b[j] {id=v, inames=j, dep=between}\n");
  CHECK(verdict(tagged(three, {{"i", "par"}, {"j", "par"}})) == "legal");
  // A condition that the write has and the read has not.
  CHECK(code(tagged(loops("", "t = b[j] {id=v, inames=j, dep=r, if=j > 0}\n"), {{"i", "par"}})) ==
        "races");
}

TEST_CASE("legality: a temporary of two loops within another one") {
  const std::string text =
      "kernel f(n, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
      "domain {[k, i]: 0 <= k < n and 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ntemp t: float64[2]\n"
      "for k\nt[0] = a[k, i] {id=w}\nb[k, i] = t[0]*2 {id=r, dep=w}\n"
      "t[0] = b[k, j] {id=v, dep=r}\nc[k, j] = t[0] + 1 {id=last, dep=v}\nend\n";
  for (const char* loop : {"k", "i", "j"})
    CHECK(verdict(tagged(parsed(text), {{loop, "par"}})) == "legal");
  // Two loops that pass values to each other are one web, and leave the third one alone.
  const std::string three =
      "kernel f(n, a: float64[n, 4], b: float64[n, n], c: float64[n, n])\n"
      "domain {[k, p]: 0 <= k < n and 0 <= p < 4}\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ntemp t: float64[4]\n"
      "for k\nt[p] = a[k, p] {id=w, inames=k:p}\nb[k, i] = t[i % 4] {id=r, dep=w, inames=k:i}\n"
      "t[j % 4] = b[k, j] {id=v, dep=r, inames=k:j}\nc[k, j] = t[j % 4] {id=last, dep=v}\nend\n";
  for (const char* loop : {"k", "p", "i", "j"})
    CHECK(verdict(tagged(parsed(three), {{loop, "par"}})) == "legal");
  CHECK(code(tagged(parsed(three + "c[0, 0] = t[1] {id=more, dep=last}\n"), {{"j", "par"}})) ==
        "races");
  // The results of the inner loops are read in the next iteration of the outer one.
  const std::string carried = text.substr(0, text.find("t[0] = a")) +
                              "a[k, 0] = t[0] {id=first, if=k > 0}\n" +
                              text.substr(text.find("t[0] = a"));
  for (const char* loop : {"k", "j"})
    CHECK(code(tagged(parsed(carried), {{loop, "par"}})) == "races");
}

TEST_CASE("legality: numbers to a base that is a parameter") {
  const auto tagging = [](const std::string& statement, const std::string& bounds = "0 <= j < m",
                          const char* iname = "i") {
    return verdict(
        tagged(parsed("kernel f(n: int32, m: int32, l: int32, a: float64[n*m*l], "
                      "b: float64[n, m], c: float64[n, 16], d: float64[n, m] order=F, "
                      "e: float64[n] strides=(2,))\n"
                      "domain {[i, j, k]: 0 <= i < n and " +
                      bounds + " and 0 <= k < l}\nassume m >= 1\n" + statement + " {id=w}\n"),
               {{iname, "par"}}));
  };
  CHECK(tagging("a[i*m + j] = 2*i") == "legal");
  CHECK(tagging("a[i*m + j] = 2*i", "0 <= j < m", "j") == "legal");
  CHECK(tagging("a[i*m + m - 1 - j] = 2*i") == "legal");
  CHECK(tagging("a[(i + 1)*m + j] = a[(i + 1)*m + j] + 1") == "legal");
  CHECK(tagging("a[(n - 1 - i)*m + j] = 2*i") == "legal");
  CHECK(tagging("a[2*i*m + 2*j + 1] = a[2*j + 2*i*m]") == "legal");
  for (const char* loop : {"i", "j", "k"})
    CHECK(tagging("a[(i*m + j)*l + k] = 2*i", "0 <= j < m", loop) == "legal");
  CHECK(tagging("a[(2*m + 3)*i + j] = 2*i", "0 <= j <= 2*m") == "legal");
  CHECK(tagging("b[[i*m + j]] = b[i, j] + 1") == "legal");
  CHECK(tagging("c[[16*i + j]] = c[i, j] + 1", "0 <= j < 16") == "legal");
  CHECK(tagging("c[[i]] = c[i // 16, i % 16] + 1") == "legal");
  CHECK(tagging("d[[i + n*j]] = d[i, j] + 1") == "legal");
  CHECK(tagging("e[[2*i]] = e[i] + 1") == "legal");
  // One too many, or another line.
  const auto meet = [](const std::string& first, const std::string& then, const std::string& does,
                       const std::string& too) {
    return fmt::format(
        "tagging `i` as `par` would run {0} and {1} at the same time, but {0} {2} and {1} {3}",
        first, then, does, too);
  };
  const std::string here = "w[i=0, j=0]", next = "w[i=1, j=0]";
  CHECK(tagging("a[i*m + j] = 2*i", "0 <= j <= m") ==
        meet(here, next, "may write a[0]", "may write it too (l=1, m=1, n=2)"));
  CHECK(tagging("a[i*m + j] = a[(i + 1)*m + j]") ==
        meet(here, next, "reads a[1]", "writes it (l=1, m=1, n=2)"));
  CHECK(tagging("b[[i*m + j]] = b[i + 1, j]", "0 <= j < m and i + 1 < n") ==
        meet(here, next, "reads b[1, 0]", "writes it (l=1, m=1, n=3)"));
  CHECK(tagging("e[[i]] = e[i] + 1") ==
        meet("w[i=1]", "w[i=2]", "reads e[1]", "writes it (l=1, m=1, n=3)"));
}

TEST_CASE("legality: a loop without carried dependences may be parallel") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 0 <= i < n}\na[i] = 2*b[i+1] {id=w}\n");
  for (const char* tag : {"par", "g.0", "l.0", "simd"})
    CHECK(verdict(tagged(k, {{"i", tag}})) == "legal");
}

TEST_CASE("legality: a carried flow dependence races under every parallel tag") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 1 <= i < n}\na[i] = a[i-1] {id=w}\n");
  CHECK(verdict(tagged(k, {{"i", "l.0"}})) ==
        "tagging `i` as `l.0` would run w[i=1] and w[i=2] at the same time, but w[i=1] writes a[1] "
        "and "
        "w[i=2] reads it (n=3)");
  CHECK(code(tagged(k, {{"i", "g.0"}})) == "races");
  CHECK(code(tagged(k, {{"i", "par"}})) == "races");
  CHECK(code(tagged(k, {{"i", "simd"}})) == "races");
  CHECK(code(tagged(k, {{"i", "unr"}})) == "legal");
}

TEST_CASE("legality: a carried anti dependence races too") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 0 <= i < n}\na[i] = a[i+1] {id=w}\n");
  CHECK(verdict(tagged(k, {{"i", "par"}})) ==
        "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] reads a[1] "
        "and "
        "w[i=1] writes it (n=2)");
}

TEST_CASE("legality: dependences at distance that stays inside of a block") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 0 <= i < n and 1 <= j < 16}\n"
      "a[16*i + j] = a[16*i + j - 1] {id=w}\n");
  CHECK(code(tagged(k, {{"i", "par"}})) == "legal");
  CHECK(code(tagged(k, {{"j", "par"}})) == "races");
}

TEST_CASE("legality: interchange against a (1,-1) dependence is refused, with (1,1) it is not") {
  const std::string head = "kernel f\ndomain {[i, j]: 1 <= i < n and 1 <= j < m}\n";
  CHECK(verdict(with_order(parsed(head + "a[i,j] = a[i-1,j+1] {id=w}\n"), {"j", "i"})) ==
        "w[j=1, i=2] would run before w[j=2, i=1], but w[j=2, i=1] writes a[1, 2] and w[j=1, i=2] "
        "reads it (m=3, n=3)");
  CHECK(verdict(with_order(parsed(head + "a[i,j] = a[i-1,j-1] {id=w}\n"), {"j", "i"})) == "legal");
}

TEST_CASE("legality: of an array, pairs with a statement that changed are proved, others stay") {
  const Kernel k = parsed(R"(kernel f
domain {[i]: 1 <= i < n}
domain {[j]: 1 <= j < n}
domain {[l]: 1 <= l < n}
a[i] = a[i - 1] + 1 {id=first}
a[j] = 2*a[j] {id=second}
a[l] = a[l] + b[l] {id=third}
)");
  for (const bool compares : {false, true}) {
    CAPTURE(compares);
    memo().compares = compares;
    CHECK(code(tagged(k, {{"j", "par"}})) == "legal");
    CHECK(code(tagged(k, {{"j", "par"}, {"l", "par"}})) == "legal");
    CHECK(verdict(tagged(k, {{"j", "par"}, {"l", "par"}, {"i", "par"}})) ==
          "tagging `i` as `par` would run first[i=1] and first[i=2] at the same time, but "
          "first[i=1] writes a[1] and first[i=2] reads it (n=3)");
    CHECK(code(tagged(k, {{"j", "par"}, {"l", "par"}})) == "legal");
  }
  memo().compares = false;
}

TEST_CASE("legality: a scalar temporary belongs to its iteration") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\n"
      "<> t = b[i] {id=def}\na[i] = t*t {id=use}\n");
  CHECK(verdict(tagged(k, {{"i", "par"}})) == "legal");
  CHECK(verdict(tagged(k, {{"i", "l.0"}})) == "legal");
}

TEST_CASE("legality: a scalar set under a condition belongs to its iteration while that holds") {
  const auto verdict_with = [](const std::string& before, const std::string& after) {
    const Kernel k = parsed(
        "kernel f(n: int32, c: int32[n], d: int32[n, n], a: float64[n], b: float64[n, n])\n"
        "domain {[i, j]: 0 <= i, j < n}\ntemp t: float64\n"
        "for i\nif c[i] > 0\n t = a[i] {id=set}\nend\n" +
        before + "for j\nif c[i] > 0\n b[i, j] = t {id=use}\nend\n" + after + "end\nend\n");
    return code(tagged(k, {{"i", "par"}}));
  };
  CHECK(verdict_with("", "") == "legal");
  CHECK(verdict_with("c[i] = 1 {id=change}\n", "") != "legal");
  CHECK(verdict_with("", "c[i] = d[i, j] {id=change}\n") != "legal");  // the next `j` uses it
}

TEST_CASE("legality: elements set and used in two loops under one condition of equal numbers") {
  const auto verdict_with = [](const std::string& use, const std::string& between) {
    const Kernel k = parsed(
        "kernel f(n: int32, m: int32, c: int32[n, m], a: float64[n, m], b: float64[n, m])\n"
        "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < m}\ndomain {[k]: 0 <= k < m}\n"
        "temp t: float64[m]\n"
        "for i\nfor j\nif c[i, j] % 3 > 0\n t[j] = a[i, j] {id=set}\nend\nend\n" +
        between + "for k\nif " + use + "\n b[i, k] = t[k] {id=use}\nend\nend\nend\n");
    return code(tagged(k, {{"i", "par"}}));
  };
  CHECK(verdict_with("c[i, k] % 3 > 0", "") == "legal");
  CHECK(verdict_with("k < m // 2 and c[i, k] % 3 > 0", "") == "legal");
  CHECK(verdict_with("c[i, k] % 3 > 1", "") != "legal");
  CHECK(verdict_with("c[i, m - 1 - k] % 3 > 0", "") != "legal");  // of another number
  CHECK(verdict_with("c[i, k] % 3 > 0", "c[i, 0] = 1 {id=change}\n") != "legal");
  CHECK(verdict_with("k < m // 2 or c[i, k] % 3 > 0", "") != "legal");
}

TEST_CASE("legality: conditions that are one where parameters have their values") {
  const auto verdict_with = [](const std::string& other, const std::string& assumption) {
    const Kernel k = parsed(
        "kernel f(n: int32, c: in int32[2*n + 8], a: float64[n])\n"
        "domain {[i]: 0 <= i < n}\nassume " +
        assumption +
        "\n"
        "for i\nif c[i + n] > 0\n <> t = 1.0 {id=set}\nend\n"
        "if not (" +
        other + " > 0)\n t = 2.0 {id=else}\nend\na[i] = t {id=use}\nend\n");
    return code(tagged(k, {{"i", "par"}}));
  };
  CHECK(verdict_with("c[i + n]", "n > 0") == "legal");
  CHECK(verdict_with("c[i + 8]", "n = 8") == "legal");
  CHECK(verdict_with("c[i + 2*n - 8]", "n = 8") == "legal");
  CHECK(verdict_with("c[i + 8]", "n >= 8") != "legal");
  CHECK(verdict_with("c[i + 7]", "n = 8") != "legal");
  CHECK(verdict_with("c[2*i + 8]", "n = 8") != "legal");
}

// As CloverLeaf keeps what a kind of field adds.
TEST_CASE("legality: subscripts of a scalar that several statements set before the loops") {
  const auto verdict_with = [](const std::string& inside, const std::string& element) {
    const Kernel k = parsed(
        "kernel f(n: int32, kind: int32, c: in int32[n], a: float64[3*n, n])\n"
        "domain {[i, j]: 0 <= i, j < n}\ntemp more: int32\n"
        "if kind == 0\n more = 0 {id=zero}\nend\nif kind == 1\n more = n {id=some}\nend\n"
        "for i\n" +
        inside + "for j\n a[" + element + ", i] = 2.0*j {id=set}\nend\nend\n");
    return code(tagged(k, {{"j", "simd"}}));
  };
  CHECK(verdict_with("", "more + j") == "legal");
  CHECK(verdict_with("more = c[i] {id=own}\n", "more + j") == "legal");
  CHECK(verdict_with("", "more*j") != "legal");  // 0, for one of the kinds
  const Kernel within = parsed(
      "kernel f(n: int32, c: in int32[n], a: float64[3*n, n])\n"
      "domain {[i, j]: 0 <= i, j < n}\ntemp more: int32\nmore = 0 {id=zero}\n"
      "for i\nfor j\n more = c[j] {id=own}\n a[more + j, i] = 2.0*j {id=set}\nend\nend\n");
  CHECK(code(tagged(within, {{"j", "simd"}})) != "legal");  // each iteration has its own
}

TEST_CASE("legality: a scalar that iterations hand on") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\n"
      "<> t = 0.0 {id=init}\n"
      "for i\n t = t + b[i] {id=add}\n a[i] = t {id=use}\nend\n");
  CHECK(code(tagged(k, {{"i", "par"}})) == "races");
  CHECK(code(k) == "legal");
}

TEST_CASE("legality: work-items of a team, lanes and threads share a reduction, groups do not") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, k]: 0 <= i < n and 0 <= k < m}\n"
      "c[i] = sum(k, a[i,k]) {id=s}\n");
  CHECK(verdict(tagged(k, {{"i", "par"}})) == "legal");
  CHECK(verdict(tagged(k, {{"k", "simd"}})) == "legal");
  CHECK(verdict(tagged(k, {{"k", "l.0"}})) == "legal");
  CHECK(verdict(tagged(k, {{"k", "par"}})) == "legal");
  CHECK(
      verdict(tagged(k, {{"k", "g.0"}})) ==
      "tagging `k` as `g.0` would run s_update[i=0, k=0] and s_update[i=0, k=1] at the same time, "
      "but both update the same sum (m=2, n=1)");
}

TEST_CASE("legality: an accumulation written out may not be reordered, a reduction may") {
  const std::string head = "kernel f\ndomain {[k, l]: 0 <= k < m and 0 <= l < n}\n<> s = 0.0\n";
  CHECK(code(with_order(parsed(head + "s = s + a[k,l] {id=add}\n"), {"l", "k"})) == "breaks-order");
  const Kernel r = parsed(
      "kernel f\ndomain {[k, l]: 0 <= k < m and 0 <= l < n}\n"
      "out[0] = sum((k, l), a[k,l])\n");
  CHECK(code(with_order(r, {"l", "k"})) == "legal");
}

TEST_CASE("legality: statements of one iteration that meet across work-items") {
  // A barrier is between the statements, so the shifted read is not a race; without the second
  // statement's shift there is nothing to order.
  const Kernel k = parsed(
      "kernel f\ndomain {[i]: 0 <= i < 16}\n"
      "a[i] = b[i] {id=w}\nc[i] = a[15 - i] {id=r}\n");
  CHECK(code(tagged(k, {{"i", "par"}})) == "races");
}

TEST_CASE("legality: indirect writes are not proved, a claim unlocks them") {
  Kernel k = parsed("kernel f(map: int32[n])\ndomain {[i]: 0 <= i < n}\na[map[i]] = b[i] {id=w}\n");
  CHECK(verdict(tagged(k, {{"i", "par"}})) ==
        "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] may write "
        "a[map[i]] and w[i=1] may write it too (n=2)");
  CHECK(code(tagged(k, {{"i", "par"}})) == "not-proved");
  k.claims.push_back({Claim::Kind::Injective, {"map"}, ""});
  CHECK(code(tagged(k, {{"i", "par"}})) == "legal");
  k.claims = {{Claim::Kind::Disjoint, {"a"}, ""}};
  CHECK(code(tagged(k, {{"i", "par"}})) == "legal");
}

TEST_CASE("dependences: a recurrence and a later use, with kinds") {
  const DependenceList d = dependences(
      parsed("kernel f\ndomain {[i]: 1 <= i < n}\na[i] = a[i-1] {id=w}\nb[i] = a[i] {id=r}\n"));
  std::vector<std::string> found;
  for (const Dependence& x : d.all)
    found.push_back(fmt::format("{} {} {} {}", d.kernel.instructions[std::size_t(x.from)]->id,
                                d.kernel.instructions[std::size_t(x.to)]->id, int(x.kind),
                                x.variable));
  std::sort(found.begin(), found.end());
  const std::vector<std::string> expected{"w r 0 a", "w w 0 a"};
  CHECK(found == expected);
  CHECK(d.all[0].exact);
}

TEST_CASE("dependences: those within a loop") {
  const Kernel k = parsed(
      "kernel f\ndomain {[i, j]: 1 <= i < n and 1 <= j < n}\n"
      "a[i] = a[i-1] {id=w}\nb[j] = a[j] + b[j-1] {id=r}\n");
  CHECK(dependences(k).all.size() == 3);
  CHECK(dependences(k, "i").all.size() == 1);
  CHECK(dependences(k, "j").all.size() == 1);
  CHECK(dependences(k, "j").all[0].variable == "b");
}

TEST_CASE("order: what is vouched for is a part of what a kernel's order is remembered by") {
  Kernel k = parsed(R"(
kernel rows(n: int32, u: inout float64[2*n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
u[i + j] = 0.5*u[i + j] + 1
)");
  k.claims.push_back({Claim::Kind::Unsafe, {"i"}, ""});
  CHECK(!order_of(k)->trusts_in("i", "j"));
  k.claims.back().inside["i"] = {"j"};
  CHECK(order_of(k)->trusts_in("i", "j"));
}
