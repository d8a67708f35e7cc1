#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/order/counterexample.h"
#include "scripts/complete.h"
#include "scripts/history.h"
#include "scripts/script.h"

/// An interactive session without its terminal: a Lua state whose global kernels have a history.
///
/// Input: lines of Lua, files. Output: what changed, or why not. Entry points: feed(),
/// open_script().
namespace moonloop {

namespace lua {
class State;
}

/// A global that got another kernel, lost it (no `after`) or is new (no `before`).
struct Change {
  std::string global;
  KernelPtr before, after;
};

struct Failure {
  std::vector<Diagnostic> all;
  std::shared_ptr<const Counterexample> counterexample;  // of a refusal that has one
};

/// The effect of a line. A line that fails may have changed something before.
struct Outcome {
  bool unfinished = false;                   // more lines are needed
  std::vector<std::vector<Change>> changes;  // by step of the history
  std::optional<Failure> failure;
};

class Session {
 public:
  /// Each kernel is a global under its own name; the first is the current one. `originals`, for
  /// verification, are the kernels before any transform, by name.
  Session(const std::vector<Kernel>& kernels, const std::vector<Kernel>& originals,
          ScriptOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Takes one more line of Lua and runs complete input: first as an expression, whose values are
  /// printed, then as a statement; a leading `=` means an expression. A value that is a kernel
  /// derived from a global one, by transforms, becomes the value of that global instead: of the
  /// current one if it can. Any change of global kernels is one step of the history.
  ///
  /// Names of transforms are functions here that transform the current kernel: `split_iname("i",
  /// 16)` is `knl = knl:split_iname("i", 16)` for it.
  Outcome feed(const std::string& line);
  /// Whether lines are held back until more arrive.
  bool wants_more() const { return !pending_.empty(); }
  /// Runs them as they are, at the end of the input.
  Outcome finish();
  void drop_pending();
  /// Counts a line that is not Lua, so that messages number lines as the user counts them.
  void skip_line(const std::string& line);
  /// The last line, from its first character that is not blank; until the next line comes.
  Span last_line() const;

  /// Runs a script in this state; each transform of a kernel of the session is a step of its own.
  /// Kernels that it returns become globals under their own names.
  Outcome open_script(const std::string& path);
  /// New globals, one step.
  Outcome add_kernels(const std::vector<Kernel>& kernels, const std::vector<Kernel>& originals,
                      const std::string& line);

  const History& history() const { return history_; }
  const Snapshot& now() const { return history_.now(); }
  /// The current kernel. Fails `no-kernel`.
  const Kernel& kernel() const;
  /// These change the globals as well; they fail as History does.
  std::vector<Change> undo(int n = 1);
  std::vector<Change> redo(int n = 1);
  void make_branch(const std::string& name);
  /// To a branch, or else makes a kernel the current one. Fails `unknown-branch`.
  std::vector<Change> switch_to(const std::string& name);

  /// The kernel of the input that `k` came from, before any transform: itself if not known.
  Kernel original_of(const Kernel& k) const;
  /// The shortest script that makes `k` from the kernels of the input, or without them when `k`
  /// does not come from there. Runs it to make sure. Fails `cannot-replay`.
  std::string script_for(const Kernel& k) const;

  /// Those that the lines and scripts so far have declared.
  const Knobs& knobs() const;

  /// The words of this session: kernels, globals, branches.
  Vocabulary vocabulary() const;

 private:
  struct Base {  // what scripts start from
    Kernel kernel, original;
    std::optional<Step> first;  // of a kernel that the session made: the step by which it was seen
  };

  Outcome run(const std::string& code, int first_line);
  template <class F>
  Outcome guarded(const std::string& line, bool split, F f);
  void take_changes(const std::string& line, bool split, Outcome& out);
  void commit(Snapshot next, const std::string& line, Outcome& out);
  std::vector<Snapshot> stages(const Snapshot& next) const;
  void show_results();
  bool adopt();
  void hold(const std::string& name, const KernelPtr& k);
  std::vector<Change> show(const Snapshot& from);
  void saw(const StepReport& r);
  std::vector<const Base*> bases_of(const Kernel& k) const;

  Source transcript_;  // all lines so far
  std::string pending_;
  int pending_from_ = 1;
  std::vector<Base> bases_;
  std::vector<KernelPtr> seen_;  // kernels that transforms were applied to, in the present script
  bool collecting_ = false;      // such kernels
  std::unique_ptr<lua::State> state_;
  History history_;
};

/// Whether transforms made `after` out of `before`: its steps begin with all of `before`'s, and are
/// more.
bool derives_from(const Kernel& after, const Kernel& before);

}  // namespace moonloop
