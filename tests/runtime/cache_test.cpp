#include "runtime/cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/sha256.h"
#include "tests/runtime/support.h"

using namespace moonloop;
using test::Folder;
using test::slurp;
using test::spit;

TEST_CASE("sha256: the standard's examples") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("cache: keeps, finds, and takes no torn entry") {
  const Folder folder;
  const Cache cache(folder / "deep/cache");
  const std::string key = Cache::key("source");
  CHECK(cache.find(key, "so").empty());
  const std::string path = cache.keep(key, "so", "the library");
  CHECK(path == (folder / "deep/cache/") + key + ".so");
  CHECK(cache.find(key, "so") == path);
  CHECK(slurp(path).substr(0, 11) == "the library");
  CHECK(cache.find(key, "ptx").empty());
  CHECK(cache.find(Cache::key("other"), "so").empty());

  const std::string whole = slurp(path);
  for (const std::string& torn : {whole.substr(0, whole.size() - 1), whole.substr(0, 5),
                                  std::string(), "X" + whole.substr(1), whole + "\n"}) {
    spit(path, torn);
    CHECK(cache.find(key, "so").empty());
  }
  CHECK(cache.keep(key, "so", "the library") == path);
  CHECK(cache.find(key, "so") == path);
}

TEST_CASE("cache: without a folder, or with one that cannot be made, nothing is kept") {
  CHECK(Cache("").keep("k", "so", "x").empty());
  CHECK(Cache("").find("k", "so").empty());
  const Folder folder;
  spit(folder / "file", "");
  CHECK(Cache(folder / "file/cache").keep("k", "so", "x").empty());
}

TEST_CASE("cache: the standard folder") {
  const test::Setting home("HOME", "/home/someone");
  {
    const test::Setting xdg("XDG_CACHE_HOME", "/var/caches");
    CHECK(Cache::standard().folder() == "/var/caches/moonloop");
  }
  {
    const test::Setting xdg("XDG_CACHE_HOME", "relative");
    CHECK(Cache::standard().folder() == "/home/someone/.cache/moonloop");
  }
}

TEST_CASE("cache: holds a bounded number of entries, the last used ones") {
  const Folder folder;
  const Cache cache(folder / "c");
  for (std::size_t i = 0; i < Cache::kMost + 8; ++i)
    cache.keep(Cache::key(std::to_string(i)), "so", "x");
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder / "c")) ++files;
  CHECK(files <= Cache::kMost);
  CHECK_FALSE(cache.find(Cache::key(std::to_string(Cache::kMost + 7)), "so").empty());
}

TEST_CASE("cache: processes that keep the same entry at once all find it whole") {
  const Folder folder;
  const std::string content(1 << 20, 'x');
  const std::string key = Cache::key("shared");
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const Cache cache(folder / "c");
      bool good = true;
      for (int round = 0; round < 10; ++round) {
        good = good && !cache.keep(key, "so", content).empty();
        good = good && !cache.find(key, "so").empty();
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}
