#include "transforms/chunk_iname.h"

#include "core/infer/infer.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/sets/budget.h"
#include "loop_kit.h"
#include "transforms/split_iname.h"

using namespace moonloop;

namespace {
Kernel loop(const std::string& domain, const std::string& rhs = "1.0") {
  return parsed("kernel f\ndomain {[i]: " + domain + "}\nc[i] = " + rhs + " {id=w}\n");
}
}  // namespace

TEST_CASE("chunk_iname: lengths that differ by one at most, the longer ones first") {
  const Kernel before = loop("0 <= i < 10");
  const Kernel k = chunk_iname(before, "i", 3);
  CHECK(line(k, "w") == "c[3*i_outer + min(i_outer, 1) + i_inner] = 1.0");
  CHECK(same_set(k.domains[0].set,
                 "{[i_outer, i_inner]: 0 <= i_outer < 3 and 0 <= i_inner < 4 and "
                 "(i_outer = 0 or i_inner < 3)}"));
  CHECK(conserves(before, k));
  CHECK(line(chunk_iname(loop("2 <= i < 14"), "i", 4, {.outer_iname = "o", .inner_iname = "l"}),
             "w") == "c[3*o + l + 2] = 1.0");
}

TEST_CASE("chunk_iname: parametric lengths, bounds, gaps, fewer iterations than pieces") {
  for (const char* d : {"0 <= i < n", "p <= i < n", "0 <= i < 2", "-3 <= i <= 9 and i mod 2 = 0",
                        "0 <= 2*i < n", "0 <= i < 4*n + 1"})
    for (const std::int64_t pieces : {1, 3, 5}) {
      CAPTURE(d);
      const Kernel before = loop(d);
      CHECK(conserves(before, chunk_iname(before, "i", pieces)));
    }
  const Kernel triangle =
      parsed("kernel f\ndomain {[i, j]: 0 <= i < n and i <= j < m}\nc[i, j] = 1.0 {id=w}\n");
  CHECK(conserves(triangle, chunk_iname(triangle, "j", 3)));
}

TEST_CASE("chunk_iname: a chain stays in order, pieces of it are not parallel") {
  const Kernel chain = loop("1 <= i < n", "c[i - 1] + 1.0");
  CHECK(message([&] { apply(chain, "chunk_iname", {text("i"), number(3)}); }) == "legal");
  CHECK(message([&] {
          apply(chain, "chunk_iname", {text("i"), number(3)}, {{"outer_tag", text("par")}});
        }).find("at the same time, but w[i_outer=0") != std::string::npos);
  CHECK(message([&] {
          apply(loop("0 <= i < n"), "chunk_iname", {text("i"), number(3)},
                {{"outer_tag", text("g.0")}});
        }) == "legal");
}

TEST_CASE("chunk_iname: the pieces of a loop without gaps need no guards") {
  const Kernel k = chunk_iname(loop("0 <= i < n"), "i", 5);
  CHECK(same_set(k.domains[0].set,
                 "[n] -> {[i_outer, i_inner]: 0 <= i_outer < 5 and 0 <= i_inner and "
                 "5*i_inner + i_outer < n}"));
  CHECK(count(isl_set_n_basic_set(k.domains[0].set.get())) == 1);
}

TEST_CASE("chunk_iname: a loop with a stride has pieces of as many iterations each") {
  const Kernel before = loop("2 <= i < n and i mod 3 = 2");
  const Kernel k = chunk_iname(before, "i", 4);
  CHECK(same_set(k.domains[0].set,
                 "[n] -> {[i_outer, i_inner]: 0 <= i_outer < 4 and 0 <= i_inner and "
                 "12*i_inner + 3*i_outer + 2 < n}"));
  CHECK(count(isl_set_n_basic_set(k.domains[0].set.get())) == 1);
  CHECK(conserves(before, k));
  CHECK(line(chunk_iname(loop("0 <= i < 20 and i mod 2 = 0"), "i", 3), "w") ==
        "c[6*i_outer + 2*min(i_outer, 1) + 2*i_inner] = 1.0");
}

// Differential test, seeds 1403028, 1407399, 1304977: cases for numbers that no piece has, and
// merged parts whose conditions then were independent of the pieces, made more parts with each
// step, until no query about the kernel could be answered.
TEST_CASE("chunk_iname: what depends on a loop in pieces has one part for each of them") {
  const auto parts = [](const Kernel& k, std::size_t domain) {
    return int(isl_set_n_basic_set(k.domains.at(domain).set.get()));
  };
  const Kernel plain = loop("0 <= i < n");
  const Kernel tiles = split_iname(plain, "i", 4);
  const Kernel chunks = chunk_iname(tiles, "i_outer", 3);
  CHECK(parts(chunks, 0) <= 3);
  CHECK(conserves(plain, chunks));
  CHECK(parts(split_iname(chunks, "i_outer_outer", 2), 0) <= 3);

  const Kernel triangle = parsed(
      "kernel f\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\nc[i, j] = 1.0 {id=w}\n");
  for (const int pieces : {2, 3, 4, 5}) {
    const Kernel k = chunk_iname(triangle, "i", pieces);
    CHECK(parts(k, 1) == pieces);
    CHECK(conserves(triangle, k));
  }
}

TEST_CASE("chunk_iname: statements that need one another, in many pieces") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, 16], c: float64[n])\n"
      "domain {[i, j]: 0 <= i < n and 0 <= j < 16}\n"
      "<> acc = sum(j, a[i, j])\nc[i] = 2*acc\n");
  const auto cut = [&](const char* tag) {
    return message([&] { apply(k, "chunk_iname", {text("i"), number(42)}, {{tag, text("par")}}); });
  };
  CHECK(cut("outer_tag") == "legal");
  CHECK(cut("inner_tag") == "legal");

  const Kernel chain =
      apply(loop("1 <= i < n", "c[i - 1] + 1.0"), "chunk_iname", {text("i"), number(9)});
  CHECK(message([&] { apply(chain, "prioritize_loops", {text("i_outer, i_inner")}); }) == "legal");
  CHECK(message([&] {
          apply(chain, "prioritize_loops", {text("i_inner, i_outer")});
        }).find("w[i_inner=0, i_outer=1] would run before w[i_inner=1, i_outer=0]") !=
        std::string::npos);
}

// The bounds of `j` are in all combinations of the pieces; whole tiles leave them in one.
TEST_CASE("refused: pieces of pieces with bounds in more cases than code is made for") {
  Kernel k = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < i}\n"
      "a[i, j] = 2\n");
  k = chunk_iname(chunk_iname(k, "i", 6), "i_inner", 6);
  CHECK(
      message([&] { chunk_iname(k, "i_inner_inner", 4); }) ==
      "the bounds of `i_outer`, `i_inner_outer`, `i_inner_inner_outer`, `i_inner_inner_inner`, `j` "
      "would be in 157 pieces, but 128 are the most; "
      "split_iname(\"i_inner_inner\", 32) makes pieces of one length, of which bounds are in one");
  CHECK(message([&] { split_iname(k, "i_inner_inner", 32); }) == "legal");
  const Kernel triangle = parsed(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[i, j]: 0 <= j <= i < n}\na[i, j] = 2\n");
  CHECK(message([&] { chunk_iname(triangle, "i", 500); }) ==
        "the bounds of `i`, `j` would be in 500 pieces, but 128 are the most; "
        "split_iname(\"i\", 32) makes pieces of one length, of which bounds are in one");
}

TEST_CASE("refused: pieces of a loop that there cannot be") {
  const Kernel k = loop("0 <= i < n");
  CHECK(message([&] { chunk_iname(k, "i", 0); }) ==
        "`i` cannot be split into 0 pieces; there are 1 to 1000");
  CHECK(message([&] { chunk_iname(k, "x", 2); }).find("no iname") != std::string::npos);
  CHECK(message([&] { chunk_iname(loop("0 <= i < n and i < m"), "i", 2); }) ==
        "`i` has no last iteration that one expression gives, which its pieces need");
  CHECK(message([&] {
          chunk_iname(chunk_iname(k, "i", 2, {.inner_tag = "unr"}), "i_inner", 2);
        }).find("is tagged `unr`; split it first") != std::string::npos);
}

// The domain of the chunks of a split loop had many pieces, and the needs of a fetch had many more.
TEST_CASE("add_prefetch: what the pieces of tiles need is found") {
  Kernel k = parsed(
      "kernel f(n: int32, b: int64[3*n + 12], q: int64[3*n + 12, 3*n + 12])\n"
      "domain {[i]: 0 <= i < n}\nassume n >= 5\nq[2*i + 3, 3] = q[2*i + 3, 3] + b[2*i + 2] - q[i + "
      "3, i]\n");
  k = apply(k, "split_iname", {text("i"), number(4)});
  k = apply(k, "chunk_iname", {text("i_outer"), number(3)});
  CHECK(code_of([&] {
          apply(k, "add_prefetch", {text("q"), text("i_outer_outer, i_inner")});
        }) == "legal");
}

// Differential test, seed 3100520: bounds for each combination of pieces along each axis.
TEST_CASE("add_prefetch: what pieces of pieces read is one box for each piece around them") {
  Kernel k = parsed(R"(
kernel f(n: int32, p: int32[3*n + 12, 3*n + 12], b: int32[3*n + 12])
domain {[i]: 0 <= i < n and i mod 3 = 0}
assume n >= 5
b[i + 2] = p[i + 3, i + 3] {if=i + i < n}
)");
  k = apply(k, "chunk_iname", {text("i"), number(5)});
  k = apply(k, "chunk_iname", {text("i_inner"), number(2)});
  k = apply(k, "add_prefetch", {text("p"), text("i_inner_inner, i_inner_outer")});
  CHECK(code_of([&] { check_legal(k); }) == "legal");
  // Those with `i_outer` from 0 to 2, and one that isl keeps separate.
  CHECK(isl_set_n_basic_set(k.home_of("p_dim_0")->set.get()) <= 4);
}

// Differential test, seed 6300103: where a piece begins is a number from data.
TEST_CASE("chunk_iname: one piece of a loop whose bounds are data") {
  const Kernel k = parsed(R"(
kernel rows(n: int32, a: int64[n + 8], cnt: in int32[n])
domain {[i]: 0 <= i < n}
domain {[k]: low <= k < len}
for i
  <int32> low = cnt[i] % 3
  <int32> len = low + cnt[i] % 4
  a[1] = a[k]
end
)");
  CHECK(code_of([&] { chunk_iname(k, "k", 1, {.outer_tag = "par"}); }) == "legal");
}

// Differential test, seed 10020036: a statement that another loop took in runs in `k` alone, over
// all that `k` is for any `j`.
TEST_CASE("refused: pieces whose ends depend on a loop that a statement is not in") {
  const auto chunked = [](const std::string& inames, const std::string& step) {
    const Kernel k = parsed(
        "kernel f(n: int32, q: int32[n])\ndomain {[j]: 0 <= j < n}\ndomain {[k]: j <= k < n}\n"
        "q[k] = q[k] + 1  {id=s, inames=" +
        inames + "}\n");
    const int parts = step == "chunk_iname" ? 2 : 32;
    return message([&] { apply(k, step, {text("k"), number(parts)}); });
  };
  CHECK(chunked("k", "chunk_iname") ==
        "`s` runs in `k` but not in `j`, on which the ends of the pieces depend; "
        "split_iname(\"k\", 32) makes pieces of one length");
  CHECK(chunked("k", "split_iname") == "legal");
  CHECK(chunked("j:k", "chunk_iname") == "legal");
}

// Differential test, seeds 2300639, 2310213 and 3304562: text has no reference to be checked in.
TEST_CASE("chunk_iname: text of pieces of tiles and of pieces is checked in few operations") {
  const auto checked = [](const Kernel& k, unsigned long operations) {
    const Kernel again = parsed(print_kernel(k));
    return code_of([&] {
      const IslBudget budget(operations);
      complete(again);
    });
  };
  Kernel tiles = parsed(R"(
kernel f(n: int32, a: int32[n], c: int32[n])
domain {[i]: 0 <= i < n and i mod 2 = 0}
domain {[j]: 0 <= j < n}
assume n >= 5
temp t: int32[n]
t[i] = a[i]
c[j] = t[j] {if=j % 2 == 0}
)");
  tiles = apply(tiles, "split_iname", {text("i"), number(4)});
  tiles = apply(tiles, "split_iname", {text("i_outer"), number(4)});
  tiles = apply(tiles, "chunk_iname", {text("i_outer_outer"), number(5)});
  CHECK(checked(tiles, 200'000) == "legal");

  Kernel pieces = parsed(R"(
kernel f(n: int32, p: int32[n + 4, n + 4])
domain {[k]: 0 <= k < n}
assume n >= 5
p[k + 1, k + 1] = p[k + 2, k + 3] {if=k > 1}
)");
  pieces = apply(pieces, "chunk_iname", {text("k"), number(4)});
  pieces = apply(pieces, "chunk_iname", {text("k_inner"), number(3)});
  pieces = apply(pieces, "chunk_iname", {text("k_inner_inner"), number(3)});
  CHECK(checked(pieces, 500'000) == "legal");
}

// Differential test, seed 2310213: pieces of pieces of pieces, at once, and unrolled.
TEST_CASE("chunk_iname: pieces of pieces of pieces are in order, in text and in the code") {
  Kernel k = parsed(R"(
kernel f(n: int32, p: int32[n + 4, n + 4], q: int32[n + 4, n + 4])
domain {[k]: 0 <= k < n}
assume n >= 5
p[k + 1, k + 1] = q[k + 2, k + 3] {if=k > 1}
)");
  const char* iname = "k";
  for (const char* next : {"k_inner", "k_inner_inner", "k_inner_inner_inner"}) {
    k = apply(k, "chunk_iname", {text(iname), number(3)});
    iname = next;
  }
  k = apply(k, "tag_inames", {text("k_inner_inner_outer:par")});
  CHECK(code_of([&] { check_legal(k); }) == "legal");
  const Kernel again = parsed(print_kernel(k));
  CHECK(code_of([&] {
          const IslBudget budget(500'000);
          check_legal(again);
        }) == "legal");
}
