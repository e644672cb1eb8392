// SPDX-License-Identifier: Apache-2.0
// Text: where a pattern occurs, overlapping too, and how often each word, by hashes into a table.
#include "check.h"

#include <algorithm>
#include <map>
#include <string>

const int slots = 4096, longest = 16;

__constant__ char pattern[longest];

__global__ void find(const char *text, int length, int pattern_length, int *places, int *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > length - pattern_length) return;
  for (int k = 0; k < pattern_length; k++) {
    if (text[i + k] != pattern[k]) return;
  }
  places[atomicAdd(found, 1)] = i;
}

struct Word {
  unsigned long long hash;
  int place, count;
};

__host__ __device__ inline bool letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

// The thread on a word's first letter hashes it and counts it in the slot of its hash, or the next free one.
__global__ void count_words(const char *text, int length, Word *table) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length || !letter(text[i]) || (i > 0 && letter(text[i - 1]))) return;
  unsigned long long hash = 14695981039346656037ull;
  for (int at = i; at < length && letter(text[at]); at++) {
    hash = (hash ^ static_cast<unsigned char>(text[at] | 32)) * 1099511628211ull;
  }
  for (unsigned slot = unsigned(hash ^ hash >> 32) % slots;; slot = (slot + 1) % slots) {
    unsigned long long there = atomicCAS(&table[slot].hash, 0ull, hash);
    if (there == 0 || there == hash) {
      atomicMin(&table[slot].place, i);
      atomicAdd(&table[slot].count, 1);
      return;
    }
  }
}

int main() {
  const char *syllables[] = {"na", "an", "ba", "lo", "ri", "Te", "mu", "Ana"};
  const char *between[] = {" ", " ", ", ", ".\n", "-"};
  Numbers numbers(44);
  std::string text;
  while (text.size() < 60000) {
    for (unsigned i = 0, count = 1 + numbers.next() % 4; i < count; i++) {
      text += syllables[numbers.next() % 8];
    }
    text += between[numbers.next() % 5];
  }
  int length = int(text.size());
  char *d_text = device_copy(std::vector<char>(text.begin(), text.end()));
  int *places, *found, count;
  CHECK(cudaMalloc(&places, length * sizeof(int)));
  CHECK(cudaMalloc(&found, sizeof(int)));
  for (std::string wanted : {"nana", "a", "lori\n", "banana", "."}) {
    CHECK(cudaMemcpyToSymbol(pattern, wanted.data(), wanted.size()));
    CHECK(cudaMemset(found, 0, sizeof(int)));
    find<<<(length + 255) / 256, 256>>>(d_text, length, int(wanted.size()), places, found);
    CHECK(cudaMemcpy(&count, found, sizeof count, cudaMemcpyDeviceToHost));
    std::vector<int> actual = host_copy(places, count), expected;
    std::sort(actual.begin(), actual.end());
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      expected.push_back(int(at));
    }
    REQUIRE(actual == expected, "\"%s\" was found %d times, not %zu, or elsewhere", wanted.c_str(),
        count, expected.size());
  }

  std::vector<Word> table(slots, Word{0, length, 0});
  Word *d_table = device_copy(table);
  count_words<<<(length + 255) / 256, 256>>>(d_text, length, d_table);
  launched();
  std::map<std::string, int> words;
  for (int i = 0; i < length;) {
    std::string word;
    for (; i < length && letter(text[i]); i++) word += char(text[i] | 32);
    if (word.empty()) {
      i++;
    } else {
      words[word]++;
    }
  }
  size_t different = 0;
  for (const Word &entry : host_copy(d_table, slots)) {
    if (entry.count == 0) continue;
    std::string word;
    for (int at = entry.place; at < length && letter(text[at]); at++) word += char(text[at] | 32);
    REQUIRE(words[word] == entry.count, "\"%s\" occurs %d times, not %d", word.c_str(), words[word],
        entry.count);
    different++;
  }
  REQUIRE(different == words.size(), "%zu words, not %zu", different, words.size());
  CHECK(cudaFree(d_text));
  CHECK(cudaFree(d_table));
  CHECK(cudaFree(places));
  CHECK(cudaFree(found));
  return ok("%zu different words in %d characters", different, length);
}
