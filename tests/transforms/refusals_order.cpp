#include "loop_kit.h"

/// Requests that would change what a kernel computes, each with its message, and next to each the
/// nearest request that does not.

using namespace moonloop;

namespace {

Kernel tag(const Kernel& k, const std::string& tags) {
  return apply(k, "tag_inames", {text(tags)});
}
Kernel order(const Kernel& k, const std::string& inames) {
  return apply(k, "prioritize_loops", {text(inames)});
}
Kernel split(const Kernel& k, const std::string& iname, int length) {
  return apply(k, "split_iname", {text(iname), number(length)});
}
Kernel fuse(const Kernel& k, const std::string& from, const std::string& to) {
  return apply(k, "rename_iname", {text(from), text(to)},
               {{"existing_ok", flag(true)}, {"raise_on_domain_mismatch", flag(false)}});
}
Kernel distribute(const Kernel& k, const std::string& iname, const std::string& within) {
  return apply(k, "duplicate_inames", {text(iname), text(within)});
}
Kernel map(const Kernel& k, const std::string& m) { return apply(k, "map_domain", {text(m)}); }

/// One loop over i.
Kernel line_of(const std::string& domain, const std::string& body) {
  return parsed("kernel f\ndomain {[i]: " + domain + "}\n" + body + "\n");
}
Kernel plane(const std::string& body, const std::string& domain = "1 <= i < n and 1 <= j < n") {
  return parsed("kernel f\ndomain {[i, j]: " + domain + "}\n" + body + "\n");
}
Kernel pair(const std::string& first, const std::string& second,
            const std::string& j = "0 <= j < n", const std::string& i = "0 <= i < n") {
  return parsed("kernel f\ndomain {[i]: " + i + "}\ndomain {[j]: " + j + "}\n" + first +
                " {id=x}\n" + second + " {id=y}\n");
}

}  // namespace

// ---- Parallel tags ----------------------------------------------------------------------------

TEST_CASE("refused: a recurrence in parallel") {
  CHECK(message([] { tag(line_of("1 <= i < n", "a[i] = a[i-1] {id=w}"), "i:par"); }) ==
        "tagging `i` as `par` would run w[i=1] and w[i=2] at the same time, but w[i=1] writes "
        "a[1] and w[i=2] reads it (n=3)");
  CHECK(message([] { tag(line_of("1 <= i < n", "a[i] = b[i-1] {id=w}"), "i:par"); }) == "legal");
}

TEST_CASE("refused: a shift to the left in parallel groups") {
  CHECK(message([] { tag(line_of("0 <= i < n", "a[i] = a[i+1] {id=w}"), "i:g.0"); }) ==
        "tagging `i` as `g.0` would run w[i=0] and w[i=1] at the same time, but w[i=0] reads "
        "a[1] and w[i=1] writes it (n=2)");
  CHECK(message([] { tag(line_of("0 <= i < n", "a[i] = a[i+n] {id=w}"), "i:g.0"); }) == "legal");
}

TEST_CASE("refused: a read in the arm that is chosen, and not one in the other arm") {
  const auto chosen = [](const char* condition) {
    return message([&] {
      tag(line_of("1 <= i < n", fmt::format("a[i] = a[i - 1] if {} else 0.0 {{id=w}}", condition)),
          "i:par");
    });
  };
  CHECK(chosen("i <= 1") == "legal");
  CHECK(chosen("i < 1 or i > n") == "legal");
  CHECK(chosen("i <= 2") ==
        "tagging `i` as `par` would run w[i=1] and w[i=2] at the same time, but w[i=1] writes "
        "a[1] and w[i=2] reads it (n=3)");
  // The same element in both arms; a condition on data; a condition in another one.
  CHECK(message([] {
          tag(line_of("1 <= i < n", "a[i] = a[i - 1] if i <= 1 else 2*a[i - 1] {id=w}"), "i:par");
        }) != "legal");
  CHECK(message([] {
          tag(line_of("1 <= i < n", "a[i] = a[i - 1] if b[i] <= 1 else 0.0 {id=w}"), "i:par");
        }) != "legal");
  CHECK(message([] {
          tag(line_of("1 <= i < n",
                      "a[i] = (a[i - 1] if i <= 3 else 0.0) if i != 2 and i != 3 else 1.0 {id=w}"),
              "i:par");
        }) == "legal");
}

TEST_CASE("refused: two iterations that write one element") {
  CHECK(message([] { tag(line_of("0 <= i < n", "a[i//2] = b[i] {id=w}"), "i:par"); }) ==
        "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] writes "
        "a[0] and w[i=1] writes it too (n=2)");
  CHECK(message([] { tag(line_of("0 <= i < n", "a[2*i] = b[i] {id=w}"), "i:par"); }) == "legal");
}

TEST_CASE("refused: work-items that wrap around") {
  CHECK(message([] { tag(line_of("0 <= i < 8", "a[i % 4] = b[i] {id=w}"), "i:l.0"); }) ==
        "tagging `i` as `l.0` would run w[i=0] and w[i=4] at the same time, but w[i=0] writes "
        "a[0] and w[i=4] writes it too");
  CHECK(message([] { tag(line_of("4 <= i < 8", "a[i % 4] = b[i] {id=w}"), "i:l.0"); }) == "legal");
}

TEST_CASE("refused: a buffer that some work-items share and others would need for themselves") {
  // Found by the differential test: one copy was made, for all values of `i`.
  const Kernel k = parsed(R"(
kernel f
domain {[i, j, k]: 0 <= i < 4 and 0 <= j, k < 8}
temp t: float64[8]
t[j] = a[i, j] {id=w, inames=i:j}
b[i, k] = t[k] {id=r, inames=i:k}
)");
  CHECK(message([&] { tag(k, "i:l.0, j:l.1"); }) ==
        "tagging `i` as `l.0` would run w[i=0, j=0] and w[i=1, j=0] at the same time, but "
        "w[i=0, j=0] writes t[0] and w[i=1, j=0] writes it too");
  CHECK(message([&] { tag(k, "i:l.0"); }) == "legal");
  CHECK(message([&] { tag(k, "j:l.1"); }) == "legal");
}

TEST_CASE("refused: a parallel loop that the assignee does not know") {
  const Kernel k = plane("a[i] = b[i, j] {id=w}");
  CHECK(message([&] { tag(k, "j:par"); }) ==
        "tagging `j` as `par` would run w[i=1, j=1] and w[i=1, j=2] at the same time, but "
        "w[i=1, j=1] writes a[1] and w[i=1, j=2] writes it too (n=3)");
  CHECK(message([&] { tag(k, "i:par, j:unr"); }) == "legal");
}

TEST_CASE("refused: a parallel accumulation that nobody declared a reduction") {
  const Kernel k = plane("c[i] = c[i] + a[i, j] {id=w}");
  CHECK(message([&] { tag(k, "j:par"); }) ==
        "tagging `j` as `par` would run w[i=1, j=1] and w[i=1, j=2] at the same time, but "
        "w[i=1, j=1] reads c[1] and w[i=1, j=2] writes it (n=3)");
  CHECK(message([&] { tag(k, "j:simd"); }) ==
        "tagging `j` as `simd` would run w[i=1, j=1] and w[i=1, j=2] at the same time, but "
        "w[i=1, j=1] reads c[1] and w[i=1, j=2] writes it (n=3)");
  CHECK(message([&] { tag(k, "i:par"); }) == "legal");
  CHECK(message([&] { tag(apply(k, "recognize_reduction", {text("j")}), "j:simd"); }) == "legal");
}

TEST_CASE("refused: the carried one of two loops") {
  const Kernel k = plane("a[i, j] = a[i-1, j] {id=w}");
  CHECK(message([&] { tag(k, "i:par"); }) ==
        "tagging `i` as `par` would run w[i=1, j=1] and w[i=2, j=1] at the same time, but "
        "w[i=1, j=1] writes a[1, 1] and w[i=2, j=1] reads it (n=3)");
  CHECK(message([&] { tag(k, "j:par"); }) == "legal");
}

TEST_CASE("refused: a wavefront along an axis, not along the diagonal") {
  const Kernel k = plane("a[i, j] = a[i-1, j] + a[i, j-1] {id=w}");
  CHECK(message([&] { tag(k, "j:par"); }) ==
        "tagging `j` as `par` would run w[i=1, j=1] and w[i=1, j=2] at the same time, but "
        "w[i=1, j=1] writes a[1, 1] and w[i=1, j=2] reads it (n=3)");
  CHECK(message([&] { tag(map(k, "{ [i, j] -> [t, j] : t = i + j }"), "j:par"); }) == "legal");
}

TEST_CASE("refused: a block longer than the dependence") {
  const Kernel k = line_of("4 <= i < n", "a[i] = a[i-4] {id=w}");
  CHECK(message([&] { tag(split(k, "i", 5), "i_inner:simd"); }) ==
        "tagging `i_inner` as `simd` would run w[i_outer=1, i_inner=0] and w[i_outer=1, "
        "i_inner=4] at the same time, but w[i_outer=1, i_inner=0] writes a[5] and w[i_outer=1, "
        "i_inner=4] reads it (n=10)");
  CHECK(message([&] { tag(split(k, "i", 4), "i_inner:simd"); }) == "legal");
}

TEST_CASE("refused: even elements from even ones, not from odd ones") {
  CHECK(message([] { tag(line_of("1 <= i < n", "a[2*i] = a[2*i-2] {id=w}"), "i:par"); }) ==
        "tagging `i` as `par` would run w[i=1] and w[i=2] at the same time, but w[i=1] writes "
        "a[2] and w[i=2] reads it (n=3)");
  CHECK(message([] { tag(line_of("1 <= i < n", "a[2*i] = a[2*i-1] {id=w}"), "i:par"); }) ==
        "legal");
}

TEST_CASE("refused: transposition in place, unless only a triangle is written") {
  CHECK(message([] { tag(plane("a[i, j] = a[j, i] {id=w}"), "i:par"); }) ==
        "tagging `i` as `par` would run w[i=1, j=2] and w[i=2, j=1] at the same time, but "
        "w[i=1, j=2] writes a[1, 2] and w[i=2, j=1] reads it (n=3)");
  CHECK(message([] { tag(plane("a[i, j] = a[j, i] {id=w}", "0 <= j < i and i < n"), "i:par"); }) ==
        "legal");
}

TEST_CASE("refused: two statements that meet across parallel iterations") {
  CHECK(message([] {
          tag(line_of("0 <= i < n", "b[i] = a[i] {id=x}\nc[i] = b[n-1-i] {id=y}"), "i:g.0");
        }) ==
        "tagging `i` as `g.0` would run x[i=0] and y[i=1] at the same time, but x[i=0] writes "
        "b[0] and y[i=1] reads it (n=2)");
  CHECK(message([] {
          tag(line_of("0 <= i < n", "b[i] = a[i] {id=x}\nc[i] = b[i] {id=y}"), "i:g.0");
        }) == "legal");
}

TEST_CASE("refused: a scalar that iterations hand on") {
  CHECK(message([] {
          tag(line_of("0 <= i < n", "<> t = 0.0 {id=z}\nt = t + a[i] {id=x}\nb[i] = t {id=y}"),
              "i:par");
        }) ==
        "tagging `i` as `par` would run x[i=0] and x[i=1] at the same time, but x[i=0] reads t "
        "and x[i=1] writes it (n=2)");
  CHECK(message([] {
          tag(line_of("0 <= i < n", "<> t = a[i] {id=x}\nb[i] = t {id=y}"), "i:par");
        }) == "legal");
}

TEST_CASE("refused: one element that all others read") {
  CHECK(message([] { tag(line_of("0 <= i < n", "a[i] = a[4] {id=w}"), "i:par"); }) ==
        "tagging `i` as `par` would run w[i=0] and w[i=4] at the same time, but w[i=0] reads "
        "a[4] and w[i=4] writes it (n=5)");
  CHECK(message([] { tag(line_of("0 <= i < n", "a[i] = a[4] {id=w, if=i > 4}"), "i:par"); }) ==
        "legal");
}

TEST_CASE("refused: neighbours, unless a condition leaves every other one out") {
  CHECK(
      message([] { tag(line_of("0 <= i < n", "a[i] = a[i+1] {id=w, if=i % 3 != 2}"), "i:par"); }) ==
      "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] reads "
      "a[1] and w[i=1] writes it (n=2)");
  CHECK(message([] {
          tag(line_of("0 <= i < n", "a[i] = a[i+1] {id=w, if=i % 2 == 0}"), "i:par");
        }) == "legal");
}

TEST_CASE("refused: a scatter that may collide, until somebody vouches for it") {
  const Kernel k =
      parsed("kernel f(n: int32, p: int32[n])\ndomain {[i]: 0 <= i < n}\na[p[i]] = b[i] {id=w}\n");
  CHECK(message([&] { tag(k, "i:g.0"); }) ==
        "tagging `i` as `g.0` would run w[i=0] and w[i=1] at the same time, but w[i=0] may "
        "write a[p[i]] and w[i=1] may write it too (n=2); where a subscript is read from an "
        "array, assume_injective or assume_disjoint says what cannot be seen here; the option "
        "unsafe=true takes it on trust");
  CHECK(message([&] { tag(apply(k, "assume_injective", {text("p")}), "i:g.0"); }) == "legal");
}

TEST_CASE("refused: a gather from what the loop writes, until somebody vouches for it") {
  const Kernel k =
      parsed("kernel f(n: int32, p: int32[n])\ndomain {[i]: 0 <= i < n}\na[i] = a[p[i]] {id=w}\n");
  CHECK(message([&] { tag(k, "i:par"); }) ==
        "tagging `i` as `par` would run w[i=0] and w[i=1] at the same time, but w[i=0] may "
        "write a[0] and w[i=1] may read it (n=2); where a subscript is read from an array, "
        "assume_injective or assume_disjoint says what cannot be seen here; the option "
        "unsafe=true takes it on trust");
  CHECK(message([&] { tag(apply(k, "assume_disjoint", {text("a")}), "i:par"); }) == "legal");
}

TEST_CASE("refused: one loop for a reduction and in parallel") {
  const Kernel k = plane("c[i] = sum(j, a[i, j]) {id=w}");
  CHECK(message([&] { tag(k, "j:g.0"); }) ==
        "tagging `j` as `g.0` would run w_update[i=1, j=1] and w_update[i=1, j=2] at the same "
        "time, but both update the same sum (n=3); work-items (`l.N`), lanes (`simd`) and "
        "threads (`par`) can share a reduction; split_reduction_outward or a loop inside it can be "
        "parallel");
  CHECK(message([&] { tag(k, "i:g.0"); }) == "legal");
}

TEST_CASE("refused: a reduction whose order matters, in parallel") {
  const Kernel k = parsed(
      "kernel f(n: int32, x: in float64[n, 32], s: out float64[n], seen: out bool[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 32}\n"
      "s[i], seen[i] = reduce(segmented(sum), j, x[i, j], x[i, j] > 0.7) {id=w}\n");
  const std::string hint =
      "both update the same segmented(sum) (n=1); the order of a segmented reduction matters, so "
      "that one after the other has to add to it: work-items of one axis (`l.N`) can have "
      "neighbouring terms "
      "each, as the outer loop of a split_iname or chunk_iname gives them; loops around it can be "
      "parallel";
  CHECK(message([&] { tag(k, "j:par"); }) ==
        "tagging `j` as `par` would run w_update[i=0, j=0] and w_update[i=0, j=1] at the same "
        "time, but " +
            hint);
  CHECK(message([&] { tag(k, "j:l.0"); }) == "legal");
  const Kernel halves = apply(k, "split_iname", {text("j"), number(8)});
  CHECK(
      message([&] { tag(halves, "j_inner:l.0"); }) ==
      "tagging `j_inner` as `l.0` would run w_update[i=0, j_outer=0, j_inner=1] and w_update[i=0, "
      "j_outer=1, j_inner=0] at the same time, but " +
          hint);
  CHECK(message([&] { tag(halves, "j_outer:l.0"); }) == "legal");
  CHECK(code_of([&] { tag(halves, "j_outer:l.0, j_inner:l.1"); }) == "races");
  CHECK(code_of([&] { tag(halves, "j_inner:ilp"); }) == "races");
  CHECK(code_of([&] {  // it is not a loop
          apply(tag(halves, "j_outer:l.0"), "prioritize_loops", {text("j_outer, i, j_inner")});
        }) == "legal");
  // A copy whose loop has to be outside: without work-items, terms would be in another order.
  const Kernel fetched = parsed(
      "kernel f(n: int32, x: in float64[n, 32], c: in int32[32], s: out float64[n], seen: out "
      "bool[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 32}\n"
      "s[i], seen[i] = reduce(segmented(sum), j, x[i, j], c[j] > 1) {id=w}\n");
  for (const char* lanes : {"", "vec"}) {
    Kernel shared =
        apply(fetched, "split_iname", {text("j"), number(4)}, {{"outer_tag", text("l.0")}});
    if (*lanes)
      shared = apply(shared, "split_iname", {text("i"), number(4)}, {{"inner_tag", text(lanes)}});
    CHECK(code_of([&] {
            apply(shared, "add_prefetch", {text("c"), text("j_outer")},
                  {{"default_tag", Value{false}}});
          }) != "legal");
  }
  CHECK(message([&] { tag(k, "i:l.0"); }) == "legal");
}

TEST_CASE("refused: a time loop in parallel, also when space is split") {
  const Kernel k = parsed(
      "kernel f\ndomain {[t, i]: 1 <= t < T and 1 <= i < n}\n"
      "u[t, i] = u[t-1, i-1] + u[t-1, i+1] {id=w}\n");
  CHECK(message([&] { tag(split(k, "i", 16), "t:g.0"); }) ==
        "tagging `t` as `g.0` would run w[t=1, i_outer=0, i_inner=2] and w[t=2, i_outer=0, "
        "i_inner=1] at the same time, but w[t=1, i_outer=0, i_inner=2] writes u[1, 2] and "
        "w[t=2, i_outer=0, i_inner=1] reads it (T=3, n=3)");
  // Groups do not wait for each other, and are outermost.
  CHECK(message([&] { tag(split(k, "i", 16), "i_outer:g.0, i_inner:l.0"); }) ==
        "tagging `i_outer` as `g.0` would run w[i_outer=1, t=1, i_inner=0] and w[i_outer=0, "
        "t=2, i_inner=15] at the same time, but w[i_outer=1, t=1, i_inner=0] writes u[1, 16] "
        "and w[i_outer=0, t=2, i_inner=15] reads it (T=3, n=17); after "
        "`prioritize_loops(\"t, i_outer\")` it is legal");
  CHECK(message([&] { tag(split(k, "i", 16), "i_outer:par, i_inner:l.0"); }) == "legal");
}

// ---- Interchange and tiling -------------------------------------------------------------------

TEST_CASE("refused: interchange against a (1, -1) dependence") {
  CHECK(message([] { order(plane("a[i, j] = a[i-1, j+1] {id=w}"), "j, i"); }) ==
        "w[j=1, i=2] would run before w[j=2, i=1], but w[j=2, i=1] writes a[1, 2] and w[j=1, i=2] "
        "reads it (n=3)");
  CHECK(message([] { order(plane("a[i, j] = a[i-1, j-1] {id=w}"), "j, i"); }) == "legal");
  CHECK(message([] { order(plane("a[i, j] = a[i-1, j] {id=w}"), "j, i"); }) == "legal");
}

TEST_CASE("refused: interchange of a stencil's time and space") {
  const char* kernel =
      "kernel f\ndomain {[t, i]: 1 <= t < T and 1 <= i < n}\n"
      "u[t, i] = u[t-1, i-1] + u[t-1, i+1] {id=w}\n";
  CHECK(message([&] { order(parsed(kernel), "i, t"); }) ==
        "w[i=1, t=2] would run before w[i=2, t=1], but w[i=2, t=1] writes u[1, 2] and w[i=1, "
        "t=2] reads it (T=3, n=3)");
  CHECK(message([&] { order(map(parsed(kernel), "{ [t, i] -> [t, s] : s = i + t }"), "s, t"); }) ==
        "legal");
}

TEST_CASE("refused: tiles whose loops go around a dependence") {
  const auto tiled = [](const std::string& body) {
    return order(split(split(plane(body), "i", 4), "j", 4), "i_outer, j_outer, i_inner, j_inner");
  };
  CHECK(message([&] { tiled("a[i, j] = a[i-1, j+1] {id=w}"); }) ==
        "w[i_outer=0, j_outer=0, i_inner=2, j_inner=3] would run before w[i_outer=0, "
        "j_outer=1, i_inner=1, j_inner=0], but w[i_outer=0, j_outer=1, i_inner=1, j_inner=0] "
        "writes a[1, 4] and w[i_outer=0, j_outer=0, i_inner=2, j_inner=3] reads it (n=5)");
  CHECK(message([&] { tiled("a[i, j] = a[i-1, j-1] {id=w}"); }) == "legal");
  CHECK(message([&] { tiled("a[i, j] = b[i-1, j+1] {id=w}"); }) == "legal");
}

TEST_CASE("refused: the order of an accumulation's terms") {
  CHECK(message([] { order(plane("s[0] = s[0] + a[i, j] {id=w}"), "j, i"); }) ==
        "w[j=1, i=2] would run before w[j=2, i=1], but w[j=2, i=1] reads s[0] and w[j=1, i=2] "
        "writes it (n=3)");
  CHECK(message([] { order(plane("s[i] = s[i] + a[i, j] {id=w}"), "j, i"); }) == "legal");
  CHECK(message([] { order(plane("s[0] = sum((i, j), a[i, j]) {id=w}"), "j, i"); }) == "legal");
}

TEST_CASE("refused: the last of several writes") {
  CHECK(message([] { order(plane("last[0] = a[i, j] {id=w}"), "j, i"); }) ==
        "w[j=1, i=2] would run before w[j=2, i=1], but w[j=2, i=1] writes last[0] and w[j=1, "
        "i=2] writes it too (n=3)");
  CHECK(message([] { order(plane("last[i] = a[i, j] {id=w}"), "j, i"); }) == "legal");
}

TEST_CASE("refused: a loop outside of the one that its bounds depend on") {
  const Kernel k = parsed(
      "kernel f(n: int32, len: int32[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < m}\nfor i\n  <int32> m = len[i] {id=b}\n"
      "  for j\n    a[i, j] = 1.0 {id=w, dep=b}\n  end\nend\n");
  CHECK(code_of([&] { order(k, "j, i"); }) == "cannot-nest");
  CHECK(message([&] { order(k, "i, j"); }) == "legal");
  CHECK(message([] {
          order(plane("a[i, j] = 1.0 {id=w}", "0 <= i < n and 0 <= j <= i"), "j, i");
        }) == "legal");
}

TEST_CASE("refused: joined loops that turn an order around") {
  const auto joined = [](const std::string& body, const std::string& inames) {
    return apply(plane(body, "1 <= i < 9 and 1 <= j < 9"), "join_inames", {text(inames)});
  };
  CHECK(message([&] { joined("a[i, j] = a[i-1, j+1] {id=w}", "j, i"); }) ==
        "w[j_and_i=1] would run before w[j_and_i=8], but w[j_and_i=8] writes a[1, 2] and "
        "w[j_and_i=1] reads it");
  CHECK(message([&] { joined("a[i, j] = a[i-1, j+1] {id=w}", "i, j"); }) == "legal");
  CHECK(message([&] { joined("a[i, j] = a[i-1, j-1] {id=w}", "j, i"); }) == "legal");
}

// ---- Changes of variables ---------------------------------------------------------------------

TEST_CASE("refused: a recurrence run backwards") {
  CHECK(message([] {
          map(line_of("1 <= i < n", "a[i] = a[i-1] {id=w}"), "{ [i] -> [r] : r = -i }");
        }) ==
        "w[r=-2] would run before w[r=-1], but w[r=-1] writes a[1] and w[r=-2] reads it (n=3)");
  CHECK(message([] {
          map(line_of("1 <= i < n", "a[i] = b[i-1] {id=w}"), "{ [i] -> [r] : r = -i }");
        }) == "legal");
}

TEST_CASE("refused: a map that drops instances") {
  CHECK(message([] {
          map(line_of("0 <= i < n", "a[i] = 1.0 {id=w}"), "{ [i] -> [h] : i = 2h }");
        }) == "the map has no image of `w[i=1]` when n = 2, which would be lost");
  CHECK(message([] {
          map(line_of("0 <= i < n and i mod 2 = 0", "a[i] = 1.0 {id=w}"),
              "{ [i] -> [h] : i = 2h }");
        }) == "legal");
}

TEST_CASE("refused: a map that doubles instances") {
  CHECK(message([] {
          map(line_of("0 <= i < n", "a[i] = 1.0 {id=w}"),
              "{ [i] -> [o, p] : i = 4o + p and 0 <= p < 5 }");
        }) ==
        "`w[i=0]` has two images when n = 1, `[o=-1, p=4]` and `[o=0, p=0]`, and would run "
        "twice");
  CHECK(message([] {
          map(line_of("0 <= i < n", "a[i] = 1.0 {id=w}"),
              "{ [i] -> [o, p] : i = 4o + p and 0 <= p < 4 }");
        }) == "legal");
}

TEST_CASE("refused: a map that merges instances") {
  CHECK(message([] { map(plane("a[i, j] = 1.0 {id=w}"), "{ [i, j] -> [t] : t = i + j }"); }) ==
        "`w[i=1, j=2]` and `w[i=2, j=1]` have the same image when n = 3, `[t=3]`");
  CHECK(message([] {
          map(plane("a[i, j] = 1.0 {id=w}", "0 <= i < n and 0 <= j < 8"),
              "{ [i, j] -> [t] : t = 8i + j }");
        }) == "legal");
}

TEST_CASE("refused: a skew the wrong way round") {
  const Kernel k = plane("a[i, j] = a[i-1, j+1] + a[i-1, j] {id=w}");
  CHECK(message([&] { map(k, "{ [i, j] -> [s, i] : s = j - i }"); }) ==
        "w[s=-1, i=2] would run before w[s=1, i=1], but w[s=1, i=1] writes a[1, 2] and w[s=-1, "
        "i=2] reads it (n=3)");
  CHECK(message([&] { map(k, "{ [i, j] -> [s, i] : s = i + j }"); }) == "legal");
}

// ---- Fusion and distribution ------------------------------------------------------------------

TEST_CASE("refused: fusion with a consumer that looks ahead") {
  CHECK(message([] { fuse(pair("b[i] = a[i]", "c[j] = b[j+1]", "0 <= j < n - 1"), "j", "i"); }) ==
        "y[i=0] would run before x[i=1], but x[i=1] writes b[1] and y[i=0] reads it (n=2)");
  CHECK(message([] { fuse(pair("b[i] = a[i]", "c[j] = b[j-1]", "1 <= j < n"), "j", "i"); }) ==
        "legal");
}

TEST_CASE("refused: fusion with a writer that comes too early") {
  CHECK(message([] {
          fuse(pair("b[i] = a[i-1]", "a[j] = 0", "0 <= j < n", "1 <= i < n"), "i", "j");
        }) == "y[j=0] would run before x[j=1], but x[j=1] reads a[0] and y[j=0] writes it (n=2)");
  CHECK(message([] { fuse(pair("b[i] = a[i+1]", "a[j] = 0"), "j", "i"); }) == "legal");
}

TEST_CASE("refused: fusion around a total") {
  const char* head =
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\ndomain {[k]: 0 <= k < n}\n";
  CHECK(message([&] {
          fuse(parsed(std::string(head) +
                      "b[i] = a[i] {id=x}\n<> s = sum(k, b[k]) {id=m}\nc[j] = s*b[j] {id=y}\n"),
               "j", "i");
        }) ==
        "statements cannot be ordered with one loop per iname: the loop `i` before the loop "
        "`k` before `m` before the loop `i`; duplicate_inames, or another iname in the text, "
        "splits the loop in two");
  CHECK(message([&] {
          fuse(parsed(std::string(head) +
                      "b[i] = a[i] {id=x}\n<> s = sum(k, a[k]) {id=m}\nc[j] = s*b[j] {id=y}\n"),
               "j", "i");
        }) == "legal");
}

TEST_CASE("refused: fusion through a subscript that nobody knows") {
  const char* head =
      "kernel f(n: int32, p: int32[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < n}\n";
  CHECK(message([&] {
          fuse(parsed(std::string(head) + "b[i] = a[i] {id=x}\nc[j] = b[p[j]] {id=y}\n"), "j", "i");
        }) ==
        "y[i=0] would run before x[i=1], but x[i=1] may write b[1] and y[i=0] may read it "
        "(n=2); where a subscript is read from an array, assume_injective or assume_disjoint "
        "says what cannot be seen here; the option unsafe=true takes it on trust");
  CHECK(message([&] {
          fuse(parsed(std::string(head) + "b[i] = a[i] {id=x}\nc[j] = a[p[j]] {id=y}\n"), "j", "i");
        }) == "legal");
}

TEST_CASE("refused: fusion of loops over different values, where a reduction would get new terms") {
  CHECK(message([] { fuse(pair("b[i] = a[i]", "c[j] = a[j]", "0 <= j <= n"), "j", "i"); }) ==
        "legal");
  CHECK(message([] {
          fuse(pair("b[0] = sum(i, a[i])", "c[j] = a[j]", "0 <= j <= n"), "j", "i");
        }) == "`j` and `i` run over different values: `x[i=0]` would be new when n = 0");
  CHECK(message([] { fuse(pair("b[i] = a[i]", "c[j] = a[j]", "0 <= j < n - 1"), "j", "i"); }) ==
        "legal");
}

TEST_CASE("refused: distribution of a cycle") {
  CHECK(message([] {
          distribute(line_of("1 <= i < n", "b[i] = c[i-1] {id=x}\nc[i] = b[i] {id=y}"), "i",
                     "id:y");
        }) ==
        "statements cannot be ordered with one loop per iname: the loop `i` before the loop "
        "`i_0` before the loop `i`; duplicate_inames, or another iname in the text, splits the "
        "loop in two");
  CHECK(message([] {
          distribute(line_of("1 <= i < n", "b[i] = a[i-1] {id=x}\nc[i] = b[i] {id=y}"), "i",
                     "id:y");
        }) == "legal");
}

TEST_CASE("refused: distribution over a scalar of each iteration") {
  CHECK(message([] {
          distribute(line_of("0 <= i < n", "<> t = a[i] {id=x}\nc[i] = 2*t {id=y}"), "i", "id:y");
        }) == "x[i=1] would run before y[i_0=0], but y[i_0=0] reads t and x[i=1] writes it (n=2)");
  CHECK(message([] {
          distribute(line_of("0 <= i < n", "t[i] = a[i] {id=x}\nc[i] = 2*t[i] {id=y}"), "i",
                     "id:y");
        }) == "legal");
}

TEST_CASE("refused: distribution with a dependency against it, legal in the other order") {
  // `x` reads `y`'s result one iteration later: the loop around `y` must come first.
  const Kernel k =
      distribute(line_of("0 <= i < n", "b[i] = a[i] {id=x}\na[i+1] = 0 {id=y}"), "i", "id:y");
  CHECK(tree(k) == "for i_0\n  y\nfor i\n  x\n");
  CHECK(message([] {
          distribute(line_of("0 <= i < n", "b[i] = a[i] {id=x}\na[i+1] = 0 {id=y, dep=x}"), "i",
                     "id:y");
        }) ==
        "statements cannot be ordered with one loop per iname: the loop `i` before the loop "
        "`i_0` before the loop `i`; duplicate_inames, or another iname in the text, splits the "
        "loop in two");
}

// ---- Temporaries that iterations pass on --------------------------------------------------------

/// `t` begins in the first iteration of `j`, or where `start` says so, and goes through all of
/// them.
Kernel carried(const std::string& start = "j == 0", const std::string& domain = "0 <= i, j < n") {
  return parsed("kernel f(n: int32, a: float64[2*n, n], c: float64[2*n, n])\ndomain {[i, j]: " +
                domain + "}\n<float64> t = 0.0  {id=z, inames=i:j, if=" + start +
                "}\nt = t + a[i, j]  {id=add}\nc[i, j] = t  {id=out}\n");
}

TEST_CASE("refused: an interchange between what a temporary gets and what it is read for") {
  CHECK(message([] { order(carried(), "j, i"); }) ==
        "add[j=0, i=1] would run before add[j=1, i=0], but add[j=1, i=0] reads t and add[j=0, i=1] "
        "writes it (n=2)");
  CHECK(message([] { order(carried("j >= 0"), "j, i"); }) == "legal");  // each iteration begins it
  CHECK(message([] { order(split(carried(), "i", 4), "i_outer, i_inner, j"); }) == "legal");
  CHECK(
      message([] { order(split(carried(), "j", 4), "j_outer, i, j_inner"); }) ==
      "add[j_outer=0, i=1, j_inner=0] would run before add[j_outer=1, i=0, j_inner=0], but "
      "add[j_outer=1, i=0, j_inner=0] reads t and add[j_outer=0, i=1, j_inner=0] writes it (n=5)");
}

TEST_CASE("refused: a skew that runs the rows of a temporary by turns") {
  CHECK(message([] { map(carried(), "{[i, j] -> [u, j]: u = i + j}"); }) ==
        "add[u=1, j=0] would run before add[u=1, j=1], but add[u=1, j=1] reads t and add[u=1, j=0] "
        "writes it (n=2)");
  CHECK(message([] { map(carried(), "{[i, j] -> [i, v]: v = j + 2*i}"); }) == "legal");
}

// Differential test, seed 344: the results of the fetch loop are for the same iteration of `j`, but
// of another one of the loop that it moves into.
TEST_CASE("refused: a fetch moved into a loop that runs around what reads it") {
  const Kernel k = parsed(
      "kernel f(n: int32, p: float64[n], q: float64[2*n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\ndomain {[m]: 0 <= m < n}\ntemp t: float64[n]\n"
      "t[m] = q[m + j] {id=fetch, inames=j:m}\np[i] = p[i] + t[i - 1] {id=use, inames=i:j, if=i > "
      "0}\n");
  CHECK(message([&] { fuse(k, "m", "i"); }) ==
        "fetch[i=0, j=1] would run before use[i=1, j=0], but use[i=1, j=0] reads t[0] and "
        "fetch[i=0, j=1] writes it (n=2)");
  CHECK(message([&] { fuse(order(k, "j, i"), "m", "i"); }) == "legal");
}

TEST_CASE("refused: work-items that have their own copies of what one of them wrote") {
  const auto tagged = [](const std::string& begin, const std::string& tags,
                         const std::string& space = "") {
    const Kernel k = parsed(
        "kernel f(n: int32, a: float64[n, 16], c: float64[n, 16])\n"
        "domain {[i, j]: 0 <= i < n and 0 <= j < 16}\ntemp t: float64" +
        space + "\n" + begin + "c[i, j] = t  {id=out}\n");
    return message([&] { tag(k, tags); });
  };
  const std::string shared = "; a team shares temporaries whose address space is `local`";
  const std::string first = "t = a[i, j]  {id=z, if=j == 0}\n";
  CHECK(tagged(first, "j:l.0") ==
        "out[i=0, j=1] reads t from z[i=0, j=0], but each iteration of `j`, tagged `l.0`, has its "
        "own `t` (n=1)" +
            shared);
  CHECK(tagged(first, "j:vec") ==
        "out[i=0, j=1] reads t from z[i=0, j=0], but each iteration of `j`, tagged `vec`, has its "
        "own `t` (n=1)" +
            shared);
  CHECK(tagged("t = 0.0  {id=y, inames=i}\n" + first, "j:l.0") ==
        "out[i=0, j=1] reads t from z[i=0, j=0], but each iteration of `j`, tagged `l.0`, has its "
        "own `t` (n=1)" +
            shared);
  CHECK(tagged(first, "j:l.0", " in local") == "legal");
  CHECK(tagged(first, "i:l.0") == "legal");
  CHECK(tagged("t = a[i, j]\n", "j:l.0") == "legal");
  CHECK(tagged("t = a[i, 0]  {inames=i}\n", "j:l.0") == "legal");
  // The result of `first` is overwritten by each before it is read.
  CHECK(tagged(first + "t = 2*a[i, j]  {id=again}\n", "j:l.0") == "legal");
}

// Differential test, seed 9980335: the order of instances is kept, but there is one value for all
// lanes as soon as its writer leaves their loop.
TEST_CASE("refused: one value for lanes that had one each") {
  const std::string head =
      "kernel f(n: int32, a: float64[n, 16], c: float64[n, 16])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 16}\ntemp t: float64\n";
  const auto lanes = [&](const std::string& body) { return parsed(head + "tag j: vec\n" + body); };
  const std::string fetch = "t = a[0, j]  {id=fetch, inames=j}\n";
  const Kernel plain = lanes(fetch + "c[i, j] = t  {id=use}\n");
  const Kernel sum = lanes(fetch + "c[i, 0] = sum(j, a[i, j]*t)  {id=use}\n");
  CHECK(message([&] { distribute(plain, "j", "id:fetch"); }) ==
        "fetch[j_0=1] would run before use[i=0, j=0], but use[i=0, j=0] reads t and fetch[j_0=1] "
        "writes it (n=1)");
  CHECK(message([&] { distribute(sum, "j", "id:fetch"); }) ==
        "use_update[i=0, j=1] reads t from fetch[j_0=0], but `t` has one value for each iteration "
        "of `j`, tagged `vec` (n=1); what is staged before `j` is tagged has an axis for it");
  CHECK(message([&] {
          distribute(apply(plain, "privatize_temporaries_with_inames", {text("j"), text("t")}), "j",
                     "id:fetch");
        }) == "legal");
  CHECK(message([&] { distribute(plain, "j", "id:fetch or id:use"); }) == "legal");
  const Kernel staged = apply(parsed(head + "c[i, 0] = sum(j, a[i, j])  {id=use}\n"),
                              "add_prefetch", {text("a"), text("j")});
  CHECK(message([&] { distribute(tag(staged, "j:vec"), "j", "id:use"); }) == "legal");
}

// Differential test, seed 521041: the text of the result, read again, would be one loop.
TEST_CASE("refused: loops of a team that become one although not its iterations run by turns") {
  const auto fused = [](const std::string& read, const std::string& tags) {
    return message([&] { fuse(tag(pair("a[i] = i", "b[j] = a[" + read + "]"), tags), "i", "j"); });
  };
  const std::string refusal =
      "`i` and `j` would be no one loop of the text: y[j=0] would run before x[j=1], but x[j=1] "
      "writes a[1] and y[j=0] reads it (n=2); `i` may be tagged `l.0` under its own name";
  CHECK(fused("j + 1", "i:l.0, j:l.0") == refusal);
  CHECK(fused("j + 1", "i:l.0") == refusal);
  CHECK(fused("j", "i:l.0, j:l.0") == "legal");
  CHECK(fused("j - 1", "i:l.0, j:l.0") == "legal");
}

// Differential test, seed 5117929: with the parts as instructions, the fetch can be between them.
TEST_CASE("refused: a list of instructions that would have to name the parts of one") {
  Kernel k = parsed(
      "kernel f(n: int32, a: int64[n + 4], b: int64[n + 4], c: int32[n + 4], "
      "p: int64[n + 4, n + 4], q: int64[n + 4, n + 4])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 0 <= k < n and i - 1 <= k <= i + 1}\nassume n >= 5\n"
      "a[i + 1] = c[i + 1] if i > 1 else sum(k, p[k + 2, i]) {id=s0, inames=i}\n"
      "p[i + 2, i + 3] = q[i + 2, i] {id=s1, inames=i}\n"
      "b[i + 2] = p[i + 3, i + 2] {id=s3, inames=i}\n");
  k = apply(k, "add_prefetch", {text("c"), Value{ValueList{}}},
            {{"fetch_bounding_box", flag(true)}});
  const auto after = [](const Kernel& x) {
    return apply(x, "add_dependency", {text("id:c_fetch_rule"), text("id:s3")});
  };
  CHECK(code_of([&] { after(k); }) == "parts-alternate");
  CHECK(message([&] { after(apply(k, "realize_reduction")); }) == "legal");
}
