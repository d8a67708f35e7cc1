#include "cli/worker.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/local_bench.h"
#include "cli/tuned.h"
#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "core/model/print.h"
#include "core/rewrite/as_text.h"
#include "runtime/file.h"

namespace moonloop::cli {
namespace {

namespace fs = std::filesystem;
using tuning::SharedCandidate;
using tuning::TaskFile;
using tuning::WorkerReply;

/// The last part of a path, by which a file can be called in any folder.
std::string file_name(const std::string& path, const std::string& otherwise) {
  const std::string name = fs::path(path).filename().string();
  return name.empty() || name == "." || name == ".." ? otherwise : name;
}

/// Whether a path stays in the folder in which it begins.
bool stays_inside(const std::string& path) {
  const fs::path p = fs::path(path).lexically_normal();
  return !path.empty() && p.is_relative() && *p.begin() != "..";
}

void write_in(const std::string& folder, const std::string& path, const std::string& text) {
  if (!stays_inside(path))
    fail("bad-message", {}, "the file `{}` of a script is not below its folder", path);
  std::error_code none;
  fs::create_directories((fs::path(folder) / path).parent_path(), none);
  write_file(folder + "/" + path, {text});
}

class Worker {
 public:
  explicit Worker(const Common& own) : own_(own), folder_(temporary(), "moonloop-worker-") {}
  int run();

 private:
  static std::string temporary() { return fs::temp_directory_path().string(); }
  void take_task(const std::string& line);
  void take_order(const std::string& line);
  SharedCandidate candidate(const KnobValues& values);
  void reply(const WorkerReply& r) { write_output("-", to_line(r) + "\n"); }
  void work();

  const Common& own_;
  const TemporaryFolder folder_;
  Common common_;
  std::vector<std::string> folders_;  // of the input and of the scripts
  std::unique_ptr<LocalBench> bench_;
  std::map<std::string, SharedCandidate> recent_;  // by their knobs
  std::set<std::size_t> open_;                     // orders
};

void Worker::take_task(const std::string& line) {
  const tuning::WorkerTask t = tuning::parse_task(line);
  if (t.version != MOONLOOP_VERSION)
    fail("bad-message", {}, "the task is of version {} of Moonloop, and the worker has {}",
         t.version, MOONLOOP_VERSION);
  const auto target = parse_target(t.target);
  if (!target) fail("bad-message", {}, "`{}` is not a target", t.target);
  if (t.trust && !own_.trust)
    throw Error(Diagnostic{"needs-trust",
                           "the scripts of the task run without sandbox, and the worker does not",
                           {},
                           {},
                           "start it by `moonloop tune --worker --trust`"});
  const auto write = [&](const TaskFile& f, const std::string& otherwise) {
    folders_.push_back(fmt::format("{}/{}", folder_.path(), folders_.size()));
    const std::string name = file_name(f.name, otherwise);
    write_in(folders_.back(), name, f.text);
    for (const auto& [path, text] : f.files) write_in(folders_.back(), path, text);
    return folders_.back() + "/" + name;
  };
  common_.input = write(t.input, "kernels.loop");
  for (const TaskFile& s : t.scripts) common_.transforms.push_back(write(s, "script.lua"));
  common_.params = t.params;
  common_.settings = t.settings;
  common_.knobs = t.knobs;
  common_.kernels = {t.kernel};
  common_.device = own_.device;
  common_.trust = t.trust;
  common_.target = *target;
  common_.quiet = true;
  UsedKnobs used;
  const auto defaults = std::make_shared<tuning::Candidate>(load_default(common_, used));
  if (used.kernel != t.kernel_hash || used.script != t.script_hash)
    fail("bad-message", {}, "the {} of the task has another hash here",
         used.kernel != t.kernel_hash ? "kernel" : "script");
  recent_[knobs_text(tuning::values_of(defaults->knobs))] = defaults;
  LocalBenchOptions o;
  o.request.target = *target;
  o.request.params = t.params;
  o.request.device = own_.device;
  o.processes = compiling_processes();
  o.limit = t.seconds;
  o.memory = t.memory;
  bench_ = std::make_unique<LocalBench>(place_here(*target, own_.device), o);
  reply({*bench_->place(), bench_->room(), {}, "", ""});
}

SharedCandidate Worker::candidate(const KnobValues& values) {
  constexpr std::size_t most = 64;
  const std::string key = knobs_text(values);
  if (const auto it = recent_.find(key); it != recent_.end()) return it->second;
  if (recent_.size() >= most) recent_.clear();
  return recent_[key] = std::make_shared<tuning::Candidate>(load_candidate(common_, values));
}

void Worker::take_order(const std::string& line) {
  const tuning::WorkerOrder o = tuning::parse_order(line);
  for (const auto& [script, file] : o.files) {
    if (script >= folders_.size()) fail("bad-message", {}, "the task has no script {}", script);
    write_in(folders_[script], file.first, file.second);
  }
  switch (o.kind) {
    case tuning::OrderKind::Measure: {
      const SharedCandidate c = candidate(o.knobs);
      if (!c->made) {
        tuning::Answer a{o.number, tuning::Status::Failed, {}, "script-error", c->reason};
        return reply({{}, 0, a, "", ""});
      }
      open_.insert(o.number);
      return bench_->take({o.number, c, o.verify});
    }
    case tuning::OrderKind::Lead: {
      const SharedCandidate c = candidate(o.knobs);
      if (c->made) bench_->lead(c, o.seconds);
      return;
    }
    case tuning::OrderKind::Limit: return bench_->limit(o.seconds);
    case tuning::OrderKind::Cancel: open_.clear(); return bench_->cancel();
  }
}

void Worker::work() {
  std::string text;
  std::array<char, 65536> block{};
  for (bool more = true; more || !open_.empty();) {
    std::vector<pollfd> files;
    if (bench_)
      for (const int file : bench_->files()) files.push_back({file, POLLIN, 0});
    if (more) files.push_back({STDIN_FILENO, POLLIN, 0});
    constexpr int patience = 100;  // ms; another tuning may have its turn
    ::poll(files.data(), files.size(), open_.empty() ? -1 : patience);
    if (more && files.back().revents != 0) {
      const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
      if (n > 0) text.append(block.data(), static_cast<std::size_t>(n));
      if (n == 0 || (n < 0 && errno != EINTR)) more = false;
    }
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      const std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      bench_ ? take_order(line) : take_task(line);
    }
    if (!bench_) continue;
    for (const tuning::Answer& a : bench_->answers()) {
      open_.erase(a.number);
      reply({{}, 0, a, "", ""});
    }
  }
  if (!text.empty()) fail("bad-message", {}, "the input ends within a line");
}

int Worker::run() {
  try {
    work();
    return kDone;
  } catch (const Error& e) {
    const Diagnostic& d = e.diagnostic();
    reply({{}, 0, {}, d.code, d.text});
    if (!own_.quiet) report(e, own_.color);
    return is_compiler_error(d.code) ? kCompiler : kError;
  }
}

}  // namespace

int run_worker(const Common& own) { return Worker(own).run(); }

tuning::WorkerTask task_of(const Common& common, const tuning::Candidate& defaults,
                           const UsedKnobs& used) {
  const bool made = common.input.ends_with(".lua");
  tuning::WorkerTask t;
  t.version = MOONLOOP_VERSION;
  t.kernel = loaded_of(defaults).kernel.name;
  t.kernel_hash = used.kernel;
  t.script_hash = used.script;
  for (const UsedScript& s : used.scripts) t.scripts.push_back({s.name, s.text, s.files});
  if (made) {
    t.input = t.scripts.front();
    t.scripts.erase(t.scripts.begin());
  } else if (is_fortran(common.input)) {
    t.input.name = "kernels.loop";
    for (const Kernel& k : used.before) t.input.text += print_kernel(as_text(k)) + "\n";
  } else {
    t.input = {common.input, read_source(common.input)->text};
  }
  for (TaskFile* f : {&t.input}) f->name = file_name(f->name, "kernels.loop");
  for (TaskFile& s : t.scripts) s.name = file_name(s.name, "script.lua");
  const auto inside = [](TaskFile& f) {
    std::erase_if(f.files, [](const auto& file) { return !stays_inside(file.first); });
  };
  inside(t.input);
  for (TaskFile& s : t.scripts) inside(s);
  t.target = to_string(*common.target);
  t.params = common.params;
  t.settings = common.settings;
  t.knobs = common.knobs;
  t.trust = common.trust;
  return t;
}

tuning::Place place_here(Target target, int device) {
  tuning::Place out{device_of(target, device), "", "", MOONLOOP_VERSION};
  if (!is_device(target)) {
    out.compiler = (target == Target::Ispc ? find_ispc_compiler() : find_c_compiler()).version;
    out.flags = fmt::format("{}", fmt::join(compile_flags(target, {}), " "));
  }
  return out;
}

}  // namespace moonloop::cli
