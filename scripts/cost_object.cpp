#include <algorithm>

#include "codegen/language.h"
#include "core/base/diagnostic.h"
#include "cost/acm.h"
#include "cost/choose.h"
#include "runtime/profiles.h"
#include "scripts/state.h"

/// `lp.cost`, `lp.choose_target` and `lp.crossover`: predicted times.
namespace moonloop::lua {
namespace {

[[noreturn]] void bad_option(lua_State* L, int argument, const std::string& why) {
  luaL_argerror(L, argument, why.c_str());
  throw InternalError("luaL_argerror returned");
}

/// What the options say.
struct CostRequest {
  std::vector<Target> targets;
  Integers params;
  std::string machine;  // of a kept profile, or the file of one
  std::map<Target, std::string> machines;
  int device = -1;
  bool acm = false;
  cost::PredictOptions predict;
  std::string param;  // of crossover
  std::int64_t from = 1, to = 1 << 20;
};

class CostOptions {
 public:
  CostOptions(lua_State* L, int argument, std::vector<std::string> names)
      : L_(L), argument_(argument), names_(std::move(names)) {}

  CostRequest read() {
    if (lua_isnoneornil(L_, argument_)) return {};
    luaL_checktype(L_, argument_, LUA_TTABLE);
    const Value v = to_value(L_, argument_);
    CostRequest out;
    const auto* list = v.as<ValueList>();
    if (list && list->empty()) return out;
    const auto* options = v.as<ValueDict>();
    if (!options) wrong("options", "a table with names");
    for (const NamedValue& o : *options) {
      if (std::find(names_.begin(), names_.end(), o.first) == names_.end())
        bad_option(L_, argument_,
                   fmt::format("unknown option '{}'{}", o.first, did_you_mean(o.first, names_)));
      read(o.first, o.second, out);
    }
    return out;
  }

 private:
  [[noreturn]] void wrong(const std::string& name, const std::string& expected) const {
    bad_option(L_, argument_, fmt::format("'{}': {} expected", name, expected));
  }
  Target target(const std::string& name, const Value& v) const {
    const auto* text = v.as<std::string>();
    const auto t = text ? parse_target(*text) : std::nullopt;
    if (!t) wrong(name, target_list(" or "));
    return *t;
  }
  std::int64_t integer(const std::string& name, const Value& v) const {
    const auto* n = v.as<std::int64_t>();
    if (!n) wrong(name, "integer");
    return *n;
  }
  const ValueDict& dict(const std::string& name, const Value& v) const {
    static const ValueDict kNone;
    const auto* list = v.as<ValueList>();
    if (list && list->empty()) return kNone;
    const auto* d = v.as<ValueDict>();
    if (!d) wrong(name, "a table with names");
    return *d;
  }

  void read(const std::string& name, const Value& v, CostRequest& out) const {
    if (name == "target") {
      out.targets = {target(name, v)};
    } else if (name == "targets") {
      const auto* list = v.as<ValueList>();
      if (!list || list->empty()) wrong(name, "array of targets");
      for (const Value& t : *list) out.targets.push_back(target(name, t));
    } else if (name == "params") {
      for (const NamedValue& p : dict(name, v)) out.params[p.first] = integer(p.first, p.second);
    } else if (name == "trips") {
      for (const NamedValue& t : dict(name, v)) {
        const auto* real = t.second.as<double>();
        out.predict.trips[t.first] = real ? *real : static_cast<double>(integer(t.first, t.second));
      }
    } else if (name == "device") {
      if (const auto* n = v.as<std::int64_t>()) {
        out.device = static_cast<int>(*n);
      } else if (const auto* text = v.as<std::string>()) {
        out.machine = *text;
      } else {
        for (const NamedValue& d : dict(name, v)) {
          const auto* text_of_it = d.second.as<std::string>();
          const auto t = parse_target(d.first);
          if (!t || !text_of_it) wrong(name, "number, name, or names by target");
          out.machines[*t] = *text_of_it;
        }
      }
    } else if (name == "model") {
      const auto* text = v.as<std::string>();
      if (!text || (*text != "acm" && *text != "moonloop")) wrong(name, "\"moonloop\" or \"acm\"");
      out.acm = *text == "acm";
    } else if (name == "resident") {
      const auto* yes_or_no = v.as<bool>();
      if (!yes_or_no) wrong(name, "boolean");
      out.predict.resident = *yes_or_no;
    } else if (name == "param") {
      const auto* text = v.as<std::string>();
      if (!text) wrong(name, "string");
      out.param = *text;
    } else if (name == "from") {
      out.from = integer(name, v);
    } else {
      out.to = integer(name, v);
    }
  }

  lua_State* L_;
  int argument_;
  std::vector<std::string> names_;
};

const std::vector<std::string> kCostNames{"device",   "model",  "params",
                                          "resident", "target", "trips"};
const std::vector<std::string> kChooseNames{"device",   "model",   "params",
                                            "resident", "targets", "trips"};
const std::vector<std::string> kCrossoverNames{"device",   "from",    "model", "param", "params",
                                               "resident", "targets", "to",    "trips"};

/// A kernel's work on a target, and the machine that it is predicted for.
class Version {
 public:
  Version(const Kernel& k, Target target, const CostRequest& r)
      : request_(r), work_(cost::work_of(k, target)) {
    const auto own = r.machines.find(target);
    profile_ = profile_for(target, r.device, own == r.machines.end() ? r.machine : own->second);
    if (r.acm) machine_ = cost::acm_machine(host_of(target), profile_);
  }

  Target target() const { return work_.target; }
  cost::Prediction at(const Integers& params) const {
    if (!machine_) return cost::predict(work_, params, profile_, request_.predict);
    cost::Prediction out = cost::predict_acm(work_, params, *machine_, request_.predict);
    out.device = profile_.device;
    out.measured = profile_.measured;
    return out;
  }

 private:
  cost::MachineProfile host_of(Target target) const {
    if (!is_device(target)) return profile_;
    for (const auto& [t, name] : request_.machines)
      if (!is_device(t)) return profile_for(t, -1, name);
    return profile_for(Target::C, -1);
  }

  const CostRequest& request_;
  cost::Work work_;
  cost::MachineProfile profile_;
  std::optional<cost::AcmMachine> machine_;
};

void set_number(lua_State* L, const char* key, double n) {
  lua_pushnumber(L, n);
  lua_setfield(L, -2, key);
}
void set_text(lua_State* L, const char* key, const std::string& text) {
  push_string(L, text);
  lua_setfield(L, -2, key);
}

void push_prediction(lua_State* L, const cost::Prediction& p, Target target) {
  luaL_checkstack(L, 8, nullptr);
  lua_createtable(L, 0, 7);
  set_number(L, "seconds", p.seconds);
  set_text(L, "bottleneck", p.bottleneck().name);
  set_text(L, "target", to_string(target));
  set_text(L, "device", p.device);
  lua_pushboolean(L, p.measured);
  lua_setfield(L, -2, "measured");
  push_strings(L, {p.remarks.begin(), p.remarks.end()});
  lua_setfield(L, -2, "remarks");
  lua_createtable(L, static_cast<int>(p.bounds.size()), 0);
  lua_Integer n = 0;
  for (const cost::Bound& b : p.bounds) {
    lua_createtable(L, 0, 5);
    set_text(L, "name", b.name);
    set_text(L, "unit", b.unit);
    set_number(L, "seconds", b.seconds);
    set_number(L, "binding", b.binding);
    set_number(L, "amount", b.amount);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "bounds");
}

/// The versions that the first argument gives: a kernel for all `targets`, or one for each target
/// of a table.
std::vector<Version> versions(lua_State* L, const CostRequest& r) {
  std::vector<std::pair<const Kernel*, Target>> all;
  if (const Kernel* k = to_kernel(L, 1)) {
    for (const Target t : r.targets) all.emplace_back(k, t);
    if (all.empty()) bad_option(L, 2, "'targets': array of targets expected");
  } else {
    luaL_checktype(L, 1, LUA_TTABLE);
    for (const Target t : r.targets.empty() ? all_targets() : r.targets) {
      lua_getfield(L, 1, to_string(t).c_str());
      const Kernel* version = to_kernel(L, -1);
      lua_pop(L, 1);  // the table keeps it
      if (version) all.emplace_back(version, t);
    }
    if (all.empty()) bad_option(L, 1, "a kernel, or a table of kernels by target, expected");
  }
  std::vector<Version> out;
  for (const auto& [k, t] : all) out.emplace_back(*k, t, r);
  return out;
}

std::vector<double> seconds_of(const std::vector<Version>& all, const Integers& params) {
  std::vector<double> out;
  for (const Version& v : all) out.push_back(v.at(params).seconds);
  return out;
}

}  // namespace

int cost_function(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const CostRequest r = CostOptions(L, 2, kCostNames).read();
  const State::Pause pause(s);
  const Target target = r.targets.empty() ? Target::C : r.targets.front();
  push_prediction(L, Version(k, target, r).at(r.params), target);
  return 1;
}

int choose_target_function(lua_State* L, State& s) {
  const CostRequest r = CostOptions(L, 2, kChooseNames).read();
  const State::Pause pause(s);
  const std::vector<Version> all = versions(L, r);
  const std::size_t best = cost::fastest(seconds_of(all, r.params));
  push_string(L, to_string(all[best].target()));
  lua_createtable(L, 0, static_cast<int>(all.size()));
  for (const Version& v : all) {
    push_prediction(L, v.at(r.params), v.target());
    lua_setfield(L, -2, to_string(v.target()).c_str());
  }
  return 2;
}

int crossover_function(lua_State* L, State& s) {
  const CostRequest r = CostOptions(L, 2, kCrossoverNames).read();
  if (r.param.empty()) bad_option(L, 2, "'param': the name of a parameter expected");
  if (r.from < 1 || r.to < r.from) bad_option(L, 2, "'from', 'to': 1 <= from <= to expected");
  const State::Pause pause(s);
  const std::vector<Version> all = versions(L, r);
  const auto choice = [&](std::int64_t value) {
    Integers params = r.params;
    params[r.param] = value;
    return cost::fastest(seconds_of(all, params));
  };
  lua_newtable(L);
  lua_Integer n = 0;
  for (const cost::Crossover& c : cost::crossovers(r.from, r.to, choice)) {
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, c.value);
    lua_setfield(L, -2, "value");
    set_text(L, "before", to_string(all[c.before].target()));
    set_text(L, "after", to_string(all[c.after].target()));
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

}  // namespace moonloop::lua
