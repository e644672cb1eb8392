// SPDX-License-Identifier: Apache-2.0
#include "core/errors.h"

#include "shim.h"

static const struct {
  CUresult code;
  const char *name;
  const char *text;
} results[] = {
#define RESULT(code, name, text) {code, name, text},
    CUDA_RESULTS(RESULT)
#undef RESULT
};

static int find(CUresult code) {
  int low = 0, high = (int)(sizeof results / sizeof *results);
  while (low < high) {
    int middle = (low + high) / 2;
    if (results[middle].code < code) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool known = low < (int)(sizeof results / sizeof *results) && results[low].code == code;
  return known ? low : -1;
}

const char *error_name(CUresult result) {
  int at = find(result);
  return at < 0 ? "unknown result" : results[at].name;
}

CUresult shim_cuGetErrorName(CUresult error, const char **pStr) {
  if (!pStr) return CUDA_ERROR_INVALID_VALUE;
  int at = find(error);
  *pStr = at < 0 ? NULL : results[at].name;
  return at < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult shim_cuGetErrorString(CUresult error, const char **pStr) {
  if (!pStr) return CUDA_ERROR_INVALID_VALUE;
  int at = find(error);
  *pStr = at < 0 ? NULL : results[at].text;
  return at < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
