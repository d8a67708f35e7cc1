/* Times several versions of one kernel by turns on the same data, and compares what they leave.

   Each version is a translation unit that defines `NAME_attach`, `NAME_init` and `NAME_call`, made by
   polybench.py; `versions.h`, which it makes as well, lists them and the arrays. The first version is
   the one that others are compared with. Prints a line for each version (its times in seconds), and
   for each version but the first and each array the largest difference over the largest value. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "versions.h"

enum { FEWEST = 2, MOST = 30 };

static void *memory(size_t bytes) {
  void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!p) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  memset(p, 0, bytes);
  return p;
}

/* Of this process with one thread, whom other programs may interrupt; else of the clock on the wall. */
static double now(void) {
  struct timespec t;
  clock_gettime(THREADS == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double element(struct array const *a, void const *data, size_t i) {
  switch (a->kind) {
    case 'd': return ((double const *)data)[i];
    case 'f': return ((float const *)data)[i];
    case 'i': return ((int32_t const *)data)[i];
    default: return ((int8_t const *)data)[i];
  }
}

/* Infinite where one is a number and the other is not. */
static double difference(struct array const *a, void const *wanted, void const *got) {
  size_t const size = a->kind == 'd' ? 8 : a->kind == 'b' ? 1 : 4;
  double largest = 0, apart = 0;
  for (size_t i = 0; i < a->bytes / size; ++i) {
    double const x = element(a, wanted, i), y = element(a, got, i);
    if (x == y || (isnan(x) && isnan(y))) {
      if (isfinite(x)) largest = fmax(largest, fabs(x));
      continue;
    }
    if (!isfinite(x) || !isfinite(y)) return INFINITY;
    largest = fmax(largest, fabs(x));
    apart = fmax(apart, fabs(x - y));
  }
  return apart == 0 ? 0 : largest == 0 ? INFINITY : apart / largest;
}

int main(int argc, char **argv) {
  double const budget = argc > 1 ? atof(argv[1]) : 2;
  void *data[ARRAYS], *first[ARRAYS], *wanted[ARRAYS];
  for (int a = 0; a < ARRAYS; ++a) {
    data[a] = memory(arrays[a].bytes);
    first[a] = memory(arrays[a].bytes);
    wanted[a] = memory(arrays[a].bytes);
  }
  for (int v = VERSIONS - 1; v >= 0; --v) {
    versions[v].attach(data);
    versions[v].init();
  }
  for (int a = 0; a < ARRAYS; ++a) memcpy(first[a], data[a], arrays[a].bytes);

  /* The turn of the comparison, whose times do not count. */
  double worst[VERSIONS][ARRAYS];
  for (int v = 0; v < VERSIONS; ++v) {
    for (int a = 0; a < ARRAYS; ++a) memcpy(data[a], first[a], arrays[a].bytes);
    change();
    versions[v].call();
    forget();
    for (int a = 0; a < ARRAYS; ++a) {
      if (v == 0) memcpy(wanted[a], data[a], arrays[a].bytes);
      worst[v][a] = difference(&arrays[a], wanted[a], data[a]);
    }
  }

  double times[VERSIONS][MOST], total = 0;
  int turns = 0;
  for (; turns < MOST && (turns < FEWEST || total < budget * VERSIONS); ++turns)
    for (int k = 0; k < VERSIONS; ++k) {
      int const v = (k + turns) % VERSIONS;
      for (int a = 0; a < ARRAYS; ++a) memcpy(data[a], first[a], arrays[a].bytes);
      double const start = now();
      versions[v].call();
      times[v][turns] = now() - start;
      total += times[v][turns];
    }
  for (int v = 0; v < VERSIONS; ++v) {
    printf("times %s", versions[v].name);
    for (int t = 0; t < turns; ++t) printf(" %.9g", times[v][t]);
    printf("\n");
    for (int a = 0; v > 0 && a < ARRAYS; ++a)
      printf("difference %s %s %c %.9g\n", versions[v].name, arrays[a].name, arrays[a].kind,
             worst[v][a]);
  }
  return 0;
}
