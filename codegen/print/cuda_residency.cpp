#include "codegen/print/cuda_residency.h"

// The text is a part of generated programs, so that these need no other file.
namespace moonloop {

const char kCudaResidency[] = R"cuda(#ifndef __CUDACC_RTC__
#include <errno.h>
#include <link.h>
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
   values back. Of a static array those pages are closed that it has alone; each call copies its
   edges, less than a page each. */
namespace moonloop_resident {

enum { kHead = 16, kLeast = 128 << 10 };  /* bytes: what malloc keeps ahead of an array; a large one */
enum { kTables = 64 << 20 };              /* bytes of small arrays, only read, that stay there */
enum { kSmall = 4096, kBatch = 64 << 10 };  /* bytes of an array, and of all, copied with others */
enum Where { kHost, kBoth, kDevice };     /* has the values */

struct Copy {
  char *begin, *end;  /* of the array on the host */
  char *pages;        /* of the host, for this array alone */
  size_t length;
  bool own;           /* malloc made them for it: they begin with malloc's head */
  char head[kHead];
  std::string edges;  /* what the device has of the array ahead of the pages and behind them */
  char *device;       /* of `begin` */
  int number;         /* of the device */
  Where where;
  Copy() : begin(0), end(0), pages(0), length(0), own(false), head(), device(0), number(0), where(kHost) {}
  char *low() const { return own ? pages : begin; }
  char *high() const { return own ? pages + length : end; }
  size_t ahead() const { return own ? 0 : size_t(pages - begin); }
  size_t behind() const { return size_t(high() - (pages + length)); }
  std::string edges_now() const { return std::string(begin, ahead()).append(pages + length, behind()); }
};

struct Request {
  char *address;
  bool writes;
};

struct State {
  std::mutex mutex;
  std::map<char *, Copy> copies;                 /* by `low`; they have nothing in common */
  std::map<char *, char *> wanted;               /* ranges of the host that stay on the device */
  std::set<char *> unfit;                        /* those of them that cannot */
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
  return address < it->second.high() ? &it->second : nullptr;
}

/* Whether the bytes are of a program's or a library's static data. */
struct Range {
  char *begin, *end;
  bool found;
};
inline int holds(struct dl_phdr_info *of, size_t, void *data) {
  Range *r = static_cast<Range *>(data);
  for (int i = 0; i < of->dlpi_phnum && !r->found; ++i) {
    char *const at = reinterpret_cast<char *>(of->dlpi_addr + of->dlpi_phdr[i].p_vaddr);
    r->found = of->dlpi_phdr[i].p_type == PT_LOAD && (of->dlpi_phdr[i].p_flags & PF_W) && at <= r->begin &&
               r->end <= at + of->dlpi_phdr[i].p_memsz;
  }
  return r->found;
}
inline bool is_static(char *begin, char *end) {
  Range r = {begin, end, false};
  dl_iterate_phdr(holds, &r);
  return r.found;
}
/* Whether the program said that the bytes stay on the device; makes them the range that it named. */
inline bool is_wanted(char **begin, char **end) {
  std::map<char *, char *> &all = state().wanted;
  std::map<char *, char *>::iterator it = all.upper_bound(*begin);
  if (it == all.begin()) return false;
  --it;
  if (*end > it->second) return false;
  *begin = it->first;
  *end = it->second;
  return true;
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
    const size_t head = c.own ? kHead : 0;
    memcpy(fresh, c.head, head);
    const int status = cudaMemcpy(static_cast<char *>(fresh) + head, c.device + c.ahead(),
                                  c.length - head, cudaMemcpyDeviceToHost);
    cudaSetDevice(current);
    if (status) {
      munmap(fresh, c.length);
      return status;
    }
    if (then == kBoth) mprotect(fresh, c.length, PROT_READ);
    if (mremap(fresh, c.length, c.length, MREMAP_MAYMOVE | MREMAP_FIXED, c.pages) == MAP_FAILED)
      return cudaErrorMemoryAllocation;
    if (then == kBoth && c.own) mprotect(c.pages, page(), PROT_NONE);
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
  if (!c || r.address < c->pages || r.address >= c->pages + c->length) return false;
  if (c->where == kHost) {  /* another thread was first, unless the pages are gone */
    unsigned char resident;
    return mincore(c->pages + size_t(r.address - c->pages) / page() * page(), 1, &resident) == 0;
  }
  const bool first = c->own && size_t(r.address - c->pages) < page();
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
  if (!s.unfit.empty())
    fprintf(stderr,
            "moonloop: %zu arrays that were to stay were copied by each call: they are smaller than %d KiB, "
            "or neither static nor allocated\n",
            s.unfit.size(), kLeast >> 10);
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

inline int forget(std::map<char *, Copy>::iterator it) {
  const int status = it->second.where == kHost ? 0 : to_host(it->second, kHost);
  cudaFree(it->second.device);
  state().copies.erase(it);
  return status;
}

/* The entry of an array that has pages of its own; null for others. */
inline int entry_of(char *host, size_t bytes, Copy **out) {
  State &s = state();
  *out = nullptr;
  if (Copy *c = find(host)) {
    const bool inside = host >= c->begin && host + bytes <= c->end && c->number == device();
    if (c->where != kHost && inside) {
      *out = c;
      return 0;
    }
    if (c->where != kHost) to_host(*c, kHost);
    if (inside && (!c->own || (host == c->begin && own_pages(host) == c->length))) {
      *out = c;
      return 0;
    }
    forget(s.copies.find(c->low()));  /* the array that was here is gone, larger, or elsewhere */
  }
  Copy c;
  c.begin = host;
  c.end = host + bytes;
  const bool named = is_wanted(&c.begin, &c.end);
  const size_t length = c.end - c.begin < kLeast ? 0 : own_pages(host);
  c.number = device();
  if (length >= bytes + kHead) {
    c.own = true;
    c.begin = host;
    c.pages = host - kHead;
    c.length = length;
    c.end = c.pages + length;
    memcpy(c.head, c.pages, kHead);
  } else if (c.end - c.begin >= kLeast && is_static(c.begin, c.end)) {
    const uintptr_t mask = page() - 1;
    c.pages = reinterpret_cast<char *>((uintptr_t(c.begin) + mask) & ~mask);
    c.length = (uintptr_t(c.end) & ~mask) - uintptr_t(c.pages);
  } else {
    if (named) s.unfit.insert(c.begin);
    return 0;
  }
  for (std::map<char *, Copy>::iterator it = s.copies.lower_bound(c.low());
       it != s.copies.end() && it->first < c.high();) {
    const std::map<char *, Copy>::iterator gone = it++;
    if (c.own) gone->second.where = kHost;  /* its pages are no more */
    if (const int status = forget(gone)) return status;
  }
  if (const int status = cudaMalloc(reinterpret_cast<void **>(&c.device), size_t(c.end - c.begin)))
    return status;
  *out = &(s.copies[c.low()] = c);
  return 0;
}

/* Copies what the host has changed at the edges of a static array. */
inline int edges_to_device(Copy &c) {
  const std::string now = c.edges_now();
  if (now == c.edges) return 0;
  const size_t ahead = c.ahead(), behind = c.behind();
  int status = ahead ? cudaMemcpy(c.device, now.data(), ahead, cudaMemcpyHostToDevice) : 0;
  if (!status && behind)
    status = cudaMemcpy(c.device + ahead + c.length, now.data() + ahead, behind, cudaMemcpyHostToDevice);
  state().small_bytes += ahead + behind;
  c.edges = now;
  return status;
}
inline int edges_to_host(Copy &c) {
  const size_t ahead = c.ahead(), behind = c.behind();
  int status = ahead ? cudaMemcpy(c.begin, c.device, ahead, cudaMemcpyDeviceToHost) : 0;
  if (!status && behind)
    status = cudaMemcpy(c.pages + c.length, c.device + ahead + c.length, behind, cudaMemcpyDeviceToHost);
  state().small_bytes += ahead + behind;
  c.edges = c.edges_now();
  return status;
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
    const int status = cudaMemcpy(c->device, c->begin, size_t(c->end - c->begin), cudaMemcpyHostToDevice);
    if (status) return status;
    ++state().to_device;
    state().copied_to_device += size_t(c->end - c->begin);
    c->edges = c->edges_now();
    mprotect(c->pages, c->length, PROT_READ);
    if (c->own) mprotect(c->pages, page(), PROT_NONE);
    c->where = kBoth;
  } else if (const int status = edges_to_device(*c)) {
    return status;
  }
  if (writes && c->where != kDevice) {
    mprotect(c->pages, c->length, PROT_NONE);
    c->where = kDevice;
  }
  *there = c->device + (host - c->begin);
  return 0;
}
/* Only for an array of which the program said that it stays: whether it does. */
inline bool enter_wanted(void const *array, size_t bytes, bool writes, void **there, int *status) {
  char *begin = static_cast<char *>(const_cast<void *>(array)), *end = begin + bytes;
  {
    Inside inside;
    Copy *c = nullptr;
    if (!is_wanted(&begin, &end)) return false;
    *status = entry_of(static_cast<char *>(const_cast<void *>(array)), bytes, &c);
    if (!c && !*status) return false;
  }
  if (!*status) *status = enter(array, bytes, writes, there);
  return true;
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
  Copy *c = find(static_cast<char *>(const_cast<void *>(array)));
  if (c && c->where == kDevice && c->device <= there && there < c->device + (c->end - c->begin))
    return writes ? edges_to_host(*c) : 0;
  if (!put_back(there) || !writes || !bytes) return 0;
  s.small_bytes += bytes;
  return cudaMemcpy(const_cast<void *>(array), there, bytes, cudaMemcpyDeviceToHost);
}

/* Gives arrays back to the host: all, or those that have some of the bytes. */
inline int update(char const *begin = nullptr, char const *end = nullptr) {
  Inside inside;
  std::map<char *, Copy> &all = state().copies;
  for (std::map<char *, Copy>::iterator it = all.begin(); it != all.end(); ++it)
    if (!begin || (it->second.begin < end && begin < it->second.end))
      if (const int status = to_host(it->second, kHost)) return status;
  return 0;
}

/* Says that an array stays. */
inline void want(char *begin, size_t bytes) {
  Inside inside;
  state().wanted[begin] = begin + bytes;
}

inline void require(int status, char const *what) {
  if (!status) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString((cudaError_t)status));
  exit(1);
}

}  // namespace moonloop_resident

/* For lines `update` and `resident` of the host's code. A line is one of the file. */
extern "C" __attribute__((weak)) void moonloop_update_(void) {
  moonloop_resident::require(moonloop_resident::update(), "moonloop_update");
}
extern "C" __attribute__((weak)) void moonloop_update_array_(long long const *address,
                                                             long long const *bytes) {
  char const *begin = (char const *)*address;
  if (begin) moonloop_resident::require(moonloop_resident::update(begin, begin + *bytes), "moonloop_update");
}
extern "C" __attribute__((weak)) void moonloop_resident_(long long const *address, long long const *bytes,
                                                         int const *line) {
  if (!*address) {
    fprintf(stderr, "moonloop: line %d: an array that is to stay on the device has no memory yet\n", *line);
    exit(1);
  }
  moonloop_resident::want((char *)*address, (size_t)*bytes);
}
/* For generated functions of other files: whether the array stays, and where the device has it. */
extern "C" __attribute__((weak)) int moonloop_resident_enter(void const *array, size_t bytes, int writes,
                                                             void **there, int *status) {
  return moonloop_resident::enter_wanted(array, bytes, writes != 0, there, status);
}
extern "C" __attribute__((weak)) int moonloop_resident_leave(void const *array, size_t bytes, int writes,
                                                             void *there) {
  return moonloop_resident::leave(array, bytes, writes != 0, there);
}
#endif

)cuda";

const char kCudaResidentElsewhere[] = R"cuda(#ifndef __CUDACC_RTC__
#include <stddef.h>
/* Another file of the program may have these, and say that an array stays on the device. */
extern "C" __attribute__((weak)) int moonloop_resident_enter(void const *array, size_t bytes, int writes,
                                                             void **there, int *status);
extern "C" __attribute__((weak)) int moonloop_resident_leave(void const *array, size_t bytes, int writes,
                                                             void *there);
static inline int moonloop_copy_to_device(void const *array, size_t bytes, int writes, void **there,
                                          int *stays) {
  int status = 0;
  *stays = moonloop_resident_enter != 0 &&
           moonloop_resident_enter(array, bytes, writes, there, &status);
  if (*stays) return status;
  status = cudaMalloc(there, bytes ? bytes : 1);
  return status ? status : cudaMemcpy(*there, array, bytes, cudaMemcpyHostToDevice);
}
static inline int moonloop_copy_to_host(void const *array, size_t bytes, int writes, void *there,
                                        int stays) {
  if (stays) return moonloop_resident_leave(array, bytes, writes, there);
  return writes ? cudaMemcpy((void *)array, there, bytes, cudaMemcpyDeviceToHost) : 0;
}
#endif

)cuda";

}  // namespace moonloop
