// SPDX-License-Identifier: Apache-2.0
// Texture and surface references: names of a module to which the program binds memory, as programs of CUDA 11 and
// before do. nvcc has them no more, so the module is PTX text.
#include <algorithm>
#include <string>

#pragma nv_diag_suppress 1444
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "driver_entry.h"

static const char *text = R"(
.version 6.5
.target sm_60
.address_size 64
.global .texref line;
.global .texref plane;
.global .surfref canvas;

// out[i] = line[at[i]], four floats
.visible .entry read_line(.param .u64 out, .param .u64 at, .param .u32 count)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %tid.x;
  ld.param.u32 %r1, [count];
  setp.ge.u32 %p, %r0, %r1;
  @%p ret;
  ld.param.u64 %rd0, [at];
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd0, %rd0, %rd1;
  ld.global.u32 %r2, [%rd0];
  tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [line, {%r2}];
  ld.param.u64 %rd2, [out];
  mul.wide.u32 %rd3, %r0, 16;
  add.s64 %rd2, %rd2, %rd3;
  st.global.v4.f32 [%rd2], {%f0, %f1, %f2, %f3};
  ret;
}

// out[i] = plane(places[i])
.visible .entry read_plane(.param .u64 out, .param .u64 places, .param .u32 count)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .f32 %f<6>;
  .reg .b64 %rd<4>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.s32 %r0, %r0, %r1, %r2;
  ld.param.u32 %r3, [count];
  setp.ge.u32 %p, %r0, %r3;
  @%p ret;
  ld.param.u64 %rd0, [places];
  mul.wide.u32 %rd1, %r0, 8;
  add.s64 %rd0, %rd0, %rd1;
  ld.global.v2.f32 {%f0, %f1}, [%rd0];
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [plane, {%f0, %f1}];
  ld.param.u64 %rd2, [out];
  mul.wide.u32 %rd3, %r0, 4;
  add.s64 %rd2, %rd2, %rd3;
  st.global.f32 [%rd2], %f2;
  ret;
}

// canvas(x, y) = canvas(x, y) + 1000 y + x; a block a row
.visible .entry paint()
{
  .reg .b32 %r<6>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  shl.b32 %r2, %r0, 2;
  suld.b.2d.b32.trap %r3, [canvas, {%r2, %r1}];
  mad.lo.s32 %r4, %r1, 1000, %r0;
  add.s32 %r5, %r3, %r4;
  sust.b.2d.b32.trap [canvas, {%r2, %r1}], %r5;
  ret;
}
)";

static CUmodule module;

static CUfunction function(const char *name) {
  CUfunction found;
  DRIVER(ENTRY(cuModuleGetFunction)(&found, module, name));
  return found;
}

static void launch(CUfunction kernel, int blocks, int threads, void **arguments) {
  DRIVER(ENTRY(cuLaunchKernel)(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr));
}

static CUdeviceptr address(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

static void line() {
  const int n = 300, threads = 512;
  CUtexref reference, again;
  DRIVER(ENTRY(cuModuleGetTexRef)(&reference, module, "line"));
  DRIVER(ENTRY(cuModuleGetTexRef)(&again, module, "line"));
  REQUIRE(reference == again, "two references of one name");
  REFUSED(CUDA_ERROR_NOT_FOUND, ENTRY(cuModuleGetTexRef)(&again, module, "circle"));

  std::vector<float4> values(n), others(n);
  std::vector<int> at(n);
  for (int i = 0; i < n; i++) {
    values[i] = make_float4(i, -i, 0.5f * i, 1);
    others[i] = make_float4(7 * i, 8, 9, i);
    at[i] = (i * 17 + 5) % n;
  }
  float4 *first = device_copy(values), *second = device_copy(others), *out[3];
  int *index = device_copy(at), count = n;
  for (float4 *&to : out) CHECK(cudaMalloc(&to, n * sizeof(float4)));

  DRIVER(ENTRY(cuTexRefSetFormat)(reference, CU_AD_FORMAT_FLOAT, 4));
  CUfunction kernel = function("read_line");
  size_t offset = 1;
  DRIVER(ENTRY(cuTexRefSetAddress)(&offset, reference, address(first), n * sizeof(float4)));
  REQUIRE(offset == 0, "memory of cudaMalloc has the offset %zu", offset);
  void *arguments[] = {&out[0], &index, &count};
  launch(kernel, 1, threads, arguments);
  // A launch reads what was bound when it was made.
  DRIVER(ENTRY(cuTexRefSetAddress)(nullptr, reference, address(second), n * sizeof(float4)));
  arguments[0] = &out[1];
  launch(kernel, 1, threads, arguments);
  CUdeviceptr bound;
  DRIVER(ENTRY(cuTexRefGetAddress)(&bound, reference));
  REQUIRE(bound == address(second), "another address is bound");

  // Memory that is not aligned as textures are begins some elements behind what is bound.
  const int skipped = 3;
  REFUSED(CUDA_ERROR_INVALID_VALUE,
      ENTRY(cuTexRefSetAddress)(nullptr, reference, address(first + skipped), 64 * sizeof(float4)));
  DRIVER(ENTRY(cuTexRefSetAddress)(&offset, reference, address(first + skipped), 64 * sizeof(float4)));
  REQUIRE(offset == skipped * sizeof(float4), "the offset is %zu", offset);
  std::vector<int> shifted(64);
  for (int i = 0; i < 64; i++) shifted[i] = i + static_cast<int>(offset / sizeof(float4));
  int *shiftedIndex = device_copy(shifted), few = 64;
  void *shiftedArguments[] = {&out[2], &shiftedIndex, &few};
  launch(kernel, 1, threads, shiftedArguments);

  std::vector<float4> got = host_copy(out[0], n), then = host_copy(out[1], n), last = host_copy(out[2], 64);
  for (int i = 0; i < n; i++) {
    REQUIRE(got[i].x == values[at[i]].x && got[i].z == values[at[i]].z && got[i].w == 1, "element %d is %g", i,
        got[i].x);
    REQUIRE(then[i].x == others[at[i]].x && then[i].w == others[at[i]].w, "then, element %d is %g", i, then[i].x);
  }
  for (int i = 0; i < 64; i++) REQUIRE(last[i].y == values[i + skipped].y, "shifted, element %d is %g", i, last[i].y);
}

static const int w = 24, h = 10;

static float pixel(int x, int y) { return static_cast<float>(x * x + 3 * y); }

static float clamped(int x, int y) {
  return pixel(std::min(std::max(x, 0), w - 1), std::min(std::max(y, 0), h - 1));
}

// Interpolates between pixels, whose centres are at halves.
static float between(float x, float y) {
  float column = std::floor(x - 0.5f), row = std::floor(y - 0.5f);
  float across = x - 0.5f - column, down = y - 0.5f - row;
  int i = static_cast<int>(column), j = static_cast<int>(row);
  return (1 - down) * ((1 - across) * clamped(i, j) + across * clamped(i + 1, j)) +
         down * ((1 - across) * clamped(i, j + 1) + across * clamped(i + 1, j + 1));
}

static std::vector<float> read_plane(const std::vector<float2> &places) {
  int count = static_cast<int>(places.size());
  float2 *from = device_copy(places);
  float *out;
  CHECK(cudaMalloc(&out, count * sizeof(float)));
  void *arguments[] = {&out, &from, &count};
  launch(function("read_plane"), (count + 127) / 128, 128, arguments);
  return host_copy(out, count);
}

static void expect_between(const char *what) {
  std::vector<float2> places;
  for (float y = -1; y < h + 1; y += 0.25f) {
    for (float x = -1; x < w + 1; x += 0.25f) places.push_back(make_float2(x, y));
  }
  std::vector<float> got = read_plane(places);
  for (size_t i = 0; i < places.size(); i++) {
    float expected = between(places[i].x, places[i].y);
    REQUIRE(got[i] == expected, "%s: at (%g, %g) is %g, not %g", what, places[i].x, places[i].y, got[i], expected);
  }
}

static void plane() {
  std::vector<float> image(w * h);
  for (int i = 0; i < w * h; i++) image[i] = pixel(i % w, i / w);
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&array, &format, w, h));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), w * sizeof(float), w * sizeof(float), h,
      cudaMemcpyHostToDevice));

  CUtexref reference;
  DRIVER(ENTRY(cuModuleGetTexRef)(&reference, module, "plane"));
  for (int i = 0; i < 2; i++) DRIVER(ENTRY(cuTexRefSetAddressMode)(reference, i, CU_TR_ADDRESS_MODE_CLAMP));
  DRIVER(ENTRY(cuTexRefSetFilterMode)(reference, CU_TR_FILTER_MODE_LINEAR));
  DRIVER(ENTRY(cuTexRefSetFlags)(reference, 0));
  CUarray bound = reinterpret_cast<CUarray>(array), found;
  DRIVER(ENTRY(cuTexRefSetArray)(reference, bound, CU_TRSA_OVERRIDE_FORMAT));
  expect_between("an array");

  DRIVER(ENTRY(cuTexRefGetArray)(&found, reference));
  REQUIRE(found == bound, "another array is bound");
  CUdeviceptr nowhere;
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuTexRefGetAddress)(&nowhere, reference));
  CUarray_format kind;
  int channels;
  DRIVER(ENTRY(cuTexRefGetFormat)(&kind, &channels, reference));
  REQUIRE(kind == CU_AD_FORMAT_FLOAT && channels == 1, "the format is %d with %d channels", kind, channels);
  CUaddress_mode mode;
  DRIVER(ENTRY(cuTexRefGetAddressMode)(&mode, reference, 1));
  REQUIRE(mode == CU_TR_ADDRESS_MODE_CLAMP, "the address mode is %d", mode);
  CUfilter_mode filter;
  DRIVER(ENTRY(cuTexRefGetFilterMode)(&filter, reference));
  REQUIRE(filter == CU_TR_FILTER_MODE_LINEAR, "the filter is %d", filter);

  // From 0 to 1, the nearest pixel, and again and again.
  DRIVER(ENTRY(cuTexRefSetFlags)(reference, CU_TRSF_NORMALIZED_COORDINATES));
  DRIVER(ENTRY(cuTexRefSetFilterMode)(reference, CU_TR_FILTER_MODE_POINT));
  for (int i = 0; i < 2; i++) DRIVER(ENTRY(cuTexRefSetAddressMode)(reference, i, CU_TR_ADDRESS_MODE_WRAP));
  unsigned flags;
  DRIVER(ENTRY(cuTexRefGetFlags)(&flags, reference));
  REQUIRE(flags == CU_TRSF_NORMALIZED_COORDINATES, "the flags are %u", flags);
  std::vector<float2> places;
  for (int y = -h; y < 2 * h; y++) {
    for (int x = -w; x < 2 * w; x++) places.push_back(make_float2((x + 0.5f) / w, (y + 0.5f) / h));
  }
  std::vector<float> got = read_plane(places);
  for (size_t i = 0; i < places.size(); i++) {
    float expected = pixel(static_cast<int>(i % (3 * w)) % w, static_cast<int>(i / (3 * w)) % h);
    REQUIRE(got[i] == expected, "wrapped, %zu is %g, not %g", i, got[i], expected);
  }

  // Rows in memory, as far from each other as a pitch.
  float *rows;
  size_t pitch;
  CHECK(cudaMallocPitch(&rows, &pitch, w * sizeof(float), h));
  CHECK(cudaMemcpy2D(rows, pitch, image.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice));
  for (int i = 0; i < 2; i++) DRIVER(ENTRY(cuTexRefSetAddressMode)(reference, i, CU_TR_ADDRESS_MODE_CLAMP));
  DRIVER(ENTRY(cuTexRefSetFilterMode)(reference, CU_TR_FILTER_MODE_LINEAR));
  DRIVER(ENTRY(cuTexRefSetFlags)(reference, 0));
  CUDA_ARRAY_DESCRIPTOR description{};
  description.Width = w;
  description.Height = h;
  description.Format = CU_AD_FORMAT_FLOAT;
  description.NumChannels = 1;
  DRIVER(ENTRY(cuTexRefSetFormat)(reference, CU_AD_FORMAT_FLOAT, 1));
  DRIVER(ENTRY(cuTexRefSetAddress2D)(reference, &description, address(rows), pitch));
  expect_between("rows");
  REFUSED(CUDA_ERROR_INVALID_VALUE, ENTRY(cuTexRefGetArray)(&found, reference));
  CHECK(cudaFreeArray(array));
}

static void canvas() {
  std::vector<int> before(w * h);
  for (int i = 0; i < w * h; i++) before[i] = -i;
  cudaArray_t array;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  CHECK(cudaMallocArray(&array, &format, w, h, cudaArraySurfaceLoadStore));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, before.data(), w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
  CUsurfref reference;
  DRIVER(ENTRY(cuModuleGetSurfRef)(&reference, module, "canvas"));
  DRIVER(ENTRY(cuSurfRefSetArray)(reference, reinterpret_cast<CUarray>(array), 0));
  CUarray found;
  DRIVER(ENTRY(cuSurfRefGetArray)(&found, reference));
  REQUIRE(found == reinterpret_cast<CUarray>(array), "another array is bound");
  launch(function("paint"), h, w, nullptr);
  std::vector<int> after(w * h);
  CHECK(cudaMemcpy2DFromArray(after.data(), w * sizeof(int), array, 0, 0, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; i++) {
    REQUIRE(after[i] == 1000 * (i / w) + i % w - i, "pixel %d is %d", i, after[i]);
  }
}

int main() {
  CHECK(cudaFree(nullptr));
  DRIVER(ENTRY(cuModuleLoadData)(&module, text));
  line();
  plane();
  canvas();
  DRIVER(ENTRY(cuModuleUnload)(module));
  return ok("memory, arrays and a surface by their names");
}
