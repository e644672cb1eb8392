#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes NAME.ARCHITECTURE.ptx of each NAME.cu beside this script, with nvcc 13.0. Of several architectures whose
# PTX has the same instructions, the lowest one is kept.
set -euo pipefail
cd "$(dirname "$0")"

spellings() {
  sed -E 's/^[[:space:]]*(\{[[:space:]]*)?(@!?%p[0-9]+[[:space:]]+)?//; s/[[:space:];].*//' "$1" | grep -E '^[a-z][a-z0-9]*(\.|$)' | sort -u
}

rm -f -- *.ptx
for source in *.cu; do
  name=${source%.cu}
  : >seen
  for architecture in 75 80 86 89 90 100; do
    made=$name.$architecture.ptx
    nvcc -std=c++17 -O3 -diag-suppress 20054 -ptx -arch=compute_$architecture "$source" -o "$made"
    # What ptxas refuses is not a real spelling.
    ptxas -arch=sm_$architecture "$made" -o /dev/null
    spellings "$made" >new
    if [[ -s seen && -z $(comm -13 seen new) ]]; then
      rm "$made"
    else
      sort -u seen new >both
      mv both seen
      # The names of files and the blank lines are of no use.
      sed -i -e '/^[[:space:]]*$/d' -e '/^\/\//d' "$made"
    fi
  done
done
rm -f seen new
