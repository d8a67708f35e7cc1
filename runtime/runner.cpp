#include "runtime/runner.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "core/infer/infer.h"
#include "core/model/original_layout.h"
#include "core/order/check_kernel.h"
#include "runtime/counterparts.h"
#include "runtime/device_call.h"
#include "runtime/memory.h"
#include "runtime/npy.h"
#include "runtime/sizes.h"

namespace moonloop {
namespace {

/// Whether some step adds the terms of sums one by one to what the sums are added to.
bool adds_term_by_term(const Kernel& k) {
  return std::any_of(k.trace.begin(), k.trace.end(),
                     [](const Step& s) { return s.name == "unfold_reduction"; }) ||
         std::any_of(k.callees.begin(), k.callees.end(), [](const auto& c) {
           return c.second->code && adds_term_by_term(*c.second->code);
         });
}

/// Whether some loop is for matrix units that round their factors.
bool rounds_factors(const Kernel& k) {
  return std::any_of(k.iname_tags.begin(), k.iname_tags.end(),
                     [](const auto& t) { return tag_text(t.second) == "mma.tf32"; }) ||
         std::any_of(k.callees.begin(), k.callees.end(), [](const auto& c) {
           return rounds_factors(c.second->code ? *c.second->code : *c.second->meaning);
         });
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> written_arrays(const Kernel& k) {
  std::vector<std::string> out;
  const std::vector<Intent> directions = intents(k);
  for (std::size_t i = 0; i < k.args.size(); ++i)
    if (k.args[i].is_array && directions[i] != Intent::In) out.push_back(k.args[i].name);
  return out;
}

void read_inputs(std::vector<Buffer>& buffers, const std::map<std::string, std::string>& inputs,
                 const Kernel& k) {
  for (const auto& [name, path] : inputs) {
    const auto it = std::find_if(buffers.begin(), buffers.end(), [&, name = name](const Buffer& b) {
      return b.layout().name == name;
    });
    if (it != buffers.end()) {
      read_npy(path, *it);
      continue;
    }
    std::vector<std::string> names;
    for (const Buffer& b : buffers) names.push_back(b.layout().name);
    fail("unknown-array", k.at, "kernel `{}` has no array `{}`; it has {}{}", k.name, name,
         names.empty() ? "none" : quoted_list(names), did_you_mean(name, names));
  }
}

std::vector<Buffer> copies(const std::vector<Buffer>& all) {
  std::vector<Buffer> out;
  for (const Buffer& b : all) {
    out.emplace_back(b.layout());
    out.back().copy_storage(b);
  }
  return out;
}

/// Parameters that the transforms gave a value: the kernel before still has them.
void add_fixed(const Value& v, const Kernel& before, GivenValues& given);
void add_fixed(const ValueDict& dict, const Kernel& before, GivenValues& given) {
  for (const auto& [name, value] : dict) {
    add_fixed(value, before, given);
    const auto* number = value.as<std::int64_t>();
    if (!number || !before.find_arg(name)) continue;
    const bool known = std::any_of(given.begin(), given.end(),
                                   [&, n = &name](const auto& g) { return g.first == *n; });
    if (!known) given.emplace_back(name, std::to_string(*number));
  }
}
void add_fixed(const Value& v, const Kernel& before, GivenValues& given) {
  if (const auto* list = v.as<ValueList>())
    for (const Value& x : *list) add_fixed(x, before, given);
  if (const auto* dict = v.as<ValueDict>()) add_fixed(*dict, before, given);
}
GivenValues values_before(const Kernel& after, const Kernel& before, GivenValues given) {
  for (const Step& step : after.trace) {
    if (step.name != "fix_parameters") continue;
    for (const Value& v : step.positional) add_fixed(v, before, given);
    add_fixed(step.options, before, given);
  }
  return given;
}

/// A compiled program with the memory for its calls.
class PreparedCall {
 public:
  PreparedCall(const Program& program, const std::vector<ScalarArgument>& scalars,
               const std::vector<Buffer>& buffers)
      : values_(program.params.size()) {
    for (std::size_t i = 0; i < program.params.size(); ++i) {
      const Parameter& p = program.params[i];
      pointers_.push_back(p.is_array ? array(p, buffers) : scalar(p, scalars, values_[i].data()));
    }
  }
  void operator()(const Executable& f) const { f(pointers_.data()); }

 private:
  static void* array(const Parameter& p, const std::vector<Buffer>& buffers) {
    for (const Buffer& b : buffers)
      if (b.layout().name == p.name) return b.data();
    throw InternalError("the generated function has an array `" + p.name + "` of its own");
  }
  static void* scalar(const Parameter& p, const std::vector<ScalarArgument>& scalars,
                      std::byte* to) {
    for (const ScalarArgument& s : scalars)
      if (s.name == p.name) {
        store_value(p.type.scalar, s.value, to);
        return to;
      }
    throw InternalError("the generated function has a scalar `" + p.name + "` of its own");
  }

  std::vector<std::array<std::byte, 16>> values_;
  std::vector<void*> pointers_;
};

/// A program ready to run on arrays with the layouts of some.
class Execution {
 public:
  virtual ~Execution() = default;
  /// Runs once; then `arrays` has what the program wrote.
  virtual void run(std::vector<Buffer>& arrays) = 0;
  /// A function that runs once on the values of `arrays` and returns the seconds. Results may stay
  /// on the device. `arrays` outlives it.
  virtual std::function<double()> timed(const std::vector<Buffer>& arrays) = 0;
  /// The next timed run finds the present values of these arrays.
  virtual void refresh(const std::vector<const Buffer*>& arrays) = 0;
};

class HostExecution : public Execution {
 public:
  HostExecution(const Program& program, const RunResult& on, const RunRequest& request)
      : program_(program), scalars_(on.scalars), executable_(program, request.compile) {}
  void run(std::vector<Buffer>& arrays) override {
    PreparedCall(program_, scalars_, arrays)(executable_);
  }
  std::function<double()> timed(const std::vector<Buffer>& arrays) override {
    const auto call = std::make_shared<const PreparedCall>(program_, scalars_, arrays);
    return [this, call] {
      const auto start = Clock::now();
      (*call)(executable_);
      return seconds_since(start);
    };
  }
  void refresh(const std::vector<const Buffer*>&) override {}  // runs on them where they are

 private:
  const Program& program_;
  const std::vector<ScalarArgument>& scalars_;
  Executable executable_;
};

class DeviceExecution : public Execution {
 public:
  DeviceExecution(Device& device, const Program& program, const RunResult& on,
                  const RunRequest& request)
      : device_(device),
        module_((check_limits(program, device),
                 device.compile(program, {.contract = request.compile.contract}))),
        call_(device, program, *module_, on.scalars, on.arrays),
        transfers_(request.transfers) {}
  void run(std::vector<Buffer>& arrays) override {
    call_.upload(arrays);
    call_.run();
    call_.download(arrays);
  }
  std::function<double()> timed(const std::vector<Buffer>& arrays) override {
    call_.upload(arrays);
    call_.run();
    call_.record();
    device_.finish();
    if (transfers_) return with_transfers(arrays);
    return [this] {
      device_.start_clock();
      call_.run();
      return device_.stop_clock();
    };
  }
  void refresh(const std::vector<const Buffer*>& arrays) override {
    if (transfers_) return;
    for (const Buffer* b : arrays) call_.upload(*b);
  }

 private:
  std::function<double()> with_transfers(const std::vector<Buffer>& arrays) {
    const auto back = std::make_shared<std::vector<Buffer>>(copies(arrays));
    return [this, &arrays, back] {
      const auto start = Clock::now();
      call_.upload(arrays);
      call_.run();
      call_.download(*back);
      return seconds_since(start);
    };
  }

  Device& device_;
  std::unique_ptr<DeviceModule> module_;
  DeviceCall call_;
  bool transfers_;
};

/// Fails `out-of-memory` when the arrays of a run need more than there is: else the system would
/// end the process without a word.
void check_memory(const Kernel& k, const Kernel& original, const Integers& values,
                  const RunRequest& request) {
  const std::optional<double> left = available_memory();
  const RunBytes needed =
      bytes_of_run(k, original, values, {is_device(request.target), request.verify, request.time});
  if (!left || needed.total() <= *left) return;
  std::string largest;
  if (!needed.largest.empty())
    largest = fmt::format("; the largest array, `{}`, has {}", needed.largest,
                          bytes_text(needed.largest_bytes));
  throw Error(Diagnostic{
      "out-of-memory",
      fmt::format(
          "a run of kernel `{}` at these sizes takes {} of memory{}, and the machine has {} "
          "left{}",
          k.name, bytes_text(needed.total()), request.verify ? " with what `--verify` keeps" : "",
          bytes_text(*left), largest),
      {k.at, {}},
      {},
      request.verify ? "give smaller sizes, or leave out `--verify`" : "give smaller sizes"});
}

/// One of the arrays around which something was written.
const Buffer* overrun(const std::vector<Buffer>& all) {
  const auto it = std::find_if(all.begin(), all.end(), [](const Buffer& b) { return !b.intact(); });
  return it == all.end() ? nullptr : &*it;
}

/// Fails where the generated code wrote outside of an array: subscripts that data or a claim decide
/// are not checked in it. `interpreted`: the interpreter did not.
void check_intact(const Kernel& k, const std::vector<Buffer>& all, bool interpreted) {
  const Buffer* b = overrun(all);
  if (!b) return;
  const std::string& name = b->layout().name;
  if (interpreted)
    throw InternalError(fmt::format("the generated code wrote outside of array `{}`", name));
  throw Error({"out-of-bounds",
               fmt::format("kernel `{}` wrote outside of array `{}`", k.name, name),
               {k.at, {}},
               {},
               "`--verify` also runs it in the interpreter, which says where"});
}

/// Repeats until the median has settled: at least five runs and the least time, at most ten
/// seconds.
Timing measure(const RunRequest& request, const std::function<void()>& prepare,
               const std::function<double()>& run) {
  constexpr int least_runs = 5;
  std::vector<double> all;
  double total = 0;
  const auto start = Clock::now();
  while (static_cast<int>(all.size()) < request.most_runs) {
    if (static_cast<int>(all.size()) >= least_runs && total >= request.least_time) break;
    if (static_cast<int>(all.size()) >= 3 && seconds_since(start) > 10) break;
    prepare();
    all.push_back(run());
    total += all.back();
  }
  const std::vector<double> in_order = all;
  std::sort(all.begin(), all.end());
  const auto quantile = [&](double q) {  // linear between neighbours
    const double at = q * static_cast<double>(all.size() - 1);
    const auto i = static_cast<std::size_t>(at);
    const std::size_t j = std::min(i + 1, all.size() - 1);
    return all[i] + (all[j] - all[i]) * (at - static_cast<double>(i));
  };
  return {static_cast<int>(all.size()),
          quantile(0.5),
          all.front(),
          all.back(),
          quantile(0.25),
          quantile(0.75),
          in_order};
}

std::string describe(const Argument& a, const Layout& l) {
  return fmt::format("`{}` is {}", a.name, l.str());
}

/// The results of `original` in the interpreter, and their error bounds.
struct Expected {
  std::vector<Buffer> buffers;
  ErrorBounds bounds;
  double seconds = 0;  // that the interpreter took
};

/// Executes `original` in the interpreter on `inputs`, arrays of `k`. Before `k` runs: the
/// interpreter reports errors of a kernel where the generated code may crash.
Expected interpreted(const Kernel& original, const Kernel& k, const RunResult& result,
                     const std::vector<Buffer>& inputs, const std::vector<ScalarArgument>& scalars,
                     const RunRequest& request) {
  Expected out;
  out.buffers = make_buffers(original, integers_of(scalars));
  for (Buffer& b : out.buffers) {
    const Argument& a = *original.find_arg(b.layout().name);
    if (const Buffer* other = put_together(b, k, inputs))
      fail("cannot-verify", original.at, "{} before the transforms, {} after them",
           describe(a, b.layout()), other->layout().str());
  }
  constexpr double long_work = 2e8, per_second = 4e7;
  if (request.note && result.work) {
    const double work = static_cast<double>(
        std::max(result.work->instances, result.work->flops + result.work->integer_ops));
    if (work > long_work)
      request.note(
          fmt::format("verifying {:.2g} operations in the interpreter takes about {:.0f} s", work,
                      work / per_second));
  }
  const auto start = Clock::now();
  Bindings bindings = bindings_of(scalars, out.buffers);
  out.bounds.accuracy = {request.compile.contract, !result.device.empty(),
                         divides_by_reciprocals(k), adds_term_by_term(k),
                         request.target == Target::Cuda && rounds_factors(k)};
  interpret(original, bindings, out.bounds);
  out.seconds = seconds_since(start);
  if (const Buffer* b = overrun(out.buffers))
    throw InternalError(
        fmt::format("the interpreter wrote outside of array `{}`", b->layout().name));
  return out;
}

/// Compares the results of `k` with the expected ones.
Verification verify(const Kernel& original, const Kernel& k, const RunResult& result,
                    const Expected& expectation, const RunRequest& request) {
  const std::vector<Buffer>& buffers = expectation.buffers;
  Verification out;
  out.seconds = expectation.seconds;
  std::vector<std::string> names = written_arrays(original);
  for (const std::string& n : result.written) {
    const Argument& a = *k.find_arg(n);
    const std::string& of = a.original_layout ? a.original_layout->of : n;
    if (std::find(names.begin(), names.end(), of) == names.end()) names.push_back(of);
  }
  for (const std::string& name : names) {
    const auto expected = std::find_if(buffers.begin(), buffers.end(),
                                       [&](const Buffer& b) { return b.layout().name == name; });
    const Argument* changed = nullptr;  // where the caller passes other arrays now
    bool there = false;
    for (const Argument& a : k.args) {
      if (a.is_array) there |= (a.original_layout ? a.original_layout->of : a.name) == name;
      if (a.original_layout && a.original_layout->of == name) changed = &a;
    }
    if (expected == buffers.end() || !there) {
      out.left_out.emplace_back(name, expected == buffers.end()
                                          ? "is an argument only after the transforms"
                                          : "is an argument only before the transforms");
      continue;
    }
    std::optional<Buffer> whole;
    if (changed) {
      whole.emplace(expected->layout());
      put_together(*whole, k, result.arrays);
    }
    const Buffer& found = changed ? *whole : result.array(name);
    out.arrays.push_back(compare(*expected, found, expectation.bounds, request.tolerance));
  }
  if (out.arrays.empty() && !out.left_out.empty())
    fail("cannot-verify", original.at,
         "kernel `{}` writes no array that it has before and after "
         "the transforms; `{}` {}",
         original.name, out.left_out[0].first, out.left_out[0].second);
  return out;
}

bool is_update(const Parameter& p) { return p.intent == Intent::InOut; }

bool is_updated(const Program& program, const std::string& array) {
  return std::any_of(program.params.begin(), program.params.end(),
                     [&](const Parameter& p) { return p.name == array && is_update(p); });
}

}  // namespace

bool Verification::equal() const {
  return std::all_of(arrays.begin(), arrays.end(), [](const Comparison& c) { return c.equal(); });
}

const Buffer& RunResult::array(const std::string& name) const {
  for (const Buffer& b : arrays)
    if (b.layout().name == name) return b;
  throw InternalError("no array `" + name + "` in the result");
}

RunResult run_kernel(const Kernel& given_kernel, const Kernel& given_original,
                     const RunRequest& request) {
  const Kernel k = with_extents_of_files(complete(given_kernel), request.inputs);
  const Kernel original = with_extents_of_files(complete(given_original), request.inputs);
  const GivenValues params = with_sizes_of_files(k, request.params, request.inputs);
  const GivenValues before = values_before(k, original, params);
  for (const auto& [name, value] : params)
    if (!k.find_arg(name) && original.find_arg(name))
      for (const auto& [fixed, number] : values_before(k, original, {}))
        if (fixed == name && number != value)
          fail("unknown-parameter", k.at, "the script fixes `{}` to {}, but {} is given", name,
               number, value);

  RunResult out;
  out.scalars = read_scalars(k, params, scalar_names(original));
  const Integers values = integers_of(out.scalars);
  check_memory(k, original, values, request);
  out.arrays = make_buffers(k, values);
  read_inputs(out.arrays, request.inputs, k);
  out.written = written_arrays(k);

  const Program program =
      generate(given_kernel, request.target, {.check_claims = request.check_claims});
  std::unique_ptr<Device> device;
  if (program.device) {
    device = open_device(request.target, request.device);
    out.device = device->name();
  }
  const auto start = Clock::now();
  const std::unique_ptr<Execution> execution =
      device ? std::unique_ptr<Execution>(new DeviceExecution(*device, program, out, request))
             : std::unique_ptr<Execution>(new HostExecution(program, out, request));
  out.compile_seconds = seconds_since(start);

  const bool updates = std::any_of(program.params.begin(), program.params.end(), is_update);
  std::vector<Buffer> inputs;
  if (request.verify || (request.time && updates)) inputs = copies(out.arrays);
  std::vector<ScalarArgument> scalars_before;
  if (request.verify || request.time) {
    scalars_before = read_scalars(original, before, scalar_names(k));
    out.work = count_work(original, integers_of(scalars_before));
  }
  std::optional<Expected> expected;
  if (request.verify) expected = interpreted(original, k, out, inputs, scalars_before, request);
  if (request.runs_generated) request.runs_generated(true);
  execution->run(out.arrays);
  if (request.runs_generated) request.runs_generated(false);
  check_intact(k, out.arrays, expected.has_value());

  if (request.time) {
    // Arrays that are updated are reset for each run, or their values would run away.
    std::vector<Buffer> scratch = updates ? copies(inputs) : std::vector<Buffer>();
    std::vector<std::size_t> updated;
    std::vector<const Buffer*> fresh;
    for (std::size_t i = 0; i < scratch.size(); ++i)
      if (is_updated(program, scratch[i].layout().name)) {
        updated.push_back(i);
        fresh.push_back(&scratch[i]);
      }
    const auto timed = execution->timed(updates ? scratch : out.arrays);
    out.timing = measure(
        request,
        [&] {
          for (const std::size_t i : updated) scratch[i].copy_storage(inputs[i]);
          if (updates) execution->refresh(fresh);
        },
        timed);
  }
  if (expected) out.verification = verify(original, k, out, *expected, request);
  return out;
}

void compile_kernel(const Kernel& k, const RunRequest& request) {
  const Program program = generate(k, request.target, {.check_claims = request.check_claims});
  if (!program.device) {
    Executable(program, request.compile);
    return;
  }
  const std::unique_ptr<Device> device = open_device(request.target, request.device);
  check_limits(program, *device);
  device->compile(program, {.contract = request.compile.contract});
}

}  // namespace moonloop
