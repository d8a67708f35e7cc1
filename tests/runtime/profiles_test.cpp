#include "runtime/profiles.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "core/base/diagnostic.h"
#include "runtime/file.h"
#include "runtime/host.h"

using namespace moonloop;  // NOLINT

namespace {

/// A cache folder of its own, as long as it lives.
class OwnCache {
 public:
  OwnCache() : folder_("/tmp", "moonloop-profiles-") {
    const char* before = std::getenv("XDG_CACHE_HOME");
    before_ = before ? before : "";
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() {
    before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }

 private:
  TemporaryFolder folder_;
  std::string before_;
};

}  // namespace

TEST_CASE("profiles: a kept one is found by target and name, the host's by all without a device") {
  const OwnCache cache;
  CHECK(!kept_profile(Target::C, processor_model()));
  CHECK(!profile_for(Target::OpenMP, -1).measured);
  cost::MachineProfile p = cost::default_profile(host_facts());
  p.measured = true;
  const std::string path = keep_profile(Target::C, p);
  CHECK(path == profile_path(Target::Ispc, p.device));
  CHECK(path != profile_path(Target::OpenCL, p.device));
  CHECK(profile_for(Target::OpenMP, -1).measured);
  CHECK(profile_for(Target::Cuda, -1, path).device == p.device);
  CHECK(!kept_profile(Target::OpenCL, p.device));
  write_file(path, {"{}"});
  CHECK_THROWS_WITH(profile_for(Target::C, -1), doctest::Contains("`version` is not there"));
}

TEST_CASE("profiles: a machine that nobody measured is an error") {
  const OwnCache cache;
  for (const std::string name : {"no such machine", "no/such/file.json"}) {
    CAPTURE(name);
    try {
      profile_for(Target::Cuda, -1, name);
      FAIL("it has a profile");
    } catch (const Error& e) { CHECK(e.diagnostic().code == "no-profile"); }
  }
}
