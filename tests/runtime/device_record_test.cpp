#include "codegen/codegen.h"
#include "runtime/device_call.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;

namespace {

/// What reached a device: the numbers of groups launched at once, or recorded, or done again.
struct Log {
  std::vector<std::int64_t> launched, recorded;
  int replays = 0;
  bool is_recording = false;
};

class LoggedMemory : public DeviceMemory {
 public:
  void upload(const void*, std::size_t) override {}
  void download(void*, std::size_t) const override {}
};

class LoggedRecord : public DeviceRecord {
 public:
  explicit LoggedRecord(Log& log) : log_(log) {}
  void run() override { ++log_.replays; }

 private:
  Log& log_;
};

class LoggedModule : public DeviceModule {
 public:
  explicit LoggedModule(Log& log) : log_(log) {}
  void launch(int, const std::vector<DeviceArgument>&, const std::array<std::int64_t, 3>& groups,
              const std::array<std::int64_t, 3>&) override {
    (log_.is_recording ? log_.recorded : log_.launched).push_back(groups[0]);
  }

 private:
  Log& log_;
};

class LoggedDevice : public Device {
 public:
  LoggedDevice(Log& log, bool records) : log_(log), records_(records) {
    limits_.items_in_group = 1024;
    limits_.items = limits_.groups = {1024, 1024, 64};
  }
  std::string name() const override { return "log"; }
  const DeviceLimits& limits() const override { return limits_; }
  std::unique_ptr<DeviceMemory> allocate(std::size_t) override {
    return std::make_unique<LoggedMemory>();
  }
  std::unique_ptr<DeviceModule> compile(const Program&, const DeviceCompileOptions&) override {
    return std::make_unique<LoggedModule>(log_);
  }
  bool start_recording() override { return log_.is_recording = records_; }
  std::unique_ptr<DeviceRecord> stop_recording() override {
    log_.is_recording = false;
    return std::make_unique<LoggedRecord>(log_);
  }
  void finish() override {}
  void start_clock() override {}
  double stop_clock() override { return 0; }

 private:
  Log& log_;
  bool records_;
  DeviceLimits limits_;
};

/// Runs `t` times over rows that become shorter, with a launch for each.
Log runs(std::int64_t trips, bool records, int times) {
  const Kernel ordered = test::step(parsed(R"(
kernel steps(n: int32, x: float64[n + 1])
domain {[t]: 1 <= t <= n}
domain [t] -> {[i]: t <= i <= n}
x[i] = x[t - 1] + 1  {inames=t:i}
)"),
                                    "prioritize_loops", {test::word("t, i")});
  const Kernel k = test::step(ordered, "tag_inames", {Value{ValueDict{{"i", test::word("g.0")}}}});
  const Program program = generate(k, Target::Cuda);
  Log log;
  LoggedDevice device(log, records);
  const auto module = device.compile(program, {});
  DeviceCall call(device, program, *module, {{"n", Scalar::I32, trips}},
                  make_buffers(k, {{"n", trips}}));
  call.run();
  call.record();
  for (int i = 0; i < times; ++i) call.run();
  return log;
}

using Groups = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("device: launches of a host's loop are recorded once and done again as a whole") {
  const Log log = runs(3, true, 2);
  CHECK(log.launched == Groups{3, 2, 1});
  CHECK(log.recorded == Groups{3, 2, 1});
  CHECK(log.replays == 2);
}

TEST_CASE("device: a single launch is not recorded, nor is any where the device cannot") {
  const Log one = runs(1, true, 2);
  CHECK(one.launched == Groups{1, 1, 1});
  CHECK(one.recorded.empty());
  CHECK(one.replays == 0);
  const Log plain = runs(2, false, 1);
  CHECK(plain.launched == Groups{2, 1, 2, 1});
  CHECK(plain.recorded.empty());
}
