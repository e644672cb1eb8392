// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces.
template <typename T>
__device__ void all(cudaTextureObject_t t, T *d) {
  d[0] = tex1D<T>(t, 0.5f);
  d[1] = tex2D<T>(t, 0.5f, 0.25f);
  d[2] = tex3D<T>(t, 0.5f, 0.25f, 0.1f);
  d[3] = tex1Dfetch<T>(t, 3);
  d[4] = tex1DLayered<T>(t, 0.5f, 2);
  d[5] = tex2DLayered<T>(t, 0.5f, 0.5f, 2);
  d[6] = texCubemap<T>(t, 0.5f, 0.25f, 0.1f);
  d[7] = texCubemapLayered<T>(t, 0.5f, 0.25f, 0.1f, 1);
  d[8] = tex2DLod<T>(t, 0.5f, 0.25f, 1.5f);
  d[9] = tex2DGrad<T>(t, 0.5f, 0.25f, make_float2(1, 2), make_float2(2, 1));
  d[10] = tex3DLod<T>(t, 0.5f, 0.25f, 0.1f, 1.5f);
  d[11] = tex1DLod<T>(t, 0.5f, 1.5f);
}

extern "C" __global__ void fetches(cudaTextureObject_t t, float4 *f, int4 *i, uint4 *u) {
  all(t, f);
  all(t, i);
  all(t, u);
  f[12] = tex2Dgather<float4>(t, 0.5f, 0.5f, 0);
  f[13] = tex2Dgather<float4>(t, 0.5f, 0.5f, 3);
  i[12] = tex2Dgather<int4>(t, 0.5f, 0.5f, 1);
}

template <typename T>
__device__ void surface(cudaSurfaceObject_t s, T *d) {
  surf1Dread(d, s, 8);
  surf2Dread(d + 1, s, 8, 3, cudaBoundaryModeClamp);
  surf3Dread(d + 2, s, 8, 3, 1, cudaBoundaryModeZero);
  surf2DLayeredread(d + 3, s, 8, 3, 1, cudaBoundaryModeTrap);
  surf1Dwrite(d[4], s, 8);
  surf2Dwrite(d[5], s, 8, 3, cudaBoundaryModeClamp);
  surf3Dwrite(d[6], s, 8, 3, 1, cudaBoundaryModeZero);
  surf2DLayeredwrite(d[7], s, 8, 3, 1, cudaBoundaryModeTrap);
}

extern "C" __global__ void surfaces(cudaSurfaceObject_t s, unsigned char *a, short2 *b, float *c, float4 *d, double2 *e) {
  surface(s, a);
  surface(s, b);
  surface(s, c);
  surface(s, d);
}
