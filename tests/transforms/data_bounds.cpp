// An instance reads the data that decides whether it runs: bounds and conditions from data.
#include "core/model/memo.h"
#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "tests/transforms/loop_kit.h"
#include "tests/transforms/same_values.h"

using namespace moonloop;

namespace {

/// Each iteration sets the length of its own inner loop.
const char* const kRows = R"(
kernel rows(n: int32, a: float64[n, 4], cnt: int32[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
for i
  <int32> len = cnt[i] % 4  {id=first}
  for k
    a[i, k] = 7   {id=second}
  end
end
)";

bool carries(const DependenceList& d, const std::string& variable, DepKind kind) {
  return std::any_of(d.all.begin(), d.all.end(),
                     [&](const Dependence& x) { return x.variable == variable && x.kind == kind; });
}

/// While it lives, what is remembered is found again and compared.
struct Comparing {
  Comparing() { memo().compares = true; }
  ~Comparing() { memo().compares = false; }
};

}  // namespace

TEST_CASE("bounds from data: reading them is a dependence") {
  const DependenceList d = dependences(parsed(kRows));
  CHECK(carries(d, "len", DepKind::Flow));
  const std::vector<Access> all = accesses_of(*parsed(kRows).find_insn("second"), parsed(kRows));
  CHECK(std::any_of(all.begin(), all.end(),
                    [](const Access& a) { return a.variable == "len" && !a.write; }));
}

TEST_CASE("bounds from data: a loop around the scalar and its use is not distributed") {
  const Kernel k = parsed(kRows);
  CHECK(message([&] {
          apply(k, "duplicate_inames", {text("i"), text("second")});
        }) ==
        "first[i=1] would run before second[i_0=0, k=0], but second[i_0=0, k=0] may read len and "
        "first[i=1] may write it (n=2); the bounds of the loop over `k` read `len`, so that what "
        "moves one of the two has to move the other along");
  CHECK(code_of([&] {
          apply(k, "split_iname", {text("i"), number(4)}, {{"within", text("id:second")}});
        }) == "not-proved");
  CHECK(code_of([&] {
          apply(k, "rename_iname", {text("i"), text("ii")}, {{"within", text("id:second")}});
        }) == "not-proved");
  // As a whole, the loop may be split, and its iterations may run at the same time.
  const Kernel split = apply(k, "split_iname", {text("i"), number(4)});
  CHECK(same_values(k, split, {{"n", 6}}));
  const Kernel parallel = apply(k, "tag_inames", {text("i:par")});
  CHECK(same_values(k, parallel, {{"n", 6}}));
  CHECK(same_values(k, apply(k, "split_iname", {text("k"), number(3)}), {{"n", 6}}));
}

TEST_CASE("bounds from data: a scalar for all loops may be computed in a loop before them") {
  const Kernel k = parsed(R"(
kernel rows(n: int32, a: float64[n, 4], cnt: int32[4])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
<int32> len = cnt[0] % 4  {id=first}
a[i, k] = 7               {id=second, inames=i:k}
a[i, k] = a[i, k] + 1     {id=third, inames=i:k, dep=second}
)");
  const Kernel apart = apply(k, "duplicate_inames", {text("i,k"), text("third")});
  CHECK(same_values(k, apart, {{"n", 6}}));
}

TEST_CASE("add_barrier: not before what computes the bounds of a loop") {
  CHECK(
      message([&] {
        apply(parsed(kRows), "add_barrier", {text("second"), text("first")});
      }) ==
      "second[i=0, k=0] would run before first[i=0], but first[i=0] may write len and second[i=0, "
      "k=0] may read it (n=1); the bounds of the loop over `k` read `len`, so that what "
      "moves one of the two has to move the other along");
  const Kernel k = apply(parsed(kRows), "add_barrier", {text("first"), text("second")});
  CHECK(k.instructions.size() == 3);
}

TEST_CASE("add_barrier: after steps that only reorder") {
  const Kernel k = parsed(R"(
kernel two(n: int32, a: float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
b[i] = 2*a[i]    {id=one}
c[j] = b[n-1-j]  {id=two}
)");
  for (const Kernel& stepped : {apply(k, "split_iname", {text("i"), number(4)}),
                                apply(k, "tag_inames", {text("i:g.0, j:g.0")}),
                                apply(k, "rename_iname", {text("j"), text("jj")})}) {
    const Kernel out = apply(stepped, "add_barrier", {text("one"), text("two")});
    CHECK(out.instructions.size() == 3);
    CHECK(out.instructions[1]->kind == InsnKind::Barrier);
    CHECK(same_values(k, out, {{"n", 6}}));
  }
  // It is in the order that the steps made, not in the list's.
  const Kernel moved = apply(k, "add_dependency", {text("two"), text("one")});
  CHECK(code_of([&] {
          apply(moved, "add_barrier", {text("two"), text("one")});
        }) == "dependency-cycle");
}

TEST_CASE("privatize_temporaries_with_inames: a bound of a loop stays a scalar") {
  const Kernel k = parsed(kRows);
  CHECK(message([&] { apply(k, "privatize_temporaries_with_inames", {text("i")}); }) ==
        "`len` is in the bounds of the loop over `k`, where only scalars can be; `only_var_names` "
        "takes the temporaries that get an axis");
  CHECK(code_of([&] { apply(k, "privatize_temporaries_with_inames", {text("i")}); }) ==
        "bounds-loop");
  const Kernel more = parsed(R"(
kernel rows(n: int32, a: float64[n, 4], cnt: int32[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
for i
  <int32> len = cnt[i] % 4
  for k
    <> t = 2*a[i, k]
    a[i, k] = t + 1
  end
end
)");
  const Kernel out = apply(more, "privatize_temporaries_with_inames", {text("i"), text("t")});
  CHECK(out.find_temporary("t")->shape->size() == 1);
  CHECK(same_values(more, out, {{"n", 6}}));
}

TEST_CASE(
    "private to iterations: an array that each iteration of a loop with computed bounds fills") {
  const Kernel k = parsed(R"(
kernel boxes(n: int32, m: int32, start: int32[n+1], x: float64[2, m], y: float64[n])
domain {[b]: 0 <= b < n}
domain {[s]: lo <= s < hi}
domain {[i]: 0 <= i < 2}
for b
  <> lo = start[b]
  <> hi = start[b+1]
  for s
    <> d[i] = x[i, s]*2 {dup=i}
    <> p = d[0]*d[1]
  end
  y[b] = simul_reduce(sum, s, p)
end
)");
  CHECK(reference_of(k)->private_to("d") == std::vector<std::string>{"b", "s"});
  for (const char* tag : {"b:par", "b:g.0"})
    CHECK(code_of([&] { apply(k, "tag_inames", {text(tag)}); }) == "legal");
}

TEST_CASE("private to iterations: two loops with one computed length") {
  const std::string head = R"(
kernel rows(n: int32, a: float64[n, 4], cnt: int32[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < len}
domain {[l]: 0 <= l < len}
<int32> len = cnt[i] % 4         {id=length}
<> t[k] = a[i, k]                {id=fill, inames=i:k}
)";
  const std::string use = "a[i, l] = t[len - 1 - l] + t[l]  {inames=i:l, dep=fill, id=use}\n";
  const Kernel k = parsed(head + "a[i, l] = t[l] + 1  {inames=i:l, dep=fill, id=use}\n");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i:par")}); }) == "legal");
  // The length changes in between: the value read may be another iteration's.
  const Kernel other = parsed(head + "len = cnt[n - 1 - i] % 4  {id=again, inames=i, dep=fill}\n" +
                              "a[i, l] = t[l] + 1  {inames=i:l, dep=again, id=use}\n");
  CHECK(code_of([&] { apply(other, "tag_inames", {text("i:par")}); }) == "not-proved");
}

TEST_CASE("private to iterations: both branches of a condition on data") {
  const auto branches = [](const std::string& first, const std::string& second,
                           const std::string& between = "") {
    return parsed(R"(
kernel advection(n: int32, f: float64[n], c: float64[n + 1], r: float64[n])
domain {[i]: 0 <= i < n}
<int32> donor = i + 1  {id=yes, if=)" +
                  first + R"(}
)" + between +
                  "donor = i  {id=no, if=" + second + R"(}
r[i] = c[donor]        {id=use, dep=yes:no}
)");
  };
  const auto parallel = [](const Kernel& k) {
    return code_of([&] { apply(k, "tag_inames", {text("i:par")}); });
  };
  const Kernel k = branches("f[i] < 0", "not (f[i] < 0)");
  CHECK(parallel(k) == "legal");
  const Kernel own = apply(k, "privatize_temporaries_with_inames", {text("i")});
  CHECK(own.find_temporary("donor")->shape->size() == 1);
  CHECK(same_values(k, own, {{"n", 6}}));
  CHECK(parallel(branches("f[i] == 0", "f[i] != 0")) == "legal");
  CHECK(parallel(branches("f[i] < 0 and i > 2", "not (f[i] < 0) or i <= 2")) == "legal");
  // Near misses: not the opposite (a NaN is neither), another element, a condition that changes.
  CHECK(parallel(branches("f[i] < 0", "f[i] >= 0")) == "not-proved");
  CHECK(parallel(branches("f[i] < 0", "not (f[n - 1 - i] < 0)")) == "not-proved");
  CHECK(parallel(branches("f[i] < 0", "not (f[i] < 0)", "f[i] = 1  {dep=yes, id=set}\n")) ==
        "not-proved");
}

TEST_CASE("a conflict under a condition that is true on both sides of a value has a witness") {
  const Kernel k = parsed(R"(
kernel flags(n: in int32, flag: in int32, v: inout float64[2], s: in float64[n])
domain {[i]: 0 <= i < n}
v[1] = s[i] {if=flag != 0, id=set}
)");
  CHECK(
      message([&] { apply(k, "tag_inames", {text("i:par")}); }) ==
      "tagging `i` as `par` would run set[i=0] and set[i=1] at the same time, but set[i=0] writes "
      "v[1] and set[i=1] writes it too (flag=1, n=2)");
}

TEST_CASE("unsafe: what is taken on trust stays so in later steps") {
  const Kernel k = parsed(R"(
kernel spread(n: int32, map: int32[n], a: inout float64[n], b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[map[i]] = a[map[i]] + b[i]   {id=add}
c[j] = 1                       {id=fill}
)");
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i:par")}); }) == "not-proved");
  const Kernel trusted = apply(k, "tag_inames", {text("i:par")}, {{"unsafe", flag(true)}});
  CHECK(trusted.claims.back().names == std::vector<std::string>{"i"});
  CHECK(code_of([&] { check_legal(trusted); }) == "legal");
  const Kernel later = apply(trusted, "split_iname", {text("j"), number(4)});
  CHECK(code_of([&] { check_legal(later); }) == "legal");
  const Kernel renamed = apply(later, "rename_iname", {text("i"), text("ii")});
  CHECK(code_of([&] { check_legal(renamed); }) == "legal");
  // Trust covers only the requested loops.
  const Kernel two = parsed(R"(
kernel two(n: int32, map: int32[n], a: inout float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[map[i]] = a[map[i]] + 1  {id=one}
a[map[j]] = a[map[j]] + 2  {id=two}
)");
  const Kernel half = apply(two, "tag_inames", {text("i:par")}, {{"unsafe", flag(true)}});
  CHECK(code_of([&] { apply(half, "tag_inames", {text("j:par")}); }) == "not-proved");
  // Provable loops need no trust.
  const Kernel proved = apply(k, "tag_inames", {text("j:par")}, {{"unsafe", flag(true)}});
  CHECK(proved.claims.back().names.empty());
}

TEST_CASE("domains: an element of an array in the bounds, and what to write instead") {
  CHECK(message([] {
          parsed(
              "kernel k(n, starts: int32[n + 1])\ndomain {[r]: 0 <= r < n}\n"
              "domain {[k]: starts[r] <= k < starts[r + 1]}\n<> t = k\n");
        }) ==
        "`{[k]: starts[r] <= k < starts[r + 1]}` is not a set: bounds have no elements of arrays, "
        "such "
        "as `starts[r]`; assign it to a scalar around the loop, as in `<> bound = starts[r]`, and "
        "write the scalar");
}

TEST_CASE("prioritize_loops: a loop stays in the one that computes its bounds") {
  CHECK(message([] { apply(parsed(kRows), "prioritize_loops", {text("k,i")}); }) ==
        "these loops cannot be nested: `i` must be outside `k` (its bounds are computed in that "
        "loop), `k` must be outside `i` (prioritize_loops)");
}

TEST_CASE("prioritize_loops: an interchange of imperfect loops says how it is possible") {
  const Kernel k = parsed(R"(
kernel nest(n: int32, a: float64[n], p: float64[n, n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = 1           {id=one}
p[i, j] = 2        {id=two}
)");
  CHECK(message([&] { apply(k, "prioritize_loops", {text("j,i")}); }) ==
        "these loops cannot be nested: `i` must be outside `j` (it holds more instructions), `j` "
        "must be outside `i` (prioritize_loops); `duplicate_inames(\"i\", \"id:two\")` gives it "
        "a loop of its own, which the order may then name");
  const Kernel once = apply(k, "duplicate_inames", {text("i"), text("id:two")});
  CHECK(same_values(k, apply(once, "prioritize_loops", {text("j,i_0")}), {{"n", 4}}));
}

TEST_CASE("data bounds: of an array of a team, each member has the element of its number") {
  // Differential test, seed 5181484: the condition was not seen to be the same where `at` is read,
  // so that what was carried over from step to step was not found again.
  Kernel k = parsed(R"(
kernel k(n: int32, d: in int32[n], e: in int64[n], b: out int64[n], count: inout int32, list: inout int64[n])
domain {[z]: 0 <= z < n}
domain {[x]: 0 <= x < n}
b[x] = 2*e[x]  {id=c0, inames=x}
<int32> at, count = make_tuple(count, count + 1)  {id=c1, inames=z, atomic, if=d[z] % 3 > 0}
list[at] = 9  {id=c2, inames=z, dep=c1, if=d[z] % 3 > 0}
)");
  const Comparing comparing;
  k = apply(k, "assume_commuting", {text("count")});
  k = apply(k, "assume_disjoint", {text("list")});
  k = apply(k, "split_iname", {text("z"), Value{2}},
            {{"inner_tag", text("l.0")}, {"outer_tag", text("g.0")}});
  k = apply(k, "privatize_temporaries_with_inames", {text("z_inner")});
  CHECK(k.find_temporary("at")->shape->size() == 1);
  k = apply(k, "split_iname", {text("x"), Value{4}});
  k = apply(k, "add_prefetch", {text("e"), text("x_inner")});
  CHECK(code_of([&] { check_legal(k); }) == "legal");
}

// Differential test, seed 61800404: the races of a kernel that was made without a proof were taken
// for ones that its text would have.
TEST_CASE("text: of a kernel with a race, whose text has none but this") {
  Kernel k = parsed(R"(
kernel f(n: int32, a: float32[3*n + 12], h: float32[3*n + 12])
domain {[i]: 0 <= i < n and i mod 3 = 0}
assume n >= 5
h[i % 4] = 0.125*a[i + 1] + h[i % 4] - 0.125*a[i + 1]  {inames=i, atomic, tags=at_sum}
)");
  k = apply(k, "buffer_array", {text("h"), Value{ValueList{}}}, {{"default_tag", Value{false}}});
  CHECK(code_of([&] { apply(k, "tag_inames", {text("i:simd")}); }) == "races");
  k.iname_tags.insert_or_assign("i", *parse_iname_tag("simd"));
  const Comparing comparing;
  CHECK(print_kernel(as_text(k)).find("h_buf") != std::string::npos);
}

TEST_CASE("bounds from data: what is remembered of a loop asks who computes its bounds") {
  // Found by the differential test (5301460): the order of `c` in the parts of `k` is known where
  // all of them see one value of `len`, and not once that is computed in a loop of its own.
  Kernel k = parsed(R"(
kernel k(n: int32, c: inout int64[n + 1], q: int64[n + 9, n + 9], cnt: in int32[n])
domain {[i]: 0 <= i and 2*i < n}
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < len}
assume n >= 5
<int32> len = cnt[i // 2] % 5  {id=len, inames=i:j}
c[j + 1] = q[k + 1, j]         {id=set, inames=i:j:k}
)");
  const Comparing comparing;
  k = apply(k, "chunk_iname", {text("k"), number(2)}, {{"outer_tag", text("unr")}});
  CHECK(code_of([&] {
          apply(k, "duplicate_inames", {text("j"), text("id:len")}, {{"suffix", text("_d")}});
        }) == "not-proved");
}

// Differential test, seed 15201248: where a piece begins is computed with its loop's bound.
TEST_CASE("bounds from data: subscripts of pieces of a loop whose bound both instances see") {
  const auto chunked = [](const std::string& element, const std::string& writer) {
    return apply(parsed("kernel k(n: int32, q: int32[3*n + 12, n], cnt: in int32[n])\n"
                        "domain {[i]: 0 <= i < n}\ndomain {[k]: 0 <= k < len}\n"
                        "<int32> len = cnt[i] % 5  {id=len, inames=i}\n" +
                        writer + "q[" + element + ", i // 2] = 8     {id=set, inames=i:k}\n"),
                 "chunk_iname", {text("k"), number(3)});
  };
  const Comparing comparing;
  const auto in_work_items = [&](const std::string& element, const std::string& writer = "") {
    const Kernel k = chunked(element, writer);
    // As if read from its text, in which it is only the pieces that there are.
    return code_of([&] { apply(rebase(k), "tag_inames", {text("k_outer:l.1")}); });
  };
  CHECK(in_work_items("2*k + 1") == "legal");
  CHECK(in_work_items("n + 7 - k") == "legal");
  CHECK(in_work_items("k // 2") == "not-proved");
  // Computed in two steps, before all pieces.
  CHECK(in_work_items("2*k + 1", "len = len + 1  {id=again, inames=i}\n") == "legal");
  // Other iterations of `i` see other values.
  CHECK(code_of([&] { apply(rebase(chunked("2*k + 1", "")), "tag_inames", {text("i:par")}); }) ==
        "not-proved");
}
