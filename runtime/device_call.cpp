#include "runtime/device_call.h"

#include <algorithm>
#include <cstring>

#include "core/base/diagnostic.h"

namespace moonloop {

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
  Integers values = scalars_;
  steps(program_.device->steps, values);
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
      if (evaluate(Expr(Select{guard.condition, lit(1), lit(0)}), values, "a condition") != 0)
        steps(guard.body, values);
    }
  }
}

void DeviceCall::launch(int kernel, const Integers& values) {
  const DeviceKernel& k = program_.device->kernels.at(static_cast<std::size_t>(kernel));
  std::array<std::int64_t, 3> groups{}, items{};
  for (std::size_t i = 0; i < 3; ++i) {
    items.at(i) = evaluate(k.items.at(i), values, "the number of work-items of `" + k.name + "`");
    if (items.at(i) <= 0) return;  // nothing to do
  }
  if (!constant_items(k)) check_items(k, items, device_);  // else when the program was made
  for (std::size_t i = 0; i < 3; ++i) {
    groups.at(i) = evaluate(k.groups.at(i), values, "the number of groups of `" + k.name + "`");
    if (groups.at(i) <= 0) return;  // nothing to do
    if (groups.at(i) > device_.limits().groups.at(i))
      fail("device-limit", {}, "kernel `{}` needs {} groups along `g.{}`; `{}` allows {}", k.name,
           groups.at(i), i, device_.name(), device_.limits().groups.at(i));
  }
  std::vector<DeviceArgument> args;
  std::vector<std::array<std::byte, 8>> inames(k.args.size());
  for (std::size_t i = 0; i < k.args.size(); ++i) {
    const std::string& name = k.args[i];
    DeviceArgument a;
    if (const auto m = memory_.find(name); m != memory_.end()) {
      a.memory = m->second.get();
    } else if (const auto s = scalar_bytes_.find(name); s != scalar_bytes_.end()) {
      a.scalar = s->second.data();
      a.bytes = s->second.size();
    } else {
      a.bytes = static_cast<std::size_t>(size_of(program_.device->index_type));
      const std::int64_t value = values.at(name);  // little-endian: the low bytes come first
      std::memcpy(inames[i].data(), &value, sizeof value);
      a.scalar = inames[i].data();
    }
    args.push_back(a);
  }
  module_.launch(kernel, args, groups, items);
}

}  // namespace moonloop
