// SPDX-License-Identifier: Apache-2.0
// Elements of NCCL's types as the CPU computes with them: conversions of the small floating-point types, values for
// tests, and reductions. Built with -ffp-contract=off, so that every rounding is one of these.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nccl_api.h"

static const struct type {
  const char *name;
  int bytes;
  int exponent, mantissa;  // bits of a floating-point type; 0: an integer
  int is_signed;
} types[NCCL_TYPES] = {
    {"int8", 1, 0, 0, 1},    {"uint8", 1, 0, 0, 0},    {"int32", 4, 0, 0, 1},     {"uint32", 4, 0, 0, 0},
    {"int64", 8, 0, 0, 1},   {"uint64", 8, 0, 0, 0},   {"float16", 2, 5, 10, 1},  {"float32", 4, 8, 23, 1},
    {"float64", 8, 11, 52, 1}, {"bfloat16", 2, 8, 7, 1}, {"float8e4m3", 1, 4, 3, 1}, {"float8e5m2", 1, 5, 2, 1}};

static const char *const operators[NCCL_OPERATORS] = {"sum", "prod", "max", "min", "avg", "premul"};

static inline int is_float(int type) { return types[type].mantissa > 0; }

static inline int bias_of(const struct type *type) { return (1 << (type->exponent - 1)) - 1; }

/** The number that bits of a type stand for. */
static inline double number_decode(int number, uint64_t bits) {
  const struct type *type = &types[number];
  if (number == NCCL_FLOAT64) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
  uint64_t mantissa = bits & ((1ull << type->mantissa) - 1);
  int top = (1 << type->exponent) - 1, exponent = (int)(bits >> type->mantissa) & top;
  double sign = bits >> (type->exponent + type->mantissa) & 1 ? -1 : 1;
  int all_ones = number == NCCL_FLOAT8E4M3 ? exponent == top && mantissa == 7 : exponent == top;
  if (all_ones) {
    return number != NCCL_FLOAT8E4M3 && mantissa == 0 ? sign * INFINITY : NAN;
  }
  double fraction = (double)mantissa + (exponent ? (double)(1ull << type->mantissa) : 0);
  return sign * ldexp(fraction, (exponent ? exponent : 1) - bias_of(type) - type->mantissa);
}

/** The bits of the number of a type that is nearest, of two the even one; the value is not too large. */
static inline uint64_t number_encode(int number, double value) {
  const struct type *type = &types[number];
  uint64_t bits = 0;
  if (number == NCCL_FLOAT64) {
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  uint64_t sign = (uint64_t)(signbit(value) != 0) << (type->exponent + type->mantissa);
  int exponent;
  if (value == 0) {
    return sign;
  }
  frexp(value, &exponent);
  exponent--;
  int lowest = 1 - bias_of(type);
  int unit = (exponent > lowest ? exponent : lowest) - type->mantissa;
  uint64_t units = (uint64_t)nearbyint(ldexp(fabs(value), -unit));
  // Below the lowest exponent the hidden bit is absent, and the sum has it where rounding reached it.
  uint64_t steps = exponent > lowest ? (uint64_t)(exponent - lowest) : 0;
  return sign | (units + (steps << type->mantissa));
}

/** Half the distance of neighbours above 1. */
static inline double number_rounding(int number) { return ldexp(1, -types[number].mantissa - 1); }

/** The smallest positive number. */
static inline double number_smallest(int number) {
  return number == NCCL_FLOAT64 ? 5e-324 : ldexp(1, 1 - bias_of(&types[number]) - types[number].mantissa);
}

static inline uint64_t scramble(uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ value >> 27) * 0x94d049bb133111ebull;
  return value ^ value >> 31;
}

static inline uint64_t low_bits(int type, uint64_t bits) {
  return types[type].bytes == 8 ? bits : bits & ((1ull << 8 * types[type].bytes) - 1);
}

static inline int64_t sign_extend(int type, uint64_t bits) {
  int shift = 64 - 8 * types[type].bytes;
  return types[type].is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)bits;
}

/** How the elements of a case are made. */
struct values {
  uint64_t seed;
  int type, op;
  int ranks;
  int fractions;  // floats are any numbers between -1 and 1, and results are compared with tolerance
};

/** An element of a floating-point type: a small integer, so that no order of additions rounds, or a fraction. */
static inline uint64_t float_value(const struct values *values, int rank, uint64_t index, uint64_t random) {
  enum { MOST_AT_ONCE = 4 };
  double value;
  if (values->fractions) {
    value = ldexp((double)(int64_t)random, -63);
    if (values->op == NCCL_AVG && values->seed >> 9 & 1) {
      // So large that their sum would overflow, as it does not: inputs are divided before they are added.
      value = ldexp(value, bias_of(&types[values->type]));
    }
    return number_encode(values->type, values->op == NCCL_PROD ? 1 + value / 4 : value);
  }
  // Of the ranks few have an element that counts, so that the smallest types can hold the result.
  int counts = (int)((index + (uint64_t)rank) % (uint64_t)values->ranks) < MOST_AT_ONCE;
  if (values->op == NCCL_PROD) {
    value = !counts ? 1 : random % 3 == 0 ? 2 : random % 3 == 1 ? -1 : 1;
  } else {
    value = counts ? (double)(int)(random % 3) - 1 : 0;
  }
  return number_encode(values->type, value);
}

/** The element at an index of a rank's send buffer, as bits. */
static inline uint64_t value_at(const struct values *values, int rank, uint64_t index) {
  uint64_t random = scramble(values->seed ^ scramble((uint64_t)rank << 48 ^ index));
  if (is_float(values->type)) {
    return float_value(values, rank, index, random);
  }
  // Sums and products wrap; an average is of a sum that does not.
  if (values->op != NCCL_AVG) {
    return low_bits(values->type, random);
  }
  uint64_t small = random % 3;
  return low_bits(values->type, types[values->type].is_signed ? small - 1 : small);
}

/** The factor of a rank in a pre-multiplied sum. */
static inline uint64_t scalar_of(int type, int rank) {
  uint64_t factor = rank % 2 ? 1 : 2;
  return is_float(type) ? number_encode(type, (double)factor) : factor;
}

static inline uint64_t reduce_integers(const struct values *values, uint64_t index) {
  int type = values->type;
  uint64_t result = 0;
  for (int rank = 0; rank < values->ranks; rank++) {
    uint64_t value = value_at(values, rank, index);
    if (rank == 0) {
      result = values->op == NCCL_PREMUL_SUM ? value * scalar_of(type, 0) : value;
      continue;
    }
    int less = types[type].is_signed ? sign_extend(type, value) < sign_extend(type, result) : value < result;
    switch (values->op) {
      case NCCL_PROD:
        result = low_bits(type, result * value);
        break;
      case NCCL_MAX:
        result = less ? result : value;
        break;
      case NCCL_MIN:
        result = less ? value : result;
        break;
      case NCCL_PREMUL_SUM:
        value *= scalar_of(type, rank);
        result = low_bits(type, result + value);
        break;
      default:
        result = low_bits(type, result + value);
    }
  }
  if (values->op == NCCL_AVG) {
    result = types[type].is_signed ? (uint64_t)(sign_extend(type, result) / values->ranks)
                                   : result / (uint64_t)values->ranks;
  }
  return low_bits(type, result);
}

/** The exact result of floats; *tolerance: how far a correct one can be from it. */
static inline double reduce_floats(const struct values *values, uint64_t index, double *tolerance) {
  double result = 0, weight = 0;
  double rounding = number_rounding(values->type), smallest = number_smallest(values->type);
  for (int rank = 0; rank < values->ranks; rank++) {
    double value = number_decode(values->type, value_at(values, rank, index));
    if (values->op == NCCL_PREMUL_SUM) {
      value *= number_decode(values->type, scalar_of(values->type, rank));
    } else if (values->op == NCCL_AVG) {
      value /= values->ranks;
    }
    weight += fabs(value);
    if (rank == 0) {
      result = value;
    } else if (values->op == NCCL_PROD) {
      result *= value;
    } else if (values->op == NCCL_MAX) {
      result = fmax(result, value);
    } else if (values->op == NCCL_MIN) {
      result = fmin(result, value);
    } else {
      result += value;
    }
  }
  int inexact = values->fractions || (values->op == NCCL_AVG && (values->ranks & (values->ranks - 1)));
  *tolerance = 0;
  if (inexact && values->op != NCCL_MAX && values->op != NCCL_MIN) {
    // A factor, each rank's term and each addition are rounded at most once, and so are those of the CPU's own result.
    double steps = 2 * values->ranks + 1;
    double growth = expm1(steps * log1p(rounding));
    *tolerance = growth * (values->op == NCCL_PROD ? fabs(result) : weight) + steps * smallest;
  }
  return result;
}

/** Returns whether an element is the reduction of all ranks' elements at an index. */
static inline int is_reduced(const struct values *values, uint64_t index, uint64_t bits) {
  double tolerance;
  if (!is_float(values->type)) {
    return bits == reduce_integers(values, index);
  }
  double expected = reduce_floats(values, index, &tolerance);
  return fabs(number_decode(values->type, bits) - expected) <= tolerance;
}
