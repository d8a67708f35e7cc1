#pragma once
#include <lua.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "core/model/kernel.h"
#include "core/order/counterexample.h"
#include "scripts/account.h"
#include "scripts/script.h"

/// One Lua state with its limits, and the shared parts of the bindings. Lua is the C++ build: its
/// errors unwind C++ frames, so objects may live across calls that raise them.
namespace moonloop::lua {

/// The content of our Lua error objects.
struct ErrorBox {
  std::vector<Diagnostic> all;
  bool refused = false;  // a transform refused: `lp.attempt` returns it
  bool fatal = false;    // a limit: nothing catches it
  std::shared_ptr<const Counterexample> counterexample = {};  // of a refusal that has one
};

class State {
 public:
  explicit State(const ScriptOptions& options, std::string directory);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The state that owns `L`, which may be a coroutine.
  static State& of(lua_State* L) { return **static_cast<State**>(lua_getextraspace(L)); }

  /// Calls `f(L)` in protected mode; errors are thrown as Error.
  template <class F>
  void protect(F f) {
    protect_raw([](lua_State* L, void* p) { (*static_cast<F*>(p))(L); }, &f);
  }
  /// Compiles and runs a chunk with the limits on; its results are on the stack.
  void run_chunk(lua_State* L, const Source* source, std::string_view code);
  /// `lua_call` with the limits on.
  void call(lua_State* L, int arguments, int results);

  lua_State* main() const { return L_; }
  const ScriptOptions& options() const { return options_; }
  const std::string& directory() const { return directory_; }
  void set_directory(std::string directory) { directory_ = std::move(directory); }

  /// Tells of no steps while it lives: those of a search, whose result is what counts.
  class Silence {
   public:
    explicit Silence(State& s) : state_(s) { on_step_.swap(s.options_.on_step); }
    ~Silence() { on_step_.swap(state_.options_.on_step); }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

   private:
    State& state_;
    std::function<void(const StepReport&)> on_step_;
  };

  /// Makes errors in a chunk of this name point into `source`.
  void add_chunk(const Source* source);
  const Source* find_chunk(const std::string& name) const;

  Account& account() const { return *options_.account; }
  /// Collects garbage when the account wants that.
  void collect_garbage(lua_State* L);
  /// Counts `n` instructions of the virtual machine; raises `script-limit` when they are too many,
  /// and `interrupted` when the user asks.
  void spend(lua_State* L, std::int64_t n);
  /// Whether a limit or the user ended the script. Lua then closes variables with its hooks off, so
  /// nothing of the script's may be closed.
  bool ended() const { return ended_; }
  /// Starts again: each line that a user types has all that the limits allow.
  void refill() { account().refill(), ended_ = false; }

  /// Marks the time of a transform, which may take as long as it needs.
  class Pause : Account::Pause {
   public:
    explicit Pause(State& s) : Account::Pause(s.account()) {}
  };

 private:
  void protect_raw(void (*f)(lua_State*, void*), void* data);
  [[noreturn]] void throw_top(int status);
  static void* allocate(void* state, void* block, std::size_t old_size, std::size_t new_size);
  static void hook(lua_State* L, lua_Debug* ar);
  void set_hook(lua_State* L, int quantum);

  lua_State* L_ = nullptr;
  ScriptOptions options_;
  const Account::Nested nested_;
  std::string directory_;
  std::map<std::string, const Source*> chunks_;
  std::int64_t work_ = 0;  // instructions that memory costs, not counted yet
  bool ended_ = false;
  std::int64_t room_ = 0;  // bytes beyond the limit, for the message about it
  Span memory_at_;
};

// ---- errors.cpp ---------------------------------------------------------------------------------

/// The line of the innermost Lua function, from `level` on; the word `focus` in it if it occurs
/// there once, else all of it. Empty when there is none.
Span where(lua_State* L, int level = 0, const std::string& focus = {});
/// The line `number` of `source` without its indentation.
Span line_span(const Source* source, int number, const std::string& focus = {});
/// Pushes an error object with the script's places added: `focus` is the word that is wrong, by
/// default the name of the function that failed.
void push_error(lua_State* L, ErrorBox box, const std::string& focus = {});
ErrorBox* to_error(lua_State* L, int index);
/// Raises an error with a code at the caller's line, at the word `focus` in it.
[[noreturn]] void raise(lua_State* L, const std::string& code, const std::string& text,
                        const std::string& focus = {});
/// The diagnostics of the error value at the top of the stack.
std::vector<Diagnostic> diagnostics_of(lua_State* L, State& state, int status);
/// `lua_pcall`'s message handler: adds the places of the call stack to errors that are strings.
int message_handler(lua_State* L);
void install_error_type(lua_State* L);
/// Pushes an error object for the exception that is being handled.
void push_exception(lua_State* L);

/// A C function for Lua from `int f(lua_State*, State&)`: exceptions become Lua errors.
template <int (*F)(lua_State*, State&)>
int guarded(lua_State* L) {
  try {
    return F(L, State::of(L));
  } catch (const std::exception&) { push_exception(L); }
  return lua_error(L);
}

// ---- convert.cpp --------------------------------------------------------------------------------

/// The Lua value at `index`; a table with the keys 1..n is a list, one with string keys a
/// dictionary. Fails `bad-argument` for values that a transform cannot take, such as functions.
Value to_value(lua_State* L, int index);
void push_value(lua_State* L, const Value& v);
void push_string(lua_State* L, std::string_view s);
void push_strings(lua_State* L, const std::vector<std::string>& all);
/// A list of strings from an array or from comma-separated text.
std::vector<std::string> split_top_level(std::string_view text);

/// The prefix of the names of the library's modules, also in the places of Lua's messages.
constexpr std::string_view kLibrary = "moonloop.";

// ---- kernel_object.cpp, module.cpp, sandbox.cpp, bindings.cpp ---------------------------------

void install_kernel_type(lua_State* L);
void push_kernel(lua_State* L, Kernel k);
const Kernel* to_kernel(lua_State* L, int index);     // null when it is something else
const Kernel& check_kernel(lua_State* L, int index);  // raises a bad argument
/// Kernels that globals hold, by the globals' names.
std::map<std::string, const Kernel*> global_kernels(lua_State* L);
/// The methods of kernels that count (count_object.cpp).
const luaL_Reg* count_methods();
int sync_counts_of(lua_State* L, const Kernel& k, Target target);
void install_count_types(lua_State* L);
/// Pushes the function of transform `name`, or nothing.
bool push_op(lua_State* L, std::string_view name);
std::vector<std::string> op_names();
void install_module(lua_State* L, const ScriptOptions& options);
/// `lp.fuse_kernels`, see fuse.cpp.
int fuse_kernels_function(lua_State* L, State& s);
/// `lp.knob`, see knobs.cpp.
int knob_function(lua_State* L, State& s);
/// makers.cpp
int make_copy_kernel_function(lua_State* L, State& s);
int make_einsum_function(lua_State* L, State& s);
int to_batched_function(lua_State* L, State& s);
/// `lp.callee` and `lp.transform_callee`, see callees.cpp.
int callee_function(lua_State* L, State& s);
int transform_callee_function(lua_State* L, State& s);
/// The table `{n = 10, m = 20}` at `index`, or none. Fails `bad-argument` for other values.
std::map<std::string, std::int64_t> check_parameters(lua_State* L, int index);
/// `knl:accesses()` and `knl:trips()`, see accesses_object.cpp.
int accesses_method(lua_State* L, State& s);
int trips_method(lua_State* L, State& s);
/// `lp.affine_schedule`, see schedule_object.cpp.
int affine_schedule_function(lua_State* L, State& s);
/// `lp.auto`, see automatic.cpp.
int auto_function(lua_State* L, State& s);
/// `lp.parallelism`, see parallelism_object.cpp.
int parallelism_function(lua_State* L, State& s);
/// `lp.cost`, `lp.choose_target` and `lp.crossover`, see cost_object.cpp.
int cost_function(lua_State* L, State& s);
int choose_target_function(lua_State* L, State& s);
int crossover_function(lua_State* L, State& s);
void open_libraries(lua_State* L, bool trust);
/// Replaces functions whose work no limit would end: those of the table library, those of the
/// string library that look for patterns, and a few more (limited_library.cpp, patterns.cpp).
void limit_libraries(lua_State* L);
void install_patterns(lua_State* L);
/// Wraps a library's function: `f` gets the original as its upvalue.
void wrap(lua_State* L, const char* library, const char* name, lua_CFunction f);
/// Instructions that a byte of Lua text costs when it is compiled.
constexpr std::int64_t kCompile = 4;
[[noreturn]] void needs_trust(lua_State* L, const std::string& what);

/// Names of a kernel's fields and methods other than transforms.
std::vector<std::string> kernel_names();
/// Names in `lp` other than transforms.
std::vector<std::string> module_names();
/// Pushes each kernel and returns how many there are.
int push_kernels(lua_State* L, std::vector<Kernel> all);
/// `path` as a script means it: relative to the script's folder.
std::string beside_script(const State& state, const std::string& path);
/// Reads a file for a script, and tells ScriptOptions::on_file. Fails `cannot-read`.
std::string read_for_script(const State& state, const std::string& path);

}  // namespace moonloop::lua
