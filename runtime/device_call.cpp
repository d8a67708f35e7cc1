#include "runtime/device_call.h"

#include <algorithm>
#include <set>

#include "core/base/diagnostic.h"
#include "core/expr/evaluate.h"

namespace moonloop {
namespace {

const std::string kCondition = "a condition";

/// A device keeps about a kilobyte for each launch that it records.
constexpr std::int64_t kMostRecorded = 1 << 17;

}  // namespace

DeviceCall::DeviceCall(Device& device, const Program& program, DeviceModule& module,
                       const std::vector<ScalarArgument>& scalars,
                       const std::vector<Buffer>& buffers)
    : device_(device), program_(program), scalars_(integers_of(scalars)), module_(module) {
  for (const ScalarArgument& s : scalars) {
    std::vector<std::byte> bytes(16);
    store_value(s.type.scalar, s.value, bytes.data());
    bytes.resize(static_cast<std::size_t>(size_of(s.type.scalar)));
    scalar_bytes_.emplace(s.name, std::move(bytes));
  }
  for (const Buffer& b : buffers) memory_.emplace(b.layout().name, device.allocate(b.bytes()));
  for (const DeviceTemporary& t : program_.device->temporaries) {
    const std::string what = "the size of `" + t.name + "`";
    const std::int64_t n = evaluate(t.elements, scalars_, what);  // below 0 where no loop runs
    const std::int64_t bytes =
        checked_mul(std::max<std::int64_t>(n, 0), static_cast<std::int64_t>(t.type.size()), what);
    DeviceMemory& memory =
        *memory_.emplace(t.name, device.allocate(static_cast<std::size_t>(bytes))).first->second;
    if (t.zero)
      memory.upload(std::vector<std::byte>(static_cast<std::size_t>(bytes)).data(),
                    static_cast<std::size_t>(bytes));
  }
  for (const DeviceKernel& k : program_.device->kernels) launches_.push_back(launch_of(k));
}

std::int64_t DeviceCall::Number::of(const Integers& values) {
  if (known) return *known;
  const std::int64_t n = evaluate(expression, values, what);
  if (fixed) known = n;
  return n;
}

DeviceCall::Launch DeviceCall::launch_of(const DeviceKernel& k) {
  const auto number = [&](const Expr& e, const std::string& what) {
    std::set<std::string> vars;
    collect_vars(e, vars);
    const bool fixed = std::all_of(vars.begin(), vars.end(),
                                   [&](const std::string& v) { return scalars_.contains(v); });
    return Number{e, "the number of " + what + " of `" + k.name + "`", fixed, {}};
  };
  Launch out;
  for (std::size_t i = 0; i < 3; ++i) {
    out.items.at(i) = number(k.items.at(i), "work-items");
    out.groups.at(i) = number(k.groups.at(i), "groups");
  }
  out.items_checked = constant_items(k).has_value();  // when the program was made
  out.numbers.resize(k.args.size());
  for (const std::string& name : k.args) {
    DeviceArgument a;
    if (const auto m = memory_.find(name); m != memory_.end()) {
      a.memory = m->second.get();
    } else if (const auto s = scalar_bytes_.find(name); s != scalar_bytes_.end()) {
      a.scalar = s->second.data();
      a.bytes = s->second.size();
    } else {
      a.bytes = static_cast<std::size_t>(size_of(program_.device->index_type));
      a.scalar = &out.numbers[out.inames.size()];  // little-endian: the low bytes come first
      out.inames.push_back(name);
    }
    out.args.push_back(a);
  }
  return out;
}

void DeviceCall::upload(const std::vector<Buffer>& buffers) {
  for (const Buffer& b : buffers) upload(b);
}

void DeviceCall::upload(const Buffer& buffer) {
  memory_.at(buffer.layout().name)->upload(buffer.data(), buffer.bytes());
}

void DeviceCall::download(std::vector<Buffer>& buffers) {
  device_.finish();
  for (const Parameter& p : program_.params) {
    if (!p.is_array || p.intent == Intent::In) continue;
    for (Buffer& b : buffers)
      if (b.layout().name == p.name) memory_.at(p.name)->download(b.data(), b.bytes());
  }
}

void DeviceCall::run() {
  if (record_) {
    record_->run();
    return;
  }
  launched_ = 0;
  Integers values = scalars_;
  steps(program_.device->steps, values);
}

void DeviceCall::record() {
  if (record_ || launched_ < 2 || launched_ > kMostRecorded || !device_.start_recording()) return;
  try {
    run();
  } catch (...) {
    device_.stop_recording();
    throw;
  }
  record_ = device_.stop_recording();
}

void DeviceCall::steps(const std::vector<HostStep>& all, Integers& values) {
  for (const HostStep& s : all) {
    if (const auto* x = std::get_if<HostLaunch>(&s.op)) {
      launch(x->kernel, values);
    } else if (const auto* x = std::get_if<HostLoop>(&s.op)) {
      const std::string what = "the bounds of `" + x->iname + "`";
      const std::int64_t last = evaluate(x->upper, values, what);
      for (std::int64_t i = evaluate(x->lower, values, what); i <= last; i += x->step) {
        values[x->iname] = i;
        steps(x->body, values);
      }
      values.erase(x->iname);
    } else {
      const auto& guard = std::get<HostGuard>(s.op);
      if (evaluate(guard.condition, values, kCondition) != 0) steps(guard.body, values);
    }
  }
}

void DeviceCall::launch(int kernel, const Integers& values) {
  Launch& x = launches_.at(static_cast<std::size_t>(kernel));
  const DeviceKernel& k = program_.device->kernels.at(static_cast<std::size_t>(kernel));
  std::array<std::int64_t, 3> groups{}, items{};
  for (std::size_t i = 0; i < 3; ++i)
    if ((items.at(i) = x.items.at(i).of(values)) <= 0) return;  // nothing to do
  if (!x.items_checked) check_items(k, items, device_);
  for (std::size_t i = 0; i < 3; ++i) {
    if ((groups.at(i) = x.groups.at(i).of(values)) <= 0) return;  // nothing to do
    if (groups.at(i) > device_.limits().groups.at(i))
      fail("device-limit", {}, "kernel `{}` needs {} groups along `g.{}`; `{}` allows {}", k.name,
           groups.at(i), i, device_.name(), device_.limits().groups.at(i));
  }
  for (std::size_t i = 0; i < x.inames.size(); ++i) x.numbers[i] = values.at(x.inames[i]);
  module_.launch(kernel, x.args, groups, items);
  ++launched_;
}

}  // namespace moonloop
