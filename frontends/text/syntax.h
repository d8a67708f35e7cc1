#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/expr/lexer.h"
#include "core/expr/parse_expr.h"
#include "core/model/kernel.h"

/// The parser's output for the creation pipeline: a kernel as it was written, names unresolved.
namespace moonloop::text {

/// A piece of the source.
struct Word {
  std::string text;
  Span at;
};

/// The errors found so far; parsing goes on after each.
class Errors {
 public:
  /// Runs `f` and keeps its error; false then.
  template <class F>
  bool guard(F f) {
    try {
      f();
      return true;
    } catch (const Error& e) {
      for (const Diagnostic& d : e.diagnostics()) add(d);
      return false;
    }
  }
  void add(Diagnostic d) {
    if (all_.size() < kMost) all_.push_back(std::move(d));
    ++count_;
  }
  std::size_t count() const { return count_; }
  bool full() const { return all_.size() >= kMost; }
  void throw_if_any() const {
    if (!all_.empty()) throw Error(all_);
  }

 private:
  static constexpr std::size_t kMost = 50;
  std::vector<Diagnostic> all_;
  std::size_t count_ = 0;
};

/// The `{...}` after an instruction or a `with`.
struct Options {
  Word id, id_prefix;
  std::vector<Word> deps;   // globs
  bool deps_final = false;  // a leading `*`: nothing is added to them
  std::vector<Word> dep_queries;
  std::vector<NoSync> no_sync;
  struct Query {
    Word match;
    std::string scope;
  };
  std::vector<Query> no_sync_queries;
  bool inames_exact = false;  // `inames=i:j`, not `inames=+i:j`
  std::vector<Word> inames;
  struct Duplicate {
    Word from;
    std::string to;  // empty: choose one
  };
  std::vector<Duplicate> duplicates;
  Exprs predicates;
  std::set<std::string> tags, groups, conflicts;
  int priority = 0;
  Atomicity atomic = Atomicity::None;
  bool combined = false;
  Word mem_kind;
};

struct Assignee {
  Expr e;
  bool declares = false;  // `<>t`, `<float64>t`
  std::optional<Type> type;
  Span at;
};

/// An if/elif/else chain; its statements are `first <= n < last`.
struct Chain {
  Exprs conditions;  // of if and each elif
  bool has_else = false;
  bool lasting = false;  // nothing under a condition runs once it has been made false
  std::optional<std::vector<Word>> inames;  // of its conditions: exactly these
  std::size_t first = 0, last = 0;
  int block = -1;  // around the chain
  Span at;
};

/// One enclosing block; -1 has none around it.
struct Block {
  enum class Kind { For, With, Arm } kind;
  int parent = -1;
  std::vector<Word> inames;  // of For
  Options options;           // of With
  int chain = -1, arm = 0;   // of Arm; the arm after the last condition is `else`
  Span at;
};

struct Statement {
  InsnKind kind = InsnKind::Assign;
  BarrierScope barrier = BarrierScope::Local;
  std::vector<Assignee> lhs;
  Expr rhs;
  bool calls_kernel = false;
  bool by_results = false;  // that call has what it gives on the left, `y[i, :] = f(x[i, :])`
  std::vector<Word> argument_names;          // of that call: empty ones where they follow the order
  std::unique_ptr<Options> written_options;  // null when there are none, as mostly
  int block = -1;
  Span at;

  const Options& options() const {
    static const Options kNone;
    return written_options ? *written_options : kNone;
  }
};

struct DomainText {
  Set set;
  Word text;
};

struct KernelText {
  std::string name;
  Span at;
  std::vector<Argument> args;
  std::vector<DomainText> domains;
  Set assumptions;
  std::vector<Word> assumed;       // their text
  NameMap<Temporary> temporaries;  // of `temp` lines
  Rules rules;
  std::deque<Block> blocks;
  std::deque<Chain> chains;
  std::vector<Statement> statements;
  std::vector<std::pair<Word, InameTag>> tags;
  std::vector<std::vector<Word>> priorities;
  std::vector<Word> loop_order;
  std::vector<std::tuple<Word, int, int>> slabs;
  std::map<std::string, std::shared_ptr<const Record>> records;
  std::map<std::string, std::optional<Scalar>> externals;
  Scalar index_type = Scalar::I32;
  Order default_order = Order::C;
  bool guess = true;        // undeclared names become arguments
  bool sequential = false;  // each statement depends on the one before it
  bool program = false;     // the kernels that it calls become parts of it
  bool from_end = false;    // numbers below 0, as subscripts, count from the end of an axis
};

/// A statement's piece of the source: it ends at a line end outside of brackets.
struct Line {
  std::size_t begin, end;
};
std::vector<Line> split_lines(const Source* source);

// ---- Cursors ---------------------------------------------------------------------------------

std::size_t offset_of(const Span& at);
/// The text from the start of `from` to the end of `to`, with its place.
Word text_between(const Span& from, const Span& to);
/// Fails `syntax` unless nothing follows on the line.
void expect_end(TokenStream& in, std::string_view after);
int expect_int(TokenStream& in, std::string_view what);
std::vector<Word> name_list(TokenStream& in, std::string_view what);

// ---- Parts of the grammar ----------------------------------------------------------------------

/// At `{`. `in_with`: only what a `with` block may hold.
Options parse_options(TokenStream& in, bool in_with);
Type parse_type(TokenStream& in,
                const std::map<std::string, std::shared_ptr<const Record>>& records);

/// `name: type[shape] attributes`, up to `,` or `)` or the end; nothing for `...`.
std::optional<Argument> parse_argument(TokenStream& in, const KernelText& k);
/// `kernel NAME(args)`, `program NAME(args)`.
void parse_header(TokenStream& in, KernelText& k);
/// Reads a declaration line (`domain`, `assume`, `temp`, `tag`, …); false when it is not one.
bool parse_declaration(const Source* source, const Line& line, KernelText& k);
/// Whether the line starts with `word` and a name after it.
bool starts_with_word(const Source* source, const Line& line, std::string_view word);
void add_domain(const Word& text, KernelText& k);
void add_assumption(const Word& text, KernelText& k);
/// A `record` line.
void parse_record(TokenStream& in, std::map<std::string, std::shared_ptr<const Record>>& records);

/// Reads statements, line by line, with the blocks around them.
class StatementParser {
 public:
  StatementParser(KernelText& k, Errors& errors) : k_(k), errors_(errors) {}
  void line(const Source* source, const Line& line);
  /// Reports blocks that are still open.
  void finish();

 private:
  void statement(TokenStream& in);
  void open(Block block, const Span& at);
  void open_if(TokenStream& in);
  void next_arm(TokenStream& in, bool is_else);
  void close(TokenStream& in);
  void special(TokenStream& in);
  bool rule(TokenStream& in);
  void assignment(TokenStream& in);
  void kernel_call(TokenStream& in);
  Assignee assignee(TokenStream& in);

  KernelText& k_;
  Errors& errors_;
  std::vector<int> open_;
  std::map<std::string, Span> rule_places_;
};

/// Kernels that a kernel may call, by name.
using Callees = std::map<std::string, std::shared_ptr<const CalledKernel>>;

/// The creation pipeline: see docs/language.md, "From text to kernel".
Kernel create(KernelText text, const Callees& callees, Errors& errors);

}  // namespace moonloop::text
