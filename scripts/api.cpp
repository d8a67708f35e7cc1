#include "scripts/api.h"

#include <algorithm>

namespace moonloop {
namespace {

const std::vector<ApiField> kModuleFields{
    {"args", "table<string, any>",
     "`lp.args.NAME` is the value of `--set NAME=VALUE`, a number or boolean where it reads as "
     "one.\nIt is nil without the option: `local tile = lp.args.tile or 16`."},
    {"version", "string", "`lp.version` is the version of Moonloop."},
};

const std::vector<ApiFunction> kModuleFunctions{
    {"affine_schedule",
     {{"knl", "moonloop.Kernel"}, {"within?", "string"}},
     {"moonloop.Schedule"},
     "`lp.affine_schedule(knl, [within])` gives the schedule that isl finds for the dependences "
     "between the statements in the loop `within`, or all.\n"
     "It is a tree. A `band` runs instances in the order of its members' values, which are affine "
     "expressions of each statement's loops; where it is `permutable`, no dependence is negative "
     "along a member, so that the members may be tiled. The children of a `sequence` run one after "
     "the other, those of a `set` in any order. A `leaf` has no children."},
    {"attempt",
     {{"f", "function"}, {"...", "any"}},
     {"any", "moonloop.Error?"},
     "`lp.attempt(f, ...)` calls `f(...)`; when a transform refuses, it gives `nil, err` instead.\n"
     "`err.code`, `err.message`, `err.hint`, `err.notes`, `err.line`, `err.file` and "
     "`tostring(err)` tell why. Any other error, also a wrong argument, goes on to the caller."},
    {"auto",
     {{"knl", "moonloop.Kernel"}, {"options?", "moonloop.auto.options"}},
     {"moonloop.Kernel", "string"},
     "`lp.auto(knl, {target =, params =})` gives the kernel with a schedule that it chooses, and "
     "the script that makes it, as `moonloop auto` writes it.\n"
     "Without `target`, it is the one that the command generates code for. "
     "Each step is proved as any other. The script's knobs are declared as `lp.knob` does it, so "
     "that `--knob` and tuned values reach them; `prefix` begins their names. The same kernel and "
     "options give the same schedule."},
    {"callee",
     {{"knl", "moonloop.Kernel"}, {"name", "string"}},
     {"moonloop.Kernel"},
     "`lp.callee(knl, name)` gives a kernel that `knl` calls, after the steps done to it there."},
    {"choose_target",
     {{"kernels", "moonloop.Kernel|table<moonloop.Target, moonloop.Kernel>"},
      {"options?", "moonloop.choose_target.options"}},
     {"moonloop.Target", "table<moonloop.Target, moonloop.Cost>"},
     "`lp.choose_target(kernels, {options})` gives the target with the least predicted time, and "
     "all predictions by target.\n"
     "`kernels` is a kernel, for all of `targets`, or one for each target: `{c = knl, cuda = "
     "on_gpu}`. Transfers between host and device count unless `resident` is true. Other options "
     "are those of `lp.cost`."},
    {"cost",
     {{"knl", "moonloop.Kernel"}, {"options?", "moonloop.cost.options"}},
     {"moonloop.Cost"},
     "`lp.cost(knl, {options})` predicts the time of a run, and tells what bounds it.\n"
     "It is the time from the second run on, with the machine profile that `moonloop devices "
     "--measure` made, or with a cautious one. `bounds` has what takes time, what binds longest "
     "first: instructions (`arithmetic`, `issue`, `latency`, `loops`), memory by level (`L1`, "
     "`L2`, `local`, `memory`, …), `launches`, `starvation`, `barriers`, `transfers`. Fails "
     "`missing-parameter`, and `data-dependent-count` where a loop needs `trips`."},
    {"crossover",
     {{"kernels", "moonloop.Kernel|table<moonloop.Target, moonloop.Kernel>"},
      {"options?", "moonloop.crossover.options"}},
     {"moonloop.Crossover[]"},
     "`lp.crossover(kernels, {param = \"n\", options})` gives the values of a parameter from which "
     "on `lp.choose_target` chooses another target, in order.\n"
     "The choices at `from` and its doublings up to `to` are compared, and at the middles between "
     "them; where they differ, the value is found by bisection, and is exact."},
    {"fuse_kernels",
     {{"kernels", "moonloop.Kernel[]"},
      {"suffixes?", "string|string[]|moonloop.fuse_kernels.options"},
      {"data_flow?", "any[][]|moonloop.fuse_kernels.options"},
      {"options?", "moonloop.fuse_kernels.options"}},
     {"moonloop.Kernel"},
     "`lp.fuse_kernels(kernels, [suffixes], [data_flow], {options})` makes one kernel that runs "
     "the first, then the second, and so on.\n"
     "Arguments of one name are one argument and have to agree. Loops of one name become one loop, "
     "where the dependences allow it: each is fused by `rename_iname`, outer ones first, and "
     "refused with two instances; `inames = {}` keeps all apart, `inames = \"i, j\"` fuses these. "
     "Temporaries of one name get a new one, with the kernel's suffix where `suffixes` are given. "
     "`data_flow = {{\"x\", 0, 1}}` demands that kernel 0 writes `x` and kernel 1 reads or "
     "writes it. `name` names the result, `a_and_b` without it."},
    {"if_legal",
     {{"f", "function"}, {"...", "any"}},
     {"any"},
     "`lp.if_legal(f, ...)` calls `f(...)`; when a transform refuses, it gives nothing: as "
     "`lp.attempt`, but nobody looks for a reason, which takes less time."},
    {"is_kernel", {{"x", "any"}}, {"boolean"}, "`lp.is_kernel(x)` tells whether x is a kernel."},
    {"knob",
     {{"name", "string"},
      {"values", "integer[]|string[]|boolean[]"},
      {"options?", "moonloop.knob.options"}},
     {"any"},
     "`lp.knob(name, values, {options})` gives one of the values: that of `--knob NAME=VALUE`, "
     "else the tuned one, else the default.\n"
     "Values are integers, strings (the names of strategies) or booleans: at least one, distinct, "
     "of one type. `default` is one of them, the first if absent. All scripts of a command share "
     "their knobs; one name has one list of values. Where a kernel was tuned with the script, "
     "`run`, `gen`, `check` and `show` take the values that were fastest; `show --what knobs` "
     "tells which they are."},
    {"load",
     {{"path", "string"}},
     {"moonloop.Kernel", "moonloop.Kernel ..."},
     "`lp.load(path)` gives the kernels of a file, one result each.\n"
     "The path is relative to the script's folder."},
    {"make_copy_kernel",
     {{"new_axes", "string"},
      {"old_axes?", "string"},
      {"options?", "moonloop.make_copy_kernel.options"}},
     {"moonloop.Kernel"},
     "`lp.make_copy_kernel(new_axes, [old_axes], {options})` makes a kernel that copies an array "
     "from "
     "one layout to another.\n"
     "Layouts are those of `tag_array_axes`, such as `\"N0,N1\"`; without `old_axes`, the last "
     "axis "
     "is contiguous. It copies `input` to `output`; `shape` has their extents, `n0`, `n1`, … if "
     "absent."},
    {"make_einsum",
     {{"subscripts", "string"},
      {"arrays", "string[]"},
      {"options?", "moonloop.make_einsum.options"}},
     {"moonloop.Kernel"},
     "`lp.make_einsum(\"ij,jk->ik\", {\"a\", \"b\"}, {options})` makes a kernel of Einstein's "
     "sum.\n"
     "Its parameters are `Ni`, `Nj`, …, and its loops are named by the letters. Of three arrays "
     "and "
     "more, two at a time are multiplied, in the order that needs the fewest products where each "
     "parameter is 1000."},
    {"make_kernel",
     {{"domains", "string|string[]"},
      {"instructions", "string|string[]"},
      {"args?", "string|string[]|moonloop.make_kernel.options"},
      {"options?", "moonloop.make_kernel.options"}},
     {"moonloop.Kernel"},
     "`lp.make_kernel(domains, instructions, {options})` makes a kernel.\n"
     "Options: `args` (declarations, `\"...\"` guesses the rest), `name`, `assumptions`, "
     "`seq_dependencies`, `fixed_parameters`, `default_order`, `index_dtype`."},
    {
        "parallelism",
        {{"knl", "moonloop.Kernel"}, {"options?", "moonloop.parallelism.options"}},
        {"moonloop.Parallelism"},
        "`lp.parallelism(knl, {within =, brief =})` tells which loops are parallel, and what "
        "stands "
        "in the way of others.\n"
        "With `within`, it asks about that loop and those in it only. `loops` has them in the "
        "order of the tree, `by_iname` by name. The status is `parallel` "
        "where "
        "no two iterations depend on each other, those of the loops around being equal; "
        "`reduction` "
        "where only updates of reductions do, or accumulations that `recognize_reduction` knows; "
        "`carried` where others do; `unproved` where they may, and `hint` names the claim that "
        "would "
        "help. `par` tells whether `tag_inames` proves the tag `par`. Distances of dependent "
        "instances "
        "are numbers where they are constant, else directions: `<` for a later iteration, `>` for "
        "an "
        "earlier one, `<=`, `>=` and `*`. The loops of a band may change places and be tiled.",
    },
    {"parse",
     {{"text", "string"}},
     {"moonloop.Kernel", "moonloop.Kernel ..."},
     "`lp.parse(text)` gives the kernels of kernel text, one result each."},
    {"parse_fortran",
     {{"text", "string"}},
     {"moonloop.Kernel", "moonloop.Kernel ..."},
     "`lp.parse_fortran(text)`: the kernels of a Fortran text in free form, as its transform "
     "blocks leave them."},
    {"program",
     {{"options", "moonloop.program.options"}},
     {"moonloop.Kernel"},
     "`lp.program{name =, args =, body =, kernels =}` makes a program, as `program` does in kernel "
     "text.\n"
     "`body` is kernel text: domains, loops, conditions, statements, calls of `kernels`. What it "
     "calls becomes part of it, with the loops and storage that steps gave it. Other options are "
     "those of `lp.make_kernel`."},
    {"to_batched",
     {{"knl", "moonloop.Kernel"},
      {"count?", "string|integer"},
      {"args?", "string[]"},
      {"options?", "moonloop.to_batched.options"}},
     {"moonloop.Kernel"},
     "`lp.to_batched(knl, [count], [args], {options})` makes a kernel that does `count` times what "
     "`knl` does, each time with elements of its own of the arguments `args`.\n"
     "`count` is a number or a parameter, `nbatch` if absent; `args` are all arrays if absent. "
     "Scalars among them become arrays. The batches are iterations of the loop `ibatch` around "
     "everything, and the arguments have one more axis: the slowest one in memory, or the fastest "
     "with `axis = \"inside\"`, which suits lanes that take a batch each. Steps before it stay, "
     "those after it are proved against the new kernel.\n"
     "Refuses an array that the kernel writes and that is not among `args`, a scalar of `args` "
     "that bounds loops, temporaries with first values that change, and claims about `args`."},
    {"transform_callee",
     {{"knl", "moonloop.Kernel"},
      {"name", "string"},
      {"steps", "fun(callee: moonloop.Kernel): moonloop.Kernel|string"}},
     {"moonloop.Kernel"},
     "`lp.transform_callee(knl, name, steps)` gives `knl` with steps done to the kernel `name` "
     "that "
     "it calls: `steps` is a function of that kernel, or a script in which it is a global.\n"
     "What is generated for the kernel changes, not what the call means. Refuses steps that change "
     "its arguments."},
};

const std::vector<ApiField> kKernelFields{
    {"args", "moonloop.Argument[]", "its arguments"},
    {"assumptions", "string?", "what is assumed of its parameters"},
    {"domains", "string[]", "its domains, as isl sets"},
    {"ids", "string[]", "the ids of its instructions"},
    {"iname_tags", "table<string, moonloop.Tag>", "tags by iname"},
    {"inames", "string[]", "its loop variables"},
    {"instructions", "moonloop.Instruction[]", "its instructions, as they are"},
    {"name", "string", "its name"},
    {"params", "string[]", "the parameters of its domains"},
    {"rules", "moonloop.Rule[]", "its substitution rules"},
    {"temporaries", "moonloop.Temporary[]", "its temporaries"},
    {"trusted_inames", "string[]",
     "tagged inames whose parallel iterations `unsafe` takes on trust"},
};

const std::vector<ApiFunction> kKernelMethods{
    {"accesses",
     {{"params?", "table<string, integer>"}, {"within?", "string"}},
     {"moonloop.Access[]"},
     "its accesses to arrays, with their strides, as numbers where `params` tell the sizes; of "
     "instructions in one loop, or of all"},
    {"check", {}, {"moonloop.Kernel"}, "the kernel itself, when it is legal"},
    {"code",
     {{"target?", "moonloop.Target"}},
     {"string"},
     "the generated code; for `c` if not told"},
    {"cost",
     {{"options?", "moonloop.cost.options"}},
     {"moonloop.Cost"},
     "its predicted time; see `lp.cost`"},
    {"deps", {}, {"string"}, "its dependences"},
    {"footprints", {}, {"moonloop.CountMap"}, "different elements that it accesses; see `counts`"},
    {"has_code",
     {{"target?", "moonloop.Target"}},
     {"boolean"},
     "whether there is code for the target, `c` if not told; faster than `code`"},
    {"header", {{"target?", "moonloop.Target"}}, {"string"}, "the C header of the generated code"},
    {"ir", {}, {"string"}, "kernel text, as `text`"},
    {"mem_counts",
     {{"options?", "moonloop.counts.options"}},
     {"moonloop.CountMap"},
     "its accesses to memory; see `counts`"},
    {"op_counts",
     {{"options?", "moonloop.counts.options"}},
     {"moonloop.CountMap"},
     "its operations; see `counts`"},
    {"parallelism",
     {{"within?", "string"}},
     {"moonloop.Parallelism"},
     "which loops are parallel; see `lp.parallelism`"},
    {"schedule",
     {{"target?", "moonloop.Target"}},
     {"string"},
     "its loops as code generation plans them"},
    {"stats", {}, {"string"}, "what it consists of, in numbers"},
    {"sync_counts",
     {{"target?", "moonloop.Target"}},
     {"moonloop.CountMap"},
     "its launches and barriers, for `opencl` if not told; see `counts`"},
    {"text", {}, {"string"}, "kernel text that parses back; `tostring(knl)` gives it too"},
    {"trace", {}, {"string"}, "a script that replays its transforms"},
    {"tree", {}, {"string"}, "its loops"},
    {"trips",
     {{"params?", "table<string, integer>"}, {"iname?", "string"}},
     {"table<string, integer>|integer?"},
     "by iname, how many values it has at most, without those of which nothing is known; of one "
     "iname alone, its number or nil"},
};

const std::vector<ApiField> kInstructionFields{
    {"depends_on", "string[]", "ids of instructions that run before"},
    {"file", "string?", "where it was written"},
    {"id", "string", "its id"},
    {"inames", "string[]", "the loops around it"},
    {"kind", "\"assignment\"|\"call\"|\"barrier\"|\"nop\"", "what it is"},
    {"lhs", "string[]", "what it writes, as expressions"},
    {"line", "integer?", "the line in that file"},
    {"predicates", "string[]", "its conditions"},
    {"priority", "integer", "its priority"},
    {"reads", "string[]", "names of the variables that it reads"},
    {"reduction_inames", "string[]", "the loops of its reductions"},
    {"rhs", "string?", "what is computed, as an expression"},
    {"tags", "string[]", "its tags"},
    {"text", "string", "all of it as kernel text"},
    {"writes", "string[]", "names of the variables that it writes"},
};

const std::vector<ApiField> kArgumentFields{
    {"intent", "\"in\"|\"out\"|\"inout\"|nil", "its direction, where that is known"},
    {"is_array", "boolean", "whether it has axes"},
    {"name", "string", "its name"},
    {"order", "\"C\"|\"F\"|nil", "which axis of an array is contiguous"},
    {"shape", "string[]?", "extents of an array, as expressions"},
    {"strides", "string[]?", "strides of an array, where they are given"},
    {"type", "string?", "type of an element, where that is known"},
};

const std::vector<ApiField> kTemporaryFields{
    {"name", "string", "its name"},
    {"order", "\"C\"|\"F\"|nil", "which axis is contiguous"},
    {"shape", "string[]?", "extents as expressions, where they are known"},
    {"space", "\"auto\"|\"private\"|\"local\"|\"global\"", "its memory"},
    {"strides", "string[]?", "strides, where they are given"},
    {"type", "string?", "type of an element, where that is known"},
};

const std::vector<ApiField> kRuleFields{
    {"body", "string", "the expression"},
    {"name", "string", "its name"},
    {"params", "string[]", "its parameters"},
    {"text", "string", "all of it as kernel text"},
};

const std::vector<ApiField> kErrorFields{
    {"code", "string", "the code of the message, such as `races`"},
    {"file", "string?", "the file that the message points at"},
    {"hint", "string", "what may help"},
    {"line", "integer?", "the line in that file"},
    {"message", "string", "what is wrong"},
    {"notes", "string[]", "where the cause is"},
    {"refused", "boolean", "whether a transform was refused"},
};

const std::vector<ApiField> kParallelismOptionsFields{
    {"brief", "boolean?",
     "of each loop only `par` and the first reason against it, which is quicker"},
    {"reasons", "boolean?",
     "false, with `brief`: of a reason only `code` and `variable`, which is quicker still"},
    {"within", "string?", "only about this loop and those in it"},
};

const std::vector<ApiField> kParallelismFields{
    {"bands", "moonloop.Band[]", "loops that may change places, those in no larger band"},
    {"by_iname", "table<string, moonloop.Loop>", "the loops by name"},
    {"dependences", "moonloop.Dependence[]",
     "between different iterations of a loop, but for those that follow by transitivity"},
    {"loops", "moonloop.Loop[]", "the loops, each before those in it"},
};
const std::vector<ApiField> kLoopFields{
    {"around", "string[]", "the loops around it, outer to inner"},
    {"code", "string?", "of the refusal of the tag `par`, such as `races`"},
    {"hint", "string?", "what may help"},
    {"iname", "string", "its loop variable"},
    {"instances", "moonloop.Instance[]?", "two instances that depend on each other"},
    {"kind", "\"flow\"|\"anti\"|\"output\"|nil", "how they do"},
    {"par", "boolean", "whether the tag `par` is proved"},
    {"params", "table<string, integer>?", "parameters for which these instances exist"},
    {"reductions", "moonloop.Reduction[]", "what accumulates over it"},
    {"statements", "string[]", "ids of what runs in it"},
    {"status", "\"parallel\"|\"reduction\"|\"carried\"|\"unproved\"|nil", "what it is"},
    {"tag", "moonloop.Tag?", "its tag"},
    {"variable", "string?", "what the two instances access"},
    {"why", "string?", "the refusal of the tag `par`"},
};
const std::vector<ApiField> kReductionFields{
    {"declared", "boolean", "whether it is a reduction already"},
    {"op", "string", "the operation, such as `sum`"},
    {"statement", "string", "the id of what updates it"},
    {"variable", "string?", "the accumulator of one that is written out"},
};
const std::vector<ApiField> kInstanceFields{
    {"at", "table<string, integer>", "its iteration"},
    {"does", "string", "such as `writes a[4]`"},
    {"statement", "string", "the id of its statement"},
};
const std::vector<ApiField> kDependenceFields{
    {"carried_by", "string", "the outermost loop whose iterations differ"},
    {"distance", "(integer|string)[]", "by loop: later minus earlier iteration, or a direction"},
    {"exact", "boolean", "false where it is over-approximated"},
    {"kind", "\"flow\"|\"anti\"|\"output\"|nil", "nil: `depends_on` says so"},
    {"loops", "string[]", "the loops that both statements share"},
    {"source", "string", "the id of the earlier statement"},
    {"target", "string", "the id of the later one"},
    {"variable", "string", "what both access"},
    {"vector", "string", "the distance as text, `(1, -1)`"},
};
const std::vector<ApiField> kBandFields{
    {"loops", "string[]", "outer to inner"},
    {"perfect", "boolean", "whether all statements of the first loop are in the last one"},
};

const std::vector<ApiField> kAccessFields{
    {"inames", "string[]", "the loops around it, those of reductions too"},
    {"index", "string[]", "subscripts, as expressions"},
    {"size", "integer", "bytes of an element"},
    {"statement", "string", "the id of its instruction"},
    {"strides", "table<string, integer|string>",
     "by iname, how far apart iterations access, in elements: a number, an expression, or `?`; "
     "without those that make no difference"},
    {"type", "string", "type of an element"},
    {"variable", "string", "the array"},
    {"write", "boolean", "whether it writes"},
};

const std::vector<ApiField> kAutoFields{
    {"called", "boolean?", "whether other kernels call it, which may run it in parallel"},
    {"params", "table<string, integer>?", "what parameters may be, as far as it is known"},
    {"prefix", "string?", "begins the names of knobs"},
    {"target", "moonloop.Target?", "the command's if absent, else `c`"},
};

const std::vector<ApiField> kScheduleFields{
    {"children", "moonloop.Schedule[]", "what stands in it"},
    {"kind", "\"band\"|\"sequence\"|\"set\"|\"leaf\"", "what it is"},
    {"members", "moonloop.Member[]?", "of a band, the first one outermost"},
    {"permutable", "boolean?", "of a band: whether the members may change places"},
    {"statements", "string[]", "the ids of what it is about"},
};
const std::vector<ApiField> kMemberFields{
    {"parallel", "boolean", "whether instances of different values do not depend on each other"},
    {"values", "table<string, string>", "by statement, an expression"},
};

const std::vector<ApiField> kCountFields{
    {"exact", "boolean", "false where it is an upper bound"},
    {"params", "string[]", "the parameters that it depends on"},
};
const std::vector<ApiFunction> kCountMethods{
    {"eval", {{"values?", "table<string, integer>"}}, {"integer"}, "its value"},
};
const std::vector<ApiField> kCountMapFields{
    {"fields", "string[]", "what its keys consist of"},
};
const std::vector<ApiFunction> kCountMapMethods{
    {"eval",
     {{"values?", "table<string, integer>"}},
     {"moonloop.CountMap"},
     "the same with values for parameters"},
    {"eval_and_sum", {{"values?", "table<string, integer>"}}, {"integer"}, "the sum's value"},
    {"filter_by",
     {{"fields", "table<string, any>"}},
     {"moonloop.CountMap"},
     "the counts whose keys have these values; an array gives several to choose from"},
    {"group_by", {{"...", "string"}}, {"moonloop.CountMap"}, "sums by these fields alone"},
    {"sum", {}, {"moonloop.Count"}, "all counts together"},
    {"to_bytes", {}, {"moonloop.CountMap"}, "accesses by their sizes"},
};

const std::vector<ApiField> kCountsFields{
    {"subgroup_size", "integer?", "work-items that count once"},
};

const std::vector<ApiField> kFuseKernelsFields{
    {"data_flow", "any[][]?", "`{name, from, to}`: a kernel accesses what an earlier one writes"},
    {"inames", "string|string[]|nil", "the common loops to fuse; all if absent"},
    {"name", "string?", "the kernel's name"},
    {"suffixes", "string|string[]|nil", "of temporaries, one for each kernel"},
};

const std::vector<ApiField> kCostFields{
    {"bottleneck", "string", "the name of the bound that binds longest"},
    {"bounds", "moonloop.Bound[]", "what takes time"},
    {"device", "string", "the machine of the profile"},
    {"measured", "boolean", "whether the profile is measured"},
    {"remarks", "string[]", "what is simplified or assumed"},
    {"seconds", "number", "of one run"},
    {"target", "moonloop.Target", "the target"},
};

const std::vector<ApiField> kBoundFields{
    {"amount", "number", "bytes, operations, or how often"},
    {"binding", "number", "of the predicted seconds: while all else waits for it"},
    {"name", "string", "what it is"},
    {"seconds", "number", "that it takes by itself"},
    {"unit", "string", "of the amount: `B`, `op`, or empty"},
};

const std::vector<ApiField> kCrossoverFields{
    {"after", "moonloop.Target", "the choice from `value` on"},
    {"before", "moonloop.Target", "the choice for `value - 1`"},
    {"value", "integer", "of the parameter"},
};

const std::vector<ApiField> kCostOptionsFields{
    {"device", "integer|string|table<moonloop.Target, string>|nil",
     "a device's number; or the name of a machine with a kept profile, or the file of one, also by "
     "target"},
    {"model", "\"moonloop\"|\"acm\"|nil", "`acm` is ALPyNA's formula"},
    {"params", "table<string, integer>?", "values of parameters"},
    {"resident", "boolean?", "arrays are on the device already, so that no copies count"},
    {"target", "moonloop.Target?", "`c` if absent"},
    {"trips", "table<string, number>?",
     "iterations of loops whose bounds the kernel computes, by iname"},
};

std::vector<ApiField> with_fields(std::vector<ApiField> some, const std::vector<ApiField>& more) {
  std::erase_if(some, [](const ApiField& f) { return f.name == "target"; });
  some.insert(some.end(), more.begin(), more.end());
  std::sort(some.begin(), some.end(),
            [](const ApiField& a, const ApiField& b) { return a.name < b.name; });
  return some;
}

const std::vector<ApiField> kChooseTargetFields = with_fields(
    kCostOptionsFields,
    {{"targets", "moonloop.Target[]|nil", "to choose from; those of `kernels` if absent"}});

const std::vector<ApiField> kCrossoverOptionsFields =
    with_fields(kChooseTargetFields, {{"from", "integer?", "the least value; 1 if absent"},
                                      {"param", "string", "whose values are compared"},
                                      {"to", "integer?", "the greatest value; 2^20 if absent"}});

const std::vector<ApiField> kKnobFields{
    {"default", "integer|string|boolean|nil", "one of the values; the first if absent"},
};

const std::vector<ApiField> kMakeKernelFields{
    {"args", "string|string[]|nil", "declarations; `\"...\"` guesses the rest"},
    {"assumptions", "string?", "constraints of the parameters"},
    {"default_order", "\"C\"|\"F\"|nil", "which axis of arrays is contiguous"},
    {"fixed_parameters", "table<string, integer>?", "integers in place of parameters"},
    {"index_dtype", "string?", "type of the inames"},
    {"kernel_data", "string|string[]|nil", "another name of `args`"},
    {"name", "string?", "the kernel's name"},
    {"seq_dependencies", "boolean?", "each instruction depends on the one before"},
};

const std::vector<ApiField> kMakeCopyKernelFields{
    {"name", "string?", "the kernel's name, `copy` if absent"},
    {"shape", "(string|integer)[]|nil", "extents of the arrays"},
    {"type", "string?", "type of an element, `float64` if absent"},
};
const std::vector<ApiField> kMakeEinsumFields{
    {"name", "string?", "the kernel's name, `einsum` if absent"},
    {"out", "string?", "the result's name, `out` if absent"},
    {"type", "string?", "type of an element, `float64` if absent"},
};

const std::vector<ApiField> kToBatchedFields{
    {"axis", "\"outside\"|\"inside\"|nil", "where the new axis is, `outside` if absent"},
    {"iname", "string?", "the new loop's name, `ibatch` if absent"},
    {"name", "string?", "the kernel's name, `NAME_batched` if absent"},
};

const std::vector<ApiField> kProgramFields = [] {
  std::vector<ApiField> out = kMakeKernelFields;
  out.insert(out.begin() + 2, {"body", "string|string[]", "kernel text"});
  out.insert(out.begin() + 4, {"domains", "string|string[]|nil", "domains that are not in it"});
  const auto name = std::find_if(
      out.begin(), out.end(), [](const ApiField& f) { return f.name == std::string_view("name"); });
  out.insert(name, {"kernels", "moonloop.Kernel[]?", "the kernels that may be called"});
  return out;
}();

const std::vector<ApiClass> kClasses{
    {"moonloop", "The module, global as `lp` and by `require \"moonloop\"`.", kModuleFields,
     kModuleFunctions},
    {"moonloop.Kernel", "A kernel. It does not change: each transform gives a new one.",
     kKernelFields, kKernelMethods},
    {"moonloop.Instruction",
     "An instruction, as `knl.instructions` lists them.",
     kInstructionFields,
     {}},
    {"moonloop.Argument", "An argument, as `knl.args` lists them.", kArgumentFields, {}},
    {"moonloop.Temporary", "A temporary, as `knl.temporaries` lists them.", kTemporaryFields, {}},
    {"moonloop.Rule", "A substitution rule, as `knl.rules` lists them.", kRuleFields, {}},
    {"moonloop.Error", "Why a transform was refused, as `lp.attempt` gives it.", kErrorFields, {}},
    {"moonloop.Count", "A number as a function of parameters. `+` and `*` give counts, too.",
     kCountFields, kCountMethods},
    {"moonloop.CountMap", "Counts by what they count; `#m`, `m[1].count`, `pairs(m)`.",
     kCountMapFields, kCountMapMethods},
    {"moonloop.Parallelism", "What `lp.parallelism` gives.", kParallelismFields, {}},
    {"moonloop.Loop", "A loop, as `lp.parallelism` lists them.", kLoopFields, {}},
    {"moonloop.Reduction", "What accumulates over a loop.", kReductionFields, {}},
    {"moonloop.Instance", "An instance of a statement.", kInstanceFields, {}},
    {"moonloop.Dependence", "A dependence that a loop carries.", kDependenceFields, {}},
    {"moonloop.Band", "Loops that may change places.", kBandFields, {}},
    {"moonloop.Access", "An access, as `knl:accesses()` lists them.", kAccessFields, {}},
    {"moonloop.Schedule", "A schedule that `lp.affine_schedule` gives.", kScheduleFields, {}},
    {"moonloop.Member", "A loop of a band.", kMemberFields, {}},
    {"moonloop.auto.options", "Options of `lp.auto`.", kAutoFields, {}},
    {"moonloop.Cost", "What `lp.cost` gives.", kCostFields, {}},
    {"moonloop.Bound", "Something that takes time.", kBoundFields, {}},
    {"moonloop.Crossover", "A value at which the choice changes.", kCrossoverFields, {}},
    {"moonloop.choose_target.options", "Options of `lp.choose_target`.", kChooseTargetFields, {}},
    {"moonloop.cost.options", "Options of `lp.cost`.", kCostOptionsFields, {}},
    {"moonloop.crossover.options", "Options of `lp.crossover`.", kCrossoverOptionsFields, {}},
    {"moonloop.counts.options", "Options of `op_counts` and `mem_counts`.", kCountsFields, {}},
    {"moonloop.fuse_kernels.options", "Options of `lp.fuse_kernels`.", kFuseKernelsFields, {}},
    {"moonloop.knob.options", "Options of `lp.knob`.", kKnobFields, {}},
    {"moonloop.parallelism.options", "Options of `lp.parallelism`.", kParallelismOptionsFields, {}},
    {"moonloop.make_copy_kernel.options",
     "Options of `lp.make_copy_kernel`.",
     kMakeCopyKernelFields,
     {}},
    {"moonloop.make_einsum.options", "Options of `lp.make_einsum`.", kMakeEinsumFields, {}},
    {"moonloop.make_kernel.options", "Options of `lp.make_kernel`.", kMakeKernelFields, {}},
    {"moonloop.program.options", "Options of `lp.program`.", kProgramFields, {}},
    {"moonloop.to_batched.options", "Options of `lp.to_batched`.", kToBatchedFields, {}},
};

}  // namespace

const std::vector<ApiClass>& lua_api() { return kClasses; }

}  // namespace moonloop
