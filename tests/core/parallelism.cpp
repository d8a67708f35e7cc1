#include "core/order/parallelism.h"

#include <doctest/doctest.h>

#include <ctime>

#include "core/order/order.h"
#include "core/order/reference.h"
#include "tests/one_kernel.h"

using namespace moonloop;

namespace {

/// A line for each loop, dependence and band.
std::string said(const Kernel& k) {
  const Parallelism p = parallelism(k);
  std::string out;
  for (const LoopParallelism& l : p.loops) {
    out += fmt::format("{} {}", l.iname, to_string(l.status));
    for (const LoopReduction& r : l.reductions)
      out += fmt::format(" {} of {}{}", r.op, r.statement, r.declared() ? "" : " in " + r.variable);
    if (l.status == LoopStatus::Reduction) out += l.par ? ", par" : ", not yet";
    if (l.status != LoopStatus::Reduction && l.instances) {
      const auto instance = [](const CounterexampleInstance& i) {
        return fmt::format("{}({}) {}", i.id, fmt::join(i.at, ","), i.does);
      };
      out += fmt::format(" by {}: {}; {}", l.kind ? to_string(*l.kind) : "depends_on",
                         instance(l.instances->first), instance(l.instances->second));
    }
    out += "\n";
  }
  for (const CarriedDependence& d : p.dependences)
    out += fmt::format("{} {}: {} -> {} {}{}\n", d.kind ? to_string(*d.kind) : "explicit",
                       d.variable, d.from, d.to, d.vector(), d.exact ? "" : " at most");
  for (const PermutableBand& b : p.bands)
    out += fmt::format("{} {}\n", b.perfect ? "band" : "imperfect band", fmt::join(b.loops, ", "));
  return out;
}
std::string said(const std::string& text) { return said(parsed(text)); }

const LoopParallelism& loop(const Parallelism& p, const std::string& iname) {
  for (const LoopParallelism& l : p.loops)
    if (l.iname == iname) return l;
  throw InternalError("no loop " + iname);
}

Kernel with_tag(Kernel k, const std::string& iname, const std::string& tag) {
  k.iname_tags[iname] = *parse_iname_tag(tag);
  return k;
}

}  // namespace

TEST_CASE("parallelism: a product, as accumulation and as reduction") {
  const std::string head =
      "kernel f(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n, n])\n"
      "domain {[i, j, k]: 0 <= i, j, k < n}\n";
  CHECK(said(head + "c[i, j] = c[i, j] + a[i, k]*b[k, j] {id=add}\n") ==
        "i parallel\n"
        "j parallel\n"
        "k reduction sum of add in c, not yet\n"
        "anti c: add -> add (0, 0, <)\n"
        "flow c: add -> add (0, 0, <)\n"
        "output c: add -> add (0, 0, <)\n"
        "band i, j, k\n");
  CHECK(said(head + "c[i, j] = sum(k, a[i, k]*b[k, j]) {id=s}\n") ==
        "i parallel\n"
        "j parallel\n"
        "k reduction sum of s_update, par\n"
        "imperfect band i, j, k\n");
}

TEST_CASE("parallelism: Jacobi's method in place, and with two arrays and time") {
  CHECK(said("kernel f(n: int32, a: float64[n])\ndomain {[i]: 1 <= i < n - 1}\n"
             "a[i] = 0.5*(a[i - 1] + a[i + 1]) {id=s}\n") ==
        "i carried by anti: s(1) reads a[2]; s(2) writes a[2]\n"
        "anti a: s -> s (1)\n"
        "flow a: s -> s (1)\n");
  CHECK(said("kernel f(n: int32, m: int32, a: float64[n], b: float64[n])\n"
             "domain {[t]: 0 <= t < m}\ndomain {[i]: 1 <= i < n - 1}\n"
             "domain {[j]: 1 <= j < n - 1}\nfor t\n"
             "b[i] = 0.5*(a[i - 1] + a[i + 1]) {id=s}\na[j] = b[j] {id=r}\nend\n") ==
        "t carried by output: r(0,1) writes a[1]; r(1,1) writes a[1]\n"
        "i parallel\n"
        "j parallel\n"
        "output a: r -> r (<, 0)\n"
        "anti a: s -> r (<)\n"
        "flow a: r -> s (<)\n"
        "output b: s -> s (<, 0)\n"
        "flow b: s -> r (<)\n"
        "anti b: r -> s (<)\n"
        "imperfect band t, i\n"
        "imperfect band t, j\n");
  // One array for each step: two planes that take turns, by the parity of the step.
  CHECK(said("kernel f(n: int32, m: int32, a: float64[m + 1, n])\n"
             "domain {[t, i]: 0 <= t < m and 1 <= i < n - 1}\n"
             "a[t + 1, i] = a[t, i - 1] + a[t, i] + a[t, i + 1] {id=s}\n") ==
        "t carried by flow: s(0,2) writes a[1, 2]; s(1,1) reads a[1, 2]\n"
        "i parallel\n"
        "flow a: s -> s (1, -1)\n"
        "flow a: s -> s (1, 1)\n"
        "flow a: s -> s (1, 0)\n");
}

TEST_CASE("parallelism: within one loop") {
  const Kernel k = parsed(
      "kernel f(n: int32, m: int32, a: float64[n, n])\n"
      "domain {[t, i, j]: 0 <= t < m and 1 <= i < n - 1 and 1 <= j < n - 1}\n"
      "for t\na[i, j] = a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1] {id=s}\nend\n");
  const Parallelism p = parallelism(k, {.within = "i"});
  REQUIRE(p.loops.size() == 2);
  CHECK(p.loops[0].iname == "i");
  CHECK(p.loops[0].around == std::vector<std::string>{"t"});
  std::set<std::string> vectors;
  for (const CarriedDependence& d : p.dependences) vectors.insert(d.vector());
  CHECK(vectors == std::set<std::string>{"(0, 0, 1)", "(0, 1, 0)"});
  REQUIRE(p.bands.size() == 1);
  CHECK(p.bands[0].loops == std::vector<std::string>{"i", "j"});
  CHECK_THROWS_AS(parallelism(k, {.within = "u"}), Error);
}

TEST_CASE("parallelism: Gauss-Seidel's method in two dimensions, and a skewed one") {
  const std::string head =
      "kernel f(n: int32, m: int32, a: float64[n, n])\n"
      "domain {[t, i, j]: 0 <= t < m and 1 <= i < n - 1 and 1 <= j < n - 1}\n";
  const Kernel k = parsed(
      head +
      "for t\na[i, j] = a[i - 1, j] + a[i, j - 1] + a[i + 1, j] + a[i, j + 1] {id=s}\nend\n");
  const Parallelism p = parallelism(k);
  for (const char* i : {"t", "i", "j"}) CHECK(loop(p, i).status == LoopStatus::Carried);
  std::set<std::string> vectors;
  for (const CarriedDependence& d : p.dependences) vectors.insert(d.vector());
  CHECK(vectors == std::set<std::string>{"(0, 0, 1)", "(0, 1, 0)", "(<, -1, 0)", "(<, 0, -1)",
                                         "(<, 0, 0)", "(<, 0, 1)", "(<, 1, 0)"});
  REQUIRE(p.bands.size() == 1);
  CHECK(p.bands[0].loops == std::vector<std::string>{"i", "j"});
  // a[i + t] moves with the time: all of it is one band.
  CHECK(said("kernel f(n: int32, m: int32, a: float64[m + 1, 2*n + m])\n"
             "domain {[t, i]: 0 <= t < m and t + 1 <= i < n + t}\n"
             "a[t + 1, i] = a[t, i - 2] + a[t, i - 1] + a[t, i] {id=s}\n") ==
        "t carried by flow: s(0,1) writes a[1, 1]; s(1,2) reads a[1, 1]\n"
        "i parallel\n"
        "flow a: s -> s (1, 1)\n"
        "flow a: s -> s (1, 2)\n"
        "flow a: s -> s (1, 0)\n"
        "band t, i\n");
}

TEST_CASE("parallelism: wavefronts, triangles and strides") {
  const std::string head = "kernel f(n: int32, a: float64[n, n], x: float64[2*n])\n";
  CHECK(said(head + "domain {[i, j]: 1 <= i < n and 1 <= j < n}\n"
                    "a[i, j] = a[i - 1, j] + a[i, j - 1] {id=s}\n") ==
        "i carried by flow: s(1,1) writes a[1, 1]; s(2,1) reads a[1, 1]\n"
        "j carried by flow: s(1,1) writes a[1, 1]; s(1,2) reads a[1, 1]\n"
        "flow a: s -> s (1, 0)\n"
        "flow a: s -> s (0, 1)\n"
        "band i, j\n");
  CHECK(said(head + "domain {[i, j]: 1 <= i < n and 1 <= j < n - 1}\n"
                    "a[i, j] = a[i - 1, j + 1] {id=s}\n") ==
        "i carried by flow: s(1,2) writes a[1, 2]; s(2,1) reads a[1, 2]\n"
        "j parallel\n"
        "flow a: s -> s (1, -1)\n");
  CHECK(said(head + "domain {[i, j]: 0 <= j < i < n}\nx[i] = x[i] - a[i, j]*x[j] {id=s}\n") ==
        "i carried by flow: s(1,0) writes x[1]; s(2,1) reads x[1]\n"
        "j reduction sum of s in x, not yet\n"
        "anti x: s -> s (0, <)\n"
        "flow x: s -> s (0, <)\n"
        "output x: s -> s (0, <)\n"
        "flow x: s -> s (<, <)\n"
        "band i, j\n");
  CHECK(said(head + "domain {[i]: 4 <= i < n and i mod 2 = 0}\nx[i] = x[i - 4] {id=s}\n") ==
        "i carried by flow: s(4) writes x[4]; s(8) reads x[4]\n"
        "flow x: s -> s (4)\n");
  CHECK(said(head + "domain {[i]: 3 <= i < n and i mod 2 = 0}\nx[i] = x[i - 3] {id=s}\n") ==
        "i parallel\n");
  CHECK(said(head + "domain {[i]: 0 <= i < n}\nx[2*i] = x[i] {id=s}\n") ==
        "i carried by flow: s(1) writes x[2]; s(2) reads x[2]\n"
        "flow x: s -> s (<)\n");
  CHECK(said(head + "domain {[i]: 0 <= i < n}\nx[n - 1 - i] = x[i] {id=s}\n") ==
        "i carried by anti: s(0) reads x[0]; s(1) writes x[0]\n"
        "anti x: s -> s (<)\n"
        "flow x: s -> s (<)\n");
}

TEST_CASE("parallelism: subscripts from arrays are unproved, and claims say that they differ") {
  Kernel k = parsed(
      "kernel f(n: int32, map: in int32[n], a: float64[n], b: in float64[n])\n"
      "domain {[i]: 0 <= i < n}\na[map[i]] = b[i] {id=w}\n");
  CHECK(said(k) ==
        "i unproved by output: w(0) may write a[map[i]]; w(1) may write a[map[i]]\n"
        "output a: w -> w (<) at most\n");
  const Parallelism p = parallelism(k);
  CHECK(loop(p, "i").why->code == "not-proved");
  CHECK(loop(p, "i").why->hint.find("assume_injective") != std::string::npos);
  k.claims.push_back({Claim::Kind::Injective, {"map"}, ""});
  CHECK(said(k) == "i parallel\n");
  k.claims = {{Claim::Kind::Disjoint, {"a"}, ""}};
  CHECK(said(k) == "i parallel\n");
  // A dependence that is certain is shown before those that may be.
  const Kernel both = parsed(
      "kernel f(n: int32, map: in int32[n], a: float64[n], b: float64[n])\n"
      "domain {[i]: 1 <= i < n}\na[map[i]] = 1 {id=w}\nb[i] = b[i - 1] {id=v}\n");
  CHECK(loop(parallelism(both), "i").status == LoopStatus::Carried);
  CHECK(loop(parallelism(both), "i").variable == "b");
}

TEST_CASE("parallelism: scalars that each iteration sets first, and others") {
  const std::string head =
      "kernel f(n: int32, a: float64[n, n], b: float64[n, n])\n"
      "domain {[i, j]: 0 <= i, j < n}\ntemp t: float64\ntemp r: float64[n]\n";
  CHECK(said(head + "t = a[i, j] {id=w}\nb[i, j] = t*t {id=u}\n") ==
        "i parallel\nj parallel\nband i, j\n");
  // Set in the outer loop: the inner one only reads it.
  CHECK(said("kernel f(n: int32, a: float64[n], b: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
             "domain {[j]: 0 <= j < n}\nfor i\n<> t = a[i] {id=w}\nb[i, j] = t*j {id=u}\nend\n") ==
        "i parallel\nj parallel\nimperfect band i, j\n");
  CHECK(said(head + "t = 0 {id=z}\nb[i, j] = t {id=u}\nt = a[i, j] {id=w}\n") ==
        "i carried by anti: u(0,0) reads t; w(1,0) writes t\n"
        "j carried by anti: u(0,0) reads t; w(0,1) writes t\n"
        "anti t: u -> w (<, *)\n"
        "anti t: u -> w (0, <)\n"
        "flow t: w -> u (<, *)\n"
        "flow t: w -> u (0, <)\n"
        "output t: w -> w (<, *)\n"
        "output t: w -> w (0, <)\n");
  // A row for each iteration of i, in which j carries: turning the loops would need many rows.
  CHECK(said(head + "r[j] = a[i, j] {id=w}\nb[i, j] = r[j - 1] {id=u, if=j > 0}\n") ==
        "i parallel\n"
        "j carried by flow: w(0,0) writes r[0]; u(0,1) reads r[0]\n"
        "flow r: w -> u (0, 1)\n");
}

TEST_CASE("parallelism: several statements, several nests") {
  CHECK(said("kernel f(n: int32, a: float64[n], b: float64[n], c: float64[n])\n"
             "domain {[i]: 1 <= i < n}\ndomain {[j]: 0 <= j < n}\n"
             "a[i] = 2*c[i] {id=p}\nb[i] = a[i - 1] {id=q}\nc[j] = b[j] {id=r}\n") ==
        "i carried by flow: p(1) writes a[1]; q(2) reads a[1]\n"
        "j parallel\n"
        "flow a: p -> q (1)\n");
  CHECK(said("kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
             "a[i] = 1 {id=p}\nb[i] = a[i] {id=q}\na[i] = b[i] {id=r}\n") == "i parallel\n");
  CHECK(said("kernel f(n: int32, a: float64[n], c: float64)\n"
             "domain {[i]: 0 <= i < n}\n<> s = 0.0 {id=z}\n"
             "s = s + a[i] {id=p}\ns = s*2 {id=q, inames=i}\n") ==
        "i carried by flow: p(0) writes s; q(1) reads s\n"
        "anti s: p -> p (<)\n"
        "flow s: p -> p (<)\n"
        "flow s: p -> q (<)\n"
        "anti s: q -> p (<)\n"
        "anti s: q -> q (<)\n"
        "flow s: q -> q (<)\n"
        "output s: p -> q (<)\n"
        "output s: q -> p (<)\n"
        "flow s: q -> p (<)\n"
        "anti s: p -> q (<)\n");
}

TEST_CASE("parallelism: accumulations that recognize_reduction does not take are carried") {
  const std::string head =
      "kernel f(n: int32, a: float64[n], s: float64[1], k: int32[1])\ndomain {[i]: 0 <= i < n}\n";
  const auto status = [&](const std::string& statement) {
    return to_string(loop(parallelism(parsed(head + statement)), "i").status);
  };
  CHECK(status("s[0] = s[0] + a[i]\n") == std::string("reduction"));
  CHECK(status("s[0] = max(s[0], a[i])\n") == std::string("reduction"));
  CHECK(status("s[0] = a[i] {if=a[i] < s[0]}\n") == std::string("reduction"));
  CHECK(status("s[0] = s[0] + s[0]*a[i]\n") == std::string("carried"));
  CHECK(status("s[0] = a[i] - s[0]\n") == std::string("carried"));
  CHECK(status("k[0] = k[0] + a[i]\n") == std::string("carried"));  // cut in each step
  CHECK(status("s[0] = s[0] + a[i] {id=p}\na[i] = s[0] {id=q}\n") == std::string("carried"));
}

TEST_CASE("parallelism: calls of kernels") {
  const auto rows = [](const std::string& body) {
    const auto all = parse_kernels(add_source(
        "calls.loop",
        "kernel scale(n: int32, x: in float64[n], y: out float64[n])\ndomain {[i]: 0 <= i < n}\n"
        "y[i] = 2*x[i]\n\nkernel f(n: int32, a: float64[n, n], b: float64[n, n])\n"
        "domain {[j]: 0 <= j < n - 1}\n" +
            body));
    return said(all.back());
  };
  CHECK(rows("call scale(n, a[j, :], b[j, :]) {id=c}\n") == "j parallel\n");
  CHECK(rows("call scale(n, a[j, :], a[j + 1, :]) {id=c}\n") ==
        "j unproved by flow: c(0) may write a[1, :]; c(1) may read a[1, :]\n"
        "flow a: c -> c (1) at most\n");
}

TEST_CASE("parallelism: tags and claims that a kernel has") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i, j]: 1 <= i, j < n}\n"
      "a[i, j] = a[i, j - 1] {id=s}\n");
  const std::string usual = said(k);
  CHECK(usual ==
        "i parallel\n"
        "j carried by flow: s(1,1) writes a[1, 1]; s(1,2) reads a[1, 1]\n"
        "flow a: s -> s (0, 1)\n"
        "band i, j\n");
  for (const char* tag : {"par", "simd", "g.0", "unr"}) {
    CHECK(said(with_tag(k, "i", tag)) == usual);
    CHECK(loop(parallelism(with_tag(k, "i", tag)), "i").tag == tag);
  }
  // A team's iname is no loop.
  CHECK(said(with_tag(k, "i", "l.0")) ==
        "j carried by flow: s(1,1) writes a[1, 1]; s(2,1) reads a[1, 1]\n"
        "flow a: s -> s (1)\n");
  CHECK_THROWS_AS(parallelism(with_tag(k, "j", "par")), Refused);  // as check refuses it
  // What is taken on trust is asked anew.
  Kernel trusted = with_tag(k, "j", "par");
  trusted.claims.push_back({Claim::Kind::Unsafe, {"j"}, ""});
  CHECK(said(trusted) == usual);
}

TEST_CASE("parallelism: reductions of groups and segments") {
  CHECK(said("kernel f(n: int32, m: int32, a: float64[n, m], c: float64[n])\n"
             "domain {[i, k, l]: 0 <= i < n and 0 <= k < m and 0 <= l < m}\n"
             "c[i] = sum((k, l), a[i, k]*a[i, l]) {id=s}\n") ==
        "i parallel\n"
        "k reduction sum of s_update, par\n"
        "l reduction sum of s_update, par\n"
        "imperfect band i, k, l\n");
}

TEST_CASE("parallelism: an order that only `dep` demands") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n], b: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "a[i] = 1 {id=p}\nb[i] = 2 {id=q, dep=p}\n");
  CHECK(said(k) == "i parallel\n");
}

TEST_CASE("parallelism: a loop of one iteration carries nothing") {
  CHECK(said("kernel f(n: int32, a: float64[n])\ndomain {[i]: 1 <= i < 2}\n"
             "a[0] = a[0] + 1 {inames=i, id=s}\n") == "i parallel\n");
}

TEST_CASE("parallelism: a thousand statements") {
  const int n = 1000;
  std::string arrays, deep = "for t\n", domains = "domain {[t]: 0 <= t < m}\n", flat, one;
  for (int i = 0; i < 40; ++i) arrays += fmt::format(", a{}: float64[n]", i);
  for (int i = 0; i < n; ++i) {
    domains += fmt::format("domain {{[i{0}]: 1 <= i{0} < n}}\n", i);
    const std::string s =
        fmt::format("a{0}[@] = a{0}[@] + a{1}[@ - 1] {{id=s{2}}}\n", i % 40, (7 * i + 3) % 40, i);
    const auto at = [&](std::string text, const std::string& iname) {
      for (std::size_t p; (p = text.find('@')) != std::string::npos;) text.replace(p, 1, iname);
      return text;
    };
    deep += at(s, fmt::format("i{}", i));
    one += at(s, "i0");
  }
  const std::string head = "kernel f(n: int32, m: int32" + arrays + ")\n";
  const std::clock_t start = std::clock();  // of this process alone
  const Parallelism many = parallelism(parsed(head + domains + deep + "end\n"));
  REQUIRE(many.loops.size() == n + 1);
  CHECK(many.loops[0].status == LoopStatus::Carried);
  CHECK(many.loops[1].status == LoopStatus::Parallel);
  const Parallelism single = parallelism(
      parsed(head + "domain {[t, i0]: 0 <= t < m and 1 <= i0 < n}\nfor t\n" + one + "end\n"));
  REQUIRE(single.loops.size() == 2);
  CHECK(single.loops[0].statements.size() == n);
  CHECK(single.loops[1].status == LoopStatus::Carried);
  CHECK((std::clock() - start) / CLOCKS_PER_SEC < 60);
}
