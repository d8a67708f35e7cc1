#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines of the cache; not by aligned_alloc, which seldom reuses what has been freed. */
static void *allocate(size_t bytes) {
  if (bytes > (size_t)-1 / 2) bytes = 0; /* an extent below 0: no element is used */
  char *memory = (char *)malloc(bytes + 192);
  if (!memory) {
    fprintf(stderr, "no memory for a temporary of %zu bytes\n", bytes);
    abort();
  }
  char *aligned = memory + 128 - (uintptr_t)memory % 64;
  ((void **)aligned)[-1] = memory;
  return aligned;
}

static inline int32_t max_i32(int32_t a, int32_t b) {
  return b > a ? b : a;
}

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

static void release(void *memory) {
  free(((void **)memory)[-1]);
}

void turned(int32_t n, int32_t const *restrict cnt, float const *restrict x, float *restrict y) {
  int32_t *low = allocate(sizeof(int32_t)*n);
  for (int32_t i = 0; i < n; ++i)
    low[i] = cnt[i];
  int32_t t_first = 2147483647;
  int32_t t_end = -2147483647;
  for (int32_t i = 0; i < n; ++i) {
    t_first = min_i32(t_first, low[i]);
    t_end = max_i32(t_end, 2*low[i] + 5);
  }
  float *w = allocate(sizeof(float)*n*8);
  for (int32_t t = t_first; t < min_i32(99, t_end); ++t) {
    for (int32_t i = 0; i < n; ++i)
      if (low[i] <= t && 2*low[i] >= t - 4)
        for (int32_t k = 0; k < 8; ++k)
          w[8*(int64_t)i + k] = 2*x[792*(int64_t)i + 8*t + k];
    for (int32_t i = 0; i < n; ++i)
      if (low[i] <= t && 2*low[i] >= t - 4)
        for (int32_t l = 0; l < 8; ++l)
          y[792*(int64_t)i + 8*t + l] = w[8*(int64_t)i + 7 - l];
  }
  release(w);
  release(low);
}
