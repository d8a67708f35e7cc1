#include "tests/runtime/device_kit.h"

/// Dependences between groups: where kernels are cut, which grid each of them has.
using namespace moonloop;
using test::error_of;
using test::run;
using test::run_on;
using test::Shape;
using test::split;
using test::step;
using test::tagged;
using test::word;

namespace {

Kernel with_tags(Kernel k, const std::map<std::string, std::string>& tags) {
  ValueDict all;
  for (const auto& [iname, tag] : tags) all.emplace_back(iname, Value{tag});
  return step(k, "tag_inames", {Value{all}});
}

}  // namespace

TEST_CASE("device: a subscript from data leaves the others of the access exact") {
  const std::string text = R"(
kernel rows(ng: int32, d: in int32[ng, 16], out: out int32[ng, 16])
domain {[g]: 0 <= g < ng}
domain {[z]: 0 <= z < 16}
domain {[w]: 0 <= w < 16}
temp t: int32[ng, 16] in global
for g
  t[g, z] = z*z                    {id=fill}
  out[g, w] = t[%, d[g, w] % 16]   {id=look}
end
)";
  const auto reading = [&](const std::string& row) {
    std::string out = text;
    return out.replace(out.find('%'), 1, row);
  };
  const std::map<std::string, std::string> tags{{"g", "g.0"}, {"z", "l.0"}, {"w", "l.0"}};
  CHECK(run(reading("g"), tags, {{"ng", "5"}}) == Shape{1, 1});
  CHECK(error_of([&] { tagged(reading("d[g, 0] % ng"), tags); }).find("[not-proved]") !=
        std::string::npos);
}

TEST_CASE("device: claims hold beside other statements and in loops of the host") {
  const Kernel plain = parsed(R"(
kernel k(n: int32, steps: int32, a: inout float64[n*n], b: inout float64[n])
domain {[t]: 0 <= t < steps}
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
for t
  a[i*i] = a[i*i] + b[i]   {id=scatter}
  b[j] = b[j] + 1          {id=next}
end
)");
  const std::map<std::string, std::string> tags{{"i", "g.0"}, {"j", "g.0"}};
  CHECK(error_of([&] { with_tags(plain, tags); }).find("[not-proved]") != std::string::npos);
  const Kernel claimed = with_tags(step(plain, "assume_disjoint", {word("a")}), tags);
  CHECK(run(claimed, plain, {{"n", "9"}, {"steps", "3"}}) == Shape{1, 0});
}

TEST_CASE("device: of maps whose values differ, groups meet only where the subscripts do") {
  const std::string text = R"(
kernel k(n: int32, s: in int32[n], a: inout float64[n], b: inout float64[n], c: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[s[i]] = a[s[i]] + b[i]   {id=scatter}
c[j] = a[%]                {id=read}
)";
  const auto kernels = [&](const std::string& index) {
    std::string out = text;
    out.replace(out.find('%'), 1, index);
    const Kernel k = step(parsed(out), "assume_injective", {word("s")});
    return generate(with_tags(k, {{"i", "g.0"}, {"j", "g.0"}}), Target::OpenCL)
        .device->kernels.size();
  };
  CHECK(kernels("s[j]") == 1);
  CHECK(kernels("s[n - 1 - j]") == 2);
  CHECK(kernels("j") == 2);
}

TEST_CASE("device: a kernel has the grid of its own statements alone") {
  const std::string triangle = R"(
kernel k1(m: int32, n: int32, A: in float64[m, m], B: inout float64[m, n])
domain {[i, j]: 0 <= i < m and 0 <= j < n}
domain {[k]: i < k < m}
domain {[p, q]: 0 <= p < m and 0 <= q < n}
B[i, j] = B[i, j] + sum(k, A[k, i]*B[k, j])   {id=run}
B[p, q] = 2*B[p, q]                           {id=scale}
)";
  Kernel k = step(parsed(triangle), "prioritize_loops", {word("j, i")});
  CHECK(run(with_tags(k, {{"j", "g.0"}, {"q", "g.0"}}), parsed(triangle),
            {{"m", "5"}, {"n", "4"}}) == Shape{1, 0});
  k = with_tags(k, {{"j", "g.0"}, {"p", "g.1"}, {"q", "g.0"}});
  CHECK(run(k, parsed(triangle), {{"m", "5"}, {"n", "4"}}) == Shape{2, 0});
  const Program p = generate(k, Target::OpenCL);
  CHECK(p.source.find("get_group_id(1) == 0") == std::string::npos);

  CHECK(run(R"(
kernel bn(n: int32, c: int32, x: in float64[n, c], mean: out float64[c], var: out float64[c], y: out float64[n, c])
domain {[ch]: 0 <= ch < c}
domain {[p]: 0 <= p < n}
domain {[s]: 0 <= s < n}
domain {[e, f]: 0 <= e < n and 0 <= f < c}
assume n >= 1 and c >= 1
mean[ch] = sum(p, x[p, ch])/n                  {id=mean}
var[ch] = sum(s, (x[s, ch] - mean[ch])**2)/n   {id=var}
y[e, f] = (x[e, f] - mean[f])/sqrt(var[f])     {id=norm}
)",
            {{"ch", "g.0"}, {"e", "g.1"}, {"f", "g.0"}}, {{"n", "5"}, {"c", "3"}}) == Shape{2, 0});
}

TEST_CASE("device: a loop over groups is cut where they need each other inside of it") {
  const auto shape = [](const char* row, const std::map<std::string, std::string>& tags,
                        const char* value) {
    const std::string text = fmt::format(R"(
kernel k(n: int32, x: in float64[n], S: inout float64[n, n], O: out float64[n])
domain {{[i, j]: 0 <= i, j < n}}
domain {{[r]: 0 <= r < n}}
domain {{[k]: 0 <= k < n}}
S[i, j] = x[i]*x[j]        {{id=fill}}
O[{0}] = {1}     {{id=rows}}
)",
                                         row, value);
    return run(text, tags, {{"n", "7"}});
  };
  CHECK(shape("i", {{"i", "g.1"}, {"j", "g.0"}}, "sum(k, S[i, k])") == Shape{2, 0});
  CHECK(shape("i", {{"i", "g.1"}, {"j", "g.0"}}, "S[i, 0] + S[i, n - 1]") == Shape{2, 0});
  CHECK(shape("r", {{"i", "g.1"}, {"j", "g.0"}, {"r", "g.1"}}, "sum(k, S[r, k])") == Shape{2, 0});
  CHECK(shape("r", {{"i", "g.1"}, {"j", "g.0"}, {"r", "g.0"}}, "sum(k, S[r, k])") == Shape{2, 0});
  CHECK(shape("i", {{"i", "g.1"}}, "sum(k, S[i, k])") == Shape{1, 0});
  CHECK(shape("i", {{"i", "g.1"}, {"j", "g.0"}}, "x[i]") == Shape{1, 0});
}

TEST_CASE("device: a sequential loop inside of one over groups that meet runs on the host") {
  const std::string text = R"(
kernel waves(n: int32, m: int32, a: inout float64[n, m], b: inout float64[n, m])
domain {[i]: 0 <= i < n}
domain {[t]: 0 <= t < 3}
domain {[j]: 0 <= j < m}
domain {[k]: 0 <= k < m}
for i, t
  b[i, j] = a[i, m - 1 - j] + t   {id=one}
  a[i, k] = 0.5*b[i, m - 1 - k] + a[i, k]   {id=two}
end
)";
  CHECK(run(text, {{"i", "g.1"}, {"j", "g.0"}, {"k", "g.0"}}, {{"n", "3"}, {"m", "6"}}) ==
        Shape{2, 0});
  CHECK(run(text, {{"i", "g.1"}}, {{"n", "3"}, {"m", "6"}}) == Shape{1, 0});
}

TEST_CASE("device: memory that is filled whole is a group's own, whatever index reads it") {
  const std::string text = R"(
kernel looked(ng: int32, d: in int32[ng, 16], bins: inout int32[ng, 16])
domain {[g]: 0 <= g < ng}
domain {[z]: 0 <= z < %}
domain {[w]: 0 <= w < 16}
temp mine: int32[16] in local
for g
  mine[z] = z + g                                   {id=fill}
  bins[g, w] = bins[g, w] + mine[d[g, w] % 16]      {id=add}
end
)";
  const auto filled = [&](const std::string& to) {
    std::string out = text;
    return out.replace(out.find('%'), 1, to);
  };
  CHECK(run(filled("16"), {{"g", "g.0"}, {"z", "l.0"}, {"w", "l.0"}}, {{"ng", "3"}}) ==
        Shape{1, 1});
  run_on(Target::OpenMP, tagged(filled("16"), {{"g", "par"}}), parsed(filled("16")), {{"ng", "3"}});
  // one element may come from another iteration
  CHECK(error_of([&] {
          tagged(filled("15"), {{"g", "g.0"}, {"z", "l.0"}, {"w", "l.0"}});
        }).find("writes mine[0] and fill[g=1, z=0] writes it too (ng=2)") != std::string::npos);
}

TEST_CASE("device: barriers under conditions that are one for the group") {
  const auto code = [](const std::string& condition) {
    const std::string text = R"(
kernel half(n: int32, a: float64[16], b: float64[16])
domain {[i]: 0 <= i < 16}
domain {[j]: 0 <= j < 16}
b[i] = a[i]  {id=w}
... lbarrier {id=wait, if=%, dep=w}
a[j] = 2*b[15 - j]     {dep=wait}
)";
    std::string out = text;
    return out.replace(out.find('%'), 1, condition);
  };
  const std::map<std::string, std::string> tags{{"i", "l.0"}, {"j", "l.0"}};
  CHECK(run(code("n > 3"), tags, {{"n", "2"}}).kernels == 1);
}

TEST_CASE("device: loops that work-items run differently often may hold several runs of them") {
  const std::string text = R"(
kernel ragged(len: in int32[16], x: float64[16, 99], s: float64[16, 99], y: float64[16, 99])
domain {[i]: 0 <= i < 16}
domain {[t]: 0 <= t < m and t < 99}
<int32> m = len[i]       {id=count, inames=i}
s[i, t] = x[i, t]        {id=fill, inames=i:t, dep=count}
y[i, t] = s[i, t]        {id=use, inames=i:t, dep=fill}
)";
  CHECK(run(text, {{"i", "l.0"}}, {}) == Shape{1, 0});
}

TEST_CASE("work-items: a reduction inside of another one has a result for each of them") {
  const std::string text = R"(
kernel nested(e: int32, n: int32, m: int32, y: float64[e, n], A: float64[e, n, m], r: out float64[e])
domain {[g]: 0 <= g < e}
domain {[j]: 0 <= j < n}
domain {[i]: 0 <= i < m}
r[g] = sum(j, y[g, j]*sum(i, A[g, j, i]))
)";
  Kernel k = with_tags(parsed(text), {{"g", "g.0"}});
  k = split(split(k, "j", 4, "", "l.1"), "i", 8, "", "l.0");
  test::run_everywhere(k, parsed(text), {{"e", "3"}, {"n", "9"}, {"m", "11"}});
}

TEST_CASE("device: what takes a loop to compute and is one for all groups is computed once") {
  const auto kernels = [](const char* length) {
    const std::string text = fmt::format(R"(
kernel trace(n: int32, a: float64[n, n], out: out float64[n, n])
domain {{[d]: 0 <= d < {}}}
domain {{[i, j]: 0 <= i, j < n}}
assume n >= 4
<> t = sum(d, a[d, d])
out[i, j] = a[i, j] + t
)",
                                         length);
    const Kernel k = with_tags(parsed(text), {{"i", "g.1"}, {"j", "g.0"}});
    return run(split(k, "d", 4, "", "l.0"), parsed(text), {{"n", "9"}}).kernels;
  };
  CHECK(kernels("n") == 2);
  CHECK(kernels("4") == 1);  // less than a kernel costs
}

TEST_CASE("device: what only the first group along an axis uses is computed there alone") {
  const std::string text = R"(
kernel two(n: int32, X: in float64[n, n], A: out float64[n], C: out float64[n, n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < n}
domain {[p, q]: 0 <= p < n and 0 <= q < n}
A[i] = sum(k, X[i, k])
C[p, q] = 2*X[p, q]
)";
  const std::map<std::string, std::string> tags{{"i", "g.0"}, {"p", "g.1"}, {"q", "g.0"}};
  CHECK(run(text, tags, {{"n", "7"}}) == Shape{1, 0});
  const std::string source = generate(tagged(text, tags), Target::OpenCL).source;
  const auto guard = source.find("if (get_group_id(1) == 0) {");
  CHECK(guard != std::string::npos);
  CHECK(guard < source.find("acc_k = 0.0"));
}

// Differential test, seed 8050234: neither loop over groups can be around parts of the other.
TEST_CASE("device: two loops over groups around one part end the search for kernels") {
  const std::string text = R"(
kernel f(n: int32, a: in int32[4*n + 8], c: out int32[n + 3])
domain {[i]: 0 <= i < n}
domain {[g]: 0 <= g < 5}
temp t: int32[5]
for i
  t[g] = a[2*i + g]
  c[i] = t[0] + t[4]
end
)";
  const Kernel k = with_tags(parsed(text), {{"i", "g.1"}, {"g", "g.0"}});
  const std::string said = test::error_of([&] { generate(k, Target::OpenCL); });
  CHECK(said.find("groups of one kernel would meet in `t`: insn[g=0, i=0] writes t[0], insn[g=0, "
                  "i=1] writes it") == 0);
  CHECK(said.find("[unsupported]") != std::string::npos);
  const Kernel own = step(k, "privatize_temporaries_with_inames", {word("i"), word("t")});
  test::run_everywhere(own, parsed(text), {{"n", "9"}});
}

TEST_CASE("device: copies of an unrolled loop that holds the groups declare what is theirs") {
  // Found by the differential test: all declared it in one block.
  const Kernel plain = parsed(R"(
kernel copies(n: int32, a: in int64[n], b: inout int64[n], c: out int64[n], q: in int64[3, n])
domain {[t]: 0 <= t < 3}
domain {[x]: 0 <= x < n}
domain {[y]: 0 <= y < n}
assume n >= 1
for t
  c[x] = a[n - 1 - x]
  b[y] = 2*b[y] + q[t, y]
end
)");
  Kernel k = with_tags(plain, {{"y", "g.0"}});
  k = step(k, "buffer_array", {word("b"), Value{ValueList{}}}, {{"default_tag", Value{false}}});
  k = split(k, "t", 4, "g.1", "unr");
  k = step(k, "privatize_temporaries_with_inames", {word("t_inner")});
  CHECK(run(k, plain, {{"n", "7"}}) == Shape{1, 0});
}

TEST_CASE("device: a group reads no other one's local memory") {
  using namespace moonloop::test;
  // Differential test, seed 40090045 on CUDA: groups read what others had written to their own
  // copy.
  const auto spread =
      [](const std::string& space, const std::string& subscript) {
        const Kernel k = parsed(R"(
kernel f(n: int32, look: in int32[n], a: in int32[n], q: inout int32[n, 8])
domain {[i]: 0 <= i < n}
domain {[w]: 0 <= w < 8}
domain {[r]: 0 <= r < 8}
temp t: int32[8] )" + space + R"(
for i
  t[w] = a[i] + w     {id=fill}
  q[i, r] = t[)" + subscript + R"(]  {id=take, dep=fill}
end
)");
        return step(k, "tag_inames", {word("i:g.1, w:g.0, r:g.0")});
      };
  const std::string of_groups = "but each group has its own `t`, in local memory",
                    of_items = "but each work-item has its own `t`, in private memory";
  for (const std::string subscript : {"7 - r", "(r + 1) % 8", "(look[i] + r) % 8"})
    for (const auto& [space, own] :
         {std::pair<std::string, std::string>("in local", of_groups), {"in private", of_items}}) {
      CAPTURE(subscript);
      try {  // private: seed 43944081
        generate(spread(space, subscript), Target::OpenCL);
        FAIL("a group reads what another one wrote");
      } catch (const Error& e) {
        CHECK(e.diagnostic().text.find(own) != std::string::npos);
        CHECK(e.diagnostic().code == "unsupported");
      }
    }
  for (const std::string space : {"in local", "in private"}) {
    const Kernel same = spread(space, "r");
    run_everywhere(same, same, {{"n", "5"}});
  }
  // All groups fill the whole array.
  const Kernel all = parsed(R"(
kernel f(n: int32, a: in int32[8], q: inout int32[n])
domain {[i]: 0 <= i < n}
domain {[w]: 0 <= w < 8}
temp t: int32[8] in local
t[w] = a[w] + 1      {id=fill}
q[i] = t[(3*i) % 8]  {id=take, dep=fill}
)");
  run_everywhere(step(all, "tag_inames", {word("i:g.0, w:l.0")}), all, {{"n", "19"}});
}

TEST_CASE("device: loops of the host around a barrier stay outside of work-items that share them") {
  const Kernel plain = parsed(R"(
kernel f(n: int32, b: in float64[n], p: inout float64[n], q: inout float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < 3}
p[i] = p[i] + j      {id=s0, inames=i:j}
q[i] = q[i] + b[i]   {id=s1, inames=i:j}
)");
  Kernel k = step(plain, "add_barrier", {word("id:s0"), word("id:s1")});
  k = step(k, "tag_inames", {word("i:l.0")});
  CHECK(generate(k, Target::OpenCL).device->kernels.size() == 2);
  test::run_everywhere(k, plain, {{"n", "19"}});
}

TEST_CASE("device: what groups leave to others is kept where all find it, as the refusal says") {
  const Kernel plain = parsed(R"(
kernel f(n: int32, x: in float64[n], y: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: i <= j <= i}
<> acc = 0.0                {id=start}
for i
  acc = acc + x[j]          {id=add, inames=i:j, dep=start}
  y[i] = acc                {id=take, dep=add}
end
)");
  const Kernel spread =
      step(plain, "split_iname", {word("j"), Value{std::int64_t{4}}}, {{"outer_tag", word("g.0")}});
  const std::string said = error_of([&] { generate(spread, Target::OpenCL); });
  CHECK(said.find("set_temporary_address_space(\"acc\", \"global\") makes it one for all "
                  "[unsupported]") != std::string::npos);
  const Kernel shared = step(spread, "set_temporary_address_space", {word("acc"), word("global")});
  test::run_everywhere(shared, plain, {{"n", "19"}});
}

TEST_CASE("device: what is written beside shared memory, outside of work-items, is shared too") {
  // Differential test on a GPU, seeds 43307152 and 43308230: one work-item alone had the value.
  const Kernel plain = parsed(R"(
kernel f(n: int32, x: in int32[n], q: inout int32[4], y: out int32[n])
domain {[i]: 0 <= i < n}
domain {[s]: 0 <= s < 3}
for s
  <int32> t, q[0] = make_tuple(q[0], q[0] + 1)  {id=a}
  <int32> u = 2*t                               {id=b, dep=a}
  y[i] = x[i] + t + u                           {id=c, dep=b}
end
)");
  for (const bool groups : {false, true}) {
    CAPTURE(groups);
    ValueDict tags{{"inner_tag", word("l.0")}};
    if (groups) tags.emplace_back("outer_tag", word("g.0"));
    const Kernel k = step(plain, "split_iname", {word("i"), Value{std::int64_t{8}}}, tags);
    test::run_everywhere(k, plain, {{"n", "19"}});
    const Kernel own = step(k, "set_temporary_address_space", {word("t"), word("private")});
    CHECK(error_of([&] { generate(own, Target::OpenCL); })
              .find("set_temporary_address_space(\"t\", \"global\") makes it one for all "
                    "[unsupported]") != std::string::npos);
  }
}

TEST_CASE("device: a group's barrier between kernels needs no kernel of its own") {
  const Kernel plain = parsed(R"(
kernel f(n: int32, x: in float64[n], y: out float64[n], z: out float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
y[i] = 2*x[i]      {id=first}
z[j] = y[n-1-j]    {id=second}
)");
  Kernel k = step(plain, "tag_inames", {word("i:g.0, j:g.0")});
  k = step(k, "add_barrier", {word("id:first"), word("id:second")},
           {{"synchronization_kind", word("local")}, {"within_inames", Value{ValueList{}}}});
  CHECK(generate(k, Target::OpenCL).device->kernels.size() == 2);
  test::run_everywhere(k, plain, {{"n", "9"}});
}
