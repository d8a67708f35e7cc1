#include "core/infer/reductions.h"

#include <algorithm>

#include "core/order/check_kernel.h"
#include "tests/core/semantics_kit.h"

using namespace kit;

namespace {

std::vector<std::string> ids(const Kernel& k) { return k.instruction_ids(); }

std::string joined(const std::set<std::string>& s) {
  std::string out;
  for (const std::string& x : s) out += (out.empty() ? "" : ",") + x;
  return out;
}

const std::string kMatvec = R"(
kernel matvec(n: int32, a: float64[n,n], x: float64[n], y: float64[n])
domain {[i,k]: 0 <= i,k < n}
y[i] = 2*sum(k, a[i,k]*x[k]) {id=S, tags=hot}
)";

}  // namespace

TEST_CASE("realize_reductions: an init and an update stand before the statement") {
  const Kernel r = realize_reductions(parsed(kMatvec));
  REQUIRE(ids(r) == std::vector<std::string>{"S_init", "S_update", "S"});
  const Instruction& init = *r.instructions[0];
  CHECK(init.role == ReductionRole::Init);
  CHECK(!init.rhs);
  CHECK(to_string(init.lhs[0]) == "acc_k");
  CHECK(joined(init.inames) == "i");
  const Instruction& update = *r.instructions[1];
  CHECK(update.role == ReductionRole::Update);
  CHECK(update.reduce_op == ReduceOp::Sum);
  CHECK(to_string(update.rhs) == "a[i, k]*x[k]");
  CHECK(joined(update.inames) == "i,k");
  CHECK(update.tags.count("hot") == 1);
  CHECK(update.depends_on == std::vector<std::string>{"S_init"});
  CHECK(to_string(r.instructions[2]->rhs) == "2*acc_k");
  CHECK(r.instructions[2]->depends_on.back() == "S_update");
  CHECK(r.find_temporary("acc_k")->space == AddressSpace::Private);
}

TEST_CASE("realize_reductions: statements that are the same again are the same objects") {
  Kernel k = parsed(kMatvec);
  const Kernel first = realize_reductions(k);
  CHECK(realize_reductions(k).instructions == first.instructions);
  // `acc_k` is taken: the statements are others, and again the same ones from then on
  Temporary taken;
  taken.name = "acc_k";
  taken.type = Type(Scalar::F64);
  k.temporaries.emplace(taken.name, taken);
  const Kernel renamed = realize_reductions(k);
  CHECK(to_string(renamed.instructions[0]->lhs[0]) == "acc_k_0");
  CHECK(to_string(renamed.instructions[1]->lhs[0]) == "acc_k_0");
  CHECK(to_string(renamed.instructions[2]->rhs) == "2*acc_k_0");
  CHECK(realize_reductions(k).instructions == renamed.instructions);
}

TEST_CASE("realize_reductions: without reductions the kernel comes back") {
  const Kernel k = parsed("kernel f\ndomain {[i]: 0 <= i < n}\na[i] = b[i]\n");
  CHECK(realize_reductions(k).instructions[0] == k.instructions[0]);
}

TEST_CASE(
    "realize_reductions: several reductions, nested and side by side, get names of their own") {
  const Kernel k = parsed(R"(
kernel f(n: int32, a: float64[n,n], b: float64[n], out: float64[n])
domain {[i,j,k,l]: 0 <= i,j,k,l < n}
out[i] = sum(j, b[j]*max(k, a[j,k])) - sum(l, b[l]) {id=S}
)");
  const Kernel r = realize_reductions(k);
  CHECK(ids(r) == std::vector<std::string>{"S_init", "S_init_0", "S_update_0", "S_update",
                                           "S_init_1", "S_update_1", "S"});
  CHECK(joined(r.instructions[1]->inames) == "i,j");
  CHECK(joined(r.instructions[2]->inames) == "i,j,k");
  CHECK(to_string(r.instructions[3]->rhs) == "b[j]*acc_k");
  CHECK(to_string(r.instructions[6]->rhs) == "acc_j - acc_l");
}

TEST_CASE("realize_reductions: reference ids follow from the reference id alone") {
  Kernel k = parsed(kMatvec);
  k.instructions[0] = edit(k.instructions[0], [](Instruction& i) {
    i.id = "T";
    i.origin_id = "S";
    i.origin["k"] =
        parsed("kernel f\ndomain {[k_in]: 0<=k_in<4}\nz[k_in] = 2*k_in\n").instructions[0]->rhs;
  });
  const Kernel r = realize_reductions(k);
  CHECK(ids(r) == std::vector<std::string>{"T_init", "T_update", "T"});
  CHECK(r.instructions[0]->reference_id() == "S_init");
  CHECK(r.instructions[1]->reference_id() == "S_update");
  CHECK(r.instructions[2]->reference_id() == "S");
}

TEST_CASE("realize_reductions: an index comes with its value") {
  const Kernel r = realize_reductions(parsed(R"(
kernel f(n: int32, a: float64[n], v: float64[1], at: int32[1])
domain {[i]: 0 <= i < n}
v[0], at[0] = argmin(i, a[i], i) {id=S}
)"));
  REQUIRE(ids(r) == std::vector<std::string>{"S_init", "S_update", "S"});
  CHECK(to_string(r.instructions[1]->rhs) == "make_tuple(a[i], i)");
  CHECK(to_string(r.instructions[1]->lhs) == "acc_i, acc_i_0");
  CHECK(to_string(r.instructions[2]->rhs) == "make_tuple(acc_i, acc_i_0)");
}

TEST_CASE("realize_reductions: in an arm, values are taken in where the arm is chosen") {
  const Kernel r = realize_reductions(parsed(R"(
kernel f(n: int32, p: float64[n], x: float64[n], y: float64[n], z: bool[n])
domain {[i,j,k,l]: 0 <= i,j,k,l < n}
y[i] = 0 if p[i] < 0.5 else sum(j, x[j]) if sum(k, x[k]) < 2 else sum(l, p[l]) {id=S, if=i > 3}
z[i] = p[i] > 0.5 and any(j, x[j] > 1) or all(k, x[k] > 0) {id=T}
)"));
  const auto under = [&](const char* id) {
    std::string out;
    for (const Expr& p : r.find_insn(id)->predicates)
      out += (out.empty() ? "" : " & ") + to_string(p);
    return out;
  };
  // Each instance has an accumulator of its own, also where nothing is added.
  for (const char* init : {"S_init", "S_init_0", "S_init_1"}) CHECK(under(init) == "i > 3");
  CHECK(under("S_update") == "i > 3 & not p[i] < 0.5");
  CHECK(under("S_update_0") == "i > 3 & not p[i] < 0.5 & acc_k < 2");
  CHECK(under("S_update_1") == "i > 3 & not p[i] < 0.5 & not acc_k < 2");
  CHECK(under("S") == "i > 3");
  CHECK(under("T_init") == "");
  CHECK(under("T_update") == "p[i] > 0.5");
  CHECK(under("T_update_0") == "not (p[i] > 0.5 and acc_j_0)");
}

TEST_CASE("realize_reductions: types that are known pass on to the accumulators") {
  const Kernel r = realize_reductions(complete(parsed(kMatvec)));
  CHECK(type_in(r, "acc_k") == "float64");
}

TEST_CASE("realize_reductions: refusals") {
  const auto realizing = [](const std::string& statement) {
    return failure([&] {
      realize_reductions(
          parsed("kernel f(n: int32, a: float64[n], c: float64[n])\n"
                 "domain {[i,k]: 0 <= i,k < n}\n" +
                 statement + "\n"));
    });
  };
  CHECK(realizing("c[i] = sum(k, a[k]) + sum(k, 2*a[k]) {id=S}") ==
        "`k` is reduced over twice in `S`; give the second reduction an iname of its own, or write "
        "`simul_reduce` [reduction-not-simple]");
  CHECK(realizing("c[i] = simul_reduce(sum, k, a[k]) + simul_reduce(max, k, 2*a[k])") == "ok");
  CHECK(realizing("c[i] = sum(i, a[i]) {id=S, inames=i}").find("[reduction-over-outer]") !=
        std::string::npos);
  Kernel unbound = parsed(kMatvec);
  unbound.instructions[0] = edit(unbound.instructions[0], [](Instruction& i) {
    i.rhs = rename(i.rhs, {{"k", "kk"}});
  });
  CHECK(failure([&] { realize_reductions(unbound); }) ==
        "`sum` reduces over `kk`, which no domain has; did you mean `k`? [reduction-unbound]");
}

TEST_CASE("realize_reductions: ten thousand statements take well under a second") {
  const Kernel k = parsed(
      "kernel f(n: int32, a: float64[n])\ndomain {[i,k]: 0 <= i,k < n}\n"
      "a[i] = sum(k, 1.0) {id=s}\n");
  Kernel many = k;
  many.instructions.clear();
  for (int s = 0; s < 10000; ++s)
    many.instructions.push_back(
        edit(k.instructions[0], [&](Instruction& i) { i.id = "s" + std::to_string(s); }));
  const Kernel r = realize_reductions(many);
  CHECK(r.instructions.size() == 30000);
  CHECK(r.temporaries.size() == 10000);
}
