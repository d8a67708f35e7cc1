#include "cli/topics.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/repl.h"
#include "scripts/api.h"

namespace moonloop::cli {
namespace {

constexpr const char* kSyntax = "Kernel text";
constexpr const char* kLua = "Lua";

const std::vector<Topic> kFixed{
    {"ord", kTagTopics,
     "A sequential loop, iterations in ascending order.\n"
     "`for` is the same as no tag: a sequential loop whose order only the dependences fix."},
    {"unr", kTagTopics,
     "The loop is unrolled completely.\nThe number of iterations has to be a constant."},
    {"par", kTagTopics,
     "Iterations may run at the same time.\n"
     "Refused when an iteration depends on another. Target `openmp` shares the iterations among "
     "threads, `ispc` launches them as tasks, `c` runs them one after the other; for `opencl` and "
     "`cuda`, `gen`, `run` and `fc` give them to work-items, as lib.work_items does."},
    {"simd", kTagTopics,
     "Iterations may run in the lanes of vector instructions.\n"
     "Refused when an iteration depends on another. Targets `c` and `openmp` write "
     "`#pragma omp simd`, but not around updates that take turns; on `ispc` they are the lanes of "
     "a "
     "gang; `opencl` and `cuda` have `vec` instead."},
    {"ilp", kTagTopics,
     "Each statement runs for all iterations before the next statement does, its copies side by "
     "side.\n"
     "Inside of all loops that share the statement, whatever the nesting; so a processor finds "
     "work "
     "that does not wait for what came before. Temporaries get an axis, accumulators too. A loop "
     "whose length each iteration computes, such as that of a row, runs for one after the other. "
     "The "
     "number of iterations has to be constant. `ilp.seq` keeps a loop instead of copies. Refused "
     "when an iteration depends on another."},
    {"vec", kTagTopics,
     "As `ilp`, with elements that follow each other in memory loaded and stored as vectors.\n"
     "On `opencl` and `cuda`: 8 or 16 bytes at once, where the first element is known to be at "
     "a "
     "multiple of that; `assume n mod 4 = 0` says so of rows. Arrays are taken to begin at "
     "multiples "
     "of 16 bytes. Where a condition lets only some iterations run, each runs by itself. On `c` "
     "and `openmp`: vectors of GCC and Clang as long as the processor's registers (AVX-512, AVX, "
     "else 16 bytes), whatever the compiler prefers, where a constant number of lanes fills "
     "registers of 16 bytes at least, and the statement computes `+ - * /` of one real type from "
     "elements that follow each other and values that all lanes have in common. Other statements "
     "are loops with `#pragma omp simd`: with a condition, a choice, a call, an integer, elements "
     "apart or at subscripts from data, an accumulator that lanes share. `ispc` writes a gang."},
    {"mma", kTagTopics,
     "A loop of some steps of a product, by the matrix units of CUDA's warps.\n"
     "The loop is innermost around one statement, `t = t + a*b` or what a `sum` adds, into a "
     "temporary of the work-item. A warp is 4 work-items along `l.0` by 8 along `l.1`. `b` has "
     "columns `2*c + pair`, with `c` along `l.0` and `pair` an `ilp` or `vec` loop of two; `a` has "
     "rows `r` along `l.1`, or `8*half + r` with another loop of two.\n"
     "The types, with the numbers of steps: float64 (4), where 8 rows will do but 16 are twice as "
     "fast; float16 into float32 (8 or 16); int8 or uint8 into int32 (16 or 32; 16 with 8 rows). "
     "Factors may be converted, `cast(int32, a)*b`, to the type of the sum. Products of float16 "
     "are "
     "exact, and their sums are cut after 24 bits instead of rounded; `--verify` allows for that, "
     "4(n-1) units for n terms. Sums of int32 are exact.\n"
     "Where rows of 16 bytes of a factor are in local memory, along the steps or, for float16, "
     "along "
     "the columns of `b`, and begin at multiples of 16 bytes, a warp loads them together "
     "(`ldmatrix`); else neighbours along the steps from a multiple of 4 bytes on are one load.\n"
     "Where a condition may hold for some work-items of a warp alone, each computes by itself. "
     "Hardware without such a unit uses shuffles. What does not fit is refused with the reason. "
     "Other targets unroll the loop. `examples/gpu/gemm.lua` and `bench/gpu_kernels/hgemm.lua` "
     "have "
     "one."},
    {"mma.tf32", kTagTopics,
     "As `mma`, for products of float32 whose factors the unit rounds to 11 bits.\n"
     "The loop has 4 or 8 steps, and 16 rows. The exponents are those of float32. `--verify` "
     "allows "
     "for factors so rounded in all products of float32 of the kernel, on `cuda` alone: other "
     "targets "
     "unroll the loop and round nothing."},
    {"g.N", kTagTopics,
     "Axis N of the grid of work-groups (`g.0`, `g.1`, `g.2`).\n"
     "Refused when an iteration depends on another. On `openmp` the loops over groups are one "
     "collapsed parallel loop, on `ispc` they are tasks, on `c` they run in sequence. Groups that "
     "need what others do run in "
     "kernels of their own; a loop around these runs on the host."},
    {"l.N", kTagTopics,
     "Axis N of the work-items of a group (`l.0`, `l.1`, `l.2`).\n"
     "Work-items of a group run together and meet at barriers. On `c` and `openmp` they are loops "
     "inside the group, split where a barrier would be; on `ispc` those along `l.0` run in the "
     "lanes "
     "of a gang. A reduction over them puts their parts "
     "together in a tree. `l.auto` leaves the axis open: on `opencl` and `cuda` the loop along the "
     "smallest stride gets `l.0`, and what is longer than its axis is split.\n"
     "Their number may depend on parameters; the host computes it at each launch, and a number "
     "that "
     "the device does not allow is an error then. It may not depend on what the kernel computes. "
     "Memory of a group has a constant size, that in which work-items put a reduction together "
     "too: "
     "where its extents depend on parameters, an assumption has to bound them."},

    {"kernel", kSyntax,
     "`kernel NAME(arguments)` starts a kernel.\n"
     "It ends at the next `kernel` or at the end of the file. The list may be left out; what it "
     "does "
     "not declare is inferred.\n\n"
     "    kernel axpy(n: int32, a: float64, x: in float64[n], y: inout float64[n])\n\n"
     "An argument is `name: type` or `name: type[shape]`, with `in`, `out` or `inout` where that "
     "shall be checked, and the attributes `order=F`, `stride:` and `offset=` of arrays."},
    {"program", kSyntax,
     "`program NAME(arguments)` starts a kernel whose calls of kernels become parts of it.\n"
     "Loops and conditions around the calls stay, and steps may join loops of several calls.\n\n"
     "    program relax(n: int32, steps: int32, u: float64[n])\n"
     "    domain {[t]: 0 <= t < steps}\n"
     "    for t\n"
     "      call sweep(n, u)\n"
     "    end"},
    {"domain", kSyntax,
     "`domain {[i, j]: constraints}` introduces inames, in isl's set syntax.\n"
     "Names that are not inames of the line are parameters. A domain whose parameter is an iname "
     "of "
     "another one is inside it.\n\n"
     "    domain {[i]: 0 <= i < n}\n"
     "    domain {[j]: 0 <= j <= i}"},
    {"assume", kSyntax,
     "`assume constraints` states what holds of the parameters.\n"
     "`assume n >= 1 and n mod 16 = 0`. A run with other values is an error."},
    {"assignment", kSyntax,
     "`target = expression {options}` is an instruction.\n"
     "It runs for each point of the inames that it uses, those of the blocks around it, and those "
     "that `inames=` names. `<>t = …` introduces a private temporary whose type is inferred, "
     "`<float32>t = …` one of that type; `a, b = f(…)` takes several results."},
    {"options", kSyntax,
     "`{id=…, dep=…, …}` after an instruction.\n"
     "`id=x`, `id_prefix=x`: its name. `dep=a:b*`: runs after these (globs; a leading `*` leaves "
     "out "
     "the automatic ones); `dep_query=match`. `nosync=id@scope`, `nosync_query=match@scope`: needs "
     "no "
     "barrier. `inames=i:j`, `inames=+i`: the loops around it, or those to add. `dup=i->j`: with a "
     "copy of the iname. `if=p:q`: predicates. `tags=a:b`. `priority=n`. `groups=g`, "
     "`conflicts=g`. "
     "`atomic`, `atomic=combined`, `atomic=init`. `mem_kind=local`: of a barrier."},
    {"rule", kSyntax,
     "`name(a, b) := expression` is a substitution rule.\n"
     "Its calls stand for the body until they are expanded; transforms such as `precompute` work "
     "on "
     "them."},
    {"for", kSyntax, "`for i, j` … `end` puts inames around the instructions in it."},
    {"if", kSyntax,
     "`if condition` … `elif condition` … `else` … `end` gives the instructions in it predicates."},
    {"with", kSyntax, "`with {options}` … `end` gives options to the instructions in it."},
    {"barrier", kSyntax,
     "`... lbarrier {options}` is a barrier of a work-group; `... nop {options}` does nothing.\n"
     "Both take ids and dependencies like any instruction."},
    {"reduction", kSyntax,
     "`sum(i, e)`, `sum([i, j], e)`, `reduce(sum, [i, j], e)`.\n"
     "Also `product`, `min`, `max`, `any`, `all`, and with two results `argmin`, `argmax` (value, "
     "index). The order of a reduction is free; that of `a = a + e` written out is not. "
     "`simul_reduce(op, …)` lets several reductions share an iname."},
    {"expression", kSyntax,
     "`+ - * / // % **`, comparisons, `and or not`, `a if c else b`, `<< >> & | ^ ~`, calls, "
     "casts.\n"
     "`//` rounds down and `%` takes the sign of the divisor. `cast(float64, x)` converts. "
     "`a[[i]]` "
     "is a flat index, `r[i].field` a field, `name$tag` a tagged name. A literal such as `2.5` "
     "adapts "
     "to its context; `2.5f`, `2.5d` and `5j` are sized."},
    {"match", kSyntax,
     "What `within` takes: `id:glob`, `tag:glob`, `reads:glob`, `writes:glob`, `iname:glob`, a "
     "bare "
     "id, with `and`, `or`, `not` and parentheses.\n"
     "Transforms of rules also take stacks of calls, innermost first: `g$three < h$two` is a call "
     "of "
     "`g` tagged `three` made in `h` tagged `two`; `*` matches any name, `...` any stack in "
     "between."},

    {"counts", kLua,
     "What a kernel does, counted exactly, as functions of its parameters.\n"
     "They hold for parameters that the kernel's assumptions allow. What external functions do is "
     "not seen. "
     "`knl:op_counts()`: operations by `dtype name granularity kernel`; names are `add mul div pow "
     "shift bw maxmin func:NAME`; subscripts and conditions count too, a reduction counts one for "
     "each value. `knl:mem_counts()`: accesses by `mtype dtype lid_strides gid_strides direction "
     "variable variable_tags granularity kernel`. Both take `{subgroup_size = 32}`: then so many "
     "work-items count once for operations, and for accesses that are the same in all of them. "
     "`knl:footprints()`: different elements by `variable direction dtype`. "
     "`knl:sync_counts(target)` (`opencl` if absent): `kernel_launch`, `barrier_global`, and "
     "`barrier_local` as one group meets them, by `kind kernel`.\n"
     "They give a map: `m:filter_by{direction = \"load\", variable = {\"a\", \"b\"}}`, "
     "`m:group_by(\"dtype\", \"name\")`, `m:to_bytes()` and `m:eval{n = 10}` give maps, "
     "`m:sum()` "
     "a count, `m:eval_and_sum{n = 10}` a number; `#m`, `m[1].variable`, `m[1].count`, `for key, "
     "count in pairs(m)`, `m.fields`, `tostring(m)`. A count has `c:eval{n = 10}` (an integer), "
     "`c + c`, `c*c`, `c.params`, `c.exact`, `tostring(c)`; it reads `at most ...` and is not "
     "`exact` where conditions depend on data. Where loop bounds depend on data there is no count, "
     "which is an error."},
};

const std::vector<Topic> kVariables{
    {"CC", kEnvironmentTopics,
     "The C compiler that `run` starts, with arguments if need be; `cc` if it is not set.\n"
     "`moonloop devices` lists what there is."},
    {"MOONLOOP_CFLAGS", kEnvironmentTopics,
     "More arguments of the C compiler, after Moonloop's own."},
    {"XDG_CACHE_HOME", kEnvironmentTopics,
     "The folder in which `moonloop/` keeps compiled kernels; `~/.cache` if it is not set."},
};

const ApiClass* find_class(const std::string& name) {
  const auto& all = lua_api();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const ApiClass& c) { return c.name == name; });
  return it == all.end() ? nullptr : &*it;
}

/// `, each with `id`, `kind`…` for a list of a class.
std::string elements_text(const std::string& type) {
  const ApiClass* c = type.ends_with("[]") ? find_class(type.substr(0, type.size() - 2)) : nullptr;
  if (!c) return {};
  std::vector<std::string> names;
  for (const ApiField& f : c->fields) names.push_back("`" + f.name + "`");
  return fmt::format(", each with {}", fmt::join(names, ", "));
}

/// The group Lua, from the table of the API of scripts.
void add_lua(std::vector<Topic>& all) {
  const ApiClass& module = *find_class("moonloop");
  const ApiClass& kernel = *find_class("moonloop.Kernel");
  std::vector<Topic> of_module;
  for (const ApiField& f : module.fields) of_module.push_back({"lp." + f.name, kLua, f.doc});
  for (const ApiFunction& f : module.functions) of_module.push_back({"lp." + f.name, kLua, f.doc});
  std::sort(of_module.begin(), of_module.end(),
            [](const Topic& a, const Topic& b) { return a.name < b.name; });
  all.insert(all.end(), of_module.begin(), of_module.end());

  std::string fields = "What a kernel shows of itself.\n";
  for (const ApiField& f : kernel.fields)
    fields += fmt::format("\n- `knl.{}`: {}{}", f.name, f.doc, elements_text(f.type));
  std::string methods = "What a kernel tells when asked. Every transform is a method too.\n";
  for (const ApiFunction& f : kernel.functions) {
    std::vector<std::string> params;
    for (const ApiParam& p : f.params)
      params.push_back(p.name.ends_with("?") ? "[" + p.name.substr(0, p.name.size() - 1) + "]"
                                             : p.name);
    methods += fmt::format("\n- `knl:{}({})`: {}", f.name, fmt::join(params, ", "), f.doc);
  }
  all.push_back({"fields", kLua, fields});
  all.push_back({"methods", kLua, methods});
}

}  // namespace

const std::vector<Topic>& topics() {
  static const std::vector<Topic> kAll = [] {
    std::vector<Topic> all = kFixed;
    add_lua(all);
    for (const ReplCommand& c : repl_commands())
      all.push_back(
          {c.name, "In the REPL",
           "`" + c.name + (c.arguments.empty() ? "" : " " + c.arguments) + "`: " + c.help});
    all.insert(all.end(), kVariables.begin(), kVariables.end());
    return all;
  }();
  return kAll;
}

}  // namespace moonloop::cli
