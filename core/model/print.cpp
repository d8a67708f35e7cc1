#include "core/model/print.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/free_names.h"

namespace moonloop {
namespace {

constexpr std::size_t kWidth = 100;

// ---- Declarations.

std::string bracketed(const std::optional<Exprs>& shape) {
  return shape ? "[" + to_string(*shape) + "]" : "[...]";
}
std::string type_text(const std::optional<Type>& type) { return type ? type->str() : "auto"; }

std::string print_argument(const Argument& a) {
  std::string out;
  if (a.constant) out += " const";
  if (a.intent == Intent::In) out += " in";
  if (a.intent == Intent::Out) out += " out";
  if (a.intent == Intent::InOut) out += " inout";
  if (a.type || a.is_array || !out.empty()) out += " " + type_text(a.type);
  if (a.is_array) out += bracketed(a.shape);
  if (a.is_array && a.order == Order::F) out += " order=F";
  if (a.strides) out += " strides=(" + to_string(*a.strides) + ")";
  if (a.offset) out += " offset=" + to_string(a.offset);
  return out.empty() ? a.name : a.name + ":" + out;
}

std::string print_head(const Kernel& k) {
  std::vector<std::string> args;
  for (const Argument& a : k.args) args.push_back(print_argument(a));
  if (args.empty()) return fmt::format("kernel {}\n", k.name);
  std::string line = fmt::format("kernel {}({})\n", k.name, fmt::join(args, ", "));
  if (line.size() <= kWidth) return line;
  return fmt::format("kernel {}(\n    {})\n", k.name, fmt::join(args, ",\n    "));
}

std::string print_record(const Record& r) {
  std::vector<std::string> fields;
  for (const Record::Field& f : r.fields) fields.push_back(f.name + ": " + f.type.str());
  return fmt::format("record {}({})\n", r.name, fmt::join(fields, ", "));
}

/// Records in an order in which each is after those of its fields.
void print_records(const Kernel& k, const Record& r, std::set<std::string>& done,
                   std::string& out) {
  if (!done.insert(r.name).second) return;
  for (const Record::Field& f : r.fields)
    if (f.type.record) print_records(k, *f.type.record, done, out);
  out += print_record(r);
}

std::string print_assumptions(const Set& s) {
  if (!s || yes(isl_set_plain_is_universe(s.get()))) return {};
  // The text has no head to keep the parameters in their order, which isl's text depends on.
  std::vector<std::string> params = param_names(s);
  std::sort(params.begin(), params.end());
  Space space = isl_space_params_alloc(isl(), static_cast<unsigned>(params.size()));
  for (std::size_t i = 0; i < params.size(); ++i)
    space = isl_space_set_dim_name(space.take(), isl_dim_param, static_cast<unsigned>(i),
                                   params[i].c_str());
  std::string text = str(Set(isl_set_align_params(s.copy(), space.take())));
  const std::size_t open = text.find('{'), colon = text.find(':', open), close = text.rfind('}');
  if (open == std::string::npos || colon == std::string::npos || text.find(';') < close)
    return "assume " + text + "\n";
  text = text.substr(colon + 1, close - colon - 1);
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  if (first == std::string::npos) return {};
  return "assume " + text.substr(first, last - first + 1) + "\n";
}

std::string print_temporary(const Temporary& t) {
  std::string out = fmt::format("temp {}: {}", t.name, type_text(t.type));
  if (!t.shape || !t.shape->empty()) out += bracketed(t.shape);
  switch (t.space) {
    case AddressSpace::Auto: break;
    case AddressSpace::Private: out += " in private"; break;
    case AddressSpace::Local: out += " in local"; break;
    case AddressSpace::Global: out += " in global"; break;
  }
  if (t.order == Order::F) out += " order=F";
  if (t.strides) out += " strides=(" + to_string(*t.strides) + ")";
  if (!t.base_storage.empty()) out += " base=" + t.base_storage;
  if (t.read_only) out += " read_only";
  if (t.initializer) out += " init=(" + to_string(*t.initializer) + ")";
  return out + "\n";
}

/// By name, those temporaries that `<>` in front of their first assignment declares.
std::map<std::string, std::size_t> inline_declared(const Kernel& k) {
  std::map<std::string, std::size_t> out;
  std::set<std::string> seen;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    for (const Expr& l : k.instructions[n]->lhs) {
      const std::string& name = written_name(l);
      if (!seen.insert(name).second) continue;
      const Temporary* t = k.find_temporary(name);
      if (called_kernel(k, *k.instructions[n]) || !t || t->space != AddressSpace::Auto ||
          t->order != Order::C || t->strides || t->read_only || t->initializer ||
          !t->base_storage.empty())
        continue;
      const bool scalar = l.as<Var>() && t->shape && t->shape->empty();
      const bool array = l.as<Load>() && !t->shape;
      if (scalar || array) out.emplace(name, n);
    }
  return out;
}

// ---- Instructions.

/// How an instruction that a reduction was made of combines; no kernel text, for the reader only.
std::string realized(const Instruction& i) {
  const std::string to = to_string(i.lhs);
  if (i.role == ReductionRole::Init)
    return fmt::format("{} = neutral({})", to, to_string(i.reduce_op));
  const auto infix = [&](const char* op) {
    return fmt::format("{0} = {0} {1} ({2})", to, op, to_string(i.rhs));
  };
  switch (i.reduce_op) {
    case ReduceOp::Sum: return infix("+");
    case ReduceOp::Product: return infix("*");
    case ReduceOp::Any: return infix("or");
    case ReduceOp::All: return infix("and");
    case ReduceOp::Min:
    case ReduceOp::Max:
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax:
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;
  }
  const auto* tuple = i.rhs.as<Call>();
  const std::string args = tuple ? to_string(tuple->args) : to_string(i.rhs);
  return fmt::format("{0} = {1}({0}, {2})", to, to_string(i.reduce_op), args);
}

std::string statement(const Instruction& i,
                      const std::function<std::string(const std::string&)>& mark) {
  if (i.role != ReductionRole::None) return realized(i);
  switch (i.kind) {
    case InsnKind::Barrier:
      return i.barrier == BarrierScope::Global ? "... gbarrier" : "... lbarrier";
    case InsnKind::Nop: return "... nop";
    case InsnKind::Assign:
    case InsnKind::Call: break;
  }
  std::string out;
  for (const Expr& l : i.lhs) {
    if (!out.empty()) out += ", ";
    out += mark(written_name(l)) + to_string(l);
  }
  const std::string right = i.rhs ? to_string(i.rhs) : "<absent>";
  return out.empty() ? right : out + " = " + right;
}

template <class List>
std::string colons(const List& list) {
  return fmt::format("{}", fmt::join(list, ":"));
}

std::string options(const Instruction& i, bool final_deps, const std::string& inames) {
  std::vector<std::string> all{"id=" + i.id};
  if (!i.depends_on.empty() || final_deps)
    all.push_back(std::string("dep=") + (final_deps ? "*" : "") + colons(i.depends_on));
  if (!inames.empty()) all.push_back(inames);
  if (!i.predicates.empty()) {
    std::vector<std::string> texts;
    for (const Expr& p : i.predicates) texts.push_back(to_string(p));
    all.push_back("if=" + colons(texts));
  }
  if (!i.tags.empty()) all.push_back("tags=" + colons(i.tags));
  if (!i.no_sync.empty()) {
    std::vector<std::string> texts;
    for (const NoSync& n : i.no_sync)
      texts.push_back(n.scope == "any" ? n.id : n.id + "@" + n.scope);
    all.push_back("nosync=" + colons(texts));
  }
  if (i.priority != 0) all.push_back(fmt::format("priority={}", i.priority));
  if (!i.groups.empty()) all.push_back("groups=" + colons(i.groups));
  if (!i.conflicts.empty()) all.push_back("conflicts=" + colons(i.conflicts));
  if (i.atomic == Atomicity::Update) all.push_back(i.combined ? "atomic=combined" : "atomic");
  if (i.atomic == Atomicity::Init) all.push_back("atomic=init");
  const char* usual = i.barrier == BarrierScope::Global ? "global" : "local";
  if (i.kind == InsnKind::Barrier && !i.mem_kind.empty() && i.mem_kind != usual)
    all.push_back("mem_kind=" + i.mem_kind);
  return fmt::format("  {{{}}}", fmt::join(all, ", "));
}

/// Instructions whose dependencies the parser would add to: they read a temporary or an `out`
/// argument that only a later instruction writes.
std::vector<bool> final_dependencies(const Kernel& k) {
  std::unordered_map<std::string, std::vector<std::size_t>> writers;
  for (std::size_t n = 0; n < k.instructions.size(); ++n)
    for (const std::string& w : writes(*k.instructions[n])) writers[w].push_back(n);
  NameCollector collect(k.rules);
  std::vector<bool> out(k.instructions.size());
  for (std::size_t n = 0; n < k.instructions.size(); ++n) {
    const Names names = collect.of(*k.instructions[n]);
    for (const auto* all : {&names.vars, &names.arrays})
      for (const std::string& name : *all) {
        const auto w = writers.find(name);
        if (w == writers.end() || w->second.size() != 1 || w->second[0] <= n) continue;
        const Argument* a = k.find_arg(name);
        if (!k.find_temporary(name) && !(a && a->intent == Intent::Out)) continue;
        const std::vector<std::string>& deps = k.instructions[n]->depends_on;
        const std::string& id = k.instructions[w->second[0]]->id;
        if (std::find(deps.begin(), deps.end(), id) == deps.end()) out[n] = true;
      }
  }
  return out;
}

/// Which loops the text must say, because they do not follow from the names in an instruction.
struct Loops {
  std::vector<std::set<std::string>> added;  // by blocks
  std::vector<bool> exact;                   // by `inames=`
};

/// `max(i, e)` over an iname reads as a reduction, unless `i` is known to be a loop there.
std::set<std::string> ambiguous(const Instruction& insn, const std::set<std::string>& inames) {
  std::set<std::string> out;
  const auto add = [&](const Expr& e) {
    if (!e) return;
    walk(e, [&](const Expr& x) {
      const auto* c = x.as<Call>();
      if (c && (c->name == "min" || c->name == "max") && c->args.size() == 2)
        if (const auto* v = c->args[0].as<Var>(); v && inames.contains(v->name))
          out.insert(v->name);
      return true;
    });
  };
  add(insn.rhs);
  for (const Expr& p : insn.predicates) add(p);
  if (out.empty()) return out;
  Names written;
  NameCollector none({});
  for (const Expr& l : insn.lhs) none.add(l, written);
  std::erase_if(out, [&](const std::string& n) {
    return written.vars.contains(n) || !insn.inames.contains(n);
  });
  return out;
}

Loops loops_to_say(const Kernel& k) {
  const std::size_t count = k.instructions.size();
  const std::vector<std::string> all = k.inames();
  const std::set<std::string> inames(all.begin(), all.end());
  Loops out{{}, std::vector<bool>(count)};
  out.added.reserve(count);
  for (const InsnPtr& i : k.instructions) out.added.push_back(ambiguous(*i, inames));
  for (int round = 0;; ++round) {
    Kernel trial = k;
    for (std::size_t n = 0; n < count; ++n)
      trial.instructions[n] = edit(trial.instructions[n], [&](Instruction& i) {
        i.inames = out.exact[n] ? k.instructions[n]->inames : out.added[n];
      });
    infer_inames(trial, out.exact);
    bool same = true;
    for (std::size_t n = 0; n < count; ++n) {
      const std::set<std::string>& is = trial.instructions[n]->inames;
      const std::set<std::string>& wanted = k.instructions[n]->inames;
      if (is == wanted) continue;
      same = false;
      if (round > 8 || !std::includes(wanted.begin(), wanted.end(), is.begin(), is.end())) {
        out.exact[n] = true;
        out.added[n].clear();
      } else {
        std::set_difference(wanted.begin(), wanted.end(), is.begin(), is.end(),
                            std::inserter(out.added[n], out.added[n].end()));
      }
    }
    if (same) return out;
    constexpr int kMost = 100;
    if (round > kMost) throw InternalError("an instruction is in a loop that is not the kernel's");
  }
}

class InstructionPrinter {
 public:
  explicit InstructionPrinter(const Kernel& k)
      : k_(k),
        loops_(loops_to_say(k)),
        final_(final_dependencies(k)),
        declared_(inline_declared(k)) {
    for (std::size_t i = 0; i < k.loop_order.size(); ++i) rank_.emplace(k.loop_order[i], i);
  }

  std::string run() {
    for (std::size_t n = 0; n < k_.instructions.size(); ++n) {
      nest(n);
      const Instruction& i = *k_.instructions[n];
      std::string inames;
      if (loops_.exact[n]) inames = "inames=" + colons(i.inames);
      const auto mark = [&](const std::string& name) -> std::string {
        const auto it = declared_.find(name);
        if (it == declared_.end() || it->second != n) return "";
        const Temporary& t = *k_.find_temporary(name);
        return t.type ? "<" + t.type->str() + "> " : "<> ";
      };
      const std::string text =
          called_kernel(k_, i) ? "call " + to_string(i.rhs) : statement(i, mark);
      line(text + options(i, final_[n], inames));
    }
    close(0);
    return std::move(out_);
  }

  bool declares(const std::string& name) const { return declared_.contains(name); }

 private:
  void line(const std::string& text) { out_ += std::string(2 * open_.size(), ' ') + text + "\n"; }
  void close(std::size_t keep) {
    while (open_.size() > keep) {
      open_.pop_back();
      line("end");
    }
  }
  void nest(std::size_t n) {
    std::vector<std::string> wanted(loops_.added[n].begin(), loops_.added[n].end());
    const auto rank = [&](const std::string& s) {
      const auto it = rank_.find(s);
      return it == rank_.end() ? rank_.size() : it->second;
    };
    std::sort(wanted.begin(), wanted.end(), [&](const std::string& a, const std::string& b) {
      return std::pair(rank(a), a) < std::pair(rank(b), b);
    });
    std::size_t common = 0;
    while (common < open_.size() && common < wanted.size() && open_[common] == wanted[common])
      ++common;
    close(common);
    for (std::size_t i = common; i < wanted.size(); ++i) {
      line("for " + wanted[i]);
      open_.push_back(wanted[i]);
    }
  }

  const Kernel& k_;
  Loops loops_;
  std::vector<bool> final_;
  std::map<std::string, std::size_t> declared_;
  std::unordered_map<std::string, std::size_t> rank_;
  std::vector<std::string> open_;
  std::string out_;
};

/// In a rule no loop is known around `max(i, e)`: the iname goes last, and of two inames one is
/// chosen by a comparison.
Expr unambiguous(const Expr& body, const std::set<std::string>& inames) {
  const auto is_iname = [&](const Expr& e) {
    const auto* v = e.as<Var>();
    return v && inames.contains(v->name);
  };
  return rewrite(body, [&](const Expr& x) {
    const auto* c = x.as<Call>();
    if (!c || (c->name != "min" && c->name != "max") || c->args.size() != 2) return x;
    const Expr &a = c->args[0], &b = c->args[1];
    if (!is_iname(a)) return x;
    if (!is_iname(b)) return Expr(Call{c->name, {b, a}, c->tag}, x.at());
    const CompareOp op = c->name == "min" ? CompareOp::Lt : CompareOp::Gt;
    return Expr(Select{Expr(Compare{op, a, b}), a, b}, x.at());
  });
}

}  // namespace

static std::string print_alone(const Kernel& k) {
  std::string out = print_head(k);
  std::set<std::string> done;
  for (const auto& [name, r] : k.records) print_records(k, *r, done, out);
  if (k.index_type != Scalar::I32) out += "index_type " + Type(k.index_type).str() + "\n";
  for (const auto& [name, type] : k.externals)
    if (!k.callees.count(name))
      out += "external " + name + (type ? ": " + Type(*type).str() : "") + "\n";
  for (const Domain& d : k.domains)  // a name without a meaning would become a parameter when read
    out += "domain " + str(Set(isl_set_drop_unused_params(d.set.copy()))) + "\n";
  out += print_assumptions(k.assumptions);
  InstructionPrinter instructions(k);
  std::map<std::string, const Temporary*> declared;
  for (const auto& [name, t] : k.temporaries)
    if (!instructions.declares(name)) declared.emplace(name, &t);
  for (const auto& [name, t] : declared) out += print_temporary(*t);
  const std::vector<std::string> all = k.inames();
  for (const std::string& iname : all)
    if (const InameTag* tag = k.tag(iname))
      out += fmt::format("tag {}: {}\n", iname, tag_text(*tag));
  if (k.loop_order != all && !k.loop_order.empty())
    out += fmt::format("loop_order {}\n", fmt::join(k.loop_order, ", "));
  for (const auto& chain : k.priorities)
    if (!chain.empty()) out += fmt::format("prioritize {}\n", fmt::join(chain, ", "));
  for (const auto& [iname, slabs] : k.slabs)
    out += fmt::format("slabs {}: {}, {}\n", iname, slabs.first, slabs.second);
  const std::set<std::string> inames(all.begin(), all.end());
  for (const Rule& r : k.rules) {
    const std::string params =
        r.params.empty() ? "" : fmt::format("({})", fmt::join(r.params, ", "));
    out += fmt::format("{}{} := {}\n", r.name, params, to_string(unambiguous(r.body, inames)));
  }
  return out + instructions.run();
}

std::string print_kernel(const Kernel& k) {
  std::string out = print_alone(k);
  std::map<std::string, const Kernel*> all;
  const std::function<void(const Kernel&)> add = [&](const Kernel& caller) {
    for (const auto& [name, called] : caller.callees) {
      const Kernel& callee = called->code ? *called->code : *called->meaning;
      if (all.emplace(name, &callee).second) add(callee);
    }
  };
  add(k);
  for (const auto& [name, callee] : all) out += "\n" + print_alone(*callee);
  return out;
}

std::string print_instruction(const Kernel&, const Instruction& insn) {
  return print_statement(insn) + options(insn, false, "");
}

std::string print_statement(const Instruction& insn) {
  return statement(insn, [](const std::string&) { return std::string(); });
}

}  // namespace moonloop
