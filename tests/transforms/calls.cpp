// Kernels that call kernels: what a call accesses, `inline`, `outline`, steps of callees.
#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/interpreter/interpreter.h"
#include "core/model/external.h"
#include "core/order/check_kernel.h"
#include "loop_kit.h"
#include "transforms/callee_code.h"

using namespace moonloop;

namespace {

const char* const kSmooth = R"(
kernel smooth(n: int32, w: float64, x: in float64[n], y: out float64[n])
assume n >= 1
domain {[i]: 1 <= i < n - 1}
y[0] = x[0]
y[n-1] = x[n-1]
y[i] = w*x[i] + 0.5*(1-w)*(x[i-1] + x[i+1])

kernel total(n: int32, x: float64[n], s: float64[])
domain {[i]: 0 <= i < n}
s = sum(i, x[i])
)";

/// The kernel `f` after the two above.
Kernel caller(const std::string& head, const std::string& body) {
  const auto all = parse_kernels(
      add_source("calls.loop", std::string(kSmooth) + "kernel f" + head + "\n" + body));
  return all.back();
}
Kernel rows(const std::string& body) {
  return caller("(n: int32, a: float64[n, n], b: float64[n, n], t: float64[n])",
                "assume n >= 1\ndomain {[j]: 0 <= j < n - 1}\n" + body);
}
std::string checked(const Kernel& k) {
  return message([&] { complete(k); });
}

Kernel tag(const Kernel& k, const std::string& tags) {
  return apply(k, "tag_inames", {text(tags)});
}
Kernel outlined(const Kernel& k, const std::string& within) {
  return apply(k, "outline", {text(within), text("part")});
}

}  // namespace

TEST_CASE("calls: iterations that get rows of their own are parallel, others are refused") {
  CHECK(message([] { tag(rows("call smooth(n, 0.5, a[j, :], b[j, :])"), "j:par"); }) == "legal");
  CHECK(message([] { tag(rows("call total(n, a[j, :], t[j])"), "j:par"); }) == "legal");
  CHECK(message([] { tag(rows("call smooth(n, 0.5, a[j, :], a[j+1, :]) {id=c}"), "j:par"); }) ==
        "tagging `j` as `par` would run c[j=0] and c[j=1] at the same time, but c[j=0] writes "
        "a[1, 0] and c[j=1] reads it (n=3)");
  CHECK(message([] { tag(rows("call total(n, a[j, :], t[0]) {id=c}"), "j:par"); }) ==
        "tagging `j` as `par` would run c[j=0] and c[j=1] at the same time, but c[j=0] writes "
        "t[0] and c[j=1] writes it too (n=3)");
}

TEST_CASE("calls: the order of a call and of statements is kept") {
  const auto fused = [](const std::string& read) {
    return message([&] {
      apply(rows("domain {[i]: 0 <= i < n - 1}\ncall smooth(n, 0.5, a[j, :], b[j, :]) {id=c}\n" +
                 read + " {id=r}"),
            "rename_iname", {text("i"), text("j")}, {{"existing_ok", flag(true)}});
    });
  };
  CHECK(fused("t[i] = b[i, 0]") == "legal");
  const std::string m = fused("t[i] = b[i + 1, 0]");
  CHECK_MESSAGE(m.find("c[j=1] writes b[1, 0]") != std::string::npos, m);
  CHECK_MESSAGE(m.find("r[j=0]") != std::string::npos, m);
}

TEST_CASE("calls: what a call gives has to fit") {
  CHECK(checked(rows("call smooth(n, 0.5, a[j, :], b[j, :])")) == "legal");
  CHECK(checked(rows("call smooth(n, 0.5, a[j, :], b[j, 1:])"))
            .starts_with("`y` of `smooth` reaches to n + 1 along axis 1 of `b`, which has the "
                         "extent n: n=2, j=0"));
  CHECK(checked(rows("call smooth(n, 0.5, a[j, :], a[j, :])")) ==
        "`smooth` gets `a` as `x` and as `y`, and may change it: elements of the two may be the "
        "same");
  CHECK(checked(rows("call total(n, a[j, :], a[j, 0])")) ==
        "`total` gets `a` as `x` and as `s`, and may change it: elements of the two may be the "
        "same");
  CHECK(checked(rows("call total(n, a[j, :], a[j + 1, 0])")) == "legal");
  CHECK(checked(caller("(n: int32, a: float64[n, n], b: float32[n, n])",
                       "domain {[j]: 0 <= j < n}\ncall smooth(n, 0.5, a[j, :], b[j, :])")) ==
        "the argument `y` of `smooth` is float64, but `b` is float32");
  CHECK(checked(caller("(n: int32, m: int32, a: float64[m, n], b: float64[m, n])",
                       "domain {[j]: 0 <= j < m}\ncall smooth(n, 0.5, a[j, :], b[j, :])"))
            .starts_with("`smooth` assumes `[n] -> {  : n > 0 }`, which is not known to hold "
                         "here: "));
  const auto code_of = [](const Kernel& k) -> std::string {
    try {
      complete(k);
    } catch (const Error& e) { return e.diagnostic().code; }
    return "legal";
  };
  CHECK(code_of(rows("call smooth(n, 0.5, a[j, :], a[j, :])")) == "aliased-arguments");
  CHECK(code_of(caller("(n: int32, m: int32, a: float64[m, n], b: float64[m, n])",
                       "domain {[j]: 0 <= j < m}\ncall smooth(n, 0.5, a[j, :], b[j, :])")) ==
        "callee-assumption");
}

TEST_CASE("inline: the body under the call's loops and conditions") {
  const Kernel k = apply(rows("call smooth(n, 0.5, a[j, :], b[j, :]) {if=t[j] > 0}\n"
                              "call total(n, b[j, :], t[j])"),
                         "inline", {});
  CHECK(k.callees.empty());
  CHECK(k.externals.empty());
  CHECK(k.instructions.size() == 4);
  const std::string text = print_kernel(k);
  CHECK_MESSAGE(text.find("b[j, i] = 0.5d*a[j, i]") != std::string::npos, text);
  CHECK(text.find("{id=insn_1, if=t[j] > 0}") != std::string::npos);
  CHECK(text.find("t[j] = sum(i_0, b[j, i_0])") != std::string::npos);
}

TEST_CASE("inline: a value that is computed is computed once, and kept from the callee's writes") {
  const Kernel k = apply(rows("call total(n, a[j, :], t[j])\n"
                              "call smooth(n, t[j]*t[j], a[j, :], b[j, :])"),
                         "inline", {text("smooth")});
  CHECK(print_kernel(k).find("w = t[j]*t[j]") != std::string::npos);
  CHECK(k.callees.size() == 1);
  // The condition reads what the callee changes.
  const Kernel c = apply(rows("call total(n, a[j, :], t[j]) {if=t[j] > 0}"), "inline", {});
  CHECK(print_kernel(c).find("cond = t[j] > 0") != std::string::npos);
}

TEST_CASE("inline: refusals") {
  CHECK(message([] { apply(rows("t[j] = 0"), "inline", {}); }) ==
        "no selected instruction of `f` calls a kernel");
  CHECK(message([] { apply(rows("call total(n, a[j, :], t[j])"), "inline", {text("smooth")}); }) ==
        "`f` calls no kernel `smooth`; it calls `total`");
  const auto sized = [](const std::string& size) {
    const auto all = parse_kernels(
        add_source("sized.loop",
                   "kernel two(m: int32, x: float64[4])\nassume m >= 1 and m <= 4\n"
                   "domain {[i]: 0 <= i < m}\ntemp v: float64[m]\nv[i] = x[i] {id=a}\n"
                   "x[i] = 2*v[i] {id=b, dep=a}\n"
                   "kernel f(n: int32, a: float64[n, 4])\ndomain {[j]: 0 <= j < n}\n" +
                       size));
    return all.back();
  };
  // The largest size of all iterations; one that is computed has none.
  const Kernel k = apply(sized("call two(j % 3 + 1, a[j, :])"), "inline", {});
  CHECK(print_kernel(k).find("temp v: float64[") != std::string::npos);
  CHECK(message([&] {
          apply(sized("<int32> m = 1 + j % 2\ncall two(m, a[j, :])"), "inline", {});
        }).find("is not known to hold here") != std::string::npos);
}

TEST_CASE("calls: the callee's work counts") {
  const Kernel k = rows("call smooth(n, 0.5, a[j, :], b[j, :])\ncall total(n, b[j, :], t[j])");
  const auto total = [](const CountMap& all) { return all.sum().number_at({{"n", 10}}); };
  CHECK(total(op_counts(k)) == total(op_counts(apply(k, "inline", {}))));
  CHECK(total(op_counts(k)) > 9 * 8 * 4);
  CHECK(total(mem_counts(k)) == total(mem_counts(apply(k, "inline", {}))));
}

TEST_CASE("outline: loops of their own go along, and the rest become arguments") {
  const Kernel k = parsed(R"(
kernel prog(n: int32, m: int32, a: float64[m, n], b: float64[m, n], s: float64[m])
assume n >= 1
domain {[j]: 0 <= j < m}
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < j and k < n}
<> c = a[j, 0]       {id=c}
b[j, i] = c*a[j, i]  {id=b}
<> r = sum(k, b[j, k]) {id=r}
s[j] = r + c         {id=s}
)");
  const Kernel row = outlined(k, "id:b");
  CHECK(row.inames() == std::vector<std::string>{"j", "k"});
  const Kernel& part = *row.callees.at("part")->meaning;
  CHECK(part.inames() == std::vector<std::string>{"i"});
  std::vector<std::string> names;
  for (const Argument& a : part.args) names.push_back(a.name);
  CHECK(names == std::vector<std::string>{"n", "m", "j", "c", "a", "b"});
  CHECK(str(part.assumptions).find("0 <= j < m") != std::string::npos);
  // Its effects are those of its body: a row.
  CHECK(message([&] { tag(row, "j:par"); }) == "legal");

  const Kernel all = outlined(k, "id:*");
  const Kernel& whole = *all.callees.at("part")->meaning;
  CHECK(all.inames().empty());
  CHECK(whole.find_temporary("c") != nullptr);  // nobody else needs it
  CHECK(whole.find_temporary("r") != nullptr);

  const Kernel two = outlined(k, "id:r or id:s");
  CHECK(two.callees.at("part")->meaning->find_temporary("r") != nullptr);
  CHECK(two.find_temporary("r") == nullptr);
  CHECK(two.find_temporary("c") != nullptr);
  // A scalar that is set there and needed elsewhere is an argument without axes.
  const Kernel sum = outlined(k, "id:r");
  CHECK(sum.callees.at("part")->meaning->find_arg("r")->is_array);
  CHECK(sum.callees.at("part")->meaning->find_arg("r")->shape->empty());
}

TEST_CASE("calls: a value that a call may leave as it was goes on to the next iteration") {
  // Seed 20280 of 2026-11-28: `t` was taken for one of each iteration.
  const Kernel k = parsed(R"(
kernel prog(n: int32, a: float64[n])
assume n >= 1
domain {[i]: 0 <= i < n}
<float64> t = 2.5      {id=first, if=i == 0}
t = 0.5*t + 1          {id=next, dep=first, inames=i}
a[i] = t               {id=store, dep=next}
)");
  const Kernel all = apply(apply(k, "outline", {text("id:first"), text("part0")}), "outline",
                           {text("id:next or id:store"), text("part1")});
  CHECK(all.callees.size() == 2);
  std::vector<double> expected(5), found(5);
  for (auto* out : {&expected, &found}) {
    Bindings data;
    data.arrays["a"] = {Type(Scalar::F64), {5}, {1}, out->data()};
    data.scalars["n"] = {5, 0, 0};
    interpret(out == &expected ? k : all, data);
  }
  CHECK(expected == found);
  CHECK(message([&] { tag(all, "i:par"); }) != "legal");
}

TEST_CASE("calls: an element that a call may leave as it was goes on to the next iteration") {
  // Seed 97014469 of 2026-11-28, on a device: each work-item had an array of its own.
  const auto refused = [](const std::string& condition) {
    const Kernel k = parsed(
        "kernel prog(n: int32, a: float64[n])\nassume n >= 1\ndomain {[i]: 0 <= i < n}\n"
        "temp t: float64[2]\nt[1] = 2.5 {id=set, inames=i" +
        condition +
        "}\n"
        "a[i] = t[1] {id=store, dep=set}\n");
    return message([&] { tag(outlined(k, "id:set"), "i:par"); });
  };
  CHECK(refused("") == "legal");
  CHECK(refused(", if=i == 0") != "legal");
}

TEST_CASE("calls: a variable that a call changes is no value that a rule could give") {
  // Seed 100009083 of 2026-11-28.
  const std::string text = std::string(kSmooth) +
                           "kernel f(n: int32, a: float64[n, n], b: float64[n])\n"
                           "domain {[j]: 0 <= j < n}\n"
                           "<float64> t = 2.5*j {id=set}\n"
                           "call total(n, a[j, :], t) {id=c, dep=set}\nb[j] = t {dep=c}\n";
  const Kernel k = parse_kernels(add_source("t.loop", text)).back();
  CHECK(message([&] {
          apply(k, "assignment_to_subst", {Value{"t"}});
        }).find("`total` gets `t` itself, and may change it") != std::string::npos);
}

TEST_CASE("outline: a loop is parallel in the new kernel too, or it is refused") {
  // Seed 100012258 of 2026-11-28: `t` was an iteration's own, and is an argument of the new kernel.
  const Kernel k = parsed(R"(
kernel prog(n: int32, a: float64[n], b: float64[n])
assume n >= 1
domain {[j]: 0 <= j < n}
domain {[k]: 0 <= k < 3}
tag j: par
<float64> t = a[j]    {id=set, inames=j:k, if=k == 0}
t = 0.5*t + 1         {id=next, dep=set, inames=j:k}
b[j] = t              {id=store, dep=next, inames=j:k}
)");
  CHECK(message([&] { complete(k); }) == "legal");
  CHECK(message([&] { outlined(k, "id:*"); }).find("tagging `j` as `par`") != std::string::npos);
}

TEST_CASE("outline: bounds by a loop that is not around the statements") {
  // Seed 110200857 of 2026-11-28: the bounds of `j` were those in some iteration of `i`.
  const Kernel k = parsed(R"(
kernel prog(n: int32, a: float64[n], b: float64[n, n])
assume n >= 5
domain {[i]: 1 <= i < n - 2}
domain {[j]: i - 1 <= j <= i + 1}
b[i, i] = 1            {id=first}
a[j] = a[j // 2] + 1   {id=next, inames=j}
)");
  const Kernel one = outlined(k, "id:next");
  const Kernel& part = *one.callees.at("part")->meaning;
  CHECK(part.inames() == std::vector<std::string>{"j"});
  CHECK(part.args.size() == 2);
  CHECK(str(part.domains.at(0).set) == "[n] -> { [j] : n >= 5 and 0 <= j <= -2 + n }");
  CHECK(message([&] { complete(one); }) == "legal");
}

TEST_CASE("inline: what is known of loops stays known of a value that is passed") {
  // Seed 20372 of 2026-11-28: the value was kept in a variable, of which nothing is known.
  const Kernel k = parsed(R"(
kernel prog(n: int32, a: float64[n, n])
assume n >= 5
domain {[i]: 0 <= i < n and i mod 2 = 0}
domain {[j]: 0 <= j < i}
a[0, 0] = a[0, 0] + 1 {id=o, inames=i:j}
a[i, j] = 1           {id=s, dep=o}
)");
  Kernel nested = apply(outlined(k, "id:s"), "outline", {text("id:part"), text("around")});
  nested = apply(nested, "chunk_iname", {text("i"), number(2)});
  CHECK(message([&] { complete(apply(nested, "inline", {})); }) == "legal");
}

TEST_CASE("outline: refusals") {
  const Kernel k = parsed(R"(
kernel prog(n: int32, a: float64[n], b: float64[n])
domain {[i, j]: 0 <= i, j < n}
a[i] = i           {id=x}
b[i] = 2*a[i]      {id=y}
a[i] = a[i] + b[i] {id=z}
b[j] = b[j] + 1    {id=w}
)");
  CHECK(message([&] { outlined(k, "id:nothing"); }) ==
        "`within` selects no instruction in kernel `prog`; it has `x`, `y`, `z`, `w`");
  CHECK(message([&] { apply(k, "outline", {text("id:x"), text("a")}); }).find("`a`") !=
        std::string::npos);
  const std::string between = message([&] { outlined(k, "id:x or id:z"); });
  CHECK_MESSAGE(between.find("[i=") != std::string::npos, between);
  const Kernel shared = parsed(R"(
kernel prog(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j < n}
a[i] = i       {id=x}
b[i] = 2*a[i]  {id=y}
b[j] = b[j]+1  {id=z}
a[j] = b[j]+1  {id=w}
)");
  try {
    outlined(shared, "id:y or id:z");
    FAIL("two loops that stay");
  } catch (const Refused& e) { CHECK(e.diagnostic().code == "other-loops"); }
  const Kernel items = parsed(R"(
kernel prog(n: int32, a: float64[16], b: float64[n, 16])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k < 16}
tag k: l.0
a[k] = k                 {id=x}
b[i, 0] = sum(k, b[i, k]) {id=y}
)");
  CHECK(message([&] { outlined(items, "id:y"); }) ==
        "`y` reduces over `k`, the loop of which other statements share");
  CHECK(message([&] { outlined(shared, "id:y or id:z"); }) ==
        "`y` and `z` are in different loops that other statements need: (i) and (j)");
}

TEST_CASE("callees: steps of their own change the code, not the meaning or the arguments") {
  const Kernel k = rows("call smooth(n, 0.5, a[j, :], b[j, :])");
  const Kernel& smooth = *k.callees.at("smooth")->meaning;
  const Kernel split = apply(smooth, "split_iname", {text("i"), number(4)});
  const Kernel with = with_callee_code(k, "smooth", split);
  CHECK(with.callees.at("smooth")->code->has_iname("i_outer"));
  CHECK(with.callees.at("smooth")->meaning->has_iname("i"));
  CHECK(message([&] {
          with_callee_code(k, "smooth",
                           *rows("call total(n, a[j, :], t[j])").callees.at("total")->meaning);
        }) == "`smooth`, which `f` calls, is not what these steps began with");
  CHECK(message([&] { with_callee_code(k, "total", smooth); }) == "`f` calls no kernel `total`");
  const Kernel fixed = apply(smooth, "fix_parameters", {},
                             {{"values", Value{ValueDict{{"n", Value{std::int64_t{4}}}}}}});
  CHECK(message([&] { with_callee_code(k, "smooth", fixed); }) ==
        "steps of `smooth` change its arguments, and `f` calls it");
  try {
    with_callee_code(k, "smooth", parsed("kernel smooth(n: int32)\n"));
    FAIL("it is another kernel");
  } catch (const Refused& e) { CHECK(e.diagnostic().code == "other-kernel"); }
}

TEST_CASE("inline: with the steps of the callee") {
  Kernel k = rows("call smooth(n, 0.5, a[j, :], b[j, :])");
  const Kernel& smooth = *k.callees.at("smooth")->meaning;
  Kernel code = apply(smooth, "split_iname", {text("i"), number(4)});
  code = apply(code, "tag_inames", {text("i_inner:simd")});
  k = with_callee_code(k, "smooth", code);
  const Kernel plain = apply(k, "inline"), with = apply(k, "inline", {}, {{"steps", flag(true)}});
  CHECK(!plain.has_iname("i_inner"));
  REQUIRE(with.has_iname("i_inner"));
  CHECK(tag_text(*with.tag("i_inner")) == "simd");
  CHECK(print_tree(nest(with).kernel, nest(with).tree).find("for i_outer") != std::string::npos);
  // Tags of the callee that the caller's loops leave no room for.
  const Kernel grid = with_callee_code(k, "smooth", apply(smooth, "tag_inames", {text("i:g.0")}));
  const Kernel tagged = apply(grid, "tag_inames", {text("j:g.0")});
  CHECK(code_of([&] { apply(tagged, "inline", {}, {{"steps", flag(true)}}); }) == "axis-taken");
}
