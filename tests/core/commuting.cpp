#include "core/order/commuting.h"

#include "core/order/reference.h"
#include "tests/core/semantics_kit.h"

using namespace moonloop;

namespace {

const char* kDeclarations = R"(
record best(value: float64, at: int32, more: int32)
kernel k(n: int32, x: in float64[n], i8: in int8[n], i64: in int64[n], b: in bool[n], f: in float32[n],
         a: inout float64[9], c: inout int32[9], s: inout int8[9], u: inout uint8[9], w: inout int64[9],
         g: inout float32[9], t: inout bool[9], z: inout complex128[9], r: inout best[9], v: in best[n],
         m: inout float64[9], e: in float64[n, n], at: inout int32[9], y: out float64[n], q: float64, o: out int32[n])
domain {[i]: 0 <= i < n}
)";

/// Whether the updates, by statement, commute in `variable`.
bool commute(const std::string& variable, const std::string& first,
             const std::string& second = "") {
  const std::string other = second.empty() ? first : second;
  const auto statement = [](const std::string& text, const char* id) {
    const bool has_options = text.find('{') != std::string::npos;
    return fmt::format("{}{}atomic, id={}}}\n", text, has_options ? ", " : " {", id);
  };
  const Kernel k = parsed(kDeclarations + statement(first, "one") + statement(other, "two"));
  CommutingUpdates updates(k);
  const Instruction &one = *k.find_insn("one"), &two = *k.find_insn("two");
  const bool both = updates.commute(one, two, variable);
  CHECK(both == updates.commute(two, one, variable));
  if (second.empty()) CHECK(both == updates.commute(one, one, variable));
  return both;
}

}  // namespace

TEST_CASE("commuting: updates of one operation, each by itself") {
  CHECK(commute("a", "a[i % 4] = a[i % 4] + x[i]", "a[i % 3] = 2*x[i] - 1 + a[i % 3]"));
  CHECK(commute("a", "a[i % 4] = a[i % 4] - x[i]", "a[0] = (a[0] + x[i]) - q"));
  CHECK(commute("a", "a[i % 4] = x[i]*a[i % 4]/3", "a[2] = a[2]/x[i]"));
  CHECK(commute("a", "a[i % 4] = min(x[i], a[i % 4])", "a[1] = min(a[1], 2.0, x[i])"));
  CHECK(commute("a", "a[i % 4] = max(x[i], a[i % 4])"));
  CHECK(commute("a", "a[1] = x[i] if x[i] > a[1] else a[1]",
                "a[1] = a[1] if x[i] <= a[1] else x[i]") ==
        false);  // a NaN stays in one, and is replaced in the other
  CHECK(commute("a", "a[1] = x[i] if a[1] < x[i] else a[1]"));
  CHECK(commute("c", "c[i % 4] = c[i % 4] | i"));
  CHECK(commute("c", "c[i % 4] = (c[i % 4] & i) & 7"));
  CHECK(commute("c", "c[i % 4] = i ^ c[i % 4]"));
  CHECK(commute("t", "t[i % 4] = t[i % 4] or x[i] > 1"));
  CHECK(commute("t", "t[i % 4] = x[i] > 1 and t[i % 4]"));
  CHECK(commute("z", "z[i % 4] = z[i % 4]*(x[i] + 1j)"));
}

TEST_CASE("commuting: two operations on one variable do not") {
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 4] + x[i]", "a[i % 4] = a[i % 4]*1.5"));
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 4]*x[i] + 1"));
  CHECK_FALSE(commute("a", "a[i % 4] = max(a[i % 4], x[i])", "a[0] = min(a[0], x[i])"));
  CHECK_FALSE(commute("a", "a[i % 4] = max(a[i % 4] + 1, x[i])"));
  CHECK_FALSE(commute("a", "a[i % 4] = x[i] - a[i % 4]"));
  CHECK_FALSE(commute("a", "a[i % 4] = x[i]/a[i % 4]"));
  CHECK_FALSE(commute("c", "c[i % 4] = c[i % 4] | i", "c[i % 4] = c[i % 4] & i"));
  CHECK_FALSE(commute("c", "c[i % 4] = c[i % 4]//(i + 2)"));
}

TEST_CASE("commuting: the variable stands once, and nothing else reads it") {
  CHECK_FALSE(commute("a", "a[i % 4] = x[i]"));
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 4] + a[i % 4]*x[i]"));
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 4] + a[4]"));
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 3] + x[i]"));
  CHECK_FALSE(commute("c", "c[c[i % 3] % 3] = c[c[i % 3] % 3] + 1"));
  CHECK_FALSE(commute("a", "a[i % 4] = a[i % 4] + x[i] {if=a[i % 4] < 3"));
  CHECK(commute("a", "a[c[i % 9] % 4] = a[c[i % 9] % 4] + x[i] {if=x[i] < 3"));
}

// Differential test, seed 24800671.
TEST_CASE("commuting: elements named by subscripts and by their places in memory") {
  const auto chosen = [](const std::string& a, const std::string& b) {
    return commute("m", "m[i % 4] = 0.5*" + a + " if 0.5*" + b + " > m[i % 4] else m[i % 4]");
  };
  CHECK(chosen("e[[n*(2*i + 1) + i]]", "e[2*i + 1, i]"));
  CHECK(chosen("e[2*i + 1, i]", "e[[i + n*(2*i + 1)]]"));
  CHECK_FALSE(chosen("e[[n*(2*i + 1) + i]]", "e[2*i, i]"));
  CHECK_FALSE(chosen("e[[i]]", "x[i]"));
}

TEST_CASE("commuting: what is done is the same for all instances") {
  CHECK(commute("a", "a[i % 4] = 3*a[i % 4] - q", "a[0] = 3*a[0] - q"));
  CHECK(commute("a", "a[i % 4] = a[i % 4] + a[i % 4]"));
  CHECK_FALSE(commute("a", "a[i % 4] = 3*a[i % 4] - q", "a[0] = 3*a[0] - 2"));
  CHECK_FALSE(commute("a", "a[i % 4] = 3*a[i % 4] - i"));
  CHECK(commute("a", "a[i % 4] = 1.5"));
}

TEST_CASE("commuting: the type holds what is computed") {
  CHECK(commute("c", "c[i % 4] = c[i % 4] + i64[i]"));
  CHECK(commute("s", "s[i % 4] = s[i % 4]*i"));
  CHECK_FALSE(commute("c", "c[i % 4] = c[i % 4] + x[i]"));
  CHECK_FALSE(commute("c", "c[i % 4] = c[i % 4]*f[i]"));
  CHECK_FALSE(commute("c", "c[i % 4] = c[i % 4]/i8[i]"));
  CHECK_FALSE(commute("t", "t[i % 4] = t[i % 4] + i"));
  CHECK_FALSE(commute("t", "t[i % 4] = t[i % 4] ^ i"));
  CHECK(commute("t", "t[i % 4] = t[i % 4] ^ b[i]"));
  CHECK(commute("w", "w[i % 4] = max(w[i % 4], i)"));
  CHECK_FALSE(commute("s", "s[i % 4] = max(s[i % 4], i)"));
  CHECK(commute("s", "s[i % 4] = max(s[i % 4], i8[i])"));
  CHECK(commute("s", "s[i % 4] = cast(int8, max(s[i % 4], i8[i]))"));
  CHECK(commute("u", "u[i % 4] = max(u[i % 4], i % 200)"));
  CHECK_FALSE(commute("u", "u[i % 4] = max(u[i % 4], i % 300)"));
  CHECK(commute("u", "u[i % 4] = min(7, u[i % 4])"));
  CHECK(commute("u", "u[i % 4] = max(u[i % 4], cast(int32, i % 200))"));
  CHECK_FALSE(commute("u", "u[i % 4] = max(u[i % 4], cast(int8, i % 200))"));
  CHECK_FALSE(commute("u", "u[i % 4] = max(u[i % 4], cast(int32, i % 300))"));
  CHECK(commute("g", "g[i % 4] = max(g[i % 4], x[i])"));
  CHECK_FALSE(commute("c", "c[i % 4] = max(c[i % 4], x[i])"));
}

TEST_CASE("commuting: several places at once") {
  const std::string fetch = "o[i], c[i % 4] = make_tuple(c[i % 4], c[i % 4] + 1)";
  CHECK_FALSE(commute("c", fetch));
  CHECK(commute("c", "o[i], c[i % 4] = make_tuple(i, c[i % 4] + 1)"));
  CHECK(commute("a", "a[0], c[0] = make_tuple(a[0] + x[i], max(c[0], i))"));
  CHECK_FALSE(commute("a", "a[0], a[1] = make_tuple(a[0] + x[i], a[1] + x[i])"));
  const auto pair = [](const std::string& c) {
    return "m[0], at[0] = make_tuple(x[i] if " + c + " else m[0], i if " + c + " else at[0])";
  };
  const std::string first = pair("x[i] > m[0] or x[i] == m[0] and i < at[0]");
  CHECK(commute("m", first));
  CHECK(commute("at", first, pair("m[0] == x[i] and at[0] > i or m[0] < x[i]")));
  CHECK_FALSE(commute("m", pair("x[i] > m[0]")));
  CHECK_FALSE(commute("m", pair("x[i] >= m[0] or x[i] == m[0] and i < at[0]")));
  CHECK_FALSE(commute("m", first, pair("x[i] < m[0] or x[i] == m[0] and i < at[0]")));
  CHECK_FALSE(commute("m", first, "m[0] = max(m[0], x[i])"));
  CHECK(commute("m", first, "m[0], a[0] = make_tuple(m[0], a[0] + x[i])"));
  CHECK_FALSE(commute("m", first, "a[0], m[0] = make_tuple(m[0], m[0])"));
}

TEST_CASE("commuting: fields of a record, each with its own operation") {
  CHECK(
      commute("r", "r[i % 3].value = max(r[i % 3].value, x[i])", "r[i % 3].at = r[i % 3].at + 1"));
  CHECK(commute("r", "r[i % 3].at = r[i % 3].at + i"));
  CHECK_FALSE(commute("r", "r[i % 3].at = r[i % 3].at + 1", "r[0].at = max(r[0].at, i)"));
  CHECK_FALSE(commute("r", "r[0].value = r[0].value + r[0].at"));
  const auto best = [](const std::string& more) {
    return "r[0] = v[i] if v[i].value > r[0].value or v[i].value == r[0].value and " + more +
           " else r[0]";
  };
  const std::string all = "(v[i].at < r[0].at or v[i].at == r[0].at and v[i].more < r[0].more)";
  CHECK(commute("r", best(all)));
  CHECK_FALSE(commute("r", best("v[i].at < r[0].at")));  // `more` may differ
  CHECK_FALSE(commute("r", best(all), "r[0].value = max(r[0].value, x[i])"));
  // Elements of two arrays, as tag_array_axes with "sep" leaves them.
  const auto read = [](const std::string& field) {
    return "(v[i // 2]" + field + " if i % 2 == 0 else v[i]" + field + ")";
  };
  const auto by = [&](const std::string& field, const std::string& op) {
    return read(field) + op + "r[0]" + field;
  };
  const auto chosen = [&](const std::string& last) {
    return "r[0] = " + read("") + " if " + by(".value", " > ") + " or " + by(".value", " == ") +
           " and (" + by(".at", " < ") + " or " + by(".at", " == ") + " and " + last +
           ") else r[0]";
  };
  CHECK(commute("r", chosen(by(".more", " < "))));
  CHECK_FALSE(commute("r", chosen("v[i].more < r[0].more")));  // of another element
}

namespace {

std::string tagging(const std::string& body, const std::string& tag = "par") {
  Kernel k = parsed(
      "kernel k(n: int32, x: in float64[n], a: inout float64[4], b: out float64[n])\n"
      "domain {[i]: 0 <= i < n}\n" +
      body);
  k.iname_tags["i"] = *parse_iname_tag(tag);
  return kit::failure([&] { check_legal(k); });
}

}  // namespace

TEST_CASE("commuting: parallel loops keep the order of atomic updates that do not commute") {
  const std::string hint =
      "; atomic updates may run in any order where each is `a = a op e` of one operation and `e` "
      "does not read `a`; else the loops that order them stay as they are, unless "
      "assume_commuting(\"a\") says that any order is as good";
  CHECK(tagging("a[i % 4] = x[i] {id=s, atomic}") ==
        "tagging `i` as `par` would run s[i=0] and s[i=4] at the same time, but s[i=0] writes a[0] "
        "and s[i=4] writes it too (n=5) [races]" +
            hint);
  CHECK(tagging("a[i % 4] = a[i % 4]*x[i] + 1 {id=s, atomic}", "g.0").ends_with("[races]" + hint));
  CHECK(tagging("a[i % 4] = a[i % 4] + x[i] {id=s, atomic}\na[i % 4] = a[i % 4]*1.5 {id=t, atomic}")
            .ends_with("[races]" + hint));
  CHECK(tagging("b[i], a[i % 4] = make_tuple(a[i % 4], a[i % 4] + x[i]) {id=s, atomic}", "g.0")
            .ends_with("[races]" + hint));
  CHECK(tagging("a[i % 4] = a[i % 4] + x[i] {atomic}\na[1] = a[1] - 2*x[i] {atomic}") == "ok");
  CHECK(tagging("a[0] = x[i] {if=i==2, atomic}") == "ok");
}

TEST_CASE("commuting: what a claim vouches for, where both are atomic") {
  Kernel k = parsed(std::string(kDeclarations) +
                    "o[i], c[0] = make_tuple(c[0], 2*c[0] + 1)  {id=fetch, atomic}\n"
                    "c[1] = c[1] + 1  {id=add, atomic}\nc[2] = 3  {id=set}\n");
  const auto both = [&](const char* a, const char* b) {
    return CommutingUpdates(k).commute(*k.find_insn(a), *k.find_insn(b), "c");
  };
  CHECK_FALSE(both("fetch", "fetch"));
  CHECK_FALSE(both("fetch", "add"));
  k.claims.push_back({Claim::Kind::Unsafe, {"i", "c"}, "assume_commuting(\"c\")"});
  CHECK(claimed_commuting(k) == std::set<std::string>{"c"});  // the other name is an iname's
  CHECK(both("fetch", "fetch"));
  CHECK(both("fetch", "add"));
  CHECK_FALSE(both("fetch", "set"));
  CHECK_FALSE(CommutingUpdates(k).commute(*k.find_insn("fetch"), *k.find_insn("fetch"), "o"));
}

TEST_CASE("commuting: parts that are compared in one list of alternatives") {
  CHECK(commute("r",
                "r[1] = v[i] if v[i].value > r[1].value or v[i].value == r[1].value and v[i].at > "
                "r[1].at or v[i].value == r[1].value and v[i].at == r[1].at and v[i].more < "
                "r[1].more else r[1]"));
  // The same order, nested.
  CHECK(commute("r",
                "r[1] = v[i] if v[i].value > r[1].value or v[i].value == r[1].value and v[i].at > "
                "r[1].at or v[i].value == r[1].value and v[i].at == r[1].at and v[i].more < "
                "r[1].more else r[1]",
                "r[2] = v[i] if v[i].value > r[2].value or v[i].value == r[2].value and (v[i].at > "
                "r[2].at or v[i].at == r[2].at and v[i].more < r[2].more) else r[2]"));
  CHECK_FALSE(
      commute("r",
              "r[1] = v[i] if v[i].value > r[1].value or v[i].value == r[1].value and "
              "v[i].at > r[1].at or v[i].at == r[1].at and v[i].more < r[1].more else r[1]"));
  CHECK_FALSE(commute("r",
                      "r[1] = v[i] if v[i].value > r[1].value or v[i].value == r[1].value and "
                      "v[i].at > r[1].at or v[i].value == r[1].value and v[i].more < r[1].more "
                      "else r[1]"));
}
