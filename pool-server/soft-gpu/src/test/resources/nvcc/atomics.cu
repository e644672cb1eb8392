// SPDX-License-Identifier: Apache-2.0
// Atomic operations of CUDA C++ and of libcu++ in every order and scope.
#include <cuda/atomic>

template <typename T, cuda::thread_scope Scope>
__device__ void orders(T *p, T v) {
  cuda::atomic_ref<T, Scope> r(*p);
  r.store(v, cuda::memory_order_relaxed);
  r.store(v, cuda::memory_order_release);
  r.store(v, cuda::memory_order_seq_cst);
  v += r.load(cuda::memory_order_relaxed);
  v += r.load(cuda::memory_order_acquire);
  v += r.load(cuda::memory_order_seq_cst);
  v += r.exchange(v, cuda::memory_order_acq_rel);
  r.compare_exchange_strong(v, v + 1, cuda::memory_order_acquire, cuda::memory_order_relaxed);
  r.compare_exchange_weak(v, v + 2, cuda::memory_order_seq_cst);
  v += r.fetch_add(v, cuda::memory_order_relaxed);
  v += r.fetch_add(v, cuda::memory_order_release);
  v += r.fetch_sub(v, cuda::memory_order_acq_rel);
  v += r.fetch_min(v, cuda::memory_order_relaxed);
  v += r.fetch_max(v, cuda::memory_order_seq_cst);
  if constexpr (std::is_integral_v<T>) {
    v += r.fetch_and(v, cuda::memory_order_relaxed);
    v += r.fetch_or(v, cuda::memory_order_acquire);
    v += r.fetch_xor(v, cuda::memory_order_release);
  }
  cuda::atomic_thread_fence(cuda::memory_order_acquire, Scope);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, Scope);
  *p = v;
}

template <typename T>
__device__ void scopes(T *p) {
  orders<T, cuda::thread_scope_block>(p, *p);
  orders<T, cuda::thread_scope_device>(p, *p);
  orders<T, cuda::thread_scope_system>(p, *p);
}

extern "C" __global__ void ordered_int(int *p) { scopes(p); }
extern "C" __global__ void ordered_unsigned(unsigned *p) { scopes(p); }
extern "C" __global__ void ordered_long(long long *p) { scopes(p); }
extern "C" __global__ void ordered_unsigned_long(unsigned long long *p) { scopes(p); }
extern "C" __global__ void ordered_float(float *p) { scopes(p); }
extern "C" __global__ void ordered_double(double *p) { scopes(p); }
extern "C" __global__ void ordered_char(signed char *p) { scopes(p); }
extern "C" __global__ void ordered_short(short *p) { scopes(p); }

extern "C" __global__ void plain(int *i, unsigned *u, unsigned long long *l, long long *s, float *f, double *d, unsigned short *h) {
  __shared__ int si;
  __shared__ unsigned su;
  __shared__ unsigned long long sl;
  __shared__ float sf;
  si = su = sl = 0;
  sf = 0;
  __syncthreads();
  i[1] = atomicAdd(i, 1) + atomicSub(i, 2) + atomicExch(i, 3) + atomicMin(i, 4) + atomicMax(i, 5) + atomicCAS(i, 6, 7);
  u[1] = atomicInc(u, 9) + atomicDec(u, 9) + atomicAnd(u, 1) + atomicOr(u, 2) + atomicXor(u, 3) + atomicMin(u, 1) + atomicMax(u, 2);
  l[1] = atomicAdd(l, 1) + atomicExch(l, 2) + atomicCAS(l, 1, 2) + atomicAnd(l, 1) + atomicOr(l, 1) + atomicXor(l, 1) + atomicMin(l, 3) + atomicMax(l, 3);
  s[1] = atomicMin(s, 1) + atomicMax(s, 2);
  f[1] = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f);
  d[1] = atomicAdd(d, 1.0);
  h[1] = atomicCAS(h, 1, 2);
  atomicAdd(&si, 1);
  atomicMin(&si, 2);
  atomicInc(&su, 7);
  atomicXor(&su, 5);
  atomicAdd(&sl, 3);
  atomicMax(&sl, 3);
  atomicAdd(&sf, 1.5f);
  atomicAdd_block(i + 2, 1);
  atomicAdd_system(i + 3, 1);
  atomicCAS_block(u + 2, 1, 2);
  atomicExch_system(l + 3, 1);
  __threadfence_block();
  __threadfence();
  __threadfence_system();
  i[4] = si + su + sl + sf + atomicCAS(&si, 1, 2) + atomicExch(&su, 3);
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void vectors(float2 *p, float4 *q, __int128 *w) {
  p[1] = atomicAdd(p, make_float2(1, 2));
  q[1] = atomicAdd(q, make_float4(1, 2, 3, 4));
}
#endif
