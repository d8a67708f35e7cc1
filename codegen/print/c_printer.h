#pragma once
#include <string>

#include "codegen/plan/ast.h"
#include "codegen/print/c_expr.h"
#include "codegen/print/shared_accumulators.h"
#include "codegen/print/target.h"

namespace moonloop {

/// `a, b, c` in lines of 100 columns at most that start below the column `indent`, where the text
/// goes on.
std::string parameter_list(const std::vector<std::string>& parameters, std::size_t indent);

/// The comment of a header where the function does not have the kernel's name, else nothing.
std::string renamed_comment(const std::string& kernel, const std::string& function);

/// `MOONLOOP_NAME_H`
std::string include_guard(const std::string& name);

/// Prints a program as one C function.
class CPrinter {
 public:
  CPrinter(const Plan& plan, const Dialect& dialect, const GenerateOptions& o = {});

  /// `void name(double *restrict a, int32_t n)`.
  std::string prototype();
  /// A whole translation unit.
  Pieces source(Block program);
  std::string header();
  /// The kernels of a program for a device, and what the host has to know about them.
  /// With `host_arrays`, the parameters, also a function that takes arrays of the host.
  Pieces device_source(Block program, DeviceProgram& out,
                       const std::vector<Parameter>* host_arrays = nullptr,
                       const GenerateOptions& o = {});
  /// A C header for the function that launches a CUDA program's kernels.
  std::string host_header();
  const std::string& name() const { return names_.function(); }
  /// Whether the threads of the team that calls the function share its loops, see GenerateOptions.
  bool has_loops_of_team() const { return loops_of_team_; }

 private:
  void line(const std::string& text);
  void block(const Block& b);
  // Reads in front of slow operations: codegen/print/c_reads_ahead.cpp.
  struct ReadsAhead;
  std::size_t read_ahead(const Block& b, std::size_t from);
  void declare_ahead(const Expr& e);
  void settle(Block& program);
  void branches(const If& x, const std::string& before);
  enum class Place { Alone, BesideElse, BehindBraces };
  void body(const Block& b, const std::string& head, Place place = Place::Alone);
  void unwrap(std::size_t at);
  void statement(const Stmt& s);
  void run(const Run& r);
  void assigned(const Run& r, const Instruction& insn);
  void group_combine(const GroupCombine& c);
  void combine_by_shuffles(const GroupReduction& r, const std::string& cond);
  void combine_by_memory(const GroupReduction& r, const std::string& cond);
  void neighbours(const GroupReduction& r, const GroupReduction::Span& s, const std::string& wait);
  std::string halving(const GroupReduction& r, std::int64_t from);
  void combine(const GroupReduction& r, const Exprs& from, const Exprs& to);
  void copy(const Exprs& from, const Exprs& to);
  template <class F>
  void where(const std::string& cond, F print);
  void store(const Expr& lhs, const std::string& value);
  // With GenerateOptions::check_claims: codegen/print/c_claims.cpp.
  void check_arguments();
  void check_statement(const Instruction& insn, const Exprs& lhs, const Expr& rhs,
                       const std::map<std::string, Expr>& values);
  void check_condition(const Expr& e, const Block& body);
  void check_subscripts(const Load& l, const Span& at, const Exprs& path,
                        std::set<std::string>& known);
  void check_reads(const Expr& e, const Span& at, const Exprs& path, std::set<std::string>& known);
  std::string wrong(const Exprs& path, const std::string& condition);
  std::string place_of(const Span& at) const;
  Span first_place(const Block& block) const;
  void declare_set(const Temporary& t);
  void note_set(const Instruction& insn, const Exprs& lhs);
  std::string set_name(const std::string& temporary) const;
  std::string set_place(const Expr& place);
  Expr room_of(const Temporary& t) const;
  friend class MatrixProducts;  // codegen/print/c_matrix.cpp
  std::size_t matrix_steps(const Block& b, std::size_t from);
  void sync(const Sync& x);
  void copy_ahead(const Expr& to, const Expr& value, std::int64_t bytes);
  bool lanes_ahead(const Run& run, const Loop& x);
  void lanes(const Loop& x);
  bool vectors(const Loop& x);
  void for_loop(const Loop& x);
  std::string where_long(const Loop& x);
  bool team_function(const Scope& x);
  // Loops that look for extremes: codegen/print/c_extrema.cpp.
  struct Extremum {
    Expr place;
    bool least;      // or greatest
    const Run* run;  // that finds it
  };
  static constexpr std::int64_t kFewIterations = 8;  // which are not worth vectors
  std::vector<Extremum> extrema_of(const Loop& x);
  void find_extrema(const Loop& x, const std::vector<Extremum>& all);
  /// Neighbouring elements that one instruction of the hardware loads or stores.
  struct VectorAccess {
    Expr element;         // of any lane
    std::int64_t length;  // lanes that one vector serves
    bool loaded, stored;
  };
  std::vector<VectorAccess> vector_accesses(const Instruction& insn, const Loop& x,
                                            const std::function<Expr(const Expr&)>& in);
  std::vector<std::string> declare_vectors(const VectorAccess& v, const Loop& x);
  std::int64_t vector_length(const Expr& e, const Loop& x);
  std::string vector_pointer(const std::string& array, const std::string& type) const;
  void assign(const Instruction& insn, const Exprs& lhs, const Expr& rhs);
  std::string target(const Expr& lhs);
  struct Compound {
    const char* op;
    Expr other;
  };
  std::optional<Compound> compound(const Expr& lhs, const Expr& rhs) const;
  void find_critical();
  bool takes_turns(const Block& block) const;
  void device_atomic(const Exprs& lhs, const Expr& rhs);
  void combined_atomic(const Instruction& insn);
  void atomic_sum_of_pairs(const std::string& place, const Type& t, const std::string& space,
                           const std::string& value);
  void in_turn(const Exprs& lhs, const Expr& rhs, bool each);
  struct Number {
    std::string path;  // after the value's name, to a field
    Type type;
    std::string component;  // of a complex one: `.x` or `.y`
  };
  std::vector<Number> numbers(const Type& t) const;
  std::string space_of(const std::string& variable) const;
  void exchange(const std::string& place, const Type& t, bool local,
                const std::function<std::string(const std::string& old)>& value);
  void external(const Instruction& insn, const Exprs& lhs, const Call& call);
  void kernel_call(const Exprs& lhs, const Call& call);
  std::string device_function(const Call& call, const std::vector<std::string>& spaces);
  std::string device_callee(Block program, const std::string& function,
                            const std::vector<std::string>& spaces);
  void tuple(const Exprs& lhs, const Expr& rhs, bool one_statement);
  void reduction_init(const Instruction& insn, const Exprs& lhs);
  void reduction_update(const Instruction& insn, const Exprs& lhs, const Expr& rhs);
  void extremum_update(const Instruction& insn, const Expr& acc, const Expr& value);
  void indexed_extremum(const Instruction& insn, const Exprs& acc, const Exprs& values);
  void segmented_update(const Instruction& insn, const Exprs& acc, const Exprs& values);
  std::string unset(const Type& t);
  std::string neutral(const Instruction& insn, std::size_t i, const Type& t);
  void declare(const Temporary& t, bool zero);
  enum class Tables { Constant, Changing, All };
  void tables(Tables which);
  void name_tables();
  std::string brackets(const Temporary& t);
  int device_kernel(const Launch& launch, DeviceProgram& out);
  void device_temporaries(const std::set<std::string>& used, DeviceKernel& kernel);
  void check_given(const DeviceKernel& kernel, const Temporary& largest) const;
  std::string device_head(DeviceKernel& kernel, const std::set<std::string>& used,
                          const std::set<std::string>& written, bool waits);
  void collect_writes(const Block& block, std::set<std::string>& out) const;
  std::set<std::string> written() const;
  std::set<std::string> known_elsewhere() const;
  std::string parameter(const Argument& a, const std::set<std::string>& written,
                        const std::set<std::string>& known);
  std::string host_prototype();
  std::string host_function(const DeviceProgram& program, bool resident);
  std::string host_copies(const std::vector<Parameter>& params, Residency resident);
  void host_block(const std::vector<HostStep>& steps, const DeviceProgram& program);
  std::vector<HostStep> host_steps(const Block& block, DeviceProgram& program);
  std::string nested(const std::vector<Expr>& values, const Exprs& shape, const Type& type);
  std::vector<std::string> records();
  std::string headers() const;
  std::string type_name(const Type& t);

  // Gangs: codegen/print/c_gangs.cpp.
  bool has_gangs() const { return features_of(plan_.target).gangs; }
  void refuse_for_gangs() const;
  std::string gang_parameter(const std::string& name, bool written);
  std::string gang_prototype();
  void gang_loop(const Loop& x);
  struct Task {
    std::vector<const Loop*> loops;  // that are launched together
    std::string function;
    std::vector<std::string> arguments;
    std::vector<SharedAccumulator> shared;
    std::vector<std::string> stores;  // arrays with a part of each of these for each task
  };
  Task task_function(const Loop& x);
  void task_loop(const Loop& x);
  std::vector<std::string> begin_parts(const std::vector<SharedAccumulator>& all);
  void end_part(const SharedAccumulator& a, const std::string& part);
  std::string index_type(const Exprs& from);
  bool varies(const Expr& e) const;
  bool is_uniform_place(const Expr& lhs) const;
  /// Whether the statement that is printed runs for several lanes or tasks at once.
  bool at_once() const { return in_lanes_ || in_task_; }

  const Plan& plan_;
  const Kernel& k_;
  const Dialect& dialect_;
  CNames names_;
  Helpers helpers_;
  CExpr expr_;
  std::set<std::string> critical_;
  std::set<std::string> own_;      // declared since the last loop began that several threads run
  std::set<std::string> aligned_;  // local arrays that vectors are read from or written to
  std::map<int, std::vector<int>> copies_;  // kernels made, by launch of the plan
  std::vector<std::string> kernel_bodies_;  // by kernel
  std::string out_;
  std::string tasks_;  // functions that are launched, or that a team of threads runs
  int task_count_ = 0;
  bool in_lanes_ = false;  // of a gang
  bool in_task_ = false;
  bool in_simd_ = false;  // a loop around has `omp simd`
  std::string splat_;     // 0 in all lanes, where a vector takes one value for all of them
  int loops_around_ = 0;
  /// What the kernel for a device writes that is printed, where its reads may be ahead.
  std::optional<std::set<std::string>> launch_writes_;
  std::map<std::string, std::vector<std::string>> ahead_names_;  // by array, for all kernels
  std::map<std::string, std::size_t> ahead_used_;                // of these, in this kernel
  std::set<std::string> varying_;                                // names with a value for each lane
  std::string status_;  // of the last call in CUDA's host function
  int depth_ = 0;
  bool marks_;                     // where statements begin and end
  bool checks_;                    // claims, while the code runs
  bool called_by_team_, loops_of_team_ = false;
  bool called_;                    // by other functions of the unit, not from elsewhere
  bool cxx_;                       // the text is C++, too
  bool in_guard_ = false;          // the expression that is checked is a guard's
  std::set<std::string> has_set_;  // with them: variables that say which elements have a value
  // On devices, functions of kernels that are called: names by kernel and memory of arguments, and
  // texts, those that others call first. They are the outermost printer's.
  std::map<std::string, std::string> device_functions_;
  std::vector<std::string> device_texts_;
  CPrinter* outermost_ = this;
  std::map<std::string, std::string> spaces_;              // of arguments, in such a function
  const std::map<std::string, bool>* declares_ = nullptr;  // of the statement being printed
};

}  // namespace moonloop
