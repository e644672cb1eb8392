#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the includes of the shim's C sources: check-includes.sh FOLDER, the one that has core, transport, … in it.
#   - A file includes files of its own folder and of the folders before it in `order`.
#   - The units have no circle; a unit is NAME.c with NAME.h, in one folder, and no other folder has one of that name.
#   - Included files are named with their folder, but for the generated ones, which are listed below with the folder
#     that they count to.
set -eu

order='core seal rings transport context stream memory module texture collective graph compat entry'
generated='cuda_types=core wire=core shim=core entries=core ops=transport exports=entry proc_table=entry'

cd "$1"
find . -name '*.[ch]' | LC_ALL=C sort | sed 's,^\./,,' | xargs grep -n '^#include "' | awk -v order="$order" \
  -v generated="$generated" '
  BEGIN {
    folders = split(order, name, " ")
    for (i = 1; i <= folders; i++) rank[name[i]] = i
    count = split(generated, name, " ")
    for (i = 1; i <= count; i++) {
      split(name[i], part, "=")
      belongs[part[1] ".h"] = part[2]
    }
  }
  function fault(text) {
    print "shim: " text >"/dev/stderr"
    faults++
  }
  {
    split($0, at, ":")
    file = at[1]
    line = at[2]
    split($0, part, "\"")
    included = part[2]
    from = to = file
    sub(/\/.*/, "", from)
    to = included
    if (!sub(/\/.*/, "", to)) to = belongs[included]
    where = file ":" line ": includes \"" included "\""
    if (!(from in rank)) fault(file ": the folder " from " is not in the order (" order ")")
    else if (!(to in rank)) fault(where ": the folder of a file must be named and be in the order (" order ")")
    else if (rank[to] > rank[from])
      fault(where ": " from " is below " to " and must not include from it (order: " order ")")
    unit = file
    other = included
    sub(/\.[ch]$/, "", unit)
    sub(/\.[ch]$/, "", other)
    units[unit]
    if (unit != other && included ~ /\//) edges[unit] = edges[unit] " " other
  }
  # Goes down from a unit; what is on the path is 1, what is done with is 2.
  function visit(unit, path, next_units, n, i) {
    state[unit] = 1
    n = split(edges[unit], next_units, " ")
    for (i = 1; i <= n; i++) {
      if (state[next_units[i]] == 1) {
        sub(".* " next_units[i] " ", next_units[i] " ", path)
        fault(unit " includes \"" next_units[i] ".h\": the units go round in a circle: " path " " next_units[i])
      } else if (!state[next_units[i]]) visit(next_units[i], path " " next_units[i])
    }
    state[unit] = 2
  }
  # A name stands for one unit, whichever folder it is in.
  function check_name(unit, name) {
    name = unit
    sub(/.*\//, "", name)
    if (name in unit_of && unit_of[name] != unit) fault(unit_of[name] " and " unit " have the same name")
    unit_of[name] = unit
  }
  END {
    for (unit in units) check_name(unit)
    for (unit in edges) if (!state[unit]) visit(unit, " " unit)
    exit faults > 0
  }'
