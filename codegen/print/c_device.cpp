#include <algorithm>
#include <iterator>

#include "codegen/plan/launch_condition.h"
#include "codegen/print/c_printer.h"
#include "codegen/print/cuda_residency.h"
#include "codegen/print/declare.h"
#include "core/expr/evaluate.h"
#include "core/model/domain.h"

// Kernels for devices, one function each, and the plan of the host that launches them.
namespace moonloop {
namespace {

constexpr std::int64_t kMostPrivate = 64 * 1024;  // bytes of one temporary of a work-item

/// Why the memory has no constant size, if it has none, and a way to give it one.
std::string without_bound(const Exprs& extents) {
  for (const Expr& e : extents) {
    if (as_int(e)) continue;
    const std::string why = fmt::format(", but no assumption bounds its extent `{}`", to_string(e));
    std::set<std::string> names;
    collect_vars(e, names);
    if (to_affine(e, {})) {
      // For cases, for which no assumption can be written, their parameters.
      const std::string bounded =
          e.holds<Select>() ? fmt::format("{}", fmt::join(names, " <= 256 and ")) : to_string(e);
      return why + fmt::format("; assume(\"{} <= 256\"), with a number that holds, does", bounded);
    }
    if (names.empty()) return why;
    return why + fmt::format("; fix_parameters({{{} = 16}}), with a value that holds, does",
                             fmt::join(names, " = 16, "));
  }
  return "";
}

/// Arrays that are only read, in a choice with an element of one that is written. From
/// `x ? a[i] : b[i]` CUDA 13.0's compiler makes a load from one address, which it takes from the
/// cache for constant data where `b` is `const` and `restrict`, though the address may be one in
/// `a`.
std::set<std::string> chosen_beside(const Kernel& k, const std::set<std::string>& written) {
  std::set<std::string> out;
  const auto look = [&](const Expr& e) {
    if (!e) return;
    for_each_of<Select>(e, [&](const Select& s, const Expr&) {
      std::set<std::string> arrays;
      for (const Expr& arm : {s.yes, s.no})
        for_each_of<Load>(arm, [&](const Load& l, const Expr&) { arrays.insert(l.array); });
      const bool mixed = std::any_of(arrays.begin(), arrays.end(),
                                     [&](const std::string& a) { return written.contains(a); });
      if (mixed) out.merge(arrays);
    });
  };
  for (const InsnPtr& insn : k.instructions) {
    for (const Expr& l : insn->lhs) look(l);
    look(insn->rhs);
    for (const Expr& p : insn->predicates) look(p);
  }
  return out;
}

}  // namespace

Pieces CPrinter::device_source(Block program, DeviceProgram& out,
                               const std::vector<Parameter>* host_arrays,
                               const GenerateOptions& o) {
  settle(program);
  dialect_.decorate(program, plan_, names_);
  out_.clear();
  depth_ = 0;
  name_tables();
  names_.take_used();
  tables(Tables::All);
  const std::string tables = std::move(out_);
  out_.clear();
  out.steps = host_steps(program, out);
  out.index_type = k_.index_type;
  for (const auto& [name, t] : k_.temporaries) {
    if (t.read_only || !plan_.lies_in(name, AddressSpace::Global)) continue;
    Expr elements = lit(1);
    for (const Expr& e : expr_.extents(t)) elements = index_mul(elements, e);
    out.temporaries.push_back({name, expr_.type_of_name(name), elements, name == plan_.locks});
  }
  const bool keeps_arrays =
      host_arrays && (o.resident == Residency::All ||
                      std::any_of(host_arrays->begin(), host_arrays->end(),
                                  [](const Parameter& a) { return a.fortran.resident; }));
  std::string body = std::move(out_);
  if (helpers_.language() == Language::Cuda) body += "\n" + host_function(out, keeps_arrays);
  if (helpers_.language() == Language::Cuda && host_arrays)
    body += "\n" + host_copies(*host_arrays, o.resident);
  Pieces text{{}, records(), {}, tables + (tables.empty() ? "" : "\n") + body};
  for (const auto& [helper, definition] : helpers_.functions())
    text.definitions.push_back(definition + "\n");
  text.definitions.insert(text.definitions.end(), device_texts_.begin(), device_texts_.end());
  out.extensions = dialect_.extensions(helpers_.features());
  text.definitions.insert(text.definitions.begin(), dialect_.prelude(helpers_.features()));
  if (keeps_arrays || o.host_asks) text.definitions.emplace_back(kCudaResidency);
  if (host_arrays && o.resident == Residency::Asked)
    text.definitions.emplace_back(kCudaResidentElsewhere);
  return text;
}

/// The number of the kernel that does this. A loop of the host that is in several parts launches
/// one kernel in each, the same one unless the parts need other guards.
int CPrinter::device_kernel(const Launch& launch, DeviceProgram& out) {
  const LaunchPlan& plan = plan_.launches[static_cast<std::size_t>(launch.index)];
  DeviceKernel kernel;
  kernel.name = name();
  if (helpers_.language() == Language::Cuda) kernel.name += "_kernel";  // the host's has the name
  if (plan_.launches.size() > 1) kernel.name += "_" + std::to_string(launch.index);
  for (std::size_t a = 0; a < 3; ++a) {
    kernel.groups.at(a) = plan.groups.at(a) ? without_truncation(plan.groups.at(a)) : lit(1);
    kernel.items.at(a) = plan.items.at(a) ? without_truncation(plan.items.at(a)) : lit(1);
  }
  for (const std::string& iname : plan.inames)
    expr_.runs_from(iname, plan_.hardware.at(iname).first);
  std::string before = std::exchange(out_, {});
  depth_ = 1;
  std::set<std::string> written;
  collect_writes(launch.body, written);
  written.insert(plan_.locks);
  if (helpers_.language() == Language::Cuda) launch_writes_ = written;
  ahead_used_.clear();  // equal kernels have equal texts
  block(launch.body);
  launch_writes_.reset();
  const std::string statements = std::exchange(out_, {});
  std::set<std::string> used = names_.take_used();
  for (const std::string& iname : plan.inames) {
    if (!used.count(iname)) continue;
    const HardwareIname& h = plan_.hardware.at(iname);
    Expr id = call(h.group ? kGroupId : kLocalId, {lit(h.axis)});
    const Expr& skipped = plan.skipped.at(static_cast<std::size_t>(h.axis));
    if (h.group && skipped) id = index_add({id, without_truncation(skipped)});
    line(type_name(k_.index_type) + " const " + names_.of(iname) + " = " +
         expr_.index(index_add({h.first, id})) + ";");
  }
  for (const std::string& name : names_.take_used()) used.insert(name);
  device_temporaries(used, kernel);
  const std::string declarations = std::exchange(out_, {});
  for (const std::string& name : names_.take_used()) used.insert(name);
  depth_ = 0;
  const std::string body = declarations + statements;
  out_ = std::move(before);
  std::vector<int>& copies = copies_[launch.index];
  for (int known : copies)
    if (kernel_bodies_[static_cast<std::size_t>(known)] == body) return known;
  if (!copies.empty()) kernel.name += "_part" + std::to_string(copies.size());
  const std::string head = device_head(kernel, used, written, waits_within(launch.body));
  names_.take_used();
  out_ += (out.kernels.empty() ? "" : "\n") + head + ") {\n" + body + "}\n";
  copies.push_back(static_cast<int>(out.kernels.size()));
  kernel_bodies_.push_back(body);
  out.kernels.push_back(std::move(kernel));
  return copies.back();
}

/// Collects the variables that the statements of the block write.
void CPrinter::collect_writes(const Block& block, std::set<std::string>& out) const {
  for (const Stmt& s : block) {
    if (const auto* x = std::get_if<Run>(&s.op))
      out.merge(writes(*k_.instructions[static_cast<std::size_t>(x->insn)]));
    if (const auto* x = std::get_if<Loop>(&s.op)) collect_writes(x->body, out);
    if (const auto* x = std::get_if<If>(&s.op))
      collect_writes(x->body, out), collect_writes(x->otherwise, out);
    if (const auto* x = std::get_if<Scope>(&s.op)) collect_writes(x->body, out);
  }
}

/// Declares the local memory that the kernel uses: arrays, or where they are more than a kernel may
/// declare, one after the other in the memory that the launch gives. No view of it is `restrict`:
/// that would let a compiler move an access across a barrier.
void CPrinter::device_temporaries(const std::set<std::string>& used, DeviceKernel& kernel) {
  constexpr std::int64_t kApart = 16;  // bytes, as vectors and asynchronous copies need
  struct Place {
    const Temporary* of;
    Type type;
    std::int64_t first, bytes;
  };
  std::vector<Place> places;
  std::int64_t apart = 0;
  for (const auto& [name, t] : k_.temporaries) {
    if (!used.count(name) || t.read_only) continue;
    const Type type = expr_.type_of_name(name);
    const auto n = expr_.elements(t);
    if (plan_.lies_in(name, AddressSpace::Private) && on_heap(expr_, t))
      fail("unsupported", t.at ? t.at : k_.at,
           "each work-item has its own `{}`, which takes a constant size of at most {} bytes{}",
           name, kMostPrivate, without_bound(expr_.extents(t)));
    if (!plan_.lies_in(name, AddressSpace::Local)) continue;
    if (!n)
      fail("unsupported", t.at ? t.at : k_.at,
           "`{}` is in local memory, whose size has to be constant{}", name,
           without_bound(expr_.extents(t)));
    const std::int64_t bytes = checked_mul(*n, type.size(), "the size of `" + name + "`");
    places.push_back({&t, type, apart, bytes});
    kernel.local_bytes += bytes;
    apart += (bytes + kApart - 1) / kApart * kApart;
  }
  const std::int64_t declared = dialect_.most_declared_bytes();
  kernel.given_local = declared > 0 && apart > declared;  // gaps between them count, too
  if (kernel.given_local) {
    kernel.local_bytes = apart;
    check_given(kernel,
                *std::max_element(places.begin(), places.end(), [](const Place& a, const Place& b) {
                   return a.bytes < b.bytes;
                 })->of);
    line(dialect_.given_memory());
  }
  for (const Place& p : places) {
    const std::string type = type_name(p.type), &name = names_.of(p.of->name);
    const std::string size = expr_.extents(*p.of).empty() ? "" : brackets(*p.of);
    if (!kernel.given_local) {
      const std::string aligned = aligned_.count(p.of->name) ? dialect_.aligned_prefix() : "";
      line(dialect_.local_prefix() + aligned + type + " " + name + size + ";");
      continue;
    }
    std::string at = dialect_.given_memory_name();
    if (p.first > 0) at = "(" + at + " + " + std::to_string(p.first) + ")";
    line(size.empty()
             ? type + " &" + name + " = *(" + type + " *)" + at + ";"
             : type + " (&" + name + ")" + size + " = *(" + type + " (*)" + size + ")" + at + ";");
  }
}

/// Fails where no device has that much.
void CPrinter::check_given(const DeviceKernel& kernel, const Temporary& largest) const {
  const std::int64_t most = dialect_.most_given_bytes();
  if (kernel.local_bytes <= most) return;
  fail("device-limit", largest.at ? largest.at : k_.at,
       "kernel `{}` needs {} bytes of local memory, most of them for `{}`; devices of target `{}` "
       "have at most {} ({})",
       kernel.name, kernel.local_bytes, largest.name, to_string(plan_.target), most,
       dialect_.largest_device());
}

/// The function up to its last parameter: the arguments that the kernel uses in declared order,
/// then temporaries in global memory and inames of the host's loops. Arrays that work-items wait
/// for one another to write, or update by turns, are not any work-item's own: `restrict` would let
/// a compiler move an access across the barrier; see chosen_beside() too.
std::string CPrinter::device_head(DeviceKernel& kernel, const std::set<std::string>& used,
                                  const std::set<std::string>& written, bool waits) {
  std::set<std::string> by_turns;
  for (const InsnPtr& insn : k_.instructions)
    if (insn->atomic != Atomicity::None) by_turns.merge(writes(*insn));
  by_turns.insert(plan_.locks);
  const std::set<std::string> chosen = chosen_beside(k_, written);
  std::vector<std::string> all;
  const auto pointer = [&](const std::string& name, const Type& type, bool written) {
    const bool own = written ? !waits && !by_turns.count(name) : !chosen.count(name);
    all.push_back(dialect_.global_prefix() + helpers_.element(type) +
                  (written ? " *" : " const *") + (own ? dialect_.restrict_word() + " " : "") +
                  names_.of(name));
    kernel.args.push_back(name);
  };
  for (const Argument& a : k_.args) {
    if (!used.count(a.name)) continue;
    const Type type = a.type.value_or(Type(k_.index_type));
    if (a.is_array) {
      pointer(a.name, type, written.count(a.name) > 0);
    } else {
      all.push_back(helpers_.element(type) + " const " + names_.of(a.name));
      kernel.args.push_back(a.name);
    }
  }
  for (const auto& [name, t] : k_.temporaries)
    if (used.count(name) && !t.read_only && plan_.lies_in(name, AddressSpace::Global))
      pointer(name, expr_.type_of_name(name), written.count(name) > 0);
  for (const LaunchPlan& launch : plan_.launches)
    for (const std::string& iname : launch.host_loops) {
      const bool there =
          std::find(kernel.args.begin(), kernel.args.end(), iname) != kernel.args.end();
      if (!used.count(iname) || there) continue;
      all.push_back(type_name(k_.index_type) + " const " + names_.of(iname));
      kernel.args.push_back(iname);
    }
  const std::string head = dialect_.kernel_head(kernel);
  return head + parameter_list(all, head.size() - (head.rfind('\n') + 1));
}

std::vector<HostStep> CPrinter::host_steps(const Block& block, DeviceProgram& program) {
  std::vector<HostStep> out;
  const auto on_host = [&](const Expr& e) {
    return without_truncation(substitute(e, plan_.known));
  };
  for (const Stmt& s : block) {
    if (const auto* x = std::get_if<Launch>(&s.op)) {
      std::vector<HostStep> step{{HostLaunch{device_kernel(*x, program)}}};
      if (const Expr condition = launch_condition(plan_, *x))
        out.push_back({HostGuard{on_host(condition), std::move(step)}});
      else
        out.push_back(std::move(step.front()));
    } else if (const auto* x = std::get_if<Loop>(&s.op)) {
      HostLoop loop{x->iname, on_host(x->lower), on_host(x->upper), x->step,
                    host_steps(x->body, program)};
      if (!x->inclusive) loop.upper = index_add({loop.upper, lit(-1)});
      out.push_back({std::move(loop)});
    } else if (const auto* x = std::get_if<If>(&s.op)) {
      out.push_back({HostGuard{on_host(x->cond), host_steps(x->body, program)}});
    } else if (const auto* x = std::get_if<Scope>(&s.op)) {
      std::vector<HostStep> body = host_steps(x->body, program);
      if (x->iname.empty()) {
        std::move(body.begin(), body.end(), std::back_inserter(out));
      } else {
        const Expr value = on_host(x->value);
        out.push_back({HostLoop{x->iname, value, value, 1, std::move(body)}});
      }
    } else {
      throw InternalError("a statement outside of the kernels");
    }
  }
  return out;
}

}  // namespace moonloop
