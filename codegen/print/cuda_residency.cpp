#include "codegen/print/cuda_residency.h"

// The text is a part of generated programs, so that these need no other file.
namespace moonloop {

const char kCudaResidency[] = R"cuda(#ifndef __CUDACC_RTC__
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>

/* Arrays of the host that stay on the device between calls. The pages of an array whose newer values
   are there are closed; who touches them waits in a signal handler until a thread has copied the
   values back. */
namespace moonloop_resident {

enum { kHead = 16, kLeast = 128 << 10 };  /* bytes: what malloc keeps ahead of an array; a large one */
enum { kTables = 64 << 20 };              /* bytes of small arrays, only read, that stay there */
enum { kSmall = 4096, kBatch = 64 << 10 };  /* bytes of an array, and of all, copied with others */
enum Where { kHost, kBoth, kDevice };     /* has the values */

struct Copy {
  char *pages;        /* of the host, for this array alone, from malloc's head on */
  size_t length;
  char head[kHead];
  char *device;       /* of the element behind the head */
  int number;         /* of the device */
  Where where;
};

struct Request {
  char *address;
  bool writes;
};

struct State {
  std::mutex mutex;
  std::map<char *, Copy> copies;                 /* by pages */
  std::multimap<std::pair<int, size_t>, char *> spare;   /* by device and size */
  std::map<char *, std::pair<int, size_t> > used;        /* of those, by the calls that run */
  std::map<std::pair<int, std::string>, char *> tables;  /* small ones, only read, by their bytes */
  std::set<char *> are_tables;
  size_t table_bytes, table_uses;                        /* by calls that run */
  std::atomic<bool> asked;
  int questions[2], answers[2];
  pthread_t helper;
  struct sigaction previous;
  bool ready;
  unsigned long long to_device, to_host, copied_to_device, copied_to_host, small_bytes;
  State() : table_bytes(0), table_uses(0), asked(false), ready(false), to_device(0), to_host(0), copied_to_device(0),
            copied_to_host(0), small_bytes(0) {}
};

inline State &state() {
  static State *s = new State;  /* lives as long as the process */
  return *s;
}
inline int device() {
  int number = 0;
  cudaGetDevice(&number);
  return number;
}
inline bool &busy() {
  static thread_local bool here = false;  /* a fault of this thread is no one's touch */
  return here;
}
inline size_t page() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}
inline int prepare() {
  mallopt(M_MMAP_THRESHOLD, kLeast);  /* large arrays have pages of their own */
  return 1;
}
static const int prepared = prepare();

/* The bytes of the pages that malloc made for the array alone; 0 where it did not. */
inline size_t own_pages(char const *host) {
  if (uintptr_t(host) % page() != kHead) return 0;
  const size_t *head = reinterpret_cast<const size_t *>(host);
  const size_t mapped = 2, flags = 7, length = head[-1] & ~flags;
  return head[-2] == 0 && (head[-1] & flags) == mapped && length % page() == 0 ? length : 0;
}

inline Copy *find(char *address) {
  std::map<char *, Copy> &all = state().copies;
  std::map<char *, Copy>::iterator it = all.upper_bound(address);
  if (it == all.begin()) return nullptr;
  --it;
  return address < it->second.pages + it->second.length ? &it->second : nullptr;
}

/* Puts the values into new pages and these in the place of the old ones at once, so that no other
   thread sees half of them. The first page stays closed where both have the values: whoever frees
   the array looks there. */
inline int to_host(Copy &c, Where then) {
  if (c.where == kDevice) {
    void *fresh = mmap(nullptr, c.length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) return cudaErrorMemoryAllocation;
    const int current = device();
    cudaSetDevice(c.number);
    memcpy(fresh, c.head, kHead);
    const int status = cudaMemcpy(static_cast<char *>(fresh) + kHead, c.device, c.length - kHead,
                                  cudaMemcpyDeviceToHost);
    cudaSetDevice(current);
    if (status) {
      munmap(fresh, c.length);
      return status;
    }
    if (then == kBoth) mprotect(fresh, c.length, PROT_READ);
    if (mremap(fresh, c.length, c.length, MREMAP_MAYMOVE | MREMAP_FIXED, c.pages) == MAP_FAILED)
      return cudaErrorMemoryAllocation;
    if (then == kBoth) mprotect(c.pages, page(), PROT_NONE);
    ++state().to_host;
    state().copied_to_host += c.length;
  } else if (c.where == kBoth && then == kHost) {
    mprotect(c.pages, c.length, PROT_READ | PROT_WRITE);
  }
  c.where = then;
  return 0;
}

/* Whether the program may go on. */
inline bool serve(const Request &r) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  Copy *c = find(r.address);
  if (!c) return false;
  if (c->where == kHost) {  /* another thread was first, unless the pages are gone */
    unsigned char resident;
    return mincore(c->pages + size_t(r.address - c->pages) / page() * page(), 1, &resident) == 0;
  }
  const bool first = size_t(r.address - c->pages) < page();
  return to_host(*c, first || r.writes ? kHost : kBoth) == 0;
}

inline bool whole(int file, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = read(file, static_cast<char *>(to) + done, bytes - done);
    if (n <= 0 && errno != EINTR) return false;
    if (n > 0) done += size_t(n);
  }
  return true;
}

inline void *help(void *) {
  State &s = state();
  busy() = true;
  for (Request r; whole(s.questions[0], &r, sizeof r);) {
    const char answer = serve(r) ? 1 : 0;
    while (write(s.answers[1], &answer, 1) < 0 && errno == EINTR) {
    }
  }
  return nullptr;
}

inline bool writes_there(void *context) {
#if defined(__x86_64__)
  return (static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return true;
#endif
}

inline void on_fault(int signal_number, siginfo_t *info, void *context) {
  State &s = state();
  if (!busy()) {
    const int error = errno;
    const Request r = {static_cast<char *>(info->si_addr), writes_there(context)};
    while (s.asked.exchange(true)) sched_yield();
    char answer = 0;
    if (write(s.questions[1], &r, sizeof r) != ssize_t(sizeof r) ||
        !whole(s.answers[0], &answer, 1))
      answer = 0;
    s.asked.store(false);
    errno = error;
    if (answer) return;
  }
  if (s.previous.sa_flags & SA_SIGINFO) {
    s.previous.sa_sigaction(signal_number, info, context);
  } else if (s.previous.sa_handler == SIG_DFL || s.previous.sa_handler == SIG_IGN) {
    signal(signal_number, SIG_DFL);  /* it faults again */
  } else {
    s.previous.sa_handler(signal_number);
  }
}

inline void report() {
  const State &s = state();
  fprintf(stderr,
          "moonloop: %zu arrays were on the device; %llu copies to it, %.3f GB, %llu back, %.3f GB; "
          "others %.3f GB\n",
          s.copies.size(), s.to_device, double(s.copied_to_device)/1e9, s.to_host,
          double(s.copied_to_host)/1e9, double(s.small_bytes)/1e9);
}

inline int begin() {
  State &s = state();
  if (s.ready) return 0;
  if (pipe(s.questions) != 0 || pipe(s.answers) != 0 ||
      pthread_create(&s.helper, nullptr, help, nullptr) != 0)
    return cudaErrorInitializationError;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, &s.previous);
  const char *how = getenv("MOONLOOP_RESIDENT");
  if (how && strcmp(how, "report") == 0) atexit(report);
  s.ready = true;
  return 0;
}

inline std::pair<int, size_t> kind_of(int number, size_t bytes) {
  size_t size = 256;
  while (size < bytes) size *= 2;
  return std::make_pair(number, size);
}
/* Memory of the device from calls before, or new. */
inline int take(size_t bytes, char **there) {
  State &s = state();
  const std::pair<int, size_t> kind = kind_of(device(), bytes);
  std::multimap<std::pair<int, size_t>, char *>::iterator it = s.spare.find(kind);
  if (it != s.spare.end()) {
    *there = it->second;
    s.spare.erase(it);
  } else if (const int status = cudaMalloc(reinterpret_cast<void **>(there), kind.second)) {
    return status;
  }
  s.used[*there] = kind;
  return 0;
}

/* Whether this was memory of `take`. The next call may have it, as launches keep their order. */
inline bool put_back(void *there) {
  State &s = state();
  const std::map<char *, std::pair<int, size_t> >::iterator it = s.used.find(static_cast<char *>(there));
  if (it == s.used.end()) return false;
  s.spare.insert(std::make_pair(it->second, it->first));
  s.used.erase(it);
  return true;
}

/* The entry of an array that has pages of its own; null for others. */
inline int entry_of(char *host, size_t bytes, Copy **out) {
  State &s = state();
  *out = nullptr;
  if (Copy *c = find(host)) {
    const bool inside = host >= c->pages + kHead && host + bytes <= c->pages + c->length;
    if (c->where != kHost && inside && c->number == device()) {
      *out = c;
      return 0;
    }
    if (c->where != kHost) to_host(*c, kHost);
    if (host == c->pages + kHead && own_pages(host) == c->length && inside &&
        c->number == device()) {
      *out = c;
      return 0;
    }
    cudaFree(c->device);  /* the array that was here is gone, or another device needs it */
    s.copies.erase(c->pages);
  }
  const size_t length = bytes < kLeast ? 0 : own_pages(host);
  if (length < bytes + kHead) return 0;
  Copy c;
  memset(&c, 0, sizeof c);
  c.pages = host - kHead;
  c.length = length;
  memcpy(c.head, c.pages, kHead);
  c.number = device();
  for (std::map<char *, Copy>::iterator it = s.copies.lower_bound(c.pages);
       it != s.copies.end() && it->first < c.pages + length;) {
    cudaFree(it->second.device);  /* of arrays that are gone */
    s.copies.erase(it++);
  }
  if (const int status = cudaMalloc(reinterpret_cast<void **>(&c.device), length - kHead))
    return status;
  c.where = kHost;
  *out = &(s.copies[c.pages] = c);
  return 0;
}

/* A small array that is only read: a copy of the same bytes that is there already will do. */
inline int table(char const *host, size_t bytes, void **there) {
  State &s = state();
  const std::pair<int, std::string> key(device(), std::string(host, bytes));
  const std::map<std::pair<int, std::string>, char *>::iterator it = s.tables.find(key);
  if (it != s.tables.end()) {
    *there = it->second;
    ++s.table_uses;
    return 0;
  }
  char *own = nullptr;
  if (const int status = take(bytes, &own)) return status;
  s.used.erase(own);
  s.tables[key] = own;
  s.are_tables.insert(own);
  s.table_bytes += bytes;
  ++s.table_uses;
  *there = own;
  s.small_bytes += bytes;
  return cudaMemcpy(own, host, bytes, cudaMemcpyHostToDevice);
}

/* Whether a call gives back such a copy; all are forgotten when there are too many and none is in
   use. */
inline bool leave_table(void *there) {
  State &s = state();
  if (!s.are_tables.count(static_cast<char *>(there))) return false;
  if (--s.table_uses == 0 && s.table_bytes > kTables) {
    for (const auto &t : s.tables)
      s.spare.insert(std::make_pair(kind_of(t.first.first, t.first.second.size()), t.second));
    s.tables.clear();
    s.are_tables.clear();
    s.table_bytes = 0;
  }
  return true;
}

/* The small arrays that a call writes: they go to the device and come back together. */
struct Batch {
  char *there;          /* kBatch bytes of the device; null: no call has begun one */
  size_t used, arrays;  /* bytes of these, and arrays that have not come back */
  bool here;            /* `bytes` are what the launches left */
  char bytes[kBatch];
};
inline Batch &batch() {
  static thread_local Batch own;
  return own;
}
/* A place among these; null where there is no room. */
inline int join_batch(char const *host, size_t bytes, char **place) {
  Batch &b = batch();
  const size_t at = (b.used + 255) / 256 * 256;  /* as cudaMalloc aligns */
  *place = nullptr;
  if (bytes > kSmall || at + bytes > kBatch) return 0;
  if (!b.there)
    if (const int status = take(kBatch, &b.there)) return status;
  memcpy(b.bytes + at, host, bytes);
  b.used = at + bytes;
  b.here = false;
  ++b.arrays;
  *place = b.there + at;
  return 0;
}

struct Inside {
  std::lock_guard<std::mutex> lock;
  bool before;
  Inside() : lock(state().mutex), before(busy()) { busy() = true; }
  ~Inside() { busy() = before; }
};

/* Where the device has the array, for a launch that reads it and may write it. */
inline int enter(void const *array, size_t bytes, bool writes, void **there) {
  Inside inside;
  if (const int status = begin()) return status;
  char *host = static_cast<char *>(const_cast<void *>(array));
  Copy *c = nullptr;
  if (const int status = entry_of(host, bytes, &c)) return status;
  if (!c && !writes && bytes > 0 && bytes < kLeast) return table(host, bytes, there);
  if (!c) {
    char *own = nullptr;
    if (bytes > 0)
      if (const int status = join_batch(host, bytes, &own)) return status;
    *there = own;
    if (own) return 0;
    if (const int status = take(bytes, &own)) return status;
    *there = own;
    state().small_bytes += bytes;
    return bytes ? cudaMemcpy(own, host, bytes, cudaMemcpyHostToDevice) : 0;
  }
  if (c->where == kHost) {
    const int status =
        cudaMemcpy(c->device, c->pages + kHead, c->length - kHead, cudaMemcpyHostToDevice);
    if (status) return status;
    ++state().to_device;
    state().copied_to_device += c->length;
    mprotect(c->pages, c->length, PROT_READ);
    mprotect(c->pages, page(), PROT_NONE);
    c->where = kBoth;
  }
  if (writes && c->where != kDevice) {
    mprotect(c->pages, c->length, PROT_NONE);
    c->where = kDevice;
  }
  *there = c->device + (host - c->pages - kHead);
  return 0;
}

/* Memory of the device for one call. */
inline int lend(void **there, size_t bytes) {
  Inside inside;
  char *own = nullptr;
  const int status = take(bytes, &own);
  *there = own;
  return status;
}
inline void give_back(void *there) {
  Inside inside;
  put_back(there);
}

/* Ahead of the launch: copies the small arrays together. */
inline int send() {
  Inside inside;
  Batch &b = batch();
  if (!b.used) return 0;
  state().small_bytes += b.used;
  return cudaMemcpy(b.there, b.bytes, b.used, cudaMemcpyHostToDevice);
}

/* Whether the array is one of those that go together: gets it from the batch, which ends with the
   last one. */
inline bool leave_batch(void const *array, size_t bytes, void *there, int *status) {
  Batch &b = batch();
  char *const place = static_cast<char *>(there);
  if (!b.there || place < b.there || place >= b.there + kBatch) return false;
  if (!b.here) {
    *status = cudaMemcpy(b.bytes, b.there, b.used, cudaMemcpyDeviceToHost);
    if (*status) return true;
    state().small_bytes += b.used;
    b.here = true;
  }
  memcpy(const_cast<void *>(array), b.bytes + (place - b.there), bytes);
  if (--b.arrays == 0) {
    put_back(b.there);
    b.there = nullptr;
    b.used = 0;
  }
  return true;
}

/* Behind the launch: copies back what does not stay there. */
inline int leave(void const *array, size_t bytes, bool writes, void *there) {
  Inside inside;
  State &s = state();
  int status = 0;
  if (leave_batch(array, bytes, there, &status)) return status;
  if (leave_table(there)) return 0;
  if (!put_back(there) || !writes || !bytes) return 0;
  s.small_bytes += bytes;
  return cudaMemcpy(const_cast<void *>(array), there, bytes, cudaMemcpyDeviceToHost);
}

/* Gives all arrays back to the host. */
inline int update() {
  Inside inside;
  std::map<char *, Copy> &all = state().copies;
  for (std::map<char *, Copy>::iterator it = all.begin(); it != all.end(); ++it)
    if (const int status = to_host(it->second, kHost)) return status;
  return 0;
}

}  // namespace moonloop_resident

extern "C" __attribute__((weak)) void moonloop_update_(void) {
  if (const int status = moonloop_resident::update()) {
    fprintf(stderr, "moonloop_update: %s\n", cudaGetErrorString((cudaError_t)status));
    exit(1);
  }
}
#endif

)cuda";

}  // namespace moonloop
