int min_i32(int a, int b) {
  return b < a ? b : a;
}

__kernel
void turned(__global int const *restrict cnt, __global float const *restrict x,
            __global float *y, __global float *w) {
  int const i = get_local_id(1);
  int const k = get_local_id(0);
  int const l = get_local_id(0);
  __local int t_first;
  __local int t_end;
  int const low = cnt[i];
  if (get_local_id(0) == 0 && get_local_id(1) == 0) {
    t_first = 2147483647;
    t_end = -2147483647;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    atomic_min(&t_first, low);
    atomic_max(&t_end, 2*low + 5);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = t_first; t < min_i32(99, t_end); ++t) {
    if (t >= low && 2*low + 4 >= t)
      w[8*(long)i + k] = 2*x[792*(long)i + 8*t + k];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (t >= low && 2*low + 4 >= t)
      y[792*(long)i + 8*t + l] = w[8*(long)i + 7 - l];
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
