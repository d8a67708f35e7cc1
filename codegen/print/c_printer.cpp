#include "codegen/print/c_printer.h"

#include <algorithm>

#include "codegen/language.h"
#include "codegen/plan/branches.h"
#include "codegen/print/declare.h"
#include "codegen/print/omp_teams.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/external.h"

namespace moonloop {
namespace {

constexpr std::size_t kColumns = 100;

/// The space at which a long line is best broken: before an operator or after a comma or `=`, as
/// little inside brackets as possible, as far to the right as possible; behind the indentation,
/// also where that is deep, so that what is left is shorter. npos if there is none.
std::size_t break_before(const std::string& line) {
  std::size_t best = std::string::npos;
  const std::size_t text = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t from = std::max(kColumns / 2, text + 8), to = std::max(kColumns, text + 40);
  int depth = 0, least = 1 << 20;
  char quote = 0;
  for (std::size_t i = 0; i < line.size() && i <= to; ++i) {
    const char c = line[i];
    if (quote != 0 || c == '"' || c == '\'') {
      if (quote != 0 && c == '\\')
        ++i;
      else if (quote == 0 || c == quote)
        quote = quote == 0 ? c : 0;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ' ' || i < from) continue;
    const bool after = line[i - 1] == ',' || line[i - 1] == '=' || line[i - 1] == ';';
    const bool before = std::string_view("+-*/%&|^<>=!?:").find(line[i + 1]) != std::string::npos &&
                        line[i + 1] != '=';
    const int rank =
        line[i - 1] == ';' ? 2 * depth - 1 : 2 * depth;  // parts of a loop's head first
    if ((!after && !before) || rank > least) continue;
    best = i;
    least = rank;
  }
  return best;
}

}  // namespace

CPrinter::CPrinter(const Plan& plan, const Dialect& dialect, const GenerateOptions& o)
    : plan_(plan),
      k_(plan.kernel),
      dialect_(dialect),
      names_(k_, surroundings_of(language_of(plan.target)), o.cxx),
      helpers_(language_of(plan.target)),
      expr_(plan, names_, helpers_),
      marks_(o.mark_statements),
      checks_(o.check_claims),
      called_by_team_(o.called_by_team),
      called_(o.called),
      cxx_(o.cxx) {
  find_critical();
}

/// That of a variable to declare.
std::string CPrinter::type_name(const Type& t) {
  if (helpers_.language() != Language::Ispc) return helpers_.type(t);
  return (in_lanes_ ? "varying " : "uniform ") + helpers_.type(t);
}

std::string parameter_list(const std::vector<std::string>& parameters, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string p = parameters[i] + (i + 1 < parameters.size() ? "," : "");
    if (i > 0 && column + p.size() + 4 > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (i > 0) {
      out += " ";
    }
    out += p;
    column += p.size() + 1;
  }
  return out;
}

/// The variables that instructions write.
std::set<std::string> CPrinter::written() const {
  std::set<std::string> out;
  for (const InsnPtr& i : k_.instructions) out.merge(writes(*i));
  return out;
}

/// The arguments that other functions know too, which access them by another name.
std::set<std::string> CPrinter::known_elsewhere() const {
  std::set<std::string> out;
  for (const InsnPtr& i : k_.instructions)
    if (const Call* c = external_call(k_, *i))
      for (const Expr& e : c->args)
        if (is_known(e)) out.insert(as_address(e)->front().as<Var>()->name);
  return out;
}

/// `double *restrict a`
std::string CPrinter::parameter(const Argument& a, const std::set<std::string>& written,
                                const std::set<std::string>& known) {
  std::string p = type_name(a.type.value_or(Type(k_.index_type)));
  if (a.is_array) p += written.count(a.name) ? " *" : " const *";
  if (a.is_array && !known.count(a.name)) p += "restrict";
  return p + (p.ends_with('*') ? "" : " ") + names_.of(a.name);
}

std::string CPrinter::prototype() {
  const std::set<std::string> written = this->written(), known = known_elsewhere();
  std::vector<std::string> parameters;
  for (const Argument& a : k_.args) parameters.push_back(parameter(a, written, known));
  if (parameters.empty()) parameters.emplace_back("void");
  const std::string head = (called_ ? "static void " : "void ") + name() + "(";
  return head + parameter_list(parameters, head.size()) + ")";
}

namespace {

/// An expression of integers with functions that only bounds and guards have.
bool is_bound(const Expr& e) {
  bool out = false;
  for_each_of<Call>(e, [&](const Call& c, const Expr&) {
    out = out || is_truncated(c) || c.name == kLocalId || c.name == kGroupId;
  });
  return out;
}

}  // namespace

/// The last passes over the program, for which names have types.
void CPrinter::settle(Block& program) {
  settle_declarations(program, plan_, expr_);
  if (helpers_.language() != Language::Ispc)  // whose lanes leave a loop one by one
    join_branches(
        program, k_, [&](const Expr& e) { return is_bound(e) || is_integer(expr_.type(e).scalar); },
        checks_);  // which ask all conditions of a statement
}

namespace {

/// For GCC 12, which splits loops that add up in vectors where threads share the loop around them,
/// and then adds up one element after the other.
constexpr const char* kWholeLoops =
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "#pragma GCC optimize(\"no-split-loops\")\n"
    "#endif\n\n";

/// For GCC 12, which computes addresses of what runs under conditions as integers, before it makes
/// vectors of a loop, and does not know then which arrays they are in.
constexpr const char* kAddresses =
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "#pragma GCC optimize(\"wrapv-pointer\")\n"
    "#endif\n\n";
constexpr std::size_t kMostCompared = 10;  // pairs of addresses, beyond which it makes no vectors

/// Whether it would not know so many.
bool has_many_under_conditions(const Block& program, const Kernel& k) {
  bool out = false;
  for_each_within(program, [&](const Stmt& s) {
    const auto* loop = std::get_if<Loop>(&s.op);
    if (!loop || out) return;
    bool inner = true, conditions = false;
    std::size_t read = 0, written = 0;
    const auto count = [](const Expr& e, std::size_t& n) {
      for_each_of<Load>(e, [&](const Load& l, const Expr&) { n += l.index.empty() ? 0 : 1; });
    };
    for_each_within(loop->body, [&](const Stmt& within) {
      inner = inner && !std::holds_alternative<Loop>(within.op);
      if (const auto* x = std::get_if<If>(&within.op)) {  // which data decide
        std::set<std::string> names;
        collect_reads(x->cond, names);
        conditions = conditions || std::any_of(names.begin(), names.end(), [&](const auto& n) {
                       const Argument* a = k.find_arg(n);
                       return k.find_temporary(n) || (a && a->is_array);
                     });
        count(x->cond, read);
      }
      const auto* run = std::get_if<Run>(&within.op);
      if (!run) return;
      const Instruction& insn = *k.instructions[static_cast<std::size_t>(run->insn)];
      for (const Expr& e : insn.lhs) count(e, written);
      count(insn.rhs, read);
    });
    const std::size_t pairs = written * read + (written > 0 ? written * (written - 1) / 2 : 0);
    out = inner && conditions && pairs > kMostCompared;
  });
  return out;
}

bool splits_reductions(const std::string& text) {
  return text.find("#pragma omp parallel") != std::string::npos &&
         text.find("simd reduction(") != std::string::npos;
}

}  // namespace

Pieces CPrinter::source(Block program) {
  settle(program);
  const bool many = !has_gangs() && has_many_under_conditions(program, k_);
  dialect_.decorate(program, plan_, names_);
  loops_of_team_ = called_by_team_ && plan_.target == Target::OpenMP &&
                   share_with_callers(program, plan_);
  out_.clear();
  if (has_gangs()) refuse_for_gangs();
  const std::string head = has_gangs() ? gang_prototype() : prototype();
  std::string before;
  if (has_gangs()) {  // functions that are launched read tables too
    name_tables();
    tables(Tables::Constant);
    before = std::exchange(out_, {});
  }
  depth_ = 1;
  tables(has_gangs() ? Tables::Changing : Tables::All);
  check_arguments();
  block(program);
  depth_ = 0;
  const std::string body = std::move(out_);
  before += (before.empty() ? "" : "\n") + tasks_;
  Pieces out{{}, records(), {}, before + head + " {\n" + body + "}\n"};
  if (splits_reductions(out.functions))
    out.definitions.insert(out.definitions.begin(), kWholeLoops);
  if (many) out.definitions.insert(out.definitions.begin(), kAddresses);
  for (const std::string& h : helpers_.headers()) out.headers.push_back("#include <" + h + ">\n");
  for (const auto& [helper, definition] : helpers_.functions())
    out.definitions.push_back(definition + "\n");
  return out;
}

std::string CPrinter::headers() const {
  std::string out;
  for (const std::string& h : helpers_.headers()) out += "#include <" + h + ">\n";
  return out.empty() ? "" : out + "\n";
}

namespace {

/// A complex number in a record for CUDA, whose own pairs are aligned to their size.
std::string pair_definition(const std::string& name, const Type& t) {
  const std::string vector = type_name(Language::Cuda, t),
                    part = type_name(Language::Cuda, real_part(t.scalar));
  return "typedef struct " + name + " {\n  " + part +
         " x, y;\n#ifdef __CUDACC__\n  __host__ __device__ operator " + vector +
         "() const { return make_" + vector + "(x, y); }\n  __host__ __device__ " + name +
         " &operator=(" + vector + " z) { x = z.x, y = z.y; return *this; }\n#endif\n} " + name +
         ";\n";
}

}  // namespace

/// Definitions of the record types in use, fields' types first.
std::vector<std::string> CPrinter::records() {
  std::vector<std::string> out;
  std::set<std::string> done;
  const bool cpp_like = helpers_.language() == Language::Ispc;  // `struct` names a type
  const std::function<void(const Type&)> define = [&](const Type& t) {
    if (!t.is_record() || !done.insert(t.record->name).second) return;
    const std::string name = helpers_.type(t);
    for (const Record::Field& f : t.record->fields) define(f.type);
    std::map<std::string, std::string> pairs;  // definitions by name
    std::string fields;
    for (const Record::Field& f : t.record->fields) {
      // Complex numbers are placed as on the host, not at multiples of both parts' size.
      const bool pair = expr_.is_pair(f.type), cuda = helpers_.language() == Language::Cuda;
      std::string type = helpers_.element(f.type);
      if (pair && cuda) {
        type = name + (f.type == Type(Scalar::C64) ? "_c64" : "_c128");
        pairs.emplace(type, pair_definition(type, f.type));
      }
      fields += "  " + type + " " + field_name(helpers_.language(), f.name);
      if (pair && !cuda)
        fields += fmt::format(" __attribute__((packed, aligned({})))", size_of(f.type.scalar) / 2);
      fields += ";\n";
    }
    const std::string guard = "MOONLOOP_RECORD_" + name;
    std::string text = "#ifndef " + guard + "\n#define " + guard + "\n";
    for (const auto& [name, definition] : pairs) text += definition;
    out.push_back(text +
                  (cpp_like ? "struct " + name + " {\n" + fields + "}"
                            : "typedef struct {\n" + fields + "} " + name) +
                  ";\n#endif\n\n");
  };
  for (const Argument& a : k_.args)
    if (a.type) define(*a.type);
  for (const auto& [n, t] : k_.temporaries)
    if (t.type) define(*t.type);
  return out;
}

std::string renamed_comment(const std::string& kernel, const std::string& function) {
  if (kernel == function) return "";
  return "/* The kernel `" + kernel + "`, whose name is taken. */\n";
}

std::string include_guard(const std::string& name) {
  std::string out = "MOONLOOP_" + name + "_H";
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string CPrinter::header() {
  const std::string guard = include_guard(name());
  helpers_ = Helpers(has_gangs() ? Language::C : helpers_.language());
  std::string proto = prototype();
  const bool has_restrict = proto.find("*restrict ") != std::string::npos;
  std::string text = "#ifndef " + guard + "\n#define " + guard + "\n\n";
  const std::string types = fmt::format("{}", fmt::join(records(), ""));
  text += headers() + types;
  text += "#ifdef __cplusplus\nextern \"C\" {\n";
  if (has_restrict) {  // C++ has the word only as an extension
    text += "#define MOONLOOP_RESTRICT __restrict\n#else\n#define MOONLOOP_RESTRICT restrict\n";
    for (std::size_t at = 0; (at = proto.find("*restrict ", at)) != std::string::npos;)
      proto.replace(at, 9, "*MOONLOOP_RESTRICT"), at += 18;
  }
  text += "#endif\n\n" + renamed_comment(k_.name, name()) + proto +
          ";\n\n#ifdef __cplusplus\n}\n#endif\n";
  if (has_restrict) text += "#undef MOONLOOP_RESTRICT\n";
  return text + "\n#endif\n";
}

// ---- Statements -------------------------------------------------------------------------------

void CPrinter::line(const std::string& text) {
  std::string indent(static_cast<std::size_t>(2 * depth_), ' ');
  std::string_view rest = text;
  while (indent.size() + rest.size() > kColumns && text[0] != '#') {
    // A break is near the limit, whatever the length, so a long line takes linear time.
    const std::size_t near = rest.find_first_not_of(' ') + kColumns + 42;
    const std::string head = indent + std::string(rest.substr(0, near));
    const std::size_t at = break_before(head);
    if (at == std::string::npos) break;
    out_ += head.substr(0, at) + "\n";
    rest.remove_prefix(at + 1 - indent.size());
    indent.assign(static_cast<std::size_t>(2 * depth_ + 4), ' ');
  }
  out_ += indent;
  out_ += rest;
  out_ += "\n";
}

void CPrinter::block(const Block& b) {
  const std::size_t kept = expr_.stand_ins();
  std::size_t straight = 0;  // where the part ends whose reads may be in front of it
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (i == straight) {
      expr_.end_stand_ins(kept);
      straight = read_ahead(b, i);
    }
    const std::size_t products = matrix_steps(b, i);
    if (products == 0) {
      statement(b[i]);
      continue;
    }
    i += products - 1;
    straight = std::max(straight, i + 1);
  }
  expr_.end_stand_ins(kept);
}

namespace {

/// A declaration, by itself or with the statement that gives the value: not a statement of C by
/// itself.
bool declares(const Stmt& s) {
  const auto* run = std::get_if<Run>(&s.op);
  return std::holds_alternative<Declare>(s.op) || (run && !run->declares.empty());
}
/// The same for the content of a scope without its braces.
bool leaves_declaration(const Stmt& s) {
  const auto* scope = std::get_if<Scope>(&s.op);
  if (!scope) return declares(s);
  return std::any_of(scope->body.begin(), scope->body.end(), leaves_declaration);
}

}  // namespace

/// `before`: what stands in front of `if`, the end of another branch.
void CPrinter::branches(const If& x, const std::string& before) {
  check_condition(x.cond, x.body);
  const auto place = before.starts_with('}') ? Place::BehindBraces
                     : x.otherwise.empty()   ? Place::Alone
                                             : Place::BesideElse;
  body(x.body, before + "if (" + expr_.condition(x.cond) + ")", place);
  if (x.otherwise.empty()) return;
  std::string next = "else";
  const std::string end = "\n" + std::string(static_cast<std::size_t>(2 * depth_), ' ') + "}\n";
  if (out_.ends_with(end)) {
    out_.resize(out_.size() - end.size() + 1);
    next = "} else";
  }
  const If* chained =
      x.otherwise.size() == 1 && !checks_ ? std::get_if<If>(&x.otherwise[0].op) : nullptr;
  if (chained)
    branches(*chained, next + " ");
  else
    body(x.otherwise, next, next == "else" ? Place::BesideElse : Place::BehindBraces);
}

/// `head` with the block below it; braces unless the block is one statement that shows its extent,
/// in one line beside an `else`; always behind a branch in braces.
void CPrinter::body(const Block& b, const std::string& head, Place place) {
  const bool one = b.size() == 1 && !declares(b[0]);
  line(head);
  ++depth_;
  const std::size_t inner = out_.size();
  block(b);
  --depth_;
  if (one) unwrap(inner);
  const std::string_view printed = std::string_view(out_).substr(inner);
  const Loop* loop = one ? std::get_if<Loop>(&b[0].op) : nullptr;
  const bool single = one && !checks_ && place != Place::BehindBraces &&
                      !leaves_declaration(b[0]) &&
                      (std::count(printed.begin(), printed.end(), '\n') == 1 ||
                       (place == Place::Alone &&
                        ((loop && loop->lanes == 0 && loop->iterations == Iterations::InTurn) ||
                         std::holds_alternative<If>(b[0].op))));
  // Which `if` an `else` in it belongs to is to be seen.
  if (single && printed.find('#') == std::string_view::npos &&
      printed.find(" else") == std::string_view::npos)
    return;
  out_.insert(inner - 1, " {");  // the head may have been broken into lines
  line("}");
}

/// One block in braces that is all the text from `at` on, without its braces.
void CPrinter::unwrap(std::size_t at) {
  const std::string indent(static_cast<std::size_t>(2 * (depth_ + 1)), ' ');
  const std::string open = indent + "{\n", close = indent + "}\n";
  if (out_.compare(at, open.size(), open) != 0) return;
  const std::size_t end = out_.find("\n" + close, at);
  if (end == std::string::npos || end + 1 + close.size() != out_.size()) return;  // not all of it
  const std::string inside =
      out_.substr(at + open.size(), out_.size() - at - open.size() - close.size());
  out_.resize(at);
  for (std::size_t from = 0; from < inside.size();) {
    const std::size_t end = inside.find('\n', from) + 1;
    out_ += inside.substr(from + 2, end - from - 2);
    from = end;
  }
}

void CPrinter::for_loop(const Loop& x) {
  for (const Expr* e : {&x.lower, &x.upper, &x.only_while}) check_condition(*e, x.body);
  const bool in_turn = takes_turns(x.body);
  for (const std::string& p : x.pragmas)
    if (in_turn && p.starts_with("omp simd"))
      line("/* No lanes: its updates take turns. */");
    else
      line("#pragma " + p + (p.starts_with("omp simd") ? where_long(x) : ""));
  const std::string& i = names_.of(x.iname);
  expr_.runs_from(x.iname, x.lower);
  const std::string step = x.step == 1 ? "++" + i : i + " += " + std::to_string(x.step);
  const std::string type = index_type({x.lower, x.upper, x.only_while});
  const bool varies = in_lanes_ && type.starts_with("varying");
  if (varies) varying_.insert(x.iname);
  const bool in_simd = in_simd_;
  const std::set<std::string> own = own_;
  if (!x.pragmas.empty()) own_.clear();
  ++loops_around_;
  std::set<std::string> changing{x.iname};
  if (helpers_.language() == Language::Cuda)
    for_each_within(x.body, [&](const Stmt& s) {
      if (const auto* inner = std::get_if<Loop>(&s.op)) changing.insert(inner->iname);
      if (const auto* run = std::get_if<Run>(&s.op))
        for (const Expr& to : k_.instructions[static_cast<std::size_t>(run->insn)]->lhs)
          changing.insert(written_name(to));
    });
  auto around = expr_.set_changing(std::move(changing));
  for (const std::string& p : x.pragmas) in_simd_ = in_simd_ || p.starts_with("omp simd");
  body(x.body, "for (" + type + " " + i + " = " + expr_.index(x.lower) + "; " + i +
                   (x.inclusive ? " <= " : " < ") + expr_.index(x.upper, false, Prec::Shift) +
                   (x.only_while ? " && " + expr_.condition(x.only_while) : "") + "; " + step +
                   ")");
  --loops_around_;
  expr_.set_changing(std::move(around));
  in_simd_ = in_simd;
  own_ = own;
  if (varies) varying_.erase(x.iname);
}

void CPrinter::statement(const Stmt& s) {
  std::visit(
      overload{[&](const Loop& x) {
                 if (x.lanes > 0) return lanes(x);
                 if (vectors(x)) return;
                 if (x.iterations == Iterations::Lanes) return gang_loop(x);
                 if (x.iterations == Iterations::Tasks) return task_loop(x);
                 const std::vector<Extremum> extrema = extrema_of(x);
                 extrema.empty() ? for_loop(x) : find_extrema(x, extrema);
               },
               [&](const If& x) { branches(x, ""); },
               [&](const Leave& x) { line(x.way == Leave::Way::Break ? "break;" : "continue;"); },
               [&](const Scope& x) {
                 if (x.pragmas == std::vector<std::string>{kParallel} && team_function(x)) return;
                 const std::set<std::string> own = own_;
                 if (!x.pragmas.empty()) own_.clear();
                 for (const std::string& p : x.pragmas) line("#pragma " + p);
                 line("{");
                 ++depth_;
                 if (!x.iname.empty()) expr_.runs_from(x.iname, x.value);
                 if (!x.iname.empty())
                   line(index_type({x.value}) + " const " + names_.of(x.iname) + " = " +
                        expr_.index(x.value) + ";");
                 const bool varies = in_lanes_ && !x.iname.empty() && this->varies(x.value);
                 if (varies) varying_.insert(x.iname);
                 block(x.body);
                 if (varies) varying_.erase(x.iname);
                 --depth_;
                 line("}");
                 own_ = own;
               },
               [&](const Run& x) { run(x); }, [&](const Sync& x) { sync(x); },
               [&](const GroupCombine& x) { group_combine(x); },
               [](const Launch&) { throw InternalError("a kernel inside of a function"); },
               [&](const Declare& x) { declare(*k_.find_temporary(x.temporary), x.zero); },
               [&](const Release& x) {
                 if (has_set_.contains(x.temporary)) line("free(" + set_name(x.temporary) + ");");
                 line((has_gangs() ? "delete[] " + names_.of(x.temporary)
                                   : helpers_.release() + "(" + names_.of(x.temporary) + ")") +
                      ";");
               }},
      s.op);
}

/// Whether some statement of the block is a critical section, which no lanes can have.
bool CPrinter::takes_turns(const Block& block) const {
  const bool plain = dialect_.atomic_update(false).empty();  // updates that nothing protects
  return std::any_of(block.begin(), block.end(), [&](const Stmt& s) {
    if (const auto* x = std::get_if<Loop>(&s.op)) return takes_turns(x->body);
    if (const auto* x = std::get_if<If>(&s.op))
      return takes_turns(x->body) || takes_turns(x->otherwise);
    if (const auto* x = std::get_if<Scope>(&s.op)) return takes_turns(x->body);
    const auto* run = std::get_if<Run>(&s.op);
    if (!run) return false;
    const Instruction& insn = *k_.instructions[static_cast<std::size_t>(run->insn)];
    return insn.atomic == Atomicity::Update &&
           (plain || critical_.count(written_name(insn.lhs[0])) > 0);
  });
}

void CPrinter::declare(const Temporary& t, bool zero) {
  own_.insert(t.name);
  if (checks_) declare_set(t);
  const Type of = expr_.type_of_name(t.name);
  const std::string type = type_name(of);
  const Exprs extents = expr_.extents(t);
  if (in_lanes_) varying_.insert(t.name);
  // GCC 12 takes a truth value that is set on some paths, and read on these alone, for either one
  // where it moves the reads (-O1, without undefined behaviour in the code).
  const bool truth = helpers_.language() == Language::C && of == Type(Scalar::Bool);
  const std::string nothing = zero ? expr_.constant(lit(0), of) : "";
  if (extents.empty())
    return line(type + " " + names_.of(t.name) +
                (zero    ? " = " + nothing + ";"
                 : truth ? " = false;"
                         : ";"));
  if (on_heap(expr_, t) && has_gangs()) {
    Expr size = lit(1);
    for (const Expr& e : extents) size = index_mul(size, e);
    return line(type + " * uniform " + names_.of(t.name) + " = uniform new " + type + "[" +
                expr_.at_least_one(size) + "];");
  }
  if (on_heap(expr_, t)) {
    // Compilers make vectors of conditions from elements as wide as what the loop computes.
    const bool passed = std::any_of(k_.instructions.begin(), k_.instructions.end(),
                                    [&](const InsnPtr& i) { return is_passed_to(k_, *i, t.name); });
    const std::string element = truth && !passed ? type_name(Scalar::I32) : type;
    std::string size = "sizeof(" + element + ")";
    for (const Expr& e : extents) size += "*" + expr_.index(e, true, Prec::Unary);
    return line(element + " *" + names_.of(t.name) + " = " + (cxx_ ? "(" + element + " *)" : "") +
                helpers_.allocate() + "(" + size + ");");
  }
  line(type + " " + names_.of(t.name) + brackets(t) + (zero ? " = {" + nothing + "};" : ";"));
}

std::string CPrinter::brackets(const Temporary& t) {
  // Memory without elements, which a call may be given, has one: languages have no other arrays.
  if (!expr_.has_axes(t))
    return "[" + std::to_string(std::max<std::int64_t>(expr_.elements(t).value(), 1)) + "]";
  std::string out;
  for (const Expr& e : expr_.extents(t))
    out += "[" + expr_.index(as_int(e) == 0 ? lit(1) : e) + "]";
  return out;
}

/// Values in C order in memory order of an array whose first axis is contiguous.
static std::vector<Expr> first_axis_fastest(const std::vector<Expr>& values, const Exprs& shape) {
  std::vector<Expr> out;
  std::vector<std::size_t> index(shape.size(), 0);
  while (out.size() < values.size()) {
    std::size_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
      at = at * static_cast<std::size_t>(as_int(shape[d]).value()) + index[d];
    out.push_back(values[at]);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (++index[d] < static_cast<std::size_t>(as_int(shape[d]).value())) break;
      index[d] = 0;
    }
  }
  return out;
}

/// Outside of functions, where other kernels may have tables of these names.
void CPrinter::name_tables() {
  for (const auto& [table, t] : k_.temporaries)
    if (t.initializer && t.read_only)
      names_.redirect(table, names_.fresh(name() + "_" + names_.of(table)));
}

/// Temporaries that start with given values.
void CPrinter::tables(Tables which) {
  for (const auto& [name, t] : k_.temporaries) {
    if (!t.initializer || which == (t.read_only ? Tables::Changing : Tables::Constant)) continue;
    const Type type = expr_.type_of_name(name);
    const Exprs shape = t.shape.value_or(Exprs{});
    std::string values;
    const bool turned = t.order == Order::F && shape.size() > 1 && expr_.elements(t).has_value();
    for (const Expr& e : turned ? first_axis_fastest(*t.initializer, shape) : *t.initializer)
      values += (values.empty() ? "" : ", ") + expr_.constant(e, type);
    const std::string head = (t.read_only ? table_prefix(helpers_.language()) : "") +
                             type_name(type) + (t.read_only ? " const " : " ") + names_.of(name);
    if (shape.empty()) {
      line(head + " = " + values + ";");
      continue;
    }
    const auto n = expr_.elements(t);
    if (!n) fail("unsupported", t.at, "`{}` has values, but its shape is not constant", name);
    std::string brackets = "[" + std::to_string(*n) + "]";
    if (expr_.has_axes(t)) {
      brackets.clear();
      for (const Expr& e : shape) brackets += "[" + expr_.index(e) + "]";
      if (shape.size() > 1) values = nested(*t.initializer, shape, type);
    }
    line(head + brackets + " = {" + values + "};");
  }
}

std::string CPrinter::nested(const std::vector<Expr>& values, const Exprs& shape,
                             const Type& type) {
  std::size_t next = 0;
  const std::function<std::string(std::size_t)> axis = [&](std::size_t d) {
    std::string out;
    for (std::int64_t i = 0; i < as_int(shape[d]).value(); ++i) {
      const std::string one =
          d + 1 == shape.size() ? expr_.constant(values.at(next++), type) : "{" + axis(d + 1) + "}";
      out += (i == 0 ? "" : ", ") + one;
    }
    return out;
  };
  return axis(0);
}

}  // namespace moonloop
